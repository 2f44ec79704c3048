"""The store behind the library: its size, what of it is damaged, what of it nobody needs."""

from collections.abc import Sequence

import streamlit as st

from app import library, services
from app.plain import escaped
from core.errors import ShuffleproofError
from core.store.damaged import Damaged, remove
from core.words import counted

MOST_SHOWN = 50


def section() -> None:
    """Draw what is damaged, if anything is."""
    _broken(library.damaged())


def _broken(found: Sequence[Damaged]) -> None:
    if not found:
        return
    stand = "stands" if len(found) == 1 else "stand"
    st.warning(
        f"**{counted(len(found), 'damaged file')}** {stand} apart from the library. Nothing "
        "else is touched by it; remove it here, and what was in it is made again when needed.",
        icon=":material/broken_image:",
    )
    for one in found[:MOST_SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(escaped(f"{one.what} {one.name}: {one.found}"), width="stretch")
            st.button(
                "Remove", icon=":material/delete:", key=f"damaged {one.what} {one.name}",
                on_click=_remove, args=(one,),
            )  # fmt: skip
    if len(found) > MOST_SHOWN:
        st.caption(f"and {len(found) - MOST_SHOWN:,} more: `shuffleproof library list` names them.")


def _remove(one: Damaged) -> None:
    try:
        remove(services.store(), one)
    except ShuffleproofError as error:
        st.session_state["library errors"] = [str(error)]
