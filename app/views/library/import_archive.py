"""Bringing an archive in: spooled to the store as it arrives, checked and unpacked by a job."""

import streamlit as st

from shuffleproof.app import jobs, received, services
from shuffleproof.app.plain import escaped
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.studies.library import uploads

KIND = "library-import"
MINE, TURN = "archive handed in", "archive turn"
EVERY_SECONDS = 1.0


def section() -> None:
    """Draw the uploader and what became of the last archive."""
    with st.expander("Bring in an archive", icon=":material/unarchive:", expanded=_active()):
        st.markdown(
            "A file that a library exported, here or elsewhere. Every file in it must have the "
            "digest that its manifest says, and every key must follow from its recipe, or the "
            "archive is refused as a whole; what is here already is kept. What comes in says from "
            "which archive it came."
        )
        _watch()
        turn = st.session_state.get(TURN, 0)
        file = st.file_uploader(
            "Archive (zip)", type=["zip"], key=f"archive {turn}", max_upload_size=received.limit()
        )
        if file is not None:
            _hand_in(file.name, file)
        st.caption("Larger ones: `shuffleproof library import archive.zip`")


def _active() -> bool:
    return MINE in st.session_state


def _hand_in(name: str, file: uploads.Readable) -> None:
    """Spool the file, hand it in, and let go of its bytes."""
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1
    try:
        upload = uploads.spooled(services.store(), [(name, file)])
        job = jobs.submit(KIND, {"upload": upload, "name": name})
        if job.state == "done":  # it may have been deleted since
            jobs.act("retry", job.id)
    except ShuffleproofError as error:
        st.session_state["library errors"] = [str(error)]
    else:
        st.session_state[MINE] = job.id
    st.rerun()


def _watch() -> None:
    identifier = st.session_state.get(MINE)
    if identifier is None:
        return
    try:
        job = jobs.table().get(identifier)
    except ShuffleproofError:  # it was removed from the list in another tab
        del st.session_state[MINE]
        return
    if job.ended:
        _ended(job)
    else:
        st.fragment(_running, run_every=EVERY_SECONDS)(identifier)


def _running(identifier: str) -> None:
    try:
        job = jobs.table().get(identifier)
    except ShuffleproofError:
        st.rerun()
    if job.ended:
        st.rerun()
    told = jobs.far(job)
    st.progress(told.share, escaped(f"Taking in {job.parameters['name']}: {told.words}"))
    st.button("Cancel", key="cancel archive", on_click=jobs.act, args=("cancel", identifier))


def _ended(job: Job) -> None:
    name = str(job.parameters["name"])
    if job.state == "done":
        count = len(job.result["artefacts"])
        st.success(escaped(f"{name}: {count} entr{'y' if count == 1 else 'ies'} taken in."))
    elif job.state == "failed":
        st.error(escaped(f"Refused. {job.reason}"))
    else:
        st.info(escaped(f"{name}: cancelled."))
