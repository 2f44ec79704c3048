"""The program of the processes that do jobs: `work ROOT JOB TOKEN`, `supervise ROOT IDLE_SECONDS`.

A job is done in its own process, or, where SHUFFLEPROOF_EXECUTOR names an executor, by workers
there: the process then asks them for what is missing, tells how far they are as if it were at work
itself, and makes the result of what lies in the store. Cancelling takes the question back.
"""

import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core import sharing
from shuffleproof.core.execution import jobs_supervisor, jobs_worker
from shuffleproof.core.execution.early_end import EarlyEnd
from shuffleproof.core.execution.executor import configured
from shuffleproof.core.job_kinds import KINDS, SHORT, Reports
from shuffleproof.core.jobs import WORKER
from shuffleproof.core.store.artefacts import Store, store_at
from shuffleproof.core.studies.registry import EVERY

LOG = logging.getLogger("shuffleproof.jobs")

SHARED = frozenset({"train", "tune", *EVERY})
"""Kinds whose trainings, trials and cells workers may make; the others are done where they are."""


def do_job(kind: str, store: Store, parameters: Mapping[str, Any]) -> Reports:
    """Do a job here, or let workers do what can be shared of it; result: as the kind has it.

    Raises:
        UsageError: the executor that is configured is none, or cannot be reached.
    """
    place, units = configured() if kind in SHARED else None, 0
    if place is not None:
        start = time.monotonic()
        LOG.info("asking %s for what is missing", place.where)
        reports = sharing.share_work(store, kind, parameters, place.where, workers=place.workers)
        failures, units = yield from reports
        for why in dict.fromkeys(failures):
            LOG.warning("a worker ended early: %s", why)
        parameters = sharing.afterwards(parameters, time.monotonic() - start)
    result = yield from KINDS[kind](store, **parameters)
    if units and isinstance(result, dict) and result.get("cached"):  # found here, but made for it
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
