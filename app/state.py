"""The data set in use, chosen once for every page, and what the address asks for in vain."""

from collections.abc import Collection

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shuffleproof.app import address, services
from shuffleproof.app.plain import escaped
from shuffleproof.core.data.catalogue import KIND, SAMPLE

WANTED = "data wanted"
USE = "use"
"""In links between pages: another data set than the one in use, which `data` cannot change."""

DIALOG = "dialog"
"""Under which the session remembers that one is open."""


def draw_again() -> None:
    """Let the page run again, from a part of it that is drawn every second.

    Nothing happens while the whole page runs: it would end there, and what is drawn below would
    never hear of the button that was pressed. Nor while a dialog is open, which would close.
    """
    context = get_script_run_ctx()
    if context is not None and context.fragment_ids_this_run and DIALOG not in st.session_state:
        st.rerun()


def dialog_opened() -> None:
    """Remember that a dialog is open; said where it is drawn, whose end makes the page run."""
    st.session_state[DIALOG] = True


def page_begun() -> None:
    """Remember that no dialog is open: the whole page runs, which closes it."""
    st.session_state.pop(DIALOG, None)


def data_sets() -> list[str]:
    """The names of the data sets there are, the shipped sample first."""
    named = [name for name, key in services.store().names().items() if key.kind == KIND]
    return [SAMPLE, *(name for name in named if name != SAMPLE)]


def choose_data() -> None:
    """Draw the choice of the data set at the top of the sidebar."""
    if WANTED in st.session_state:
        st.session_state["data"] = st.session_state.pop(WANTED)
        address.pin("data", st.session_state["data"])
    names = data_sets()
    if st.query_params.get(USE) in names:
        st.session_state["data"] = st.query_params[USE]
    st.query_params.pop(USE, None)
    missing = missing_option("data", names)
    used = st.sidebar.selectbox(
        "Data set", **address.selectbox("data", address.option_texts(*names), SAMPLE)
    )
    instead("data set", missing, used)


def use_data(name: str) -> None:
    """Use another data set from now on: the page runs again."""
    st.session_state[WANTED] = name
    st.rerun()


def data() -> str:
    """The data set in use."""
    return st.session_state.get("data") or SAMPLE


def missing_option(name: str, options: Collection[str]) -> tuple[str, ...]:
    """Values of a name in the address that are not among the options.

    Call it before the widget of that name is drawn, which takes such values out of the address;
    they are remembered until another choice is made or another page is opened.
    """
    wanted = tuple(st.query_params.get_all(name))
    missing = tuple(dict.fromkeys(value for value in wanted if value not in options))
    memory, place = f"absent {name}", str(st.context.url or "").partition("?")[0]
    before = st.session_state.get(memory)
    if missing:
        st.session_state[memory] = (missing, place, None)
        return missing
    now = (wanted, str(st.session_state.get(name)))
    if before is None or before[1] != place or before[2] not in {None, now}:
        st.session_state.pop(memory, None)
        return ()
    st.session_state[memory] = (before[0], place, now)
    return tuple(before[0])


def instead(what: str, missing: Collection[str], *shown: str) -> None:
    """Say what the address asked for in vain, if anything, and what is shown instead.

    Args:
        what: the kind of thing, in the singular.
        missing: what `missing_option` found.
        shown: what was chosen for it.
    """
    if missing:
        words = f"Not found here: {what} {', '.join(missing)}, which the address asks for. "
        words += f"Shown instead: {', '.join(shown)}." if shown else "Choose another."
        st.warning(escaped(words), icon=":material/link_off:")
