"""Functions of users by name, in processes of their own: what serves there, and who asks."""

import hashlib
import importlib
import inspect
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.errors import DataError, ParameterError, ShuffleproofError
from shuffleproof.core.execution.worker_process import LATE, RAISED, WorkerError, WorkerProcess
from shuffleproof.core.numerals import is_count, number
from shuffleproof.core.rankers.outside.audit import Audit, join_places
from shuffleproof.core.rankers.outside.returned import UnusableError, call
from shuffleproof.core.rankers.outside.signature import SIGNATURE, CallSignature, call_signature
from shuffleproof.core.user_code import failure, user_line

SECONDS = 120.0
"""Time limit of a call. A process whose call takes longer is stopped."""

ALLOWED = "SHUFFLEPROOF_FUNCTION_SECONDS"
"""The environment variable that allows a call more or fewer seconds."""

JOBS = "SHUFFLEPROOF_FUNCTION_JOBS"
"""The environment variable that says how many calls may be under way at the same time."""

MOST_JOBS = 256
LONGEST = 1e7  # seconds that a call may be allowed
MOST_TOGETHER = 64  # calls of a request, as far as they are done in time
SILENCE, SHARE = 0.05, 0.1
"""Seconds, and share of the seconds allowed, after which a request begins no further call."""

SERVER = "shuffleproof.core.rankers.outside.function_process:FunctionServer"


def seconds_allowed() -> float:
    """The seconds of a call: the environment's, or SECONDS.

    Raises:
        ParameterError: the environment's are no number above 0.
    """
    text = os.environ.get(ALLOWED, "").strip()
    if not text:
        return SECONDS
    with suppress(ValueError):
        if 0 < (seconds := number(text)) <= LONGEST:
            return seconds
    raise ParameterError(ALLOWED, text, "a number of seconds above 0")


def count_allowed(variable: str, most: float = math.inf) -> int | None:
    """Whole number from 1 on that the environment allows; None: it says nothing.

    Raises:
        ParameterError: it is no such number.
    """
    text = os.environ.get(variable, "").strip()
    if text and not (is_count(text) and 1 <= int(text) <= most):
        raise ParameterError(
            variable, text, f"a whole number from 1 {'on' if most == math.inf else f'to {most}'}"
        )
    return int(text) if text else None


def jobs_allowed() -> int:
    """Number of concurrent calls of a function: from the environment, or 1."""
    return count_allowed(JOBS, MOST_JOBS) or 1


Inputs = Mapping[str, Any]
"""Inputs of a call by name, with an axis of lists in front for a function that takes a mask."""

Answers = tuple[list[np.ndarray], int, ShuffleproofError | None]
"""Scores of calls, the number of calls that were done, and the error of the next one."""

Caller = Callable[[Sequence[Inputs], Sequence[str]], Answers]
"""Makes the first ones of some calls, as many as are soon done, from the inputs and the lists in
words of each."""


class FunctionServer:
    """One function, in the process that it runs in.

    Attributes:
        counter: of the calls that a request has done, as the process that asks sees it.
    """

    def __init__(self) -> None:
        self._audit, self.counter = Audit(), memoryview(bytearray(8)).cast("q")

    def load(self, target: str, path: list[str]) -> dict[str, Any]:
        """Import the function `module:function`: its `inputs`, the `optional` ones, its `source`.

        Raises:
            DataError: no such module or function, or one that needs what no function is given.
        """
        sys.path[:] = path
        self._audit.watch()
        module, _, name = target.partition(":")
        try:
            imported = importlib.import_module(module)
        except BaseException as error:
            lacking = getattr(error, "name", "") if isinstance(error, ModuleNotFoundError) else ""
            if lacking and f"{module}.".startswith(f"{lacking}."):
                finding, remedy = f"cannot import {module}", "Run from the folder that holds it."
            else:
                finding, remedy = f"{module} cannot be imported", "Correct it."
            raise DataError(target, f"{finding}: {failure(error)}", remedy) from error
        function = getattr(imported, name, None)
        if not callable(function):
            raise DataError(target, f"{module} has no function {name}", "Name module:function.")
        self._function = function
        try:
            self._signature = call_signature(self._function)
        except ValueError as error:
            remedy = "Rename its parameters, or give the others a default."
            raise DataError(target, str(error), remedy) from error
        inputs, optional = self._signature.inputs, sorted(self._signature.optional)
        source = _digest_of_files(imported, self._function)
        return {"inputs": inputs, "optional": optional, "source": source}

    def score(self, silence: float, count: int, **inputs: Any) -> dict[str, Any]:
        """Its `scores` in some calls; `returned`: the fields of an UnusableError.

        Inputs are called `0 features`, by the number of their call. It ends early after `silence`
        seconds.
        """
        calls: list[dict[str, Any]] = [{} for _ in range(count)]
        for key, value in inputs.items():
            at, _, name = key.partition(" ")
            calls[int(at)][name] = value
        scores, end = [np.zeros(0)], time.monotonic() + silence
        returned: list[Any] = []
        for values in calls:
            try:
                with self._audit.call():
                    scores.append(call(self._function, self._signature, values))
            except UnusableError as error:
                returned = [error.finding, error.remedy, error.fault]
                break
            self.counter[0] += 1
            if time.monotonic() > end:
                break
        return {"scores": np.concatenate(scores), "returned": returned}

    def places(self) -> dict[str, Any]:
        """Places that its process has touched, by `audit.KINDS`."""
        return self._audit.plain()


def _digest_of_files(module: Any, function: Callable[..., Any]) -> str:
    """The digest of the files that a function comes from; empty for what is built in."""
    paths = [getattr(module, "__file__", None)]
    with suppress(TypeError):  # an instance, or something compiled: the module's file says it
        paths.append(inspect.getsourcefile(inspect.unwrap(function)))
    files = [Path(path) for path in dict.fromkeys(paths) if path and Path(path).is_file()]
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


class FunctionProcess:
    """The process of one function; it is started again where it has ended.

    Args:
        target: `module:function`.
        seconds: that each call has, and the import.
        threads: numeric threads; None: as many as this process has.
        forked: it need not start by itself; one with its own number of threads always does, as
            libraries read that when they are loaded.
    """

    def __init__(
        self, target: str, seconds: float, threads: int | None = None, *, forked: bool = True
    ) -> None:
        self.target, self.seconds, self.threads = target, seconds, threads
        self.forked, self.copied = forked and threads is None, False
        self.worker: WorkerProcess | None = None

    def start(self) -> dict[str, Any]:
        """Start it, or start it again; the answer of `FunctionServer.load`.

        Raises:
            DataError: no such module or function, or its import failed, crashed or hung.
        """
        self.end()
        self.worker = WorkerProcess(SERVER, self.seconds, threads=self.threads, forked=self.forked)
        # '' means the current folder, which may be another one in the process
        path = [entry or str(Path.cwd()) for entry in ("", *map(str, sys.path))]
        return self._ask("load", target=self.target, path=path)

    def _ask(self, method: str, **request: Any) -> dict[str, Any]:
        """The answer of the process, if there is one."""
        if self.worker is None:
            return {}
        try:
            return self.worker.ask(method, **request)
        except WorkerError as error:
            raise _error(self.target, error) from error

    def end(self) -> None:
        """End it, also in the middle of a call that another thread waits for."""
        if self.worker is not None:
            self.worker.kill()

    def places(self) -> dict[str, list[str]]:
        """Places that it has touched since it started, by `audit.KINDS`; none before that."""
        if self.worker is None or not self.worker.alive:
            return join_places(())
        return self._ask("places")

    def scores(self, calls: Sequence[Inputs], where: Sequence[str]) -> Answers:
        """Make calls, as a `Caller`.

        Raises:
            DataError: it cannot be started again.
        """
        if self.worker is None or not self.worker.alive:
            self.start()
        worker, silence = self.worker, min(SILENCE, SHARE * self.seconds)
        if worker is None:
            raise DataError(self.target, "its process was ended", "Try again.")
        inputs = {
            f"{at} {name}": value for at, one in enumerate(calls) for name, value in one.items()
        }
        try:
            answer = worker.ask("score", silence=silence, count=len(calls), **inputs)
        except WorkerError as error:
            # It may have died behind the last call
            done = min(worker.counter, len(calls) - 1)
            return [], done, _error(where[done], error)
        done, scores, returned = worker.counter, answer["scores"], answer["returned"]
        sizes = [math.prod(one["features"].shape[:-1]) for one in calls[:done]]
        failed = UnusableError(*returned).at(where[done]) if returned else None
        return np.split(scores, np.cumsum(sizes))[:done], done, failed


def _error(where: str, error: WorkerError) -> DataError:
    """The same error, with the lists of the call in words."""
    failed = "the function failed: " if error.kind == RAISED else ""
    remedy = error.remedy or "Correct it."
    if error.kind == LATE:
        remedy = f"Correct it, or allow more seconds: {ALLOWED}=600."
    told = DataError(where, failed + error.finding, remedy)
    told.__cause__ = error
    return told


def calls_here(function: Callable[..., Any], signature: CallSignature) -> Caller:
    """Caller of a function in this process."""

    def scores(calls: Sequence[Inputs], where: Sequence[str]) -> Answers:
        made = []
        for inputs, words in zip(calls, where, strict=True):
            try:
                made.append(call(function, signature, inputs))
            except UnusableError as error:
                raise error.at(words) from error
            except Exception as error:  # whatever a user's function does
                # Raised by the call itself and not inside the function: its signature is wrong
                is_call = isinstance(error, TypeError) and not user_line(error)
                remedy = f"It is called as {SIGNATURE}." if is_call else "Correct it."
                raise DataError(words, f"it failed: {failure(error)}", remedy) from error
        return made, len(made), None

    return scores


def map_calls(
    callers: Sequence[Caller],
    count: int,
    work: Callable[[Caller, Sequence[int]], tuple[int, ShuffleproofError | None]],
    stop: Callable[[], None],
) -> None:
    """Make calls, as many at the same time as there are callers, which take turns.

    Processes and not threads of one process: the seconds, the crash and the state of a call are its
    own, and functions need not be safe in threads.

    Args:
        callers: of processes, or one of this process.
        count: number of calls.
        work: makes the first ones of some calls; returns how many, and the error of the next one.
        stop: ends the calls that are under way, for Ctrl-C.

    Raises:
        ShuffleproofError: of the first call in their order that failed.
    """
    failed: dict[int, ShuffleproofError] = {}

    def turn(place: int) -> None:
        calls = range(place, count, len(callers))
        at, together = 0, MOST_TOGETHER
        # Behind a call that failed no other is needed
        while at < len(calls) and calls[at] <= min(failed, default=count):
            chosen = calls[at : at + together]
            done, error = work(callers[place], chosen)
            at += done
            if error is not None:
                failed[calls[at]] = error
                return
            # Slow calls are made one by one: another process may have failed meanwhile
            together = min(2 * together, MOST_TOGETHER) if done == len(chosen) else max(1, done)

    with ThreadPoolExecutor(len(callers)) as pool:
        try:
            # `list` waits for all and raises what a worker raised; one caller needs no thread
            list((pool.map if len(callers) > 1 else map)(turn, range(len(callers))))
        except BaseException:  # Ctrl-C: the other callers make no further call
            failed[-1] = DataError("the calls", "interrupted", "Run it again.")
            stop()
            raise
    if failed:
        raise failed[min(failed)]
