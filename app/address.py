"""The address of a page holds everything it shows, also unchanged choices.

Streamlit's own binding of widgets (`bind="query-params"`) keeps a value out of the address as long
as it is the widget's default. It is used for choices whose default follows from others that stand
in the address; those that say what is shown (data, study, rankers, lists, query, order, change,
measure) are settled here, before their widget is drawn.

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
"""What may be chosen, each with its text in addresses and then other texts that mean it; without
one an address that says nothing means it."""

NOTHING = ("",)
"""Value in an address if the user chose nothing of several."""

GATHERED = "address gathered"
CARRIED = frozenset({"query"})
"""Choices that go with a person from page to page, unless the address says otherwise."""

EVERYWHERE = frozenset({"data", "selected", "pinned"})
"""Choices whose widget stands on every page."""


def option_texts(*texts: str) -> dict[str, tuple[str]]:
    """Options that are their own text in addresses."""
    return {text: (text,) for text in texts}


@contextmanager
def gather() -> Generator[None]:
    """While in here, what is pinned is gathered, then written at once."""
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
    """Write nothing of what was gathered: another page is gone to, whose address says its own."""
    if GATHERED in st.session_state:
        st.session_state[GATHERED] = {}


def says(name: str) -> list[str]:
    """Value of a name in the address, or its pending value."""
    gathered: list[str] = st.session_state.get(GATHERED, {}).get(name)
    return st.query_params.get_all(name) if gathered is None else gathered


def whole_address() -> dict[str, list[str]]:
    """All that the address says, or is about to say."""
    return {name: says(name) for name in (*st.query_params, *st.session_state.get(GATHERED, {}))}


def pin(name: str, *texts: str) -> None:
    """Write texts under a name; nothing takes the name out."""
    gathering = st.session_state.get(GATHERED)
    if gathering is not None:
        gathering[name] = list(texts)
    elif not texts:
        st.query_params.pop(name, None)
    elif st.query_params.get_all(name) != list(texts):
        st.query_params[name] = texts


def settle_choice(name: str, options: Options[Option], usual: Option, of: str = "") -> Option:
    """Settle a choice of one; a widget with this key, drawn after it, shows what was settled.

    Args:
        name: in the address, and the widget's key.
        options: that there are.
        usual: meaning of an address without the name; results stored later may not change it.
        of: owner of the choice; a new owner resets the choice.
    """
    meant = _meant(options)
    chosen: Option = _settled(
        name, lambda held: held in options, lambda texts: meant.get(texts[-1]), usual, of
    )
    pin(name, *options[chosen][:1])
    return chosen


def selectbox(name: str, options: Options[Option], usual: Option, of: str = "") -> dict[str, Any]:
    """Settle a choice of one as `settle_choice` does; what `st.selectbox` takes. None is nobody.

    What was settled is the widget's default too. A browser that draws the widget only after the
    run that settled it (its script was still on the way when a click began another run) would
    begin with Streamlit's own default, and send that as what a person chose.
    """
    settled = settle_choice(name, options, usual, of)
    offered = [option for option in options if option is not None]
    index = None if settled is None else offered.index(settled)
    return {"options": offered, "index": index, "key": name}


def slider(name: str, highest: int, usual: int, of: str = "") -> dict[str, Any]:
    """Settle a whole number from 0 to the highest: what `st.slider` takes for it."""
    settled = settle_choice(name, {each: (str(each),) for each in range(highest + 1)}, usual, of)
    return {"min_value": 0, "max_value": highest, "value": settled, "key": name}


def multiselect(
    name: str,
    options: Options[Option],
    usual: Iterable[Option],
    of: str = "",
    nothing: Sequence[str] = NOTHING,
) -> dict[str, Any]:
    """Settle a choice of several, as `settle_choice` does: what `st.multiselect` takes for it.

    Args:
        name: in the address, and the widget's key.
        options: that there are.
        usual: what an address that says nothing means.
        of: what the choice belongs to.
        nothing: what the address says where none is chosen.
    """
    meant = _meant(options)

    def read(texts: Sequence[str]) -> list[Option] | None:
        known = [meant[text] for text in dict.fromkeys(texts) if text in meant]
        return known if known or tuple(texts) == NOTHING else None

    chosen: list[Option] = list(
        _settled(name, lambda held: set(held) <= options.keys(), read, list(usual), of)
    )
    pin(name, *([options[option][0] for option in chosen] or nothing))
    return {"options": list(options), "default": chosen, "key": name}


def _settled(
    name: str,
    fits: Callable[[Any], bool],
    read: Callable[[Sequence[str]], Any],
    usual: Any,
    of: str,
) -> Any:
    """Choice on this page; else the value in the address; else the usual one."""
    context = get_script_run_ctx()
    page = context.page_script_hash if context and name not in EVERYWHERE else ""
    went_back = context is not None and context.is_history_navigation
    memory, carried = f"address of {name}", f"address carries {name}"
    before = st.session_state.get(memory)
    held = st.session_state.get(name) if before is None or before[0] == page else None
    st.session_state[memory] = (page, of)
    texts_there = st.query_params.get_all(name)
    if not texts_there and name in CARRIED and carried in st.session_state:
        texts_there = [st.session_state[carried]]
    if held is not None and before not in {None, (page, of)}:
        chosen = usual
    elif held is not None and fits(held) and not went_back:
        chosen = held
    else:
        meant = read(texts_there) if texts_there else None
        chosen = usual if meant is None else meant
    if st.session_state.get(name) != chosen:
        st.session_state[name] = chosen
    if name in CARRIED:
        st.session_state[carried] = chosen
    return chosen


def _meant(options: Options[Option]) -> dict[str, Option]:
    """The option that a text means: its own text goes before another's older one."""
    by_text: dict[str, Option] = {}
    for option, texts in options.items():
        for text in texts[1:]:
            by_text.setdefault(text, option)
    return by_text | {texts[0]: option for option, texts in options.items() if texts}
