"""The program of the processes that do jobs: `ROOT JOB LOCK`.

A job is done in its own process. Where SHUFFLEPROOF_EXECUTOR names an executor, its workers do the
trainings, trials and cells of the job; cancelling the job ends them.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core.execution import job_run
from shuffleproof.core.execution.early_end import EarlyEnd
from shuffleproof.core.execution.executor import configured
from shuffleproof.core.job_kinds import KINDS, Reports
from shuffleproof.core.jobs import start_waiting
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
    where = configured() if kind in BY_WORKERS else ""
    with workers_of(store, where):
        result = yield from KINDS[kind](store, **parameters)
    if where and isinstance(result, dict) and result.get("cached"):  # found here, but made for it
        return {**result, "cached": False}
    return result


def _work(kind: str) -> Callable[[Path, Mapping[str, Any]], job_run.Work]:
    def work(root: Path, parameters: Mapping[str, Any]) -> job_run.Work:
        return do_job(kind, store_at(root), parameters)

    return work


def main(arguments: Sequence[str]) -> int:
    """Do a job, then start the next one; returns the exit code."""
    root, digest, lock = arguments
    kinds = {name: _work(name) for name in KINDS}
    if job_run.run(Path(root), digest, int(lock), kinds):
        start_waiting(store_at(root))
    return 0


if __name__ == "__main__":
    end = EarlyEnd()
    end.status = main(sys.argv[1:])
