"""The page about data: what it holds, what is wrong with it, and how more of it comes in."""

import streamlit as st

from shuffleproof.app import data_sets, services, state
from shuffleproof.app.figures import distributions
from shuffleproof.app.plain import escaped
from shuffleproof.app.views.data import browser as data_browser
from shuffleproof.app.views.data import manage as data_manage
from shuffleproof.app.views.data import upload as data_upload
from shuffleproof.core.data import examination
from shuffleproof.core.data.doctor import Finding
from shuffleproof.core.data.examination import Examination
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import jobs
from shuffleproof.core.studies.workbench import finished

QUESTION = "What is in this data, and what in it could mislead a study?"
TABS = ("Facts", "Queries", "Features", "Side by side", "Add data", "Manage")
ICONS = {
    "problem": ":material/error: :red[problem]",
    "warning": ":material/warning: :orange[warning]",
    "info": ":material/info: :gray[remark]",
}
CHART = {"displayModeBar": False}


def page() -> None:
    """Draw the page for the data set in use."""
    st.title("Data")
    st.markdown(QUESTION)
    tabs = st.tabs(TABS, key="view", bind="query-params")
    for tab, title in zip(tabs, TABS, strict=True):
        if tab.open:
            with tab:
                _explained(title)


def _explained(title: str) -> None:
    """One tab; what a user's data or store can cause is a sentence."""
    try:
        if title == "Add data":
            data_upload.section()
        elif title == "Side by side":
            data_manage.side_by_side(state.data_sets(), state.data())
        else:
            name = state.data()
            own = {
                "Facts": _facts,
                "Queries": data_browser.queries,
                "Features": data_browser.features,
                "Manage": data_manage.section,
            }
            own[title](name, services.data_set(name))
    except ShuffleproofError as error:
        st.error(escaped(str(error)))
        st.button("Try again", key="again")


def _facts(name: str, artefact: Artefact) -> None:
    found = data_sets.examined(artefact) or _examine(artefact)
    if found is None:
        return
    labels, lengths = data_sets.label_counts(found), data_sets.length_counts(found)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Labels**")
        alt = distributions.labels_alt(labels)
        st.plotly_chart(distributions.labels(labels), key="labels", config=CHART, alt=alt)
    with right:
        st.markdown("**Documents of a query**")
        alt = distributions.lengths_alt(lengths)
        st.plotly_chart(distributions.lengths(lengths), key="lengths", config=CHART, alt=alt)
    st.markdown(f"**{escaped(data_sets.headline(name, found))}**")
    _findings(found, list(artefact.facts["notes"]))
    with st.expander("Every fact"):
        words = data_sets.facts(artefact, found)
        st.dataframe({"fact": list(words), "value": list(words.values())}, hide_index=True)


def _examine(artefact: Artefact) -> Examination | None:
    """Examine a set that came in by another door: here and now, or in a job if it is large."""
    if artefact.size <= data_sets.AT_ONCE:
        with st.spinner("Examining the data …", show_time=True):
            return finished(examination.examined(artefact, services.store()))
    store = services.store()
    st.info(
        f"This data set has {artefact.size / 1e6:,.0f} MB and has not been examined: "
        "labels, list lengths, features and findings are counted in the background."
    )
    key = f"{artefact.key.kind}-{artefact.key.digest}"
    running = [
        job
        for job in jobs.jobs_of(store).list("waiting", "running")
        if job.kind == "examine" and job.parameters["artefact"] == key
    ]
    if running:
        st.fragment(_wait, run_every=1.0)(artefact)
    elif st.button("Examine it", type="primary"):
        job = jobs.submit(store, "examine", {"artefact": key})
        if job.state in {"failed", "cancelled"}:
            jobs.jobs_of(store).retry(job.id)
        jobs.ensure_running(store)
        st.rerun()
    return None


def _wait(artefact: Artefact) -> None:
    if data_sets.examined(artefact) is not None:
        st.rerun()
    st.progress(0.0, text="Examining …")


def _findings(found: Examination, notes: list[str]) -> None:
    st.subheader("What the doctor found")
    grave = [finding for finding in found.findings if finding.severity != "info"]
    remarks = [finding for finding in found.findings if finding.severity == "info"]
    if not grave:
        st.success("Nothing that could mislead a study.", icon=":material/check_circle:")
    for place, finding in enumerate(grave):
        _finding(finding, f"grave {place}")
    with st.expander(f"{len(remarks) + len(notes)} remarks"):
        for place, finding in enumerate(remarks):
            _finding(finding, f"remark {place}")
        for note in notes:
            st.markdown(f"{ICONS['info']} {escaped(note)}")


def _finding(finding: Finding, key: str) -> None:
    words, door = st.columns([5, 1], vertical_alignment="center")
    part = f"**{data_sets.WORDS[finding.part]}**: " if finding.part else ""
    where = "" if finding.queries or not finding.where else f" ({escaped(finding.where)})"
    words.markdown(f"{ICONS[finding.severity]} {part}{escaped(finding.message)}{where}")
    if finding.queries:
        door.button(
            f"{len(finding.queries):,} {'queries' if len(finding.queries) > 1 else 'query'}",
            key=key,
            on_click=data_browser.show_finding,
            args=(finding,),
            help="Show the queries behind this finding",
            width="stretch",
        )
