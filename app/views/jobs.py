"""The tab Jobs: everything running, waiting, finished and failed, with reason and log.

The table of jobs is in the store: a reload, another tab or a new server shows the same jobs.
"""

from datetime import UTC, datetime

import pandas as pd
import streamlit as st

from shuffleproof.app import jobs, services, state, study_access, uploads
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import parts
from shuffleproof.app.when import age_in_words
from shuffleproof.core.execution.executor import configured, executor
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.words import counted

QUESTION = "Which jobs are running, waiting or finished?"
SHOWN = 20
LOG_LINES, LOG_HEIGHT = 12, 300
HEADINGS = {
    "running": "Running",
    "waiting": "Waiting",
    "failed": "Failed",
    "done": "Finished",
    "cancelled": "Cancelled",
}
ICONS = {
    "running": ":material/play_arrow:",
    "waiting": ":material/hourglass_empty:",
    "failed": ":material/error:",
    "done": ":material/check_circle:",
    "cancelled": ":material/cancel:",
}


def page() -> None:
    """Draw the page."""
    parts.header("Jobs", QUESTION)
    every = st.toggle(
        "Of every data set", key="every", bind="query-params",
        help="Off: jobs of the current data set. Running and waiting jobs are always shown.",
    )  # fmt: skip
    _executor_line()
    data = None if every else state.data()
    st.fragment(_listed, run_every=jobs.pace())(data)


@parts.errors_shown()
def _executor_line() -> None:
    """Draw the configured executor of trainings, searches and studies, if there is one."""
    place = configured()
    if place:
        count = counted(executor(place).at_once, "worker")
        parts.note(f"Trainings, searches and studies run on {count} of {place}.")


def _listed(data: str | None) -> None:
    """Draw the jobs by state, repeatedly; ended jobs of one data set, or of all."""
    with parts.errors_shown():
        every = jobs.table().list()
        others = () if data is None else [name for name in state.data_sets() if name != data]
        listed = [job for job in every if not job.ended or _data(job) not in others]
        if not every:
            st.info(
                "No jobs yet. Trainings, studies and uploads appear here.", icon=":material/inbox:"
            )
        for heading in HEADINGS:
            of_state = [job for job in listed if job.state == heading]
            if of_state:
                _section(heading, of_state)
        if hidden := len(every) - len(listed):
            ended = counted(hidden, "ended job")
            parts.note(f"Hidden: {ended} of data sets other than {data}.")


def _data(job: Job) -> str:
    """Name of a job's data set."""
    return str(job.parameters.get("data") or job.parameters.get("name", ""))


def _section(heading: str, of_state: list[Job]) -> None:
    st.subheader(f"{HEADINGS[heading]} ({len(of_state)})")
    for job in of_state[:SHOWN]:
        _card(job)
    rest = len(of_state) - SHOWN
    if rest > 0:
        st.caption(f"and {rest:,} older ones; remove some to see them.")


def _card(job: Job) -> None:
    """Draw one job: name, progress or end, actions, details and log."""
    with st.container(border=True, key=f"job-{job.id[:16]}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{ICONS[job.state]} **{escaped_sentence(jobs.name(job))}**")
            for verb, label in _verbs(job):
                st.button(
                    label,
                    key=f"{verb} {job.id}",
                    on_click=jobs.press,
                    args=(verb, job.id),
                    disabled=verb == "cancel" and job.cancel_wanted,
                )
        if job.state == "running":
            how = jobs.job_progress(job, jobs.table().history(job.id))
            st.progress(how.share, escaped_sentence(how.words))
        else:
            parts.note(_state_in_words(job))
        if (result := study_access.place_of_job(job)) is not None:
            parts.link(result[0], "Open the result", query=result[1])
        if job.state == "failed":
            st.error(refusal(job.reason.partition("\n")[0] or "It gave no reason."))
        if _lost(job):
            st.caption("Its files are no longer stored: upload them again on the page Data.")
        more = st.expander(
            "Details and log",
            type="compact",
            key=f"log-{job.id[:8]}",
            on_change="rerun",
            bind="query-params",
        )
        if more.open:
            with more:
                _details(job)


def _state_in_words(job: Job) -> str:
    """State of a job that is not running, in one line."""
    if job.state == "waiting":
        return f"waiting · {job.reason}" if job.reason else "waiting"
    return f"{jobs.outcome(job)} · {age_in_words(job.finished)}"


def _verbs(job: Job) -> list[tuple[str, str]]:
    """Actions on a job: verb and label of each button."""
    if not job.ended:
        return [("cancel", "Cancel")]
    again = [("retry", "Try again")] if job.state != "done" and not _lost(job) else []
    return [*again, ("forget", "Remove")]


def _lost(job: Job) -> bool:
    """True if a job is an ingestion that cannot be retried, because its files are gone."""
    unfinished = job.kind == "ingest" and job.state in {"failed", "cancelled"}
    return unfinished and not uploads.has_stored_files(services.store(), job)


def _details(job: Job) -> None:
    """Draw parameters, times, result and log."""
    rows = {name: value for name, value in job.parameters.items() if value is not None}
    facts = {"job": job.id[:16], "kind": job.kind, "attempts": job.attempts} | rows
    for what, when in (("queued", job.created), ("started", job.started)):
        if when:
            clock = datetime.fromtimestamp(when, UTC).isoformat(" ", "seconds")
            facts[what] = clock.replace("+00:00", " UTC")
    facts |= {"result": job.result.get("artefact")} if isinstance(job.result, dict) else {}
    shown = pd.DataFrame({"what": list(facts), "value": [str(value) for value in facts.values()]})
    st.dataframe(shown, hide_index=True, alt="Parameters", key=f"facts {job.id[:16]}")
    if job.state == "failed" and "\n" in job.reason:
        st.code(job.reason, language=None, wrap_lines=True)
    log = jobs.table().log(job.id)
    st.markdown("**Log**")
    height = LOG_HEIGHT if log.count("\n") > LOG_LINES else None
    st.code(log or "It printed nothing.", language=None, height=height, wrap_lines=True)
