"""The data set in use, common to all pages, and missing options of the address."""

from collections.abc import Collection

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from shuffleproof.app import address, services
from shuffleproof.app.plain import escaped
from shuffleproof.core.data.catalogue import KIND, SAMPLE
from shuffleproof.core.data.layout import SHIPPED

WANTED = "data wanted"
USE = "use"
"""Address key in links between pages that switch the data set, which `data` cannot do."""

DIALOG = "dialog"
"""Session key of an open dialog."""


def draw_again() -> None:
    """Run the whole page again, from a fragment that is drawn every second.

    Does nothing during a run of the whole page: a rerun would end it, and widgets below would miss
    a pressed button. Does nothing while a dialog is open, which a rerun would close.
    """
    context = get_script_run_ctx()
    if context is not None and context.fragment_ids_this_run and DIALOG not in st.session_state:
        st.rerun()


def dialog_opened() -> None:
    """Record that a dialog is open; call it in the dialog."""
    st.session_state[DIALOG] = True


def page_begun() -> None:
    """Record that no dialog is open: a run of the whole page closes it."""
    st.session_state.pop(DIALOG, None)


def data_sets() -> list[str]:
    """Names of all data sets, the shipped ones first."""
    named = [name for name, key in services.store().names().items() if key.kind == KIND]
    return [*SHIPPED, *(name for name in named if name not in SHIPPED)]


def choose_data() -> None:
    """Draw the choice of the data set at the top of the sidebar."""
    if WANTED in st.session_state:
        st.session_state["data"] = st.session_state.pop(WANTED)
        address.pin("data", st.session_state["data"])
    names = data_sets()
    wanted = st.query_params.pop(USE, None)
    if wanted in names:
        st.session_state["data"] = wanted
    missing = missing_option("data", names)
    missing = (*missing, wanted) if wanted and wanted not in names else missing
    used = st.sidebar.selectbox(
        "Data set", **address.selectbox("data", address.option_texts(*names), SAMPLE)
    )
    instead("data set", missing, used)


def use_data(name: str) -> None:
    """Switch to another data set and run the page again."""
    st.session_state[WANTED] = name
    st.rerun()


def data() -> str:
    """Name of the data set in use."""
    return st.session_state.get("data") or SAMPLE


def missing_option(name: str, options: Collection[str]) -> tuple[str, ...]:
    """Values of a name in the address that are not among the options.

    Call it before the widget of that name, which removes such values from the address. They are
    remembered until the choice or the page changes.
    """
    wanted = tuple(st.query_params.get_all(name))
    missing = tuple(dict.fromkeys(value for value in wanted if value and value not in options))
    memory = f"absent {name}"
    place = str(st.context.url or "").partition("?")[0], address.says("tab")
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
    """Draw a warning about missing values of the address, if any, and their replacements.

    Args:
        what: kind of the values, in the singular.
        missing: values from `missing_option`.
        shown: replacements.
    """
    if missing:
        words = f"Not found here: {what} {', '.join(missing)} (named in the address). "
        words += f"Shown instead: {', '.join(shown)}." if shown else "Choose another."
        st.warning(escaped(words), icon=":material/link_off:")
