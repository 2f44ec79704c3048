"""Jobs: long work in a process of its own, and the table that lists it.

One SQLite file in the store holds all jobs and outlives every process. The id of a job is the
digest of its work, so identical work is one job. Every reader of the table starts the next
waiting job. The process of a job holds the lock of a file until it dies, whatever kills it; a job
whose lock is free waits again and goes on from where it was.
"""

import fcntl
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Any, Literal, get_args
from urllib.parse import quote

from shuffleproof.core.errors import JobError, ParameterError, UnknownNameError
from shuffleproof.core.execution.machine import THREADS, cores, gpus
from shuffleproof.core.numerals import finite
from shuffleproof.core.progress import Progress

State = Literal["waiting", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
ENDED = ("done", "failed", "cancelled")

TIMEOUT = 10.0
"""Seconds to wait while another process writes to the table."""

DEATHS = 10
"""Deaths in a row without further progress after which a job has failed."""

CANCEL_SECONDS = 4.0
"""Time for a cancelled process to end before the next look kills it."""

CORES_A_JOB = 4
THIS_JOB = "SHUFFLEPROOF_JOB"
"""The variable that holds the id of a job in its process."""

LOG_BYTES, REASON_BYTES = 1 << 20, 2000
DROPPED = "[earlier lines were dropped]\n"
HOME = Path(__file__).resolve().parents[2]
"""The folder that holds `core` and `app`. Processes start there, away from the user's files."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS job (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    parameters TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    progress TEXT,
    result TEXT,
    reason TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    started REAL,
    finished REAL,
    lease TEXT,
    beat INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    furthest TEXT NOT NULL DEFAULT '{}'
)
"""
# cancel_wanted: time of the request · lease: process and place · beat: of an earlier version ·
# crashes: deaths in a row without further progress · furthest: most done, by unit.

COLUMNS = (
    "id", "kind", "parameters", "state", "progress", "result", "reason", "attempts",
    "cancel_wanted", "created", "started", "finished",
)  # fmt: skip
SELECT = f"SELECT {', '.join(COLUMNS)} FROM job"  # noqa: S608 (constants above)
ORDER = (
    "CASE state WHEN 'running' THEN 0 WHEN 'waiting' THEN 1 ELSE 2 END, "
    "CASE state WHEN 'running' THEN started WHEN 'waiting' THEN created ELSE -finished END"
)


@dataclass(frozen=True)
class Job:
    """One job as it stood when it was read.

    Attributes:
        id: 64 hexadecimal digits, the digest of kind and parameters.
        kind: a name of the table of kinds.
        parameters: of the work, plain JSON values.
        state: waiting, running, done, failed or cancelled.
        progress: the last report: `done`, `total`, `unit`, `values`; None before the first.
        result: of the work, plain JSON values.
        reason: why it failed, or why it waits again.
        attempts: number of processes that began it.
        cancel_wanted: it is to be stopped and has not stopped yet.
        created: when it was handed in, seconds since 1970.
        started: when a process first began it.
        finished: when it was done, failed or cancelled.
    """

    id: str
    kind: str
    parameters: Mapping[str, Any]
    state: State = "waiting"
    progress: Mapping[str, Any] | None = None
    result: Any = None
    reason: str = ""
    attempts: int = 0
    cancel_wanted: bool = False
    created: float = field(default=0.0, compare=False)
    started: float | None = field(default=None, compare=False)
    finished: float | None = field(default=None, compare=False)

    @property
    def ended(self) -> bool:
        """True if it does not continue unless it is tried again."""
        return self.state in ENDED


@dataclass(frozen=True)
class Step:
    """One report with measured values.

    Attributes:
        done: finished units.
        total: of units at most.
        unit: epochs, trees, trials.
        at: when it was reported, seconds since 1970.
        values: by name; None is what JSON has for NaN and infinity.
    """

    done: int
    total: int
    unit: str
    at: float
    values: Mapping[str, float | None]


@dataclass(frozen=True)
class Place:
    """Room for one job at a time: a GPU, or a share of the cores.

    Attributes:
        name: `gpu 0`, `cpu 1`, `short`.
        environment: of a process that is started there, over this one's own.
        kinds: kinds of its jobs; empty: all.
    """

    name: str
    environment: Mapping[str, str]
    kinds: frozenset[str] = frozenset()


def places(number: int | None = None, short: Collection[str] = ()) -> tuple[Place, ...]:
    """The places of this machine.

    Args:
        number: of places; by default one a GPU, or one for every four cores where there is none.
        short: kinds of jobs that take seconds; they have one place more, where no long job is.
    """
    devices = gpus()
    count = number or len(devices) or max(1, cores() // CORES_A_JOB)
    threads = dict.fromkeys(THREADS, str(max(1, cores() // count)))
    usual = {"OMP_WAIT_POLICY": "passive", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    made = []
    for at in range(count):
        device = devices[at % len(devices)] if devices else ""
        of_device = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": device}
        name = f"gpu {device}" if device else f"cpu {at}"
        made.append(Place(name, usual | threads | (of_device if device else {})))
    return (*made, *([Place("short", made[0].environment, frozenset(short))] if short else ()))


def job_id(kind: str, parameters: Mapping[str, Any]) -> str:
    """The digest of a job's work.

    Raises:
        ParameterError: the parameters hold something that JSON cannot say.

    >>> job_id("train", {"b": 1, "a": 2}) == job_id("train", {"a": 2, "b": 1})
    True
    """
    try:
        work = {"kind": kind, "parameters": dict(parameters)}
        text = json.dumps(work, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError("a job's parameters", str(error), "plain finite JSON values") from None
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def transaction(folder: Path, *, create: bool = True) -> Iterator[sqlite3.Connection]:
    """A connection to the table of jobs whose changes happen together or not at all.

    Args:
        folder: of the jobs of a store.
        create: make the table where there is none.

    Raises:
        JobError: the file cannot be used.
    """
    path = folder / "jobs.sqlite"
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
        name = f"file:{quote(str(path))}?mode={'rwc' if create else 'rw'}"
        opened = sqlite3.connect(name, timeout=TIMEOUT, isolation_level=None, uri=True)
        with closing(opened) as connection:
            with suppress(sqlite3.OperationalError):  # another process is doing so
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                connection.execute(SCHEMA)
                yield connection
    except (sqlite3.Error, OSError) as error:
        if "locked" in str(error):
            finding = f"another process has kept the jobs locked for {TIMEOUT:.0f} seconds"
            raise JobError(str(path), finding, "Try again.") from error
        remedy = (
            "Free space and allow writing. Or rename the file: a new one is created, and "
            "trained rankers and results stay."
        )
        raise JobError(str(path), f"the file of jobs cannot be used ({error})", remedy) from error


class Jobs:
    """The jobs of a store. Every call opens the table again: any thread, any process may call."""

    def __init__(self, root: Path, kinds: Collection[str] | None = None) -> None:
        """Look at the jobs of the store at `root`.

        Args:
            root: the store's folder.
            kinds: the kinds that may be handed in; any by default.
        """
        self.root, self.folder, self.kinds = root, root / "jobs", kinds

    def submit(self, kind: str, parameters: Mapping[str, Any]) -> Job:
        """Hand in work, or find the job that does the same, whatever its state.

        Raises:
            UnknownNameError: no such kind.
            ParameterError: the parameters are no JSON.
            JobError: the table cannot be used.
        """
        if self.kinds is not None and kind not in self.kinds:
            raise UnknownNameError("kind of job", kind, self.kinds)
        digest = job_id(kind, parameters)
        text = json.dumps(dict(parameters), sort_keys=True, allow_nan=False)
        self._change(
            "INSERT OR IGNORE INTO job (id, kind, parameters, created, state) "
            "VALUES (?, ?, ?, ?, 'waiting')", digest, kind, text, time.time(),
        )  # fmt: skip
        return self.get(digest)

    def get(self, identifier: str) -> Job:
        """The job of this id, or of an unambiguous start of it.

        Raises:
            JobError: there is no such job, or several.
        """
        found = self._jobs(
            f"{SELECT} WHERE substr(id, 1, ?) = ? LIMIT 2", len(identifier), identifier
        )
        if len(found) == 1 and identifier:
            return found[0]
        finding = "could be several jobs" if found else "no such job"
        raise JobError(f"job {identifier[:64]!r}", finding, "`Jobs.list` tells all ids.")

    def list(self, *states: State) -> tuple[Job, ...]:
        """The jobs in these states (all by default): running, waiting as they will run, newest."""
        chosen = states or STATES
        marks = ", ".join("?" * len(chosen))
        return self._jobs(f"{SELECT} WHERE state IN ({marks}) ORDER BY {ORDER}", *chosen)

    def cancel(self, identifier: str) -> Job:
        """Stop a job: one that waits at once, one that runs within seconds, by force if need be."""
        digest = self.get(identifier).id
        with transaction(self.folder) as table:
            table.execute(
                "UPDATE job SET state = 'cancelled', reason = '', finished = ? "
                "WHERE id = ? AND state = 'waiting'", (time.time(), digest),
            )  # fmt: skip
            table.execute(
                "UPDATE job SET cancel_wanted = ? WHERE id = ? AND state = 'running' "
                "AND NOT cancel_wanted", (time.time(), digest),
            )  # fmt: skip
            row = table.execute("SELECT state, lease FROM job WHERE id = ?", (digest,)).fetchone()
            if row is not None and row[0] == "running" and not self._is_dead(digest):
                _send(signal.SIGTERM, row[1])
        return self.get(digest)

    def retry(self, identifier: str) -> Job:
        """Let an ended job wait again; it continues from its finished parts."""
        digest = self.get(identifier).id
        self._change(
            "UPDATE job SET state = 'waiting', reason = '', result = NULL, progress = NULL, "
            "furthest = '{}', crashes = 0, cancel_wanted = 0, finished = NULL, started = NULL "
            "WHERE id = ? AND state IN ('done', 'failed', 'cancelled')", digest,
        )  # fmt: skip
        return self.get(digest)

    def forget(self, identifier: str) -> None:
        """Remove an ended job, its log and history from the list; what it made stays in the store.

        Raises:
            JobError: there is no such job, or it has not ended.
        """
        job = self.get(identifier)
        if not job.ended:
            raise JobError(f"job {job.id[:16]}", f"it is {job.state}", "Cancel it first.")
        self._change(
            "DELETE FROM job WHERE id = ? AND state IN ('done', 'failed', 'cancelled')", job.id
        )
        self.log_path(job.id).unlink(missing_ok=True)
        self.history_path(job.id).unlink(missing_ok=True)

    def log_path(self, digest: str) -> Path:
        """The log of a job."""
        return self.folder / "logs" / f"{digest}.log"

    def history_path(self, digest: str) -> Path:
        """The history of a job: a JSON line a report."""
        return self.folder / "history" / f"{digest}.jsonl"

    def log(self, identifier: str, limit: int = 20_000) -> str:
        """The last `limit` bytes of what the work printed; empty before it printed anything."""
        return tail(self.log_path(self.get(identifier).id), limit)

    def history(self, identifier: str) -> tuple[Step, ...]:
        """Measured values step by step: the epochs of a training.

        A step replaces all of its unit from the same number on: restarted work repeats them.
        """
        steps: list[Step] = []
        for line in tail(self.history_path(self.get(identifier).id), LOG_BYTES).split("\n"):
            try:
                step = Step(*json.loads(line))
            except ValueError:  # cut short by a kill
                continue
            while steps and steps[-1].unit == step.unit and steps[-1].done >= step.done:
                steps.pop()
            steps.append(step)
        return tuple(steps)

    def add_step(self, digest: str, report: Progress) -> None:
        """Append a report to the history of a job."""
        path = self.history_path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        step = [
            report.done,
            report.total,
            report.unit,
            round(time.time(), 3),
            finite(report.values),
        ]
        with path.open("a", encoding="utf-8") as file:
            file.write("\n" + json.dumps(step, allow_nan=False))

    def start_waiting(self, command: Sequence[str], room: Sequence[Place]) -> None:
        """Settle the jobs whose process is gone, and start waiting ones where there is room.

        Args:
            command: of a process; root, job and the number of its lock are added to it.
            room: where jobs may run.

        Raises:
            JobError: the table of jobs cannot be used.
        """
        with transaction(self.folder) as table:
            taken = set()
            for row in table.execute(
                "SELECT id, lease, cancel_wanted, progress, furthest, crashes FROM job "
                "WHERE state = 'running'"
            ).fetchall():
                digest, lease, cancelled, *lost = row
                if self._is_dead(digest):
                    self._settle(table, digest, cancelled, *lost)
                    continue
                taken.add(json.loads(lease)["slot"])
                if cancelled and time.time() - cancelled > CANCEL_SECONDS:
                    _send(signal.SIGKILL, lease)  # the next look settles it
            for place in room:
                if place.name not in taken:
                    self._start_next(table, place, command)

    def _start_next(self, table: sqlite3.Connection, place: Place, command: Sequence[str]) -> None:
        """Start the first waiting job that a place takes."""
        kinds = json.dumps(sorted(place.kinds))
        row = table.execute(
            "SELECT id, attempts FROM job WHERE state = 'waiting' "
            "AND (? = '[]' OR kind IN (SELECT value FROM json_each(?))) "
            "ORDER BY created LIMIT 1", (kinds, kinds),
        ).fetchone()  # fmt: skip
        if row is None:
            return
        digest, attempts = row
        path = self.log_path(digest)
        path.parent.mkdir(parents=True, exist_ok=True)
        shorten(path)
        with self._lock(digest) as lock, path.open("a", encoding="utf-8") as log:
            if lock is None:  # its last process is about to end
                return
            clock = datetime.now().astimezone().isoformat(timespec="seconds")
            log.write(f"[{clock} attempt {attempts + 1}, {place.name}]\n")
            log.flush()
            process = subprocess.Popen(
                [*command, str(self.root.resolve()), digest, str(lock)],
                env=os.environ | place.environment | {THIS_JOB: digest}, cwd=HOME,
                stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True, pass_fds=[lock],
            )  # fmt: skip
        Thread(target=process.wait, daemon=True, name=f"end of job {digest}").start()
        table.execute(
            "UPDATE job SET state = 'running', lease = ?, attempts = attempts + 1, reason = '', "
            "cancel_wanted = 0, started = coalesce(started, ?) WHERE id = ?",
            (json.dumps({"process": process.pid, "slot": place.name}), time.time(), digest),
        )

    def _settle(  # noqa: PLR0913, PLR0917 (columns of a row)
        self, table: sqlite3.Connection, digest: str, cancelled: int | float, progress: str | None,
        furthest: str, crashes: int,
    ) -> None:  # fmt: skip
        """Settle a job whose process is dead: cancelled if that was wanted, else it waits again."""
        record, last = json.loads(furthest), json.loads(progress or '{"done": -1, "unit": ""}')
        crashes += 1
        if last["done"] > record.get(last["unit"], -1):
            record[last["unit"]], crashes = last["done"], 1
        state, reason = "waiting", "its process died; it goes on from where it was"
        if cancelled:
            state, reason = "cancelled", ""
        elif crashes >= DEATHS:
            log = tail(self.log_path(digest), REASON_BYTES)
            state = "failed"
            reason = f"its process died {crashes} times at the same place; its log ends:\n{log}"
        table.execute(
            "UPDATE job SET state = ?, reason = ?, furthest = ?, crashes = ?, finished = ?, "
            "lease = NULL, cancel_wanted = 0 WHERE id = ?",
            (state, reason, json.dumps(record), crashes,
             None if state == "waiting" else time.time(), digest),
        )  # fmt: skip

    @contextmanager
    def _lock(self, digest: str) -> Iterator[int | None]:
        """Hold the lock of a job's process; None: it lives. A child that is given it holds it."""
        path = self.folder / "workers" / f"{digest}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
            else:
                yield file.fileno()

    def _is_dead(self, digest: str) -> bool:
        with self._lock(digest) as lock:
            return lock is not None

    def _change(self, statement: str, *values: Any) -> None:
        with transaction(self.folder) as table:
            table.execute(statement, values)

    def _jobs(self, query: str, *values: Any) -> tuple[Job, ...]:
        with transaction(self.folder) as table:
            return tuple(map(_job, table.execute(query, values).fetchall()))


def _send(order: signal.Signals, lease: str) -> None:
    """Send a signal to the process of a job; SIGKILL also to all that it started."""
    with suppress(ProcessLookupError, PermissionError):
        (os.killpg if order == signal.SIGKILL else os.kill)(json.loads(lease)["process"], order)


def _job(row: tuple[Any, ...]) -> Job:
    values = dict(zip(COLUMNS, row, strict=True))
    for name in ("parameters", "progress", "result"):
        try:
            values[name] = None if values[name] is None else json.loads(values[name])
        except ValueError as error:
            raise sqlite3.DatabaseError(f"the {name} of a job are no JSON") from error
    values["cancel_wanted"] = bool(values["cancel_wanted"])
    return Job(**values)


def shorten(path: Path) -> None:
    """Keep the newer half of a log that is longer than 1 MiB; its process writes on at the end."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.write_text(DROPPED + tail(path, LOG_BYTES // 2), encoding="utf-8")


def tail(path: Path, limit: int) -> str:
    """The last `limit` bytes of a file from the first whole line on; empty where there is none."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(0, size - limit))
            text = log.read(limit).decode(errors="replace")
    except FileNotFoundError:
        return ""
    return text.partition("\n")[2] if size > limit and "\n" in text else text
