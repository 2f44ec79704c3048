"""The sidebar of all pages: data set in use, active jobs, ended jobs, links to pages.

Jobs are read every second while one is active, else every five seconds. When one ends, the page
is drawn again, with a toast.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode, urlsplit

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from shuffleproof.app import address, documentation, jobs, selection, services, state, study_access
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import parts
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.library import entries
from shuffleproof.core.rankers.name import number_names, with_display_names

SHOWN = 3
ADDING = ("data", "Add data")
"""Page and tab that report the end of an upload themselves."""
ICONS = {
    "done": ":material/check_circle:",
    "failed": ":material/error:",
    "cancelled": ":material/cancel:",
}


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        title: title in the navigation.
        path: path in the address; empty: the first page.
        draw: function that draws the page.
        about: purpose, in words that a user would search for.
        pins: names that its address and link always hold, besides the data set.
        docs: page of the documentation, without its ending.
    """

    title: str
    path: str
    draw: Callable[[], None]
    about: str
    pins: tuple[str, ...] = ()
    docs: str = "studies"


def draw(path: str = "") -> None:
    """Draw the top of the sidebar and toasts of ended jobs; call it once per run, before the page.

    Args:
        path: path of the current page, which may report some ends itself.
    """
    state.choose_data()
    selection.choose()
    for job in jobs.news():
        if job.kind != "ingest" or (path, *address.says("view")) != ADDING:
            st.toast(progress_words(job), icon=ICONS[job.state], duration="long")


def watch() -> None:
    """Draw the active jobs; call it after the links, which they would push down."""
    with st.sidebar:
        st.fragment(_watch, run_every=jobs.pace())()


def place() -> Literal["sidebar", "hidden"]:
    """Position of Streamlit's navigation: on phones in the sidebar, which a click then closes.

    Elsewhere it is hidden, and `navigation` draws the links below the top of the sidebar.
    """
    return "sidebar" if "Mobi" in (st.context.headers.get("User-Agent") or "") else "hidden"


def sections(areas: Mapping[str, Sequence[Page]], path: str) -> dict[str, list[StreamlitPage]]:
    """Pages by area, for `st.navigation`.

    On phones Streamlit draws the links: all pages of the current area, the first of other areas.

    Args:
        areas: pages by name of the area.
        path: path of the current page.
    """
    small = place() == "sidebar"
    drawn: dict[str, list[StreamlitPage]] = {}
    for area, pages in areas.items():
        inside = any(page.path == path for page in pages)
        drawn[area] = [
            st.Page(
                page.draw, title=page.title if inside or not small else area, url_path=page.path,
                default=not page.path,
                visibility="visible" if not small or inside or page is pages[0] else "hidden",
                icon=":material/chevron_right:" if small and inside else None,
            )
            for page in pages
        ]  # fmt: skip
    return {"": [page for pages in drawn.values() for page in pages]} if small else drawn


def shown_path(areas: Mapping[str, Sequence[Page]]) -> str:
    """Path of the current page; empty: the first page, also behind a proxy."""
    last = urlsplit(str(st.context.url or "")).path.rstrip("/").rpartition("/")[2]
    return last if any(page.path == last for pages in areas.values() for page in pages) else ""


def navigation(sections: Mapping[str, Sequence[StreamlitPage]], chosen: StreamlitPage) -> None:
    """Draw the links to all areas, and to all pages of the current area.

    On phones Streamlit draws the links.
    """
    if place() == "sidebar":
        return
    with st.sidebar.container(key="links", gap="xxsmall"):
        for heading, pages in sections.items():
            inside = len(pages) > 1 and chosen in pages
            if not inside:
                st.page_link(pages[0], label=heading, width="stretch")
                continue
            st.caption(heading)
            with st.container(key="links_inside", gap="xxsmall"):
                for page in pages:
                    st.page_link(page, width="stretch")


def buttons(topic: str) -> None:
    """Draw the buttons of the documentation, and of the page's study on a projector.

    Args:
        topic: page of the documentation.
    """
    with st.sidebar.container(horizontal=True):
        if st.button("Docs", icon=":material/menu_book:", type="tertiary"):
            documentation.show(topic)
        if st.button("Present", icon=":material/slideshow:", type="tertiary", shortcut="P"):
            study = address.says("study")[-1:]
            address.forget()
            st.switch_page(
                parts.page_at("present"), query_params={"study": study[0]} if study else None
            )


def search(pages: Mapping[str, Page]) -> None:
    """Draw the search for pages, data sets, rankers and studies, and open the chosen result.

    Args:
        pages: pages by path.
    """
    about = tuple((path, page.title, page.about) for path, page in pages.items())
    places = _search_targets(about, tuple(state.data_sets()))
    st.sidebar.selectbox(
        "Search", list(places), index=None, key="search", label_visibility="collapsed",
        placeholder="Search everything", on_change=_open_result,
    )  # fmt: skip
    if (wanted := st.session_state.pop(GO, None)) in places:
        path, query = places[wanted]
        st.switch_page(parts.page_at(path), query_params=query)


GO = "searched for"


def _open_result() -> None:
    """Store the chosen result, and empty the search box."""
    st.session_state[GO], st.session_state["search"] = st.session_state["search"], None


@services.until_stored()
def _search_targets(
    pages: Sequence[tuple[str, str, str]], data_sets: Sequence[str]
) -> dict[str, tuple[str, dict[str, str]]]:
    """Page and query parameters by name of the search result."""
    titles = {path: title for path, title, _ in pages}
    places: dict[str, tuple[str, dict[str, str]]] = {
        f"{title} · {about}": (path, {}) for path, title, about in pages if path
    }
    places |= {f"{name} · data set": ("data", {state.USE: name}) for name in data_sets}
    stored: list[tuple[str, str, dict[str, str]]] = []
    for ranker in services.artefacts("ranker"):
        name = str(ranker.facts.get("name") or ranker.recipe["ranker"]["name"])
        label = with_display_names(f"{name} · ranker, {entries.summary_of(ranker)}")
        stored.append((label, "library", {"chosen": str(ranker.key)}))
    for study in services.artefacts("study"):
        kind, data = str(study.recipe["kind"]), str(study.facts.get("data", ""))
        title = titles.get(kind, kind.replace("-", " ").capitalize())
        label = f"{title} on {data} · study of {study_access.day(study)}"
        stored.append((label, *study_access.place(study)))
    for label, (_, path, query) in zip(number_names(one[0] for one in stored), stored, strict=True):
        places[label] = (path, query)
    return places


def progress_words(job: Job) -> str:
    """Message about an ended job, as Markdown."""
    reason = f": {job.reason.partition(chr(10))[0]}" if job.state == "failed" else ""
    outcome = jobs.outcome(job, quality_first=True)  # a toast shows three lines
    name, result = escaped_sentence(jobs.name(job)), study_access.place_of_job(job)
    title = name if result is None else f"[{name}]({result[0]}?{urlencode(result[1])})"
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
        st.caption(f"and {len(active) - SHOWN} more, on the page Jobs")
