"""Page addresses (URLs), which hold everything that a page shows, also default choices.

Streamlit's binding of widgets (`bind="query-params"`) leaves defaults out of the address. Pages use
it where the default follows from other values of the address. The main choices (data, study,
rankers, lists, query, order, change, measure) are settled here, before their widget is drawn.

>>> option_texts("dlcm", "setrank-imsab")
{'dlcm': ('dlcm',), 'setrank-imsab': ('setrank-imsab',)}
"""

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

Option = TypeVar("Option", bound=Hashable)
Options = Mapping[Option, Sequence[str]]
"""Options by value: the text in addresses, then older texts with the same meaning. An option
without a text is the meaning of an empty address."""

NOTHING = ("",)
"""Value in an address for an empty multiple choice."""

GATHERED = "address gathered"
CARRIED = frozenset({"query"})
"""Choices that pages share once the user has made them, unless the address has another value."""

EVERYWHERE = frozenset({"data", "selected", "pinned"})
"""Choices with a widget on every page."""


def option_texts(*texts: str) -> dict[str, tuple[str]]:
    """Options that are their own text in addresses."""
    return {text: (text,) for text in texts}


@contextmanager
def gather() -> Generator[None]:
    """Context that collects values of `pin` and writes them to the address at its end."""
    st.session_state[GATHERED] = {}
    try:
        yield
    finally:
        gathered = st.session_state.pop(GATHERED, {})
        if any(st.query_params.get_all(name) != texts for name, texts in gathered.items()):
            for name in [name for name, texts in gathered.items() if not texts]:
                st.query_params.pop(name, None)
            st.query_params.update({name: texts for name, texts in gathered.items() if texts})


def forget() -> None:
    """Drop collected values, before a switch to another page with an address of its own."""
    if GATHERED in st.session_state:
        st.session_state[GATHERED] = {}


def says(name: str) -> list[str]:
    """Value of a name in the address, or its pending value."""
    gathered: list[str] = st.session_state.get(GATHERED, {}).get(name)
    return st.query_params.get_all(name) if gathered is None else gathered


def full_address() -> dict[str, list[str]]:
    """All values of the address, pending ones included."""
    return {name: says(name) for name in (*st.query_params, *st.session_state.get(GATHERED, {}))}


def pin(name: str, *texts: str) -> None:
    """Write texts under a name; no texts remove the name."""
    gathering = st.session_state.get(GATHERED)
    if gathering is not None:
        gathering[name] = list(texts)
    elif not texts:
        st.query_params.pop(name, None)
    elif st.query_params.get_all(name) != list(texts):
        st.query_params[name] = texts


def settle_choice(name: str, options: Options[Option], usual: Option, of: str = "") -> Option:
    """Settle a choice of one option; a widget with this key, drawn afterwards, shows it.

    Args:
        name: name in the address, and key of the widget.
        options: available options.
        usual: meaning of an address without the name; results stored later may not change it.
        of: owner of the choice; a new owner resets the choice.
    """
    meant = _options_by_text(options)
    chosen: Option = _resolved(
        name, lambda held: held in options, lambda texts: meant.get(texts[-1]), usual, of
    )
    pin(name, *options[chosen][:1])
    return chosen


def selectbox(name: str, options: Options[Option], usual: Option, of: str = "") -> dict[str, Any]:
    """Settle a choice as `settle_choice` does; return arguments of `st.selectbox`. None: no option.

    The settled value is also the widget's default. A browser may draw the widget only after the
    run that settled it, when a click has started another run. It would then send Streamlit's
    default as the user's choice.
    """
    settled = settle_choice(name, options, usual, of)
    offered = [option for option in options if option is not None]
    index = None if settled is None else offered.index(settled)
    return {"options": offered, "index": index, "key": name}


def carried(name: str) -> str | None:
    """Choice of a name in CARRIED that pages share, if the user has made one."""
    choice: str | None = st.session_state.get(f"address carries {name}")
    return choice


def drop_carried(name: str) -> None:
    """Forget a shared choice: every page shows its own default again."""
    for key in (f"address carries {name}", name):
        st.session_state.pop(key, None)
    st.query_params.pop(name, None)


def slider(name: str, highest: int, usual: int, of: str = "") -> dict[str, Any]:
    """Settle a whole number from 0 to `highest`; return arguments of `st.slider`."""
    settled = settle_choice(name, {each: (str(each),) for each in range(highest + 1)}, usual, of)
    return {"min_value": 0, "max_value": highest, "value": settled, "key": name}


def multiselect(
    name: str,
    options: Options[Option],
    usual: Iterable[Option],
    of: str = "",
    nothing: Sequence[str] = NOTHING,
) -> dict[str, Any]:
    """Settle a multiple choice as `settle_choice` does; return arguments of `st.multiselect`.

    Args:
        name: name in the address, and key of the widget.
        options: available options.
        usual: meaning of an address without the name.
        of: owner of the choice.
        nothing: texts of an empty choice in the address.
    """
    meant = _options_by_text(options)

    def read(texts: Sequence[str]) -> list[Option] | None:
        known = [meant[text] for text in dict.fromkeys(texts) if text in meant]
        return known if known or tuple(texts) == NOTHING else None

    chosen: list[Option] = list(
        _resolved(name, lambda held: set(held) <= options.keys(), read, list(usual), of)
    )
    pin(name, *([options[option][0] for option in chosen] or nothing))
    return {"options": list(options), "default": chosen, "key": name}


def _resolved(
    name: str,
    fits: Callable[[Any], bool],
    read: Callable[[Sequence[str]], Any],
    usual: Any,
    of: str,
) -> Any:
    """Choice on this page; else the value in the address; else the default."""
    context = get_script_run_ctx()
    page = ""
    if context and name not in EVERYWHERE:
        page = f"{context.page_script_hash} {says('tab')}"
    went_back = context is not None and context.is_history_navigation
    memory, carried = f"address of {name}", f"address carries {name}"
    before = st.session_state.get(memory)
    held = st.session_state.get(name) if before is None or before[0] == page else None
    st.session_state[memory] = (page, of)
    texts_there = st.query_params.get_all(name)
    if not texts_there and name in CARRIED and carried in st.session_state:
        texts_there = [st.session_state[carried]]
    is_held = False
    if held is not None and before not in {None, (page, of)}:  # another owner, on the same page
        chosen = usual
    # After Back the browser's address is right, and the widget still has the later value.
    elif is_held := held is not None and fits(held) and not went_back:
        chosen = held
    else:
        meant = read(texts_there) if texts_there else None
        chosen = usual if meant is None else meant
    if st.session_state.get(name) != chosen:  # writing an equal value would still mark it as set
        st.session_state[name] = chosen
    # The default is shared only as the user's way back to it from another choice
    if name in CARRIED and (chosen != usual or (is_held and carried in st.session_state)):
        st.session_state[carried] = chosen
    return chosen


def _options_by_text(options: Options[Option]) -> dict[str, Option]:
    """Option by text; an option's current text overrides an older text of another option."""
    by_text: dict[str, Option] = {}
    for option, texts in options.items():
        for text in texts[1:]:
            by_text.setdefault(text, option)
    return by_text | {texts[0]: option for option, texts in options.items() if texts}
