"""The sidebar on every page: the data set in use, jobs under way, news of ends, then the pages.

The jobs are looked at every second while there are any, else every five; when one ends, the page
is drawn again and a toast says so.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from shuffleproof.app import jobs, state
from shuffleproof.app.plain import escaped
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job

SHOWN = 3
ICONS = {
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def draw() -> None:
    """Draw the head of the sidebar; call it once a run, before the page."""
    state.choose_data()
    for job in jobs.news():
        st.toast(progress_words(job), icon=ICONS[job.state], duration="long")
    with st.sidebar:
        st.fragment(_watch, run_every=jobs.pace())()


def place() -> Literal["sidebar", "hidden"]:
    """Where Streamlit draws the navigation: on telephones in the sidebar, which it then closes.

    Elsewhere `navigation` draws it below the head, which many pages would push out of sight.
    """
    return "sidebar" if "Mobi" in (st.context.headers.get("User-Agent") or "") else "hidden"


def navigation(sections: Mapping[str, Sequence[StreamlitPage]]) -> None:
    """Draw the links to the pages, by heading, unless Streamlit does."""
    if place() == "sidebar":
        return
    for heading, pages in sections.items():
        with st.sidebar.container(gap="xxsmall"):
            st.caption(heading)
            for page in pages:
                st.page_link(page, width="stretch")


def progress_words(job: Job) -> str:
    """The news that a job ended, as Markdown."""
    reason = job.reason.partition("\n")[0]
    ending = jobs.outcome(job) + (f": {reason}" if job.state == "failed" else "")
    return f"**{escaped(jobs.name(job))}**  \n{escaped(ending)}"


def _watch() -> None:
    try:
        active, changed = jobs.looked()
        if changed:
            st.rerun()
        if not active:
            st.caption("No job is running.")
        for job in active[:SHOWN]:
            steps = jobs.table().history(job.id) if job.state == "running" else ()
            how = jobs.far(job, steps)
            st.progress(how.share, f"{escaped(jobs.name(job))}  \n{escaped(how.words)}")
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        return
    if len(active) > SHOWN:
        st.caption(f"and {len(active) - SHOWN} more, on the page Jobs")
