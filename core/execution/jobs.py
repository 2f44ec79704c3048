"""Jobs as a person or a page sees them: hand in, look up, cancel, try again.

A job is long work that runs in a process of its own (`jobs_start`). It stands in a table in the
store (`jobs_database`) that outlives every process. Handing in the same work twice
gives the same job, because its id is the digest of what is to be done.
"""

import hashlib
import json
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from shuffleproof.core.errors import JobError, ParameterError, UnknownNameError
from shuffleproof.core.execution import jobs_history
from shuffleproof.core.execution.jobs_database import Database
from shuffleproof.core.execution.jobs_history import Step
from shuffleproof.core.execution.jobs_log import tail

State = Literal["waiting", "running", "done", "failed", "cancelled"]
STATES: tuple[State, ...] = get_args(State)
ENDED = ("done", "failed", "cancelled")
LOWEST, HIGHEST = -1000, 1000
SHOWN_DIGITS = 16
COLUMNS = (
    "id", "kind", "parameters", "priority", "state", "progress", "result", "reason", "attempts",
    "cancel_wanted", "created", "started", "finished",
)  # fmt: skip
SELECT = f"SELECT {', '.join(COLUMNS)} FROM job"  # noqa: S608 (constants above)


@dataclass(frozen=True)
class Job:
    """One job as it stood when it was read.

    Attributes:
        id: 64 hexadecimal digits, the digest of kind and parameters.
        kind: what is done, a name of the table of kinds.
        parameters: what it is done with, plain JSON values.
        priority: higher runs first; equal ones in the order they were handed in.
        state: waiting, running, done, failed or cancelled.
        progress: the last report: `done`, `total`, `unit`, `values`; None before the first.
        result: what the work returned, plain JSON values.
        reason: why it failed, or why it waits again.
        attempts: how often a process has begun it.
        cancel_wanted: it is to be stopped and has not stopped yet.
        created: when it was handed in, seconds since 1970.
        started: when a process first began it.
        finished: when it was done, failed or cancelled.
    """

    id: str
    kind: str
    parameters: Mapping[str, Any]
    priority: int = 0
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
        """Nothing more happens to it unless somebody tries it again."""
        return self.state in ENDED


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


class Jobs:
    """The jobs of a store. Every call opens the table anew: any thread, any process may call."""

    def __init__(self, root: Path, kinds: Collection[str] | None = None) -> None:
        """Look at the jobs of the store at `root`.

        Args:
            root: the store's folder.
            kinds: the kinds that may be handed in; any by default.
        """
        self.folder = folder_of(root)
        self.kinds = kinds
        self._database = Database(self.folder / "jobs.sqlite")

    def submit(self, kind: str, parameters: Mapping[str, Any], priority: int = 0) -> Job:
        """Hand in work, or find the job that does the same, whatever its state.

        A job that waits takes the higher of both priorities; one that ended stays as it is until
        `retry`.

        Raises:
            UnknownNameError: no such kind.
            ParameterError: the parameters are no JSON, or the priority is out of bounds.
            JobError: the table cannot be used.
        """
        if self.kinds is not None and kind not in self.kinds:
            raise UnknownNameError("kind of job", kind, self.kinds)
        digest = job_id(kind, parameters)
        text = json.dumps(dict(parameters), sort_keys=True, allow_nan=False)
        row = (digest, kind, text, _checked_priority(priority), time.time())
        with self._database.transaction() as table:
            table.execute(
                "INSERT INTO job (id, kind, parameters, priority, created, state) "
                "VALUES (?, ?, ?, ?, ?, 'waiting') ON CONFLICT (id) DO UPDATE "
                "SET priority = max(priority, excluded.priority) WHERE state = 'waiting'",
                row,
            )
        return self.get(digest)

    def get(self, identifier: str) -> Job:
        """The job of this id, or of an unambiguous start of it.

        Raises:
            JobError: there is no such job, or several.
        """
        with self._database.reading() as table:
            rows = table.execute(
                f"{SELECT} WHERE substr(id, 1, ?) = ? LIMIT 2", (len(identifier), identifier)
            ).fetchall()
            if len(rows) == 1 and identifier:
                return _job(rows[0])
        finding = "could be several jobs" if rows else "no such job"
        raise JobError(f"job {identifier[:64]!r}", finding, "`Jobs.list` tells all ids.")

    def list(self, *states: State) -> tuple[Job, ...]:
        """The jobs in these states (all by default): running, waiting as they will run, newest."""
        state_names = states or STATES
        marks = ", ".join("?" * len(state_names))
        order = (
            "CASE state WHEN 'running' THEN 0 WHEN 'waiting' THEN 1 ELSE 2 END, "
            "CASE state WHEN 'waiting' THEN -priority END, "
            "CASE state WHEN 'running' THEN started WHEN 'waiting' THEN created "
            "ELSE -finished END"
        )
        with self._database.reading() as table:
            rows = table.execute(f"{SELECT} WHERE state IN ({marks}) ORDER BY {order}", state_names)
            return tuple(_job(row) for row in rows)

    def cancel(self, identifier: str) -> Job:
        """Stop a job: one that waits at once, one that runs within seconds, by force if need be."""
        digest = self.get(identifier).id
        with self._database.transaction() as table:
            table.execute(
                "UPDATE job SET state = 'cancelled', reason = '', finished = ? "
                "WHERE id = ? AND state = 'waiting'",
                (time.time(), digest),
            )
            table.execute(
                "UPDATE job SET cancel_wanted = ? WHERE id = ? AND state = 'running' "
                "AND NOT cancel_wanted",
                (time.time(), digest),
            )
        return self.get(digest)

    def retry(self, identifier: str) -> Job:
        """Let an ended job wait again; what it had finished is kept and goes on from there."""
        digest = self.get(identifier).id
        with self._database.transaction() as table:
            table.execute(
                "UPDATE job SET state = 'waiting', reason = '', result = NULL, progress = NULL, "
                "furthest = '{}', crashes = 0, cancel_wanted = 0, finished = NULL, started = NULL "
                "WHERE id = ? AND state IN ('done', 'failed', 'cancelled')",
                (digest,),
            )
        return self.get(digest)

    def forget(self, identifier: str) -> None:
        """Remove an ended job, its log and history from the list; what it made stays in the store.

        Raises:
            JobError: there is no such job, or it has not ended.
        """
        job = self.get(identifier)
        with self._database.transaction() as table:
            gone = table.execute(
                "DELETE FROM job WHERE id = ? AND state IN ('done', 'failed', 'cancelled')",
                (job.id,),
            )
            if not gone.rowcount:
                place = f"job {job.id[:SHOWN_DIGITS]}"
                raise JobError(place, f"it is {job.state}", "Cancel it first.")
        log_path(self.folder, job.id).unlink(missing_ok=True)
        jobs_history.history_path(self.folder, job.id).unlink(missing_ok=True)

    def log(self, identifier: str, limit: int = 20_000) -> str:
        """The last `limit` bytes of what the work printed; empty before it printed anything."""
        return tail(log_path(self.folder, self.get(identifier).id), limit)

    def history(self, identifier: str) -> tuple[Step, ...]:
        """What the work measured on its way, step by step: the epochs of a training."""
        path = jobs_history.history_path(self.folder, self.get(identifier).id)
        return jobs_history.read_steps(path)


def folder_of(root: Path) -> Path:
    """Where a store keeps its jobs."""
    return root / "jobs"


def log_path(folder: Path, digest: str) -> Path:
    """The log of a job."""
    return folder / "logs" / f"{digest}.log"


def _checked_priority(priority: int) -> int:
    if not LOWEST <= priority <= HIGHEST:
        raise ParameterError("priority", priority, f"from {LOWEST} to {HIGHEST}")
    return int(priority)


def _job(row: tuple[Any, ...]) -> Job:
    values = dict(zip(COLUMNS, row, strict=True))
    for name in ("parameters", "progress", "result"):
        try:
            values[name] = None if values[name] is None else json.loads(values[name])
        except ValueError as error:
            raise sqlite3.DatabaseError(f"the {name} of a job are no JSON") from error
    values["cancel_wanted"] = bool(values["cancel_wanted"])
    return Job(**values)
