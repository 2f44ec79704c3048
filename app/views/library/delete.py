"""Deleting entries of the library, after saying what was made from them."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import library, services, state
from shuffleproof.app.plain import escaped
from shuffleproof.core.data import examination
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies.library import entries as shelf
from shuffleproof.core.studies.library.entries import KINDS, Entry

PLURAL = {"data set": "data sets", "ranker": "rankers", "study": "studies", "scores": "scores"}


def button(chosen: Sequence[Entry], every: Sequence[Entry]) -> None:
    """Draw the button that asks before anything is deleted."""
    own = [entry for entry in chosen if not entry.bundled]
    if st.button(
        "Delete …", icon=":material/delete:", disabled=not own, key="delete",
        help="" if own else "What comes with the program cannot be deleted.",
    ):  # fmt: skip
        _ask(own, every)


@st.dialog("Delete from the library?")
def _ask(chosen: Sequence[Entry], every: Sequence[Entry]) -> None:
    keys = {entry.key for entry in chosen}
    found = {one.key: one for key in keys for one in shelf.dependents(every, key)}
    made = [one for key, one in found.items() if key not in keys and not one.bundled]
    size = sum(entry.artefact.size for entry in chosen) / 1e6
    names = ", ".join(entry.name for entry in chosen)
    st.markdown(f"**{escaped(names)}**, {size:,.1f} MB, is removed for good.")
    if made:
        counts = Counter(KINDS[one.key.kind] for one in made)
        said = ", ".join(
            f"{count} {kind if count == 1 else PLURAL[kind]}" for kind, count in counts.items()
        )
        st.markdown(escaped(f"Made from it, directly or not: {said}."))
        st.dataframe(
            library.table(made, every)[["name", "kind", "what", "megabytes"]],
            hide_index=True, key="made from it", height=200,
            alt="What was made from the entries to be deleted",
        )  # fmt: skip
        st.caption(
            "Kept, they stay readable; what was made from data or an initial ranking that is gone "
            "can be neither opened query by query nor added to."
        )
    else:
        st.markdown("Nothing was made from it.")
    whole = bool(made) and st.toggle(f"Delete these {len(made)} too", key="with dependents")
    gone = [*made, *chosen] if whole else list(chosen)
    running = library.working(gone)
    if running:
        st.error(f"{running} job{' is' if running == 1 else 's are'} working on it: cancel first.")
    keep, remove = st.columns(2)
    if keep.button("Keep", width="stretch", key="keep"):
        st.rerun()
    if remove.button(
        f"Delete {len(gone)}", type="primary", key="delete now", width="stretch",
        disabled=bool(running), on_click=_delete, args=(gone,),
    ):  # fmt: skip
        st.rerun()


def _delete(gone: Sequence[Entry]) -> None:
    store = services.store()
    try:
        shelf.remove(store, gone)
        for entry in gone:
            if entry.key.kind == "data" and "fingerprint" in entry.artefact.facts:
                examination.forget(str(entry.artefact.facts["fingerprint"]), store)
    except ShuffleproofError as error:
        st.session_state["library errors"] = [str(error)]
    st.session_state["chosen"] = []
    if state.data() not in state.data_sets():
        st.session_state["data"] = SAMPLE
