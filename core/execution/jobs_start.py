"""Processes of jobs: whoever looks at the table starts the next waiting one, a process each.

A process holds the lock on a file from before its first line until it dies, whatever kills it; so
others see whether it lives, whatever the clocks say. A job whose process is gone waits again and
goes on from where it was. When a process ends its job it starts the next one.
"""

import fcntl
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

from shuffleproof.core.execution.jobs import folder_of, log_path
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.jobs_log import shorten, tail
from shuffleproof.core.execution.jobs_slots import Slot, slots

PATIENCE = 10
"""A job is given up when so many of its processes in a row died without getting any further."""

CANCEL_SECONDS = 4.0
"""What is cancelled has so long to end by itself before whoever looks ends it."""

REASON_BYTES = 2000
HOME = Path(__file__).resolve().parents[2]
"""The folder that holds `core` and `app`: processes start there, where no stranger's files lie."""


class _Running(NamedTuple):
    """A running job, as the table has it."""

    id: str
    lease: str
    cancel_wanted: float
    progress: str | None
    furthest: str
    crashes: int

    @property
    def process(self) -> tuple[int, str]:
        """The id of its process, and the slot that it runs in."""
        with suppress(ValueError, TypeError, KeyError):  # of an earlier version
            values = json.loads(self.lease)
            return int(values["process"]), str(values["slot"])
        return 0, ""


def start_waiting(
    root: Path,
    command: Sequence[str],
    places: Sequence[Slot] | None = None,
    short: Collection[str] = (),
) -> None:
    """Settle the jobs whose process is gone, and start waiting ones where there is room.

    Args:
        root: the store's folder.
        command: starts a process; root, job and the number of its lock are added to it.
        places: where jobs may run; by default as many as suit the machine.
        short: kinds of jobs that have a slot of their own, so that they wait for no long one.

    Raises:
        JobError: the table of jobs cannot be used.
    """  # fmt: skip
    folder = folder_of(root)
    places = slots(short=short) if places is None else places
    with Database(folder / "jobs.sqlite").transaction() as table:
        query = f"SELECT {', '.join(_Running._fields)} FROM job WHERE state = 'running'"  # noqa: S608 (constants)
        taken = set()
        for running in map(_Running._make, table.execute(query).fetchall()):
            if _is_free(folder, running.id):
                _settle(table, running, folder)
                continue
            process, place = running.process
            taken.add(place)
            if running.cancel_wanted and time.time() - running.cancel_wanted > CANCEL_SECONDS:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process, signal.SIGKILL)  # the next look settles it
        for slot in places:
            if slot.name not in taken:
                _start_next(table, slot, root.resolve(), command)


def _start_next(table: sqlite3.Connection, slot: Slot, root: Path, command: Sequence[str]) -> None:
    """Start the next job that a free slot takes: highest priority, then handed in first."""
    kinds = json.dumps(sorted(slot.kinds))
    row = table.execute(
        "SELECT id, attempts FROM job WHERE state = 'waiting' "
        "AND (? = '[]' OR kind IN (SELECT value FROM json_each(?))) "
        "ORDER BY priority DESC, created LIMIT 1",
        (kinds, kinds),
    ).fetchone()
    if row is None:
        return
    digest, attempts = row
    with _lock(folder_of(root), digest) as lock:
        if lock is None:  # its last process is about to end
            return
        log = log_path(folder_of(root), digest)
        log.parent.mkdir(parents=True, exist_ok=True)
        shorten(log)
        clock = datetime.now().astimezone().isoformat(timespec="seconds")
        with log.open("a", encoding="utf-8") as file:
            file.write(f"[{clock} attempt {attempts + 1}, {slot.name}]\n")
            file.flush()
            process = subprocess.Popen(
                [*command, str(root), digest, str(lock)],
                env=os.environ | slot.environment,
                cwd=HOME,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                pass_fds=[lock],
            )
    Thread(target=process.wait, daemon=True, name=f"end of job {digest}").start()
    table.execute(
        "UPDATE job SET state = 'running', lease = ?, attempts = attempts + 1, reason = '', "
        "cancel_wanted = 0, started = coalesce(started, ?) WHERE id = ?",
        (json.dumps({"process": process.pid, "slot": slot.name}), time.time(), digest),
    )


def _settle(table: sqlite3.Connection, running: _Running, folder: Path) -> None:
    """Settle a job whose process is dead: cancelled if that was wanted, else it waits again."""
    further, furthest = _furthest_after(running.progress, running.furthest)
    crashes = 1 + (0 if further else running.crashes)
    ended: float | None = time.time()
    if running.cancel_wanted:
        state, reason = "cancelled", ""
    elif crashes >= PATIENCE:
        log = tail(log_path(folder, running.id), REASON_BYTES)
        state = "failed"
        reason = f"its process died {crashes} times at the same place; the end of its log:\n{log}"
    else:
        state, reason, ended = "waiting", "its process died; it goes on from where it was", None
    table.execute(
        "UPDATE job SET state = ?, reason = ?, furthest = ?, crashes = ?, finished = ?, "
        "lease = NULL, cancel_wanted = 0 WHERE id = ?",
        (state, reason, furthest, crashes, ended, running.id),
    )


def _furthest_after(progress: str | None, furthest: str) -> tuple[bool, str]:
    """Whether the last report goes beyond all before, and the new record by unit."""
    record: dict[str, Any] = json.loads(furthest)
    if progress is None:
        return False, furthest
    last = json.loads(progress)
    further = last["done"] > record.get(last["unit"], -1)
    if further:
        record[last["unit"]] = last["done"]
    return further, json.dumps(record)


@contextmanager
def _lock(folder: Path, digest: str) -> Iterator[int | None]:
    """Hold the lock of a job's process; None: it lives. A child that is given it holds it on."""
    path = folder / "workers" / f"{digest}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
        else:
            yield file.fileno()


def _is_free(folder: Path, digest: str) -> bool:
    with _lock(folder, digest) as lock:
        return lock is not None
