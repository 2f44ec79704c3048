"""The sidebar of all pages: data set in use, active jobs, ended jobs, links to pages.

Jobs are read every second while one is active, else every five seconds. When one ends, the page
is drawn again, with a toast.
"""

from collections.abc import Mapping
from functools import partial
from typing import Literal
from urllib.parse import unquote, urlencode, urlsplit

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from shuffleproof.app import address, documentation, jobs, selection, state, study_access, tabs
from shuffleproof.app.navigation import EVERY, NAVIGATION, Page, address_of, page_at
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job

SHOWN = 3
ADDING = ("data", "Add data")
"""Page and tab that report the end of an upload themselves."""
ICONS = {
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


def draw(path: str = "") -> None:
    """Draw the top of the sidebar and toasts of ended jobs; call it once per run, before the page.

    Args:
        path: path of the current page, which may report some ends itself.
    """
    state.choose_data()
    selection.choose()
    selection.draw_query()
    for job in jobs.news():
        if job.kind != "ingest" or (path, *address.says("view")) != ADDING:
            st.toast(progress_words(job), icon=ICONS[job.state], duration="long")


def watch() -> None:
    """Draw the active jobs; call it after the links, which they would push down."""
    with st.sidebar:
        st.fragment(_watch, run_every=jobs.pace())()


def place() -> Literal["sidebar", "hidden"]:
    """Position of Streamlit's navigation: on phones in the sidebar, which a click then closes.

    Elsewhere it is hidden, and `links` draws the links below the top of the sidebar.
    """
    return "sidebar" if "Mobi" in (st.context.headers.get("User-Agent") or "") else "hidden"


def shown_page() -> Page:
    """Page in the address, also behind a proxy; the search for an unknown one."""
    path = unquote(urlsplit(str(st.context.url or "")).path).strip("/ ")
    below = str(st.get_option("server.baseUrlPath")).strip("/")
    return page_at("" if path == below else path.rpartition("/")[2])


def pages(shown: Page) -> dict[str, StreamlitPage]:
    """All pages by path, for `st.navigation`, with the one shown, also where it is unknown."""
    return {
        path: st.Page(
            partial(tabs.draw, page), title=page.title, url_path=path, default=not path,
            visibility="visible" if page in NAVIGATION else "hidden",
        )
        for path, page in {**EVERY, shown.path: shown}.items()
    }  # fmt: skip


def links(pages: Mapping[str, StreamlitPage]) -> None:
    """Draw the links to all pages but the last, which a button opens.

    On phones Streamlit draws the links.
    """
    if place() == "hidden":
        with st.sidebar.container(key="links", gap="xxsmall"):
            for page in NAVIGATION[:-1]:
                st.page_link(pages[page.path], width="stretch")


def buttons(topic: str) -> None:
    """Draw the buttons of a presentation, of the page's study first, and of the documentation.

    Args:
        topic: page of the documentation.
    """
    with st.sidebar.container(key="buttons", horizontal=True):
        st.button(
            "Present", icon=":material/slideshow:", type="tertiary", shortcut="P",
            on_click=_present,
        )  # fmt: skip
        if st.button("Docs", icon=":material/menu_book:", type="tertiary"):
            documentation.show(topic)


def _present() -> None:
    """Open the presentation at the study of the page."""
    study = st.query_params.get("study")
    tabs.go("present", {"study": study} if study else None)


def search() -> None:
    """Draw the search box; it opens the page of results."""
    st.sidebar.text_input(
        "Search everything", key="search", label_visibility="collapsed",
        placeholder="Search everything", on_change=_search, icon=":material/search:",
    )  # fmt: skip


def _search() -> None:
    """Open the results, and empty the search box."""
    text, st.session_state["search"] = st.session_state["search"], ""
    if "for" in st.session_state:  # the page of results is open: its field is in the address
        st.session_state["for"] = text.strip()
    elif text.strip():
        tabs.go("search", {"for": text.strip()})


def progress_words(job: Job) -> str:
    """Message about an ended job, as Markdown."""
    reason = f": {job.reason.partition(chr(10))[0]}" if job.state == "failed" else ""
    outcome = jobs.outcome(job, quality_first=True)  # a toast shows three lines
    name, result = escaped_sentence(jobs.name(job)), study_access.place_of_job(job)
    title = name
    if result is not None:
        page, tab = address_of(result[0])
        title = f"[{name}]({page}?{urlencode(tab | result[1])})"
    return f"**{title}**  \n{escaped_sentence(outcome)}{refusal(reason)}"


def _watch() -> None:
    try:
        active, changed = jobs.active()
        if changed:
            state.draw_again()
        if not active:
            st.caption("No job is running.")
        for job in active[:SHOWN]:
            steps = jobs.table().history(job.id) if job.state == "running" else ()
            how = jobs.job_progress(job, steps)
            st.progress(
                how.share, f"{escaped_sentence(jobs.name(job))}  \n{escaped_sentence(how.words)}"
            )
    except ShuffleproofError as error:
        st.error(refusal(error))
        return
    if len(active) > SHOWN:
        st.caption(f"and {len(active) - SHOWN} more, in the library, tab Jobs")
