"""The panel above a study's page: a waiting, running or just failed job, and first results."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import streamlit as st

from shuffleproof.app import pictures, proposals, services, state, training
from shuffleproof.app.figures.text import alt_text
from shuffleproof.app.jobs import act, job_progress, submit, table
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.app.study import parts
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.rankers.name import display_names
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.engine import RunningStudy, running_studies
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.sections import Picture, View
from shuffleproof.core.words import counted

EVERY_SECONDS = 1.0
"""Seconds between two drawings of a running job."""


def first_picture(study: RunningStudy) -> None:
    """Draw the first picture of a running study's results so far."""
    result = study.result(services.store())
    if result is None:
        return
    sections = study_kind(result.recipe).sections_module().sections(result, View())
    picture = next((one for one in sections if isinstance(one, Picture)), None)
    if picture is not None:
        figure = pictures.draw(picture)
        st.plotly_chart(figure, key="first results", alt=alt_text(figure))
    st.caption(f"First results: {counted(len(result.trials), 'trial')} so far.")


@dataclass(frozen=True)
class Panel:
    """Declaration of a page's job panel.

    Attributes:
        kind: kind of the jobs and of the studies.
        draw_partial: draws the first results of a running study.
        title: text before the progress of a job, to name it where the page shows other results.
    """

    kind: str
    draw_partial: Callable[[RunningStudy], None] = lambda _study: None
    title: Callable[[Job], str] = lambda _job: ""

    @property
    def session_key(self) -> str:
        """Session key of the submitted job."""
        return f"{self.kind} handed in"


def progress(panel: Panel, names: Collection[str]) -> bool:
    """Draw the waiting, running or just failed job; True if there is one.

    Args:
        panel: panel of the page.
        names: names of the data set in use in jobs (itself, or its folds).
    """
    jobs = _jobs(panel, names)
    _show_what_ended(panel, jobs)
    if any(not job.ended for job in jobs):
        st.fragment(_under_way, run_every=EVERY_SECONDS)(panel, tuple(names))
        return True
    if jobs and jobs[0].state == "failed":
        _failure(jobs[0])
        return True
    return False


def has_first_results(panel: Panel, names: Collection[str]) -> bool:
    """True if a running study of the page's kind, of this data, shows first results."""
    mine = {job.id for job in _jobs(panel, names) if not job.ended}
    return any(study.job in mine for study in running_studies(services.store(), panel.kind))


def offer(panel: Panel, label: str, help_: str, parameters: dict[str, Any]) -> None:
    """Draw the running or failed job; without one, a button that starts it.

    Args:
        panel: panel of the page.
        label: label of the button.
        help_: cost of the job.
        parameters: parameters of the job.
    """
    if progress(panel, (parameters["data"],)):
        return
    if st.button(label, icon=":material/playlist_add_check:", help=help_):
        with parts.errors_shown():
            submit(panel.kind, parameters)
            st.rerun()


def contrasting_in_words() -> str:
    """Names of the rankers that `examine_contrasting` trains."""
    return " and ".join(display_names(proposals.CONTRASTING).values())


def examine_contrasting(data: str) -> None:
    """Submit a study of a ranker that reads the input order and of one that does not.

    The study trains both.
    """
    preset, lists = proposals.for_training()
    rankers = [f"{ranker}@{preset}" for ranker in proposals.CONTRASTING]
    of_lists = training.list_options(data, lists) or None
    submit("invariance", {"data": data, "rankers": rankers, "lists": of_lists})


def hand_in(panel: Panel, parameters: dict[str, Any]) -> None:
    """Submit work and show it; errors appear next to the button."""
    with parts.errors_shown():
        st.session_state[panel.session_key] = submit(panel.kind, parameters).id
        st.rerun()


def _jobs(panel: Panel, names: Collection[str]) -> list[Job]:
    try:
        of_kind = [job for job in table().list() if job.kind == panel.kind]
    except ShuffleproofError:
        return []  # the form reports the error on submission
    shown = [job for job in of_kind if job.parameters["data"] in names]
    return sorted(shown, key=lambda job: (job.ended, -job.created))


def _under_way(panel: Panel, names: tuple[str, ...]) -> None:
    job = next((job for job in _jobs(panel, names) if not job.ended), None)
    if job is None:
        state.draw_again()  # it has ended: the page shows its result
        return
    reached = job_progress(job, table().history(job.id))
    waiting = job.state == "waiting"
    words = "Waiting for a free worker" if waiting else f"Running: {reached.words}"
    st.progress(reached.share, text=escaped_sentence(f"{panel.title(job)}{words}"))
    st.button("Cancel", key=f"cancel {job.id[:16]}", on_click=act, args=("cancel", job.id))
    if job.state != "running":
        return
    for study in running_studies(services.store(), panel.kind):
        if study.job == job.id:
            panel.draw_partial(study)


def _show_what_ended(panel: Panel, jobs: list[Job]) -> None:
    """Put the study of this session's finished job into the address, once."""
    mine = next((job for job in jobs if job.id == st.session_state.get(panel.session_key)), None)
    if mine is None or not mine.ended:
        return
    del st.session_state[panel.session_key]
    if mine.state == "done":
        kind, _, digest = str(mine.result["artefact"]).rpartition("-")
        st.query_params["study"] = str(ArtefactKey(kind, digest))


def _failure(job: Job) -> None:
    st.error(refusal(f"The last job failed: {job.reason or 'no reason was left.'}"))
    with st.container(horizontal=True):
        st.button("Try again", key="retry", on_click=act, args=("retry", job.id))
        st.button("Dismiss", key="forget", on_click=act, args=("forget", job.id))
    with st.expander("Output"):
        st.code(table().log(job.id) or "nothing", language=None)
