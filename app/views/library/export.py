"""Taking chosen entries along, with all that they need, as one archive."""

import shlex
from collections.abc import Sequence

import streamlit as st

from shuffleproof.app import jobs, library, services
from shuffleproof.app.plain import escaped
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.studies import jobs_library
from shuffleproof.core.studies.library.entries import Entry

KIND = "library-export"
LARGEST = 500_000_000
"""Bytes of an archive up to which the browser is handed it; larger ones stay where they lie."""


def section(chosen: Sequence[Entry]) -> None:
    """Draw what goes along, how large it is, and how to get it."""
    whole = library.taken_along(chosen)
    size = sum(entry.artefact.size for entry in whole)
    names = ", ".join(dict.fromkeys(entry.name for entry in whole))
    st.markdown(
        escaped(f"{len(whole)} entries with all that they need, at most {size / 1e6:,.1f} MB:")
    )
    st.caption(escaped(names))
    keys = [str(entry.key) for entry in chosen]
    if size <= library.AT_ONCE:
        st.download_button(
            "Archive (zip)", lambda: library.archive_of(chosen),
            file_name="shuffleproof-library.zip", mime="application/zip", on_click="ignore",
            key="library archive", width="stretch",
        )  # fmt: skip
    else:
        _by_job(keys)
    st.caption("Another machine reads it below this page's table, or on the command line:")
    st.code(
        f"shuffleproof library export library.zip {shlex.join(keys)}\n"
        "shuffleproof library import library.zip", language="bash", wrap_lines=True,
    )  # fmt: skip


def _by_job(keys: list[str]) -> None:
    """A large archive is written outside the web process."""
    store = services.store()
    out = jobs_library.exported(store, keys)
    try:
        found = [job for job in jobs.table().list() if job.kind == KIND
                 and job.parameters["keys"] == keys]  # fmt: skip
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        return
    job = found[0] if found else None
    if job is not None and not job.ended:
        st.progress(jobs.far(job).share, escaped(f"Writing it: {jobs.far(job).words}"))
        return
    if job is not None and job.state == "done" and out.is_file():
        size = out.stat().st_size
        st.caption(escaped(f"Written: {out}, {size / 1e6:,.1f} MB"))
        if size <= LARGEST:
            st.download_button(
                "Archive (zip)", out.read_bytes, file_name=out.name, mime="application/zip",
                on_click="ignore", key="library archive", width="stretch",
            )  # fmt: skip
        return
    if job is not None and job.state == "failed":
        st.error(escaped(f"It could not be written: {job.reason}"))
    if st.button("Write the archive", key="write archive", width="stretch"):
        _hand_in(keys)


def _hand_in(keys: list[str]) -> None:
    try:
        job = jobs.submit(KIND, {"keys": keys})
        if job.state == "done":  # its file was removed since
            jobs.act("retry", job.id)
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        return
    st.rerun()
