"""The store behind the library: its size, what of it is damaged, what of it nobody needs."""

from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import library, services
from shuffleproof.app.plain import escaped
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.store.damaged import Damaged, remove
from shuffleproof.core.studies.library import cleaning
from shuffleproof.core.words import counted

MOST_SHOWN = 50


def section() -> None:
    """Draw what is damaged, if anything is, the store's size, and what could go."""
    verification = library.verification()
    seen = library.damaged()
    names = {one.name for one in seen}
    _broken([*seen, *(one for one in verification.damaged if one.name not in names)])
    large = counted(verification.total, "large artefact")
    read = f"; {verification.done} of {large} verified" if verification.total else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            escaped(f"The store holds {library.size() / 1e6:,.1f} MB on this disk{read}."),
            width="stretch",
            help="Files above 1 MiB are digested in the background, once a day.",
        )
        with st.popover("Clean up", icon=":material/cleaning_services:"):
            _clean()


def _clean() -> None:
    if not st.button("Look for what nobody needs", key="look for waste", width="stretch"):
        st.caption("Trials of deleted studies, files of killed processes, uploads, old archives.")
        return
    found = cleaning.waste(services.store())
    if not found:
        st.success("Nothing: everything in the store is needed.")
        return
    st.dataframe(
        library.waste_table(found), hide_index=True, key="waste",
        alt="What nobody needs, by kind, with its size",
    )  # fmt: skip
    freed = sum(one.size for one in found)
    st.button(
        f"Free {freed / 1e6:,.1f} MB", type="primary", key="clean now", width="stretch",
        on_click=_cleaned, args=(found,),
    )  # fmt: skip


def _cleaned(found: list[cleaning.Waste]) -> None:
    try:
        cleaning.clean(found, services.store())
    except ShuffleproofError as error:
        st.session_state["library errors"] = [str(error)]
    library.measured_again()


def _broken(found: Sequence[Damaged]) -> None:
    if not found:
        return
    stand, stop = ("stands", "stops") if len(found) == 1 else ("stand", "stop")
    st.warning(
        f"**{counted(len(found), 'damaged file')}** {stand} apart from the library and {stop} "
        "nothing else. What is removed here is made again when it is needed.",
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
        library.verification().damaged[:] = [
            other for other in library.verification().damaged if other.path != one.path
        ]
    except ShuffleproofError as error:
        st.session_state["library errors"] = [str(error)]
