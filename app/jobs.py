"""Jobs for pages: description, progress, remaining time, end.

The sidebar of every page and the pages Train and Jobs read the table of jobs through this module.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import services, state, uploads
from shuffleproof.app.plain import escaped_sentence, refusal
from shuffleproof.core import jobs as work
from shuffleproof.core import tuning
from shuffleproof.core.errors import JobError, ShuffleproofError
from shuffleproof.core.execution.jobs import Job, Jobs, Step
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import DOCUMENTS_AT_ONCE
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.studies.registry import EVERY
from shuffleproof.core.words import duration

FAST, SLOW = 1.0, 5.0
"""Seconds between two readings of the table: with active jobs, and without."""

SEEN = "jobs under way"
UPLOADS = "upload jobs"
"""Session key of the submitted uploads; only this session is notified of their ends."""

RECENT_STEPS = 10

COUNTED = ("epochs", "trees", "steps", "rounds")
"""Units of a ranker's training; the preparation of its lists has other units."""


def table() -> Jobs:
    """Table of the store's jobs."""
    return work.jobs_of(services.store())


def under_way() -> tuple[Job, ...]:
    """Running jobs, then waiting jobs in their order of execution."""
    return table().list("running", "waiting")


def jobs_reading(keys: Iterable[ArtefactKey]) -> int:
    """Number of active jobs that read one of these data sets; 0 if jobs are unreadable."""
    names = {f"{key.kind}-{key.digest}" for key in keys}
    try:
        pinned = [str(job.parameters.get("pinned") or "").split(",") for job in under_way()]
    except ShuffleproofError:
        return 0
    return sum(not names.isdisjoint(each) for each in pinned)


def pace() -> float:
    """Seconds until a page should read the table again."""
    return FAST if st.session_state.get(SEEN) else SLOW


def submit(kind: str, parameters: dict[str, Any]) -> Job:
    """Submit work and start it; a failed or cancelled job is tried again.

    Raises:
        ShuffleproofError: the work is impossible, or the table cannot be used.
    """
    job = work.submit(services.store(), kind, parameters)
    if job.state in {"failed", "cancelled"}:
        job = table().retry(job.id)
    if not job.ended:
        st.session_state[SEEN] = frozenset(st.session_state.get(SEEN, ())) | {job.id}
        work.start_waiting(services.store())
    return job


def resubmit(kind: str, parameters: dict[str, Any]) -> Job:
    """Submit work and run it again if it is done already: its result may be gone.

    Raises:
        ShuffleproofError: the work is impossible, or the table cannot be used.
    """
    job = submit(kind, parameters)
    if job.state == "done":
        act("retry", job.id)
    return job


def remembered_job(own: str) -> Job | None:
    """Job that the session stores under a name; None if there is none or it was removed."""
    identifier = st.session_state.get(own)
    try:
        return None if identifier is None else table().get(identifier)
    except ShuffleproofError:  # it was removed from the list in another tab
        del st.session_state[own]
        return None


def follow(own: str, done: Callable[[Job], None], hint: str = "") -> None:
    """Draw the state of a job that the session stores.

    Args:
        own: session key of the job.
        done: draws its result.
        hint: advice for a failed job.
    """
    job = remembered_job(own)
    if job is None:
        return
    if not job.ended:
        watch(job, name(job))
    elif job.state == "done":
        done(job)
    elif job.state == "failed":
        st.error(refusal(f"Refused. {job.reason}"))
        st.caption(hint)
    else:
        st.info(escaped_sentence(f"{name(job)}: cancelled."))


def watch(job: Job, words: str) -> None:
    """Draw the progress of a job every second; the page runs again at its end."""
    st.fragment(_running, run_every=FAST)(job.id, words)


def _running(identifier: str, words: str) -> None:
    try:
        job = table().get(identifier)
    except ShuffleproofError:
        state.draw_again()
        return
    if job.ended:
        state.draw_again()
        return
    how = job_progress(job, table().history(identifier))
    st.progress(how.share, escaped_sentence(f"{words}: {how.words}"))
    st.button("Cancel", key=f"cancel {identifier}", on_click=act, args=("cancel", identifier))


def active() -> tuple[tuple[Job, ...], bool]:
    """Active jobs, and True if they have changed since the last call of `news`.

    Starts a process for waiting work without one, for example after a power cut.

    Raises:
        JobError: the table cannot be used, or no process can be started.
    """
    jobs = under_way()
    if jobs:
        work.start_waiting(services.store())
    return jobs, _ids(jobs) != st.session_state.get(SEEN)


def _ids(found: Iterable[Job]) -> frozenset[str]:
    return frozenset(job.id for job in found)


def news() -> list[Job]:
    """Jobs that ended since the last call; none if the table cannot be read."""
    before = frozenset(st.session_state.get(SEEN, ()))
    ended = []
    with suppress(JobError):  # the sidebar shows the error
        st.session_state[SEEN] = now = _ids(under_way())
        for identifier in sorted(before - now):
            with suppress(JobError):  # it was removed from the list in another tab
                ended.append(table().get(identifier))
    mine = st.session_state.get(UPLOADS, {})
    return [job for job in ended if job.ended and (job.kind != "ingest" or job.id in mine)]


def name(job: Job) -> str:
    """Description of a job, in a few words.

    >>> name(Job("0", "train", {"data": "mq2008", "ranker": "dlcm", "preset": "tuned"}))
    'Train dlcm@tuned on mq2008'
    """
    given = job.parameters
    if job.kind == "train":
        return f"Train {recipe(job)} on {given['data']}"
    if job.kind == "ingest":
        return f"Import {given['name']}"
    if job.kind == "library-import":
        return f"Import {given.get('name', 'from the library')}"
    if job.kind in {"runs", "reranks"}:
        what = "Compare runs by" if job.kind == "runs" else "Examine the answers"
        return f"{what} {given['name']}"
    if job.kind == "bring":
        return f"Bring {str(given.get('file', 'a file')).rpartition('/')[2]} to {given['data']}"
    rankers = ", ".join(given.get("rankers", ())) or str(given.get("ranker", ""))
    what = (EVERY[job.kind].doing if job.kind in EVERY else "") or job.kind.replace("-", " ")
    judging = f"Ask {given.get('judge', 'a judge')}"
    what = {"doctor": "Examine", "tune": "Tune", "judge": judging}.get(job.kind, what)
    subject = f"{what} {rankers}" if rankers else what.removesuffix(" of").removesuffix(" for")
    return f"{subject} on {given['data']}"


def ranker(job: Job) -> str:
    """Ranker of a training job, without its preset."""
    return RankerName.of(str(job.parameters["ranker"])).base


def recipe(job: Job) -> str:
    """Recipe of a training job: ranker, preset, and changes.

    >>> recipe(Job("0", "train", {"ranker": "dlcm@small", "changes": {"seed": "3"}}))
    'dlcm@small seed=3'
    """
    given = job.parameters
    named = str(RankerName.of(str(given["ranker"])).at(given.get("preset") or ""))
    changes = [f"{field}={value}" for field, value in (given.get("changes") or {}).items()]
    initial = (given.get("lists") or {}).get("initial")
    changes += [f"on {', '.join(initial)}"] if initial else []
    return " ".join((named, *changes))


def tuned_preset(job: Job) -> str:
    """Preset that a search makes.

    >>> tuned_preset(Job("0", "tune", {"ranker": "mart", "data": "mq2008", "name": None}))
    'mart@tuned_mq2008'
    """
    given = job.parameters
    return f"{ranker(job)}@{given['name'] or tuning.name_for(given['data'])}"


@dataclass(frozen=True)
class JobProgress:
    """Progress of a job: a share from 0 to 1, in words, and seconds left if known."""

    share: float
    words: str
    seconds: float | None = None


def job_progress(job: Job, steps: Sequence[Step] = ()) -> JobProgress:
    """Progress of a running or waiting job; its history gives the remaining time.

    >>> told = {"done": 3, "total": 30, "unit": "epochs"}
    >>> job_progress(Job("0", "train", {}, state="running", progress=told))
    JobProgress(share=0.1, words='3 of at most 30 epochs', seconds=None)
    >>> job_progress(Job("0", "train", {}, state="running", progress=told, attempts=2)).words
    'attempt 2 · 3 of at most 30 epochs'
    >>> timed = told | {"unit": "trials", "spent": 0.5}
    >>> job_progress(Job("0", "tune", {}, state="running", progress=timed))
    JobProgress(share=0.5, words='3 trials, 50 % of the time budget', seconds=None)
    """
    if job.state == "waiting":
        return JobProgress(0.0, "waiting" + (f": {job.reason}" if job.reason else ""))
    if job.cancel_wanted:
        return JobProgress(_share(job), "stopping")
    again = [f"attempt {job.attempts}"] if job.attempts > 1 else []
    if job.progress is None:
        return JobProgress(0.0, " · ".join(["starting", *again]))
    progress = job.progress
    words, values = [*again, _far(job)], progress.get("values") or {}
    if values.get("lists_per_second"):
        words.append(f"{values['lists_per_second']:,.0f} lists/s")
    if values.get(DOCUMENTS_AT_ONCE):
        words.append(f"memory holds {values[DOCUMENTS_AT_ONCE]:,.0f} documents at once")
    seconds = _seconds_left(progress, steps)
    if seconds is not None:
        words.append(f"at most {duration(seconds)} more")
    return JobProgress(_share(job), " · ".join(words), seconds)


def _far(job: Job) -> str:
    """Finished units out of all; of a search with a time limit, the share of time."""
    report = _report(job)
    if report.spent is not None:
        return f"{report.done:,} {report.unit}, {report.spent_in_words()}"
    if report.unit == "bytes":
        return f"{report.done / 1e6:,.1f} of {report.total / 1e6:,.1f} MB"
    return f"{report.done:,} of at most {report.total:,} {report.unit}"


def _seconds_left(progress: Mapping[str, Any], steps: Sequence[Step]) -> float | None:
    """Remaining seconds at the current pace; None: too early, or a time limit ends the job."""
    if progress.get("spent") is not None:
        return None
    values, part = progress.get("values") or {}, progress.get("part", 0.0)
    seconds = remaining_seconds(steps, str(progress["unit"]), part)
    if seconds is None and values.get("epoch_seconds"):  # too few steps: use the reported pace
        return float((progress["total"] - progress["done"] - part) * values["epoch_seconds"])
    return seconds


def _share(job: Job) -> float:
    return _report(job).share


def _report(job: Job) -> Progress:
    """Latest report of a job, without its values."""
    given = job.progress or {"done": 0, "total": 1, "unit": ""}
    part, spent = given.get("part", 0.0), given.get("spent")
    return Progress(given["done"], given["total"], str(given["unit"]), part=part, spent=spent)


def remaining_seconds(steps: Sequence[Step], unit: str, part: float = 0.0) -> float | None:
    """Seconds to the last step at the median pace of recent steps; None: too early.

    `part` in [0, 1) is the finished share of the next step.

    >>> remaining_seconds([Step(1, 9, "epochs", 10.0, {}), Step(2, 9, "epochs", 12.0, {})],
    ...     "epochs")
    14.0
    """
    latest = [step for step in steps if step.unit == unit][-RECENT_STEPS - 1 :]
    if len(latest) < 2:
        return None
    # The median ignores pauses: a restarted job, a validation, a busy machine.
    paces = [
        (after.at - before.at) / max(1, after.done - before.done)
        for before, after in pairwise(latest)
    ]
    return max(0.0, (latest[-1].total - latest[-1].done - part) * median(paces))


def took(job: Job) -> float | None:
    """Seconds from the first start to the end, or to now; None if it never started."""
    if job.started is None:
        return None
    return max(0.0, (job.finished or time.time()) - job.started)


def outcome(job: Job, *, quality_first: bool = False) -> str:
    """End of a job, in a sentence without its reason.

    Args:
        job: an ended job.
        quality_first: True to put the measure of a training before its time.

    >>> outcome(Job("0", "train", {}, state="cancelled"))
    'cancelled'
    """
    words, seconds = [str(job.state)], took(job)
    if seconds is not None:
        words[0] += f" {'in' if job.state == 'done' else 'after'} {duration(seconds)}"
    result = job.result if isinstance(job.result, dict) else {}
    valid = (result.get("valid") or {}).get("NDCG@10")
    if valid is not None:
        words.insert(0 if quality_first else 1, f"validation NDCG@10 {valid:.3f}")
    if result.get("cached"):
        words.append("found in the store")
    return " · ".join(words)


def curve(steps: Iterable[Step]) -> pd.DataFrame:
    """Measurements of a training, one row per epoch or tree.

    Columns done, loss, valid (NDCG@10), valid_loss, lists_per_second. A recipe that selects by
    validation loss reports the negative loss as `valid`, so that larger is better.
    """
    names = ["loss", "valid", "lists_per_second"]
    rows = [[step.done, *map(step.values.get, names)] for step in steps if step.unit in COUNTED]
    frame = pd.DataFrame(rows, columns=["done", *names]).astype(float)
    is_loss = frame["valid"] < 0
    frame.insert(3, "valid_loss", -frame["valid"].where(is_loss))
    return frame.assign(valid=frame["valid"].mask(is_loss))


def press(verb: str, identifier: str) -> None:
    """Handle the button of an action, as `act` does; an error becomes a toast."""
    try:
        if verb == "forget":
            job = table().get(identifier)
            if job.kind == "ingest":
                uploads.discard(services.store(), job)
        act(verb, identifier)
    except ShuffleproofError as error:
        st.toast(refusal(error), icon=":material/error:")


def act(verb: str, identifier: str) -> None:
    """Cancel, retry or forget a job.

    Raises:
        JobError: no such job, it has not ended (forget), or no process can be started.
    """
    jobs = table()
    {"cancel": jobs.cancel, "retry": jobs.retry, "forget": jobs.forget}[verb](identifier)
    if verb == "retry":
        st.session_state[SEEN] = frozenset(st.session_state.get(SEEN, ())) | {identifier}
        work.start_waiting(services.store())
