"""The worker's side of the table: take a job, report, end it, or put back what a dead worker held.

A worker holds a job under a token, and every change it makes names that token: once the job was
given to somebody else, a worker that comes back late changes nothing. While it lives it also
holds the lock on a file named after the token, which the operating system releases with its last
breath; that is how others know that it is dead, whatever the clocks say.
"""

import fcntl
import json
import os
import platform
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.numerals import finite

PATIENCE = 20
"""A job is given up when the deaths in a row without getting any further weigh so much."""

KILLED = 1
"""Weight of a death from outside: by a person, a power cut, or the system short of memory."""

CRASHED = 4
"""Weight of a death that the work brought upon itself."""


class LeaseLostError(Exception):
    """The job belongs to somebody else by now, or was put back."""


@dataclass(frozen=True)
class HeldJob:
    """A running job as its supervisor sees it.

    Attributes:
        id: the job's digest.
        token: its worker's token.
        beat: rises as long as the worker is alive.
        cancel_wanted: somebody wants it to stop.
        attempts: how often it has been taken, this time included.
    """

    id: str
    token: str
    beat: int
    cancel_wanted: bool
    attempts: int


def claim(database: Database, token: str, kinds: Collection[str] = ()) -> HeldJob | None:
    """Take the waiting job that is next: highest priority, then handed in first.

    Args:
        database: of the jobs.
        token: who takes it.
        kinds: of jobs that may be taken; empty: all.
    """
    with database.transaction() as table:
        row = table.execute(
            "SELECT id, attempts FROM job WHERE state = 'waiting' "
            "AND (? = '[]' OR kind IN (SELECT value FROM json_each(?))) "
            "ORDER BY priority DESC, created LIMIT 1",
            (json.dumps(sorted(kinds)),) * 2,
        ).fetchone()
        if row is None:
            return None
        table.execute(
            "UPDATE job SET state = 'running', lease = ?, attempts = attempts + 1, reason = '', "
            "started = coalesce(started, ?) WHERE id = ?",
            (token, time.time(), row[0]),
        )
    return HeldJob(row[0], token, 0, cancel_wanted=False, attempts=row[1] + 1)


def any_waiting(database: Database) -> bool:
    """Whether any job waits for a worker."""
    with database.reading() as table:
        query = "SELECT EXISTS (SELECT 1 FROM job WHERE state = 'waiting')"
        return bool(table.execute(query).fetchone()[0])


def running_jobs(database: Database) -> list[HeldJob]:
    """Every running job."""
    with database.reading() as table:
        rows = table.execute(
            "SELECT id, lease, beat, cancel_wanted, attempts FROM job WHERE state = 'running'"
        ).fetchall()
    return [
        HeldJob(digest, token, beat, cancel_wanted=bool(cancel), attempts=attempts)
        for digest, token, beat, cancel, attempts in rows
    ]


def work_of(database: Database, digest: str, token: str) -> tuple[str, dict[str, Any]]:
    """The kind and the parameters of a job that this token holds.

    Raises:
        LeaseLostError: it does not hold the job.
    """
    with database.reading() as table:
        row = table.execute(
            "SELECT kind, parameters FROM job WHERE id = ? AND lease = ? AND state = 'running'",
            (digest, token),
        ).fetchone()
    if row is None:
        raise LeaseLostError(digest)
    return row[0], json.loads(row[1])


def report(database: Database, digest: str, token: str, progress: Mapping[str, Any] | None) -> bool:
    """Tell that the worker lives and how far it is; returns whether the job is to be cancelled.

    Raises:
        LeaseLostError: the token does not hold the job any more.
    """
    with database.transaction(durable=False) as table:
        changed = table.execute(
            "UPDATE job SET beat = beat + 1, progress = coalesce(?, progress) "
            "WHERE id = ? AND lease = ? AND state = 'running'",
            (_json(progress), digest, token),
        )
        if not changed.rowcount:
            raise LeaseLostError(digest)
        query = "SELECT cancel_wanted FROM job WHERE id = ?"
        return bool(table.execute(query, (digest,)).fetchone()[0])


@dataclass(frozen=True)
class JobEnding:
    """How a job ended.

    Attributes:
        state: done, failed or cancelled.
        result: what the work returned.
        reason: why it failed.
        progress: the last report.
    """

    state: Literal["done", "failed", "cancelled"]
    result: Any = None
    reason: str = ""
    progress: Mapping[str, Any] | None = None


def finish(database: Database, digest: str, token: str, ending: JobEnding) -> None:
    """End a job.

    Raises:
        LeaseLostError: the token does not hold the job any more.
        TypeError: the result is no JSON.
    """
    result = None if ending.state != "done" else _json(ending.result, always=True)
    with database.transaction() as table:
        changed = table.execute(
            "UPDATE job SET state = ?, result = ?, reason = ?, progress = coalesce(?, progress), "
            "lease = NULL, cancel_wanted = 0, crashes = 0, finished = ? "
            "WHERE id = ? AND lease = ? AND state = 'running'",
            (
                ending.state, result, ending.reason, _json(ending.progress), time.time(),
                digest, token,
            ),
        )  # fmt: skip
        if not changed.rowcount:
            raise LeaseLostError(digest)


def give_back(database: Database, held: HeldJob, reason: str) -> None:
    """Let a job wait again because its worker was asked to stop; no harm to the job."""
    with database.transaction() as table:
        table.execute(
            "UPDATE job SET state = CASE cancel_wanted WHEN 1 THEN 'cancelled' ELSE 'waiting' END, "
            "finished = CASE cancel_wanted WHEN 1 THEN ? END, "
            "reason = ?, lease = NULL, cancel_wanted = 0 "
            "WHERE id = ? AND lease = ? AND state = 'running'",
            (time.time(), reason, held.id, held.token),
        )


@dataclass(frozen=True)
class WorkerDeath:
    """How a worker ended.

    Attributes:
        how: in words, for people.
        weight: how much it speaks against the job, `KILLED` or `CRASHED`.
        log: the end of the job's log, part of the reason when the job is given up.
    """

    how: str
    weight: int = KILLED
    log: str = ""


def bury(database: Database, held: HeldJob, death: WorkerDeath) -> bool:
    """Settle a job whose worker is dead: cancelled if that was wanted, else it waits again.

    After 5 crashes or 20 kills in a row without any progress it has failed. Returns False where
    the worker had settled everything itself.
    """
    with database.transaction() as table:
        row = table.execute(
            "SELECT cancel_wanted, progress, furthest, crashes FROM job "
            "WHERE id = ? AND lease = ? AND state = 'running'",
            (held.id, held.token),
        ).fetchone()
        if row is None:
            return False
        further, furthest = _furthest_after(row[1], row[2])
        crashes = death.weight + (0 if further else row[3])
        ended: float | None = time.time()
        if row[0]:
            state, reason = "cancelled", ""
        elif crashes >= PATIENCE:
            heading = f"{death.how}, again and again at the same place; the end of its log:"
            state, reason = "failed", f"{heading}\n{death.log}"
        else:
            state, reason, ended = "waiting", f"{death.how}; it goes on from where it was", None
        table.execute(
            "UPDATE job SET state = ?, reason = ?, furthest = ?, crashes = ?, finished = ?, "
            "lease = NULL, cancel_wanted = 0 WHERE id = ?",
            (state, reason, furthest, crashes, ended, held.id),
        )
    return True


def _furthest_after(progress: str | None, furthest: str) -> tuple[bool, str]:
    """Whether the last report goes beyond all before, and the new record by unit."""
    record = json.loads(furthest)
    if progress is None:
        return False, furthest
    last = json.loads(progress)
    further = last["done"] > record.get(last["unit"], -1)
    if further:
        record[last["unit"]] = last["done"]
    return further, json.dumps(record)


@contextmanager
def identity(folder: Path, token: str) -> Iterator[None]:
    """Be the worker of this token: hold its lock, with the process's id and host in the file."""
    path = _identity_path(folder, token)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        json.dump({"pid": os.getpid(), "host": platform.node()}, file)
        file.flush()
        yield


def kill_if_alive(folder: Path, token: str) -> bool:
    """Whether a worker is dead; one that lives on this host without its supervisor is killed."""
    path = _identity_path(folder, token)
    try:
        file = path.open("r")
    except FileNotFoundError:
        return True
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with suppress(ValueError, ProcessLookupError, PermissionError):
                owner = json.load(file)
                if owner["host"] == platform.node():
                    os.killpg(owner["pid"], signal.SIGKILL)
            return False
    path.unlink(missing_ok=True)
    return True


def forget_identity(folder: Path, token: str) -> None:
    """Remove the file of a worker that is known to be dead."""
    _identity_path(folder, token).unlink(missing_ok=True)


def _identity_path(folder: Path, token: str) -> Path:
    return folder / "workers" / token


def _json(value: Any, *, always: bool = False) -> str | None:
    if value is None and not always:
        return None
    return json.dumps(finite(value), allow_nan=False)
