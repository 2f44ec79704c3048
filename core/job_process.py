"""The program of the processes that do jobs: `work ROOT JOB TOKEN`, `supervise ROOT IDLE_SECONDS`.

A job is done in its own process. Where SHUFFLEPROOF_EXECUTOR names an executor, its workers do the
trainings, trials and cells of the job; cancelling the job ends them.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core.execution import jobs_supervisor, jobs_worker
from shuffleproof.core.execution.early_end import EarlyEnd
from shuffleproof.core.execution.executor import configured
from shuffleproof.core.job_kinds import KINDS, SHORT, Reports
from shuffleproof.core.jobs import WORKER
from shuffleproof.core.store.artefacts import Store, store_at
from shuffleproof.core.studies.registry import EVERY
from shuffleproof.core.workers import workers_of

BY_WORKERS = frozenset({"train", "tune", *EVERY})
"""Kinds whose trainings, trials and cells workers may do."""


def do_job(kind: str, store: Store, parameters: Mapping[str, Any]) -> Reports:
    """Do a job; workers do its tasks where an executor is configured; result: as the kind has it.

    Raises:
        UsageError: the executor that is configured is none, or cannot be reached.
    """
    place = configured() if kind in BY_WORKERS else None
    where, count = (place.where, place.workers) if place else (None, None)
    with workers_of(store, where, count):
        result = yield from KINDS[kind](store, **parameters)
    if place and isinstance(result, dict) and result.get("cached"):  # found here, but made for it
        return {**result, "cached": False}
    return result


def _work(kind: str) -> Callable[[Path, Mapping[str, Any]], jobs_worker.Work]:
    def work(root: Path, parameters: Mapping[str, Any]) -> jobs_worker.Work:
        return do_job(kind, store_at(root), parameters)

    return work


def main(arguments: Sequence[str]) -> int:
    """Be a worker or a supervisor; returns the exit code."""
    role, root, *rest = arguments
    if role == "work":
        kinds = {name: _work(name) for name in KINDS}
        return jobs_worker.work(Path(root), rest[0], rest[1], kinds)
    jobs_supervisor.supervise(Path(root), WORKER, idle_seconds=float(rest[0]), short=SHORT)
    return 0


if __name__ == "__main__":
    end = EarlyEnd()
    end.status = main(sys.argv[1:])
