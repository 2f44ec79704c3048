"""Items worked by processes of this machine, which may die without taking the others along."""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from core.execution.work import LONGEST_DETAILS, Failure, outcome

ATTEMPTS = 2
"""How many workers an item may cost before it counts as failed."""

LAST_BREATH = 10.0
"""Seconds a worker that was told to end, or stopped answering, is given to end by itself."""

Waiting: TypeAlias = queue.SimpleQueue[tuple[int, str]]
Finished: TypeAlias = queue.SimpleQueue[tuple[int, Any] | BaseException]

THREAD_SETTINGS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Processes:
    """Worker processes started as `python -m core.execution.worker`.

    An item whose worker dies is tried once more on a fresh worker, then reported as failed.

    Attributes:
        workers: how many; None takes one a core.
        threads: numeric threads of each worker; None shares the cores out evenly.
        paths: folders in which workers look for modules, beside the usual ones.
    """

    workers: int | None = None
    threads: int | None = None
    paths: tuple[Path, ...] = ()

    def map(self, function: str, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Work the items on all workers, yielding as they finish; see Executor."""
        waiting: Waiting = queue.SimpleQueue()
        for index, item in enumerate(items):
            waiting.put((index, json.dumps([function, json.dumps(item)])))
        finished: Finished = queue.SimpleQueue()
        workers = min(self.workers or _cores(), len(items))
        environment = self._environment(workers)
        lanes = [_Lane(waiting, finished, environment) for _ in range(workers)]
        try:
            for lane in lanes:
                lane.thread.start()
            for _ in items:
                done = finished.get()
                if isinstance(done, BaseException):
                    raise done
                yield done
        finally:
            for lane in lanes:
                lane.stop()

    def _environment(self, workers: int) -> dict[str, str]:
        threads = self.threads or max(1, _cores() // max(workers, 1))
        package = Path(__file__).resolve().parents[2]
        given = os.environ.get("PYTHONPATH")
        paths = [*map(str, self.paths), str(package), *([given] if given else [])]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "OMP_WAIT_POLICY": "passive",
            **dict.fromkeys(THREAD_SETTINGS, str(threads)),
        }


class _Lane:
    """A thread that feeds one worker at a time and starts a fresh one when it dies."""

    def __init__(self, waiting: Waiting, finished: Finished, environment: dict[str, str]) -> None:
        self.waiting, self.finished, self.environment = waiting, finished, environment
        self.worker: _Worker | None = None
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
                self.worker = self.worker or _Worker(self.environment)
            answer = self.worker.ask(request)
            if answer is not None:
                return outcome(answer)
            failure, self.worker = self.worker.obituary(), None
        return failure


class _Worker:
    """One worker process; its stderr goes to a nameless file."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "core.execution.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            env=environment,
        )
        self.requests = cast("IO[bytes]", self.process.stdin)
        self.answers = cast("IO[bytes]", self.process.stdout)

    def ask(self, request: str) -> str | None:
        """The worker's answer, or None when it died first."""
        with suppress(BrokenPipeError):  # it is dead already: readline says so as well
            self.requests.write(request.encode() + b"\n")
            self.requests.flush()
        answer = self.answers.readline()
        return answer.decode() if answer.endswith(b"\n") else None

    def obituary(self) -> Failure:
        """How the worker died and the last it wrote to stderr."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_BREATH)
        self.process.kill()
        code = self.process.wait()
        self.stderr.seek(max(self.stderr.seek(0, os.SEEK_END) - LONGEST_DETAILS, 0))
        words = self.stderr.read().decode(errors="replace")
        self.close()
        how = f"killed by signal {-code}" if code < 0 else f"ended with exit status {code}"
        return Failure(f"its worker process died ({how}), {ATTEMPTS} times", words)

    def close(self) -> None:
        """Let the process end by itself, or end it, and close the pipes."""
        with suppress(BrokenPipeError):  # unsent rest of a request to a dead worker
            self.requests.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_BREATH)
        self.process.kill()
        self.process.wait()
        self.answers.close()
        self.stderr.close()


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
