"""The process of a job: it does one job of the table and ends.

A second thread writes the latest report to the table twice a second. SIGTERM asks the work to stop
at its next report: the job is then cancelled if that was wanted, else it waits for another process.
"""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread
from typing import Any

from shuffleproof.core.errors import (
    JobError,
    MissingPackageError,
    ShuffleproofError,
    UnknownNameError,
)
from shuffleproof.core.execution.jobs import Jobs, shorten, transaction
from shuffleproof.core.numerals import finite
from shuffleproof.core.progress import Progress

SECONDS = 0.5
"""Between two reports to the table."""

STOPPED = "its process was stopped; it goes on from where it was"
LOG = logging.getLogger("shuffleproof.jobs")

Work = Generator[Progress, None, Any]
Kind = Callable[[Path, Mapping[str, Any]], Work]
"""(root of the store, parameters) → reports, then a result of plain JSON values."""


class JobRun:
    """One running job of this process.

    Attributes:
        latest: report of the work.
    """

    def __init__(self, root: Path, digest: str) -> None:
        """Name it.

        Args:
            root: the store's folder.
            digest: the job's id.
        """
        self.jobs, self.digest = Jobs(root), digest
        self.latest: Progress | None = None
        self._ended = Event()

    def watch(self) -> Thread:
        """Start the thread that writes reports."""
        thread = Thread(target=self._watch, daemon=True, name="reports")
        thread.start()
        return thread

    def _watch(self) -> None:
        while not self._ended.wait(SECONDS):
            try:
                shorten(self.jobs.log_path(self.digest))
                self.set()
            except (JobError, OSError) as error:  # mere progress: the next report tells more
                LOG.warning("progress not stored: %s", error)

    def note(self, report: Progress) -> None:
        """Take a report; measured values of a whole unit go into the job's history at once."""
        self.latest = report
        if report.values and not report.part:
            try:
                self.jobs.add_step(self.digest, report)
            except OSError as error:  # the work itself is not harmed
                LOG.warning("history not stored: %s", error)

    def set(self, what: str = "", *values: Any) -> str:
        """Write the latest report, and other columns, to the row of the job; returns its state."""
        progress = None if self.latest is None else _json(asdict(self.latest))
        with transaction(self.jobs.folder, create=False) as table:
            row = table.execute(
                f"UPDATE job SET progress = coalesce(?, progress){what} "  # noqa: S608 (constants)
                "WHERE id = ? AND state = 'running' RETURNING state",
                (progress, *values, self.digest),
            ).fetchone()
        return str(row[0]) if row else ""

    def finish(self, state: str, result: Any = None, reason: str = "") -> str:
        """End the job: `done` with a result, `failed` with a reason."""
        self._ended.set()
        return self.set(
            ", state = ?, result = ?, reason = ?, lease = NULL, cancel_wanted = 0, crashes = 0, "
            "finished = ?", state, _json(result) if state == "done" else None, reason, time.time(),
        )  # fmt: skip

    def stop(self) -> str:
        """End the job as cancelled if that was wanted; else let it wait."""
        self._ended.set()
        return self.set(
            ", state = iif(cancel_wanted, 'cancelled', 'waiting'), lease = NULL, "
            "reason = iif(cancel_wanted, '', ?), finished = iif(cancel_wanted, ?, NULL), "
            "cancel_wanted = 0", STOPPED, time.time(),
        )  # fmt: skip


def run(root: Path, digest: str, lock: int, kinds: Mapping[str, Kind]) -> bool:
    """Run one job to its end; returns True where the next may start.

    Args:
        root: the store's folder.
        digest: the job's id.
        lock: the open file whose lock says that this process lives.
        kinds: of jobs, by name.
    """
    os.set_inheritable(lock, False)  # noqa: FBT003 (as Python's own)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    job_run = JobRun(root, digest)
    job = job_run.jobs.get(digest)  # which waits until the process that started this one noted it
    if job.state != "running":
        return False
    thread = job_run.watch()
    try:
        state = _work(job_run, job.kind, job.parameters, kinds, stop)
    finally:
        thread.join(2 * SECONDS)
    os.close(lock)  # so that this job too can be started again, by the caller's look
    return state != "waiting"


def _work(
    job_run: JobRun, kind: str, parameters: Mapping[str, Any], kinds: Mapping[str, Kind],
    stop: Event,
) -> str:  # fmt: skip
    """Do the work until it returns, fails or is to stop; returns the job's new state."""
    try:
        if kind not in kinds:
            raise UnknownNameError("kind of job", kind, kinds)  # noqa: TRY301 (written down as any error)
        with closing(kinds[kind](job_run.jobs.root, parameters)) as work:
            while not stop.is_set():
                try:
                    job_run.note(next(work))
                except StopIteration as end:
                    return job_run.finish("done", end.value)
        return job_run.stop()
    except ShuffleproofError as error:
        LOG.warning("failed: %s", error)
        return job_run.finish("failed", reason=str(error))
    except Exception as error:
        LOG.exception("failed")
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        missing = MissingPackageError.of(error)
        reason = str(missing or f"{message} (a defect of ours; the job's log says where)")
        return job_run.finish("failed", reason=reason)


def _json(value: Any) -> str:
    return json.dumps(finite(value), allow_nan=False)
