"""Side files of a stored data set: titles of its documents and texts of its queries."""

import streamlit as st

from shuffleproof.app import captions, received_files, services
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts
from shuffleproof.core.data import display_texts
from shuffleproof.core.data.display_texts import SHAPES
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.words import counted

DRAFT = "side files"
LABELS = {
    "documents": "Documents: docid, and title, url or snippet",
    "queries": "Queries: qid, text and, for slices, tag",
}


def section(name: str, artefact: Artefact) -> None:
    """Draw what is kept beside the data set, and how more of it comes in."""
    st.subheader("Texts of documents and queries", anchor=False)
    texts, fingerprint = captions.of(name), str(artefact.facts["fingerprint"])
    if texts is None:
        st.caption("None yet: pages call documents and queries by their ids.")
    else:
        sizes = [counted(len(getattr(texts, kind)), shape.of) for kind, shape in SHAPES.items()]
        st.markdown(f"Pages show texts of {' and '.join(sizes)}.")
        for note in texts.notes:
            st.caption(escaped(note))
    if services.fold(str(artefact.key)).train.doc_ids is None:
        st.info(
            "The documents of this data have no ids, so that only queries can be given texts. "
            "LETOR text names a document at the end of its line: # docid = …"
        )
    st.caption(
        "CSV, JSON lines or Parquet. Texts are shown and nothing else: no ranker reads them, and "
        "no study changes."
    )
    for kind in SHAPES:
        received_files.uploader(DRAFT, kind, LABELS[kind], "last")
    received_files.errors(DRAFT)
    for error in st.session_state.pop(f"{DRAFT} refused", []):
        parts.long_error(error)
    keep, remove = st.columns(2)
    keep.button(
        "Keep these texts", type="primary", width="stretch", on_click=_attach, args=(artefact,),
        disabled=not received_files.files_of_parts(DRAFT, *SHAPES),
    )  # fmt: skip
    remove.button(
        "Remove texts", width="stretch", disabled=texts is None, on_click=display_texts.forget,
        args=(fingerprint, services.store()),
    )  # fmt: skip


def _attach(artefact: Artefact) -> None:
    """Read what was chosen and keep it; a callback."""
    draft = received_files.draft(DRAFT)
    if draft is None:
        return
    try:
        files = [
            display_texts.read_side_file(draft.path(file), file.part)
            for file in draft.files(*SHAPES)
        ]
        display_texts.attach(artefact, services.store(), files)
    except ShuffleproofError as error:  # where the files lie for now is nobody's business
        words = str(error)
        for kind in SHAPES:
            words = words.replace(f"{draft.folder / kind}/", "")
        st.session_state[f"{DRAFT} refused"] = [words]
    else:
        received_files.clear(DRAFT)
