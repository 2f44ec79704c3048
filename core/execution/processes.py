"""Items worked by processes of this machine, which may die without taking the others along."""

import json
import logging
import queue
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from shuffleproof.core.execution.jobs_slots import cores, threads_allowed
from shuffleproof.core.execution.work import Failure, outcome
from shuffleproof.core.execution.worker_process import WorkerProcess, worker_environment

ATTEMPTS = 2
"""How many workers an item may cost before it counts as failed."""

LOOK = 0.2
"""Seconds between two looks at whether to stop."""

LOG = logging.getLogger("shuffleproof.jobs")

Waiting: TypeAlias = queue.SimpleQueue[tuple[int, str]]
ResultQueue: TypeAlias = queue.SimpleQueue[tuple[int, Any] | BaseException]


@dataclass(frozen=True)
class Processes:
    """Worker processes started as `python -m core.execution.worker`.

    An item whose worker dies is tried once more on a fresh worker, then reported as failed.

    Attributes:
        workers: how many; None takes one a core.
        threads: numeric threads of each worker; None shares the cores out evenly, and gives none
            more than this process may have.
        paths: folders in which workers look for modules, beside the usual ones.
    """

    workers: int | None = None
    threads: int | None = None
    paths: tuple[Path, ...] = ()

    def map(
        self, function: str, items: Sequence[Any], stop: threading.Event | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Work the items on all workers, yielding as they finish; see Executor."""
        waiting: Waiting = queue.SimpleQueue()
        for index, item in enumerate(items):
            waiting.put((index, json.dumps([function, json.dumps(item)])))
        finished: ResultQueue = queue.SimpleQueue()
        workers = min(self.workers or cores(), len(items))
        threads = self.threads or min(threads_allowed(), max(1, cores() // max(workers, 1)))
        environment = worker_environment(threads, self.paths)
        lanes = [_Lane(waiting, finished, environment) for _ in range(workers)]
        try:
            for lane in lanes:
                lane.thread.start()
            left = len(items)
            while left and not (stop and stop.is_set()):
                try:
                    answer = finished.get(timeout=LOOK)
                except queue.Empty:
                    continue
                if isinstance(answer, BaseException):
                    raise answer
                left -= 1
                yield answer
        finally:
            for lane in lanes:
                lane.stop()


class _Lane:
    """A thread that feeds one worker at a time and starts a fresh one when it dies."""

    def __init__(
        self, waiting: Waiting, finished: ResultQueue, environment: dict[str, str]
    ) -> None:
        self.waiting, self.finished, self.environment = waiting, finished, environment
        self.worker: WorkerProcess | None = None
        self.stopped = False
        self.guard = threading.Lock()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def stop(self) -> None:
        """End the worker, whatever it is doing, and the thread."""
        with self.guard:
            self.stopped = True
            if self.worker:
                self.worker.process.kill()
        if self.thread.ident:
            self.thread.join()

    def _run(self) -> None:
        try:
            while not self.stopped:
                index, request = self.waiting.get_nowait()
                self.finished.put((index, self._worked(request)))
        except queue.Empty:
            pass  # nothing is left to do
        except BaseException as error:  # noqa: BLE001 (raised again where the results are read)
            self.finished.put(error)
        finally:
            if self.worker:
                self.worker.close()

    def _worked(self, request: str) -> Any:
        failure = Failure("was stopped")
        for _ in range(ATTEMPTS):
            with self.guard:
                if self.stopped:
                    break
                self.worker = self.worker or WorkerProcess(self.environment)
            answer = self.worker.ask(request)
            if answer is not None:
                return outcome(answer)
            if self.stopped:  # it was us who killed it
                break
            how, words = self.worker.last_words()
            LOG.warning("a worker process %s", how)
            failure = Failure(f"its worker process died ({how}), {ATTEMPTS} times", words)
            self.worker = None
        return failure
