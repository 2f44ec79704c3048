"""A worker: one process that does one job of the table and ends.

Its supervisor starts it in a process group of its own, gives it the job and a token, reads what
it prints and holds its stdin open. A second thread tells the table twice a second how far the
work is and learns whether it is to be cancelled; between two reports the work obeys.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from shuffleproof.core.errors import JobError, ShuffleproofError, UnknownNameError
from shuffleproof.core.execution import jobs_history
from shuffleproof.core.execution import jobs_lease as lease
from shuffleproof.core.execution.jobs import folder_of
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.this_job import THIS_JOB
from shuffleproof.core.numerals import finite
from shuffleproof.core.progress import Progress, run_to_end

TICK = 0.5
"""Seconds between two reports to the table."""

STOPPED = "its worker was stopped; it goes on from where it was"
LOG = logging.getLogger("shuffleproof.jobs")


Work = Generator[Progress, None, Any]
Kind = Callable[[Path, Mapping[str, Any]], Work]
"""(root of the store, parameters) → reports, then a result of plain JSON values."""


class StopRequest(BaseException):
    """The supervisor asked this worker to stop; the job waits for another."""


class CancelRequest(BaseException):
    """Somebody asked for the job to stop for good."""


class Ticker(Thread):
    """Tells the table how far the work is, and learns whether it is wanted any more."""

    def __init__(self, database: Database, digest: str, token: str) -> None:
        """Start telling."""
        super().__init__(daemon=True, name="ticker")
        self.database, self.digest, self.token = database, digest, token
        self.latest: Progress | None = None
        self.history = jobs_history.history_path(database.path.parent, digest)
        self.cancelled = Event()
        self._ended = Event()
        self.start()

    def run(self) -> None:
        """Tell until `close`; a job that now belongs to somebody else ends the process."""
        while not self._ended.wait(TICK):
            try:
                if lease.report(self.database, self.digest, self.token, self.progress()):
                    self.cancelled.set()
            except lease.LeaseLostError:
                if not self._ended.is_set():
                    die("this job was given to another worker")
            except JobError as error:  # mere progress: the next report tells more
                LOG.warning("progress not stored: %s", error)

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


def work(root: Path, digest: str, token: str, kinds: Mapping[str, Kind]) -> int:
    """Do one job to its end; returns the exit code of the process.

    Args:
        root: the store's folder.
        digest: the job's id.
        token: under which the supervisor took it.
        kinds: what can be done, by name.
    """
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    Thread(target=_die_with_supervisor, daemon=True, name="supervisor").start()
    THIS_JOB.set(digest)
    database = Database(folder_of(root) / "jobs.sqlite", create=False)
    with lease.identity(folder_of(root), token):
        try:
            kind, parameters = lease.work_of(database, digest, token)
            ticker = Ticker(database, digest, token)
            try:
                ending = _ending(_work_of_kind(root, kind, parameters, kinds), ticker, stop)
            finally:
                ticker.close()
            lease.finish(database, digest, token, ending)
        except StopRequest:
            job = lease.HeldJob(digest, token, 0, cancel_wanted=False, attempts=0)
            lease.give_back(database, job, STOPPED)
        except lease.LeaseLostError:
            LOG.warning("this job was given to another worker")
    return 0


def _work_of_kind(
    root: Path, kind: str, parameters: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> Work:
    if kind not in kinds:
        raise UnknownNameError("kind of job", kind, kinds)
    return (yield from kinds[kind](root, parameters))


def _ending(work: Work, ticker: Ticker, stop: Event) -> lease.JobEnding:
    """Run the work until it returns, fails or is not wanted any more."""
    try:
        result = finite(_result(work, ticker, stop))
        return lease.JobEnding("done", result, progress=ticker.progress())
    except CancelRequest:
        return lease.JobEnding("cancelled", progress=ticker.progress())
    except ShuffleproofError as error:
        LOG.warning("failed: %s", error)
        return lease.JobEnding("failed", reason=str(error), progress=ticker.progress())
    except Exception as error:
        LOG.exception("failed")
        message = f"{type(error).__name__}: {error}".rstrip(": ")
        reason = f"{message} (a defect of ours; the job's log says where)"
        return lease.JobEnding("failed", reason=reason, progress=ticker.progress())


def _result(work: Work, ticker: Ticker, stop: Event) -> Any:
    def obey(report: Progress) -> None:
        ticker.note(report)
        if ticker.cancelled.is_set():
            raise CancelRequest
        if stop.is_set():
            raise StopRequest

    with closing(work):
        return run_to_end(work, obey)


def _die_with_supervisor() -> None:
    """Wait for the end of stdin, which is the end of the supervisor, and end with it."""
    while os.read(0, 64):
        pass
    die("the supervisor is gone")


def die(why: str) -> None:
    """End this process and all that it started, at once."""
    with suppress(OSError):  # the reader of the log may be gone
        os.write(2, f"{why}\n".encode())
    os.killpg(os.getpgid(0), signal.SIGKILL)
