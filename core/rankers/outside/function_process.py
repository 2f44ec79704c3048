"""Functions of users by name, in processes of their own: what serves there, and who asks."""

import hashlib
import importlib
import inspect
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
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
FIRST_TOGETHER = 64  # calls of the first request; later ones have as many as are done in time
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


Answer = tuple[np.ndarray, int, ShuffleproofError | None]
"""Scores of the first calls one after the other, their number, and the error of the call behind."""

Caller = Callable[[np.ndarray, Mapping[str, Any], Callable[[int], str]], Answer]
"""Makes calls, as many as are soon done: shapes and inputs as for `calls_of`, and the lists of a
call in words."""


def calls_of(shapes: np.ndarray, inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The inputs of each call, with an axis of lists in front.

    Args:
        shapes: lists and documents of each call.
        inputs: by name, of all calls one after the other: `query` and `query_text` have an item
            for each list, everything else one for each document.

    >>> [call] = calls_of(np.array([[2, 1]]), {"query": ["a", "b"], "ranks": np.array([[5], [7]])})
    >>> call["query"], call["ranks"].tolist()
    (['a', 'b'], [[[5]], [[7]]])
    """
    slot = first = 0
    for lists, docs in shapes.tolist():
        values, end = {}, slot + lists * docs
        for name, value in inputs.items():
            if name in {"query", "query_text"}:
                values[name] = value[first : first + lists]
            elif isinstance(value, np.ndarray):
                values[name] = value[slot:end].reshape(lists, docs, *value.shape[1:])
            else:
                values[name] = [value[at : at + docs] for at in range(slot, end, docs)]
        yield values
        slot, first = end, first + lists


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

    def score(self, silence: float, shapes: np.ndarray, **inputs: Any) -> dict[str, Any]:
        """Its `scores` by some calls; `returned`: the fields of an UnusableError.

        It ends early after `silence` seconds.
        """
        scores, end = [np.zeros(0)], time.monotonic() + silence
        returned: list[Any] = []
        for values in calls_of(shapes, inputs):
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

    def scores(
        self, shapes: np.ndarray, inputs: Mapping[str, Any], where: Callable[[int], str]
    ) -> Answer:
        """Make calls, as a `Caller`.

        Raises:
            DataError: it cannot be started again.
        """
        if self.worker is None or not self.worker.alive:
            self.start()
        worker, silence = self.worker, min(SILENCE, SHARE * self.seconds)
        if worker is None:
            raise DataError(self.target, "its process was ended", "Try again.")
        try:
            answer = worker.ask("score", silence=silence, shapes=shapes, **inputs)
        except WorkerError as error:
            # It may have died behind the last call
            done = min(worker.counter, len(shapes) - 1)
            return np.zeros(0), done, _error(where(done), error)
        done, returned = worker.counter, answer["returned"]
        failed = UnusableError(*returned).at(where(done)) if returned else None
        return answer["scores"], done, failed


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

    def scores(
        shapes: np.ndarray, inputs: Mapping[str, Any], where: Callable[[int], str]
    ) -> Answer:
        made = [np.zeros(0)]
        for at, values in enumerate(calls_of(shapes, inputs)):
            try:
                made.append(call(function, signature, values))
            except UnusableError as error:
                raise error.at(where(at)) from error
            except Exception as error:  # whatever a user's function does
                # Raised by the call itself and not inside the function: its signature is wrong
                is_call = isinstance(error, TypeError) and not user_line(error)
                remedy = f"It is called as {SIGNATURE}." if is_call else "Correct it."
                raise DataError(where(at), f"it failed: {failure(error)}", remedy) from error
        return np.concatenate(made), len(shapes), None

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
        at, together = 0, FIRST_TOGETHER
        # Behind a call that failed no other is needed
        while at < len(calls) and calls[at] <= min(failed, default=count):
            chosen = calls[at : at + together]
            done, error = work(callers[place], chosen)
            at += done
            if error is not None:
                failed[calls[at]] = error
                return
            # Slow calls are made one by one: another process may have failed meanwhile
            together = 2 * together if done == len(chosen) else max(1, done)

    with ThreadPoolExecutor(len(callers)) as pool:
        try:
            # `list` waits for all and raises what a worker raised; one caller needs no thread
            list((pool.map if len(callers) > 1 else map)(turn, range(len(callers))))
        except BaseException:  # Ctrl-C: the other callers make no further call
            failed[-1] = DataError("", "interrupted", "")
            stop()
            raise
    if failed:
        raise failed[min(failed)]
