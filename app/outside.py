"""The doors of the page From outside: files on their way in, and what was made of earlier ones."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from shuffleproof.app import jobs, proposals, services
from shuffleproof.app.uploads import Draft
from shuffleproof.core import jobs as work
from shuffleproof.core.answers.trained import TrainedRanker
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.jobs import FILE, QRELS, RUNS
from shuffleproof.core.library import uploads
from shuffleproof.core.rankers.name import FILES
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.kinds.benchmark.study import KIND as BENCHMARK

RUNS_JOB, BRING_JOB = "runs", "bring"


def compare(draft: Draft, measures: Sequence[str]) -> Job:
    """Hand in runs with their judgments.

    Args:
        draft: with one file in `qrels` and one or more in `runs`.
        measures: the columns.

    Raises:
        ShuffleproofError: files are missing, or the table of jobs cannot be used.
    """
    (judgments,) = draft.files(QRELS)
    upload = draft.spooled(QRELS, RUNS)
    return _handed_in(
        RUNS_JOB, {"upload": upload, "name": judgments.name, "measures": list(measures)}
    )


def bring(draft: Draft, kind: str, data: str) -> Job:
    """Hand in a ranker's file.

    Args:
        draft: with one file in `file`.
        kind: scores, lightgbm or xgboost.
        data: the data set that it is brought to.

    Raises:
        ShuffleproofError: no file, or the table of jobs cannot be used.
    """
    (file,) = draft.files(FILE)
    upload = draft.spooled(FILE)
    name = f"{FILE}/{file.name}"
    return _handed_in(BRING_JOB, {"data": data, "kind": kind, "upload": upload, "file": name})


def _handed_in(kind: str, parameters: dict[str, Any]) -> Job:
    """What ended without a result runs again: its files are there."""
    uploads.clear(services.store(), work.jobs_of(services.store()))
    return jobs.submit(kind, parameters)


def comparisons() -> list[Artefact]:
    """The stored comparisons of runs, newest first."""
    root = services.store().root / "artefacts"
    return list(_comparisons(root.stat().st_mtime_ns if root.is_dir() else 0))


@st.cache_data(max_entries=4, show_spinner=False)
def _comparisons(now: int) -> list[Artefact]:
    """Manifests are read again only when something was stored or removed."""
    del now  # part of the memory's key alone
    found = [
        one
        for one in services.store().artefacts("study")
        if one.recipe["kind"] == BENCHMARK and is_of_runs(one.recipe)
    ]
    return sorted(found, key=lambda one: one.created, reverse=True)


def words(artefact: Artefact) -> str:
    """A comparison in a line."""
    day = datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")
    return (
        f"{day} · {counted(len(artefact.recipe['runs']), 'run')} · {artefact.facts['data']}, "
        f"{counted(artefact.facts['queries'], 'topic')}"
    )


def imported(data: str) -> list[TrainedRanker]:
    """The rankers that were brought to a data set, newest first."""
    return [ranker for ranker in proposals.trained(data) if ranker.name in FILES]


def counted(number: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "run"), counted(1200, "run")
    ('1 run', '1,200 runs')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
