"""The job that the page From outside handed in: how far it is, what stopped it, its result."""

from collections.abc import Callable

import streamlit as st

from shuffleproof.app import jobs
from shuffleproof.app.plain import escaped
from shuffleproof.app.views.outside import files as outside_files
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job

EVERY_SECONDS = 1.0


def watch(own: str, done: Callable[[Job], None]) -> bool:
    """Draw the job that this session handed in last; whether it is still under way.

    Args:
        own: where the session remembers its id.
        done: draws what became of one that is done.
    """
    identifier = st.session_state.get(own)
    if identifier is None:
        return False
    try:
        job = jobs.table().get(identifier)
    except ShuffleproofError:  # it was removed from the list in another tab
        del st.session_state[own]
        return False
    if not job.ended:
        st.fragment(_running, run_every=EVERY_SECONDS)(identifier)
        return True
    if job.state == "done":
        done(job)
    elif job.state == "failed":
        st.error(escaped(f"Refused. {job.reason}"))
        st.caption("The files above are kept: take the one that is named out, or put another in.")
    else:
        st.info(escaped(f"{jobs.name(job)}: cancelled."))
    return False


def settle(own: str) -> None:
    """Forget the files of a job that is done, once; call it before they are drawn."""
    if f"{own} files" not in st.session_state or own not in st.session_state:
        return
    try:
        is_done = jobs.table().get(st.session_state[own]).state == "done"
    except ShuffleproofError:
        return
    if is_done:
        outside_files.clear(st.session_state.pop(f"{own} files"))


def hand_in(own: str, draft: str, job: Callable[[], Job]) -> None:
    """Hand work in and show it; what makes it impossible is said where the button is.

    Args:
        own: where the session remembers the job's id.
        draft: the name of its files' draft.
        job: hands it in.
    """
    try:
        st.session_state[own] = job().id
        st.session_state[f"{own} files"] = draft
    except (ShuffleproofError, OSError) as error:
        st.error(escaped(str(error)))
        return
    st.rerun()


def _running(identifier: str) -> None:
    try:
        job = jobs.table().get(identifier)
    except ShuffleproofError:
        st.rerun()
    if job.ended:
        st.rerun()
    told = jobs.far(job, jobs.table().history(identifier))
    st.progress(told.share, escaped(f"{jobs.name(job)}: {told.words}"))
    st.button("Cancel", key=f"cancel {identifier}", on_click=jobs.act, args=("cancel", identifier))
