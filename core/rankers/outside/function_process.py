"""Functions of users by name, in processes of their own: what serves there, and who asks."""

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from shuffleproof.core.errors import DataError, ParameterError, ShuffleproofError
from shuffleproof.core.execution.worker_process import LATE, RAISED, WorkerError, WorkerProcess
from shuffleproof.core.numerals import is_count, number
from shuffleproof.core.rankers.outside.audit import Audit, join_places
from shuffleproof.core.rankers.outside.returned import UnusableError, answer_error, call
from shuffleproof.core.rankers.outside.signature import call_signature
from shuffleproof.core.user_code import failure

SECONDS = 120.0
"""A call that has not answered by then is taken to hang."""

ALLOWED = "SHUFFLEPROOF_FUNCTION_SECONDS"
"""The environment variable that allows a call more or fewer seconds."""

JOBS = "SHUFFLEPROOF_FUNCTION_JOBS"
"""The environment variable that says how many calls may be under way at the same time."""

MOST_JOBS = 256
LONGEST = 1e7  # seconds that a call may be allowed
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


def jobs_allowed() -> int:
    """Number of concurrent calls of a function: from the environment, or 1.

    Raises:
        ParameterError: the environment's are no whole number from 1 on.
    """
    text = os.environ.get(JOBS, "").strip()
    if not text:
        return 1
    if is_count(text) and 1 <= int(text) <= MOST_JOBS:
        return int(text)
    raise ParameterError(JOBS, text, f"a whole number from 1 to {MOST_JOBS}")


class FunctionServer:
    """One function, in the process that it runs in."""

    def __init__(self) -> None:
        self._audit = Audit()

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

    def score(self, **inputs: Any) -> dict[str, Any]:
        """Its `scores`; or what it `returned` instead, with `remedy`, and `shapes`: had and due."""
        try:
            with self._audit.call():
                return {"scores": call(self._function, self._signature, inputs)}
        except UnusableError as error:
            shapes = error.shape, error.expected
            return {"returned": error.finding, "remedy": error.remedy, "shapes": shapes}

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
    """

    def __init__(self, target: str, seconds: float, threads: int | None = None) -> None:
        self.target, self.seconds, self.threads = target, seconds, threads
        self.worker: WorkerProcess | None = None

    def start(self) -> dict[str, Any]:
        """Start it, or start it again; the answer of `FunctionServer.load`.

        Raises:
            DataError: no such module or function, or its import failed, crashed or hung.
        """
        self.end()
        self.worker = WorkerProcess(SERVER, self.seconds, threads=self.threads)
        # '' means the current folder, which may be another one in the process
        path = [entry or str(Path.cwd()) for entry in ("", *map(str, sys.path))]
        return self._ask(self.worker, self.target, "load", {"target": self.target, "path": path})

    def end(self) -> None:
        """End it, also in the middle of a call that another thread waits for."""
        if self.worker is not None:
            self.worker.kill()

    def places(self) -> dict[str, list[str]]:
        """Places that it has touched since it started, by `audit.KINDS`; none before that."""
        if self.worker is None or not self.worker.alive:
            return join_places(())
        return self._ask(self.worker, self.target, "places", {})

    def scores(self, inputs: Mapping[str, Any], where: str) -> Any:
        """The numbers that the function returned, in the shape that is due.

        Args:
            inputs: by name, of several lists; of one list where it takes no mask.
            where: these lists in words.

        Raises:
            DataError: it failed, crashed, hung or returned something else.
        """
        if self.worker is None or not self.worker.alive:
            self.start()
        answer = self._ask(self.worker, where, "score", inputs)
        if "scores" in answer:
            return answer["scores"]
        had, due = map(tuple, answer["shapes"])
        raise answer_error(where, answer["returned"], answer["remedy"], (had, due))

    @staticmethod
    def _ask(
        worker: WorkerProcess | None, where: str, method: str, request: Mapping[str, Any]
    ) -> dict[str, Any]:
        try:
            return worker.ask(method, **request) if worker is not None else {}
        except WorkerError as error:
            failed = "the function failed: " if error.kind == RAISED else ""
            remedy = error.remedy or "Correct it."
            if error.kind == LATE:
                remedy = f"Correct it, or allow more seconds: {ALLOWED}=600."
            raise DataError(where, failed + error.finding, remedy) from error


Call = TypeVar("Call")


def map_calls(
    processes: Sequence[FunctionProcess],
    calls: Sequence[Call],
    ask: Callable[[FunctionProcess, Call], None],
) -> None:
    """Make calls, as many at the same time as there are processes; they take turns.

    Processes and not threads of one process: the seconds, the crash and the state of a call are its
    own, and functions need not be safe in threads.

    Raises:
        ShuffleproofError: of the first call in their order that failed.
    """
    failed: dict[int, BaseException] = {}

    def work(turn: int) -> None:
        for at in range(turn, len(calls), len(processes)):
            # An earlier call has failed: its error is raised, so later calls are not needed
            if min(failed, default=at) < at:
                return
            try:
                ask(processes[turn], calls[at])
            except ShuffleproofError as error:
                failed[at] = error

    with ThreadPoolExecutor(len(processes)) as pool:
        try:
            # `list` waits for all and raises what a worker raised
            list(pool.map(work, range(len(processes))))
        except BaseException as error:  # Ctrl-C
            failed[-1] = error
            for process in processes:
                process.end()
            raise
    if failed:
        raise failed[min(failed)]
