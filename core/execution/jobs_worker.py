"""The process of a job: it does one job of the table and ends.

A second thread tells the table twice a second how far the work is, and learns whether it is to be
cancelled; between two reports the work obeys, and where it does not the thread ends the process.
"""

import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from shuffleproof.core.errors import (
    JobError,
    MissingPackageError,
    ShuffleproofError,
    UnknownNameError,
)
from shuffleproof.core.execution import jobs_history
from shuffleproof.core.execution.jobs import folder_of, log_path
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.jobs_log import shorten
from shuffleproof.core.execution.this_job import THIS_JOB
from shuffleproof.core.numerals import finite
from shuffleproof.core.progress import Progress, run_to_end

TICK = 0.5
"""Seconds between two reports to the table."""

START_SECONDS = 5.0
"""Seconds in which whoever started this process notes it in the table."""

CANCEL_SECONDS = 2.0
"""What is cancelled has so long to stop by itself."""

STOPPED = "its process was stopped; it goes on from where it was"
OURS = "WHERE id = ? AND state = 'running' AND json_extract(lease, '$.process') = ?"
LOG = logging.getLogger("shuffleproof.jobs")


Work = Generator[Progress, None, Any]
Kind = Callable[[Path, Mapping[str, Any]], Work]
"""(root of the store, parameters) → reports, then a result of plain JSON values."""


class StopRequest(BaseException):
    """The machine asked this process to stop; the job waits for another."""


class CancelRequest(BaseException):
    """Somebody asked for the job to stop for good."""


class JobTakenError(Exception):
    """The job belongs to another process by now."""


class JobRow:
    """The row of this process's job in the table."""

    def __init__(self, root: Path, digest: str) -> None:
        """Name it.

        Args:
            root: the store's folder.
            digest: the job's id.
        """
        self.database = Database(folder_of(root) / "jobs.sqlite", create=False)
        self.digest = digest

    def work(self) -> tuple[str, dict[str, Any]]:
        """The kind and the parameters of the job.

        Raises:
            JobTakenError: it is not this process's job.
        """
        limit = time.monotonic() + START_SECONDS
        while True:
            with self.database.reading() as table:
                row = table.execute(
                    f"SELECT kind, parameters FROM job {OURS}", (self.digest, os.getpid())  # noqa: S608 (a constant)
                ).fetchone()  # fmt: skip
            if row is not None:
                return row[0], json.loads(row[1])
            if time.monotonic() > limit:
                raise JobTakenError(self.digest)
            time.sleep(0.05)

    def report(self, progress: Mapping[str, Any] | None) -> bool:
        """Tell how far the work is; returns whether it is to be cancelled.

        Raises:
            JobTakenError: it is not this process's job any more.
        """
        self._set("progress = coalesce(?, progress)", _json(progress), durable=False)
        with self.database.reading() as table:
            query = "SELECT cancel_wanted FROM job WHERE id = ?"
            return bool(table.execute(query, (self.digest,)).fetchone()[0])

    def finish(
        self,
        state: Literal["done", "failed", "cancelled"],
        result: Any = None,
        reason: str = "",
        progress: Mapping[str, Any] | None = None,
    ) -> None:
        """End the job.

        Raises:
            JobTakenError: it is not this process's job any more.
            TypeError: the result is no JSON.
        """
        text = _json(result, always=True) if state == "done" else None
        self._set(
            "state = ?, result = ?, reason = ?, progress = coalesce(?, progress), lease = NULL, "
            "cancel_wanted = 0, crashes = 0, finished = ?",
            state, text, reason, _json(progress), time.time(),
        )  # fmt: skip

    def give_back(self, reason: str) -> None:
        """Let the job wait again, or end it where it was cancelled.

        Raises:
            JobTakenError: it is not this process's job any more.
        """
        self._set(
            "state = iif(cancel_wanted, 'cancelled', 'waiting'), reason = ?, lease = NULL, "
            "finished = iif(cancel_wanted, ?, NULL), cancel_wanted = 0",
            reason, time.time(),
        )  # fmt: skip

    def _set(self, what: str, *values: Any, durable: bool = True) -> None:
        with self.database.transaction(durable=durable) as table:
            changed = table.execute(
                f"UPDATE job SET {what} {OURS}", (*values, self.digest, os.getpid())  # noqa: S608 (constants)
            )  # fmt: skip
            if not changed.rowcount:
                raise JobTakenError(self.digest)


class Ticker(Thread):
    """Tells the table how far the work is, and learns whether it is wanted any more."""

    def __init__(self, row: JobRow) -> None:
        """Start telling."""
        super().__init__(daemon=True, name="ticker")
        self.row = row
        self.latest: Progress | None = None
        folder = row.database.path.parent
        self.history = jobs_history.history_path(folder, row.digest)
        self.log = log_path(folder, row.digest)
        self.cancelled = Event()
        self._cancelled_at = 0.0
        self._ended = Event()
        self.start()

    def run(self) -> None:
        """Tell until `close`; a job that now belongs to another process ends this one."""
        while not self._ended.wait(TICK):
            try:
                shorten(self.log)
                if self.row.report(self.progress()):
                    self._cancel()
            except JobTakenError:
                if not self._ended.is_set():
                    die("this job was given to another process")
            except (JobError, OSError) as error:  # mere progress: the next report tells more
                LOG.warning("progress not stored: %s", error)

    def _cancel(self) -> None:
        """Let the work stop by itself, or end the process."""
        if not self.cancelled.is_set():
            self.cancelled.set()
            self._cancelled_at = time.monotonic()
        elif time.monotonic() - self._cancelled_at > CANCEL_SECONDS:
            self.row.finish("cancelled", progress=self.progress())
            die("cancelled, and did not stop by itself")

    def note(self, report: Progress) -> None:
        """Take a report; a whole unit's measured values go into the job's history at once."""
        self.latest = report
        if report.part or not report.values:
            return
        try:
            jobs_history.add(self.history, report)
        except OSError as error:  # the work itself is not harmed
            LOG.warning("history not stored: %s", error)

    def progress(self) -> dict[str, Any] | None:
        """The latest report as plain values."""
        last = self.latest
        if last is None:
            return None
        return {
            "done": last.done,
            "total": last.total,
            "unit": last.unit,
            "part": last.part,
            "values": dict(last.values),
            "spent": last.spent,
        }

    def close(self) -> None:
        """Stop telling."""
        self._ended.set()
        self.join()


def work(root: Path, digest: str, lock: int, kinds: Mapping[str, Kind]) -> bool:
    """Do one job to its end; returns whether this machine goes on, so that the next may start.

    Args:
        root: the store's folder.
        digest: the job's id.
        lock: the open file whose lock says that this process lives.
        kinds: what can be done, by name.
    """
    os.set_inheritable(lock, False)  # noqa: FBT003 (as Python's own)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    THIS_JOB.set(digest)
    row = JobRow(root, digest)
    try:
        kind, parameters = row.work()
        ticker = Ticker(row)
        try:
            _do(row, _work_of_kind(root, kind, parameters, kinds), ticker, stop)
        finally:
            ticker.close()
    except JobTakenError:
        LOG.warning("this job was given to another process")
    return not stop.is_set()


def _work_of_kind(
    root: Path, kind: str, parameters: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> Work:
    if kind not in kinds:
        raise UnknownNameError("kind of job", kind, kinds)
    return (yield from kinds[kind](root, parameters))


def _do(row: JobRow, work: Work, ticker: Ticker, stop: Event) -> None:
    """Run the work until it returns, fails or is not wanted any more, and tell how it ended."""

    def obey(report: Progress) -> None:
        ticker.note(report)
        if ticker.cancelled.is_set():
            raise CancelRequest
        if stop.is_set():
            raise StopRequest

    try:
        with closing(work):
            result = finite(run_to_end(work, obey))
        row.finish("done", result, progress=ticker.progress())
    except StopRequest:
        row.give_back(STOPPED)
    except CancelRequest:
        row.finish("cancelled", progress=ticker.progress())
    except ShuffleproofError as error:
        LOG.warning("failed: %s", error)
        row.finish("failed", reason=str(error), progress=ticker.progress())
    except JobTakenError:
        raise
    except Exception as error:
        LOG.exception("failed")
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        missing = MissingPackageError.of(error)
        reason = str(missing or f"{message} (a defect of ours; the job's log says where)")
        row.finish("failed", reason=reason, progress=ticker.progress())


def die(why: str) -> None:
    """End this process and all that it started, at once."""
    os.write(2, f"{why}\n".encode())
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _json(value: Any, *, always: bool = False) -> str | None:
    if value is None and not always:
        return None
    return json.dumps(finite(value), allow_nan=False)
