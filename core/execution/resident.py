"""One worker process that stays and remembers, asked from many threads, disposable at any time.

Its loaded libraries and rankers make the next answer quick. When it crashes or exceeds its time it
is killed, the caller gets an error message, and the next call starts a new process.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from shuffleproof.core.errors import ScoringError
from shuffleproof.core.execution.work import function_named
from shuffleproof.core.execution.worker_process import LATE, WorkerError, WorkerProcess

LIMIT = 20.0
"""Seconds for one answer, the wait for earlier askers included."""

STARTING = 120.0
"""Seconds for what a fresh process loads, and for its first answer of each function."""

AGAIN = 0.05  # seconds between kills while closing
SERVER = "shuffleproof.core.execution.resident:Server"


class Server:
    """Server of the process: functions by name."""

    def work(self, function: str, item: Any) -> dict[str, Any]:
        """The result of a function of one JSON value."""
        return {"result": function_named(function)(item)}


@dataclass(eq=False)
class Resident:
    """A resident worker; questions of several threads are answered one after the other.

    Attributes:
        first: `module:function` that a fresh process works before anything else, or "".
        item: the argument of `first`.
        limit: seconds for one answer.
        starting: seconds for `first`, and where there is one, for the first answer of each
            function: on a machine that never ran it, it is compiled then.
        threads: numeric threads of the process.
    """

    first: str = ""
    item: Any = None
    limit: float = LIMIT
    starting: float = STARTING
    threads: int = 2
    _turn: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _worker: WorkerProcess | None = field(default=None, init=False, repr=False)
    _starting: bool = field(default=False, init=False, repr=False)
    _answered: set[str] = field(default_factory=set, init=False, repr=False)

    def ask(self, function: str, item: Any) -> Any:
        """The result of a function of one JSON value, worked in the resident process.

        Args:
            function: `module:function`.
            item: plain JSON values.

        Raises:
            ScoringError: the process is busy, took too long, died, or the function raised.
        """
        start = time.monotonic()
        # A start is no failure: it is waited for as long as a start may take.
        if not self._turn.acquire(timeout=self.starting if self._starting else self.limit):
            raise ScoringError("it is busy with other questions", "Try again in a moment.")
        remaining = max(1.0, self.limit - (time.monotonic() - start))
        try:
            worker = self._ready()
            if self.first and function not in self._answered:
                return self._answer_patiently(worker, function, item)
            return self._answer(worker, function, item, remaining)
        finally:
            self._turn.release()

    def start(self) -> threading.Thread:
        """Start the process in the background, so that the first question finds it ready."""
        thread = threading.Thread(target=self._start_worker, daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Kill the process, whatever it is doing; a later question starts a fresh one."""
        acquired = False
        while not acquired:  # the holder of the lock may be starting another process
            worker = self._worker
            if worker is not None:
                worker.kill()
            acquired = self._turn.acquire(timeout=AGAIN)
        try:
            if self._worker is not None:
                self._worker.close()
                self._worker = None
        finally:
            self._turn.release()

    def _start_worker(self) -> None:
        with self._turn:
            try:
                self._ready()
            except ScoringError:
                return  # the next caller starts it again, and sees the error

    def _ready(self) -> WorkerProcess:
        if self._worker is not None and not self._worker.alive:
            self._worker.close()
            self._worker = None
        if self._worker is None:
            self._worker = WorkerProcess(SERVER, self.starting, threads=self.threads, quiet=True)
            self._answered.clear()
            if self.first:
                self._answer_patiently(self._worker, self.first, self.item)
        return self._worker

    def _answer_patiently(self, worker: WorkerProcess, function: str, item: Any) -> Any:
        self._starting = True
        try:
            answer = self._answer(worker, function, item, self.starting)
        finally:
            self._starting = False
        self._answered.add(function)
        return answer

    def _answer(self, worker: WorkerProcess, function: str, item: Any, limit: float) -> Any:
        try:
            return worker.ask("work", limit, function=function, item=item)["result"]
        except WorkerError as error:
            if worker.alive:
                raise ScoringError(error.finding, "", error.details) from error
            worker.close()
            self._worker = None
            finding = (
                f"it gave no answer within {limit:.0f} s" if error.kind == LATE else error.finding
            )
            raise ScoringError(finding, "It was replaced; try again.", error.details) from error
