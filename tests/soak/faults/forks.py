"""A fault and the tests that are asked about it, in a process of their own."""

import collections
import contextlib
import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.soak.faults import loading
from tests.soak.faults.places import ROOT, Fault, is_compiled

MEMORY = 6 << 30  # bytes that a fault may take more than the session has
NOT_FOUND = 3  # exit status: the code of the fault is not there


class Fork:
    """What is done in a process of its own.

    Attributes:
        status: of its end; none as long as it runs, and where it ran past its time.
        word: what it told.
    """

    def __init__(
        self, work: Callable[[Path], int], seconds: float = 0.0, limit: float = 1e9
    ) -> None:
        """Starts it.

        Args:
            work: returns an exit status, and may write a word at the path that it is given.
            seconds: of computing that it may take; without one it may print and take its time.
            limit: seconds by the clock.
        """
        self.base = Path(tempfile.mkdtemp(prefix="fault-"))
        self.end, self.status, self.word = time.monotonic() + limit, None, ""
        sys.stdout.flush()
        self.child = os.fork()
        if not self.child:
            _answer(work, self.base, seconds)

    def ended(self) -> bool:
        """Whether it came to an end, or was brought to one; then status and word are known."""
        there, code = os.waitpid(self.child, os.WNOHANG)
        if not there and time.monotonic() < self.end:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child, signal.SIGKILL)  # and what it started
        if there:
            status = os.waitstatus_to_exitcode(code)
            self.status = None if status == -signal.SIGXCPU else status
        else:
            os.waitpid(self.child, 0)
        told = self.base / "told"
        self.word = told.read_text() if told.exists() else ""
        shutil.rmtree(self.base, ignore_errors=True)
        return True


def in_fork(
    work: Callable[[Path], int], seconds: float = 0.0, limit: float = 1e9
) -> tuple[int | None, str]:
    """(exit status, word) of what is done in a process of its own, as `Fork` has it."""
    return next((status, word) for _, status, word in side_by_side([((), work, seconds, limit)], 1))


def side_by_side(
    jobs: Iterable[tuple[Any, Callable[[Path], int], float, float]], at_once: int
) -> Iterator[tuple[Any, int | None, str]]:
    """(key, exit status, word) of each job (key, work, seconds, limit) as soon as it ends."""
    running: list[tuple[Any, Fork]] = []
    left = iter(jobs)
    while True:
        while len(running) < at_once and (job := next(left, None)):
            running.append((job[0], Fork(*job[1:])))
        if not running:
            return
        time.sleep(0.02)
        ended = [one for one in running if one[1].ended()]
        running = [one for one in running if one not in ended]
        yield from ((key, fork.status, fork.word) for key, fork in ended)


def _answer(work: Callable[[Path], int], base: Path, seconds: float) -> None:
    status, told = 2, base / "told"
    try:
        os.setsid()
        if seconds:
            _bounded(seconds)
        tempfile.tempdir = os.environ["TMPDIR"] = str(base)
        status = int(work(told))
    except BaseException as error:  # noqa: BLE001  (a fault may raise anything)
        told.write_text(f"{type(error).__name__}: {error}"[:300])
    finally:
        sys.stdout.flush()
        os._exit(status)


def _bounded(seconds: float) -> None:
    """No output, and bounds on memory and computing, for the process that calls it."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 30))


def announce(fault: Fault, folder: Path) -> None:
    """Lets processes that a test starts load the fault, and compile what it stands in."""
    place = folder / "fault.json"
    place.write_text(json.dumps({"path": str(ROOT / fault.file), "source": fault.applied()}))
    os.environ[loading.FAULT] = str(place)
    if is_compiled((ROOT / fault.file).read_text()):
        os.environ["NUMBA_CACHE_DIR"] = str(folder / "numba")


class Functions:
    """The functions of `core` that are alive in this process, by file and name."""

    def __init__(self) -> None:
        """Looks once through everything there is."""
        gc.unfreeze()
        self.known: dict[tuple[str, str], list[FunctionType]] = collections.defaultdict(list)
        self.compiled = []
        for one in gc.get_objects():
            if type(one) is FunctionType and (file := loading.ours(one.__code__.co_filename)):
                self.known[file, one.__code__.co_qualname].append(one)
            elif type(one).__name__ == "CPUDispatcher":
                self.compiled.append(one)
        gc.freeze()

    def exchange(self, fault: Fault) -> bool:
        """Puts the code with the fault in the place of the code there is; False: none is there."""
        path, done = str(ROOT / fault.file), False
        for code in _codes(compile(fault.applied(), path, "exec", dont_inherit=True)):
            if code.co_qualname.partition(".<locals>")[0] == fault.function:
                for function in self.known.get((fault.file, code.co_qualname), ()):
                    if _last_line(function.__code__) == _last_line(code):
                        function.__code__ = code
                        done = True
        self._forget_compiled({fault.function})
        return done

    def _forget_compiled(self, names: set[str]) -> None:
        """What numba compiled from these functions, or with them, is compiled anew."""
        from numba.core.caching import NullCache

        before = 0
        while len(names) > before:
            before = len(names)
            calls = {one.py_func.__name__: one.py_func.__code__.co_names for one in self.compiled}
            names = names | {name for name, called in calls.items() if names & set(called)}
        for one in self.compiled:
            if one.py_func.__name__ in names:  # each compiled again when it is called: by then
                one._cache = NullCache()  # nothing is left of any that it calls
                one._make_finalizer()()
                one._reset_overloads()


def _codes(code: CodeType) -> Iterable[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _last_line(code: CodeType) -> int:
    """The last line of a function, by which two of one name are told apart."""
    return max((line for _, _, line in code.co_lines() if line), default=0)
