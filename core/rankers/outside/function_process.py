"""The processes in which a function of somebody's runs, as whoever asks them sees them."""

import io
import json
import os
import re
import signal
import site
import struct
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from socket import SO_RCVTIMEO, SO_SNDTIMEO, SOL_SOCKET, socketpair
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event
from typing import IO, Any

import numpy as np

from shuffleproof.core.errors import AnswerError, DataError, ParameterError, ShuffleproofError
from shuffleproof.core.execution.jobs_slots import THREADS
from shuffleproof.core.numerals import is_count, number
from shuffleproof.core.rankers.outside.audit import join_places
from shuffleproof.core.rankers.outside.callable_process import (
    ABSENT,
    ARRAYS,
    EXPECTED,
    FAILED,
    PLACES,
    REFUSED,
    REMEDY,
    RETURNED,
    SCORES,
    SHAPE,
)
from shuffleproof.core.rankers.outside.signature import SIGNATURE
from shuffleproof.core.user_code import place

SECONDS = 120.0
"""A call that has not answered by then is taken to hang."""

ALLOWED = "SHUFFLEPROOF_FUNCTION_SECONDS"
"""The environment variable that allows a call more or fewer seconds."""

JOBS = "SHUFFLEPROOF_FUNCTION_JOBS"
"""The environment variable that says how many calls may be under way at the same time."""

MOST_JOBS = 256
PROGRAM = "shuffleproof.core.rankers.outside.callable_process"
TEMPORARY, XDG = ("TMPDIR", "TEMP", "TMP"), ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
LONGEST = 1e7  # seconds that a call may be allowed
LAST_BREATH = 10.0  # seconds for a process to end that has closed its connection
WORDING = 0.3  # seconds for a process that hangs to say where
LINE = re.compile(r'File "(.+)", line (\d+) in (.+)')


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
    """How many calls of a function may be under way at the same time: the environment's, or 1.

    Raises:
        ParameterError: the environment's are no whole number from 1 on.
    """
    text = os.environ.get(JOBS, "").strip()
    if not text:
        return 1
    if is_count(text) and 1 <= int(text) <= MOST_JOBS:
        return int(text)
    raise ParameterError(JOBS, text, f"a whole number from 1 to {MOST_JOBS}")


class FunctionProcess:
    """The process of one function.

    Attributes:
        target: `module:function`.
        seconds: that each call has, and the import.
        threads: numeric threads; None: as many as whoever asks has.
        own_folders: its temporary and home folders are its own, empty when it starts and removed
            when it ends. Where the function fails there, it is asked again in the usual ones.
    """

    def __init__(
        self, target: str, seconds: float, threads: int | None = None, *, own_folders: bool = False
    ) -> None:
        """Nothing is started yet."""
        self.target, self.seconds, self.threads = target, seconds, threads
        self.own_folders = own_folders
        self._late = self._over = False
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[Any, Any] | None = None

    def start(self) -> dict[str, Any]:
        """Start it, or start it again, and say what it found: the process's first answer.

        Raises:
            DataError: no such module or function, or its import failed, crashed or hung.
        """
        if self.own_folders:
            with suppress(DataError):
                return self._open()
            self._may_go_on()
            self.own_folders = False  # it needs what lies in the usual ones
        return self._open()

    def resume(self) -> None:
        """Let it be asked, and started anew, after it was ended."""
        self._over = False

    def end(self) -> None:
        """End it, also in the middle of a call that another thread waits for."""
        self._over = True
        if self._process is not None:
            _kill(self._process)

    def _may_go_on(self) -> None:
        if self._over:
            raise DataError(self.target, "it was stopped", "Ask it again.")

    def _open(self) -> dict[str, Any]:
        """Start it once, as it is."""
        head, (module, _, function) = self._launch(), self.target.partition(":")
        if FAILED in head:
            finding = f"{module} cannot be imported: {head[FAILED]}"
            raise DataError(self.target, finding, "Mend it.")
        if head.get(ABSENT):
            finding = f"cannot import {module}: {head[ABSENT]}"
            raise DataError(self.target, finding, "Run from the folder that holds it.")
        if ABSENT in head:
            finding = f"{module} has no function {function}"
            raise DataError(self.target, finding, "Name module:function.")
        if REFUSED in head:
            remedy = "Name its parameters so, or give the others a default."
            raise DataError(self.target, head[REFUSED], remedy)
        return head

    def _launch(self) -> dict[str, Any]:
        if self._end is not None:
            self._end()
        self._late, self._faults = False, TemporaryFile()  # noqa: SIM115 (closed by _end_all)
        own_end, process_end = socketpair()
        for limit in (SO_SNDTIMEO, SO_RCVTIMEO):
            own_end.setsockopt(SOL_SOCKET, limit, _time_value(self.seconds))
        self._connection = Connection(own_end.detach())
        self._room = TemporaryDirectory(ignore_cleanup_errors=True) if self.own_folders else None
        files = (process_end.fileno(), self._faults.fileno())
        limits = (self.seconds + LAST_BREATH, *files)
        program = ["-P", "-m", PROGRAM, self.target, *map(str, limits)]
        with process_end:
            process = subprocess.Popen(
                [sys.executable, *program], stdin=subprocess.DEVNULL, pass_fds=files,
                env=_environment(self.threads, self._room), start_new_session=True,
            )  # fmt: skip
        self._process = process
        self._end = weakref.finalize(
            self, _end_all, process, self._connection, self._faults, self._room
        )
        path = [entry or str(Path.cwd()) for entry in ("", *map(str, sys.path))]
        place = {"path": path, "room": "" if self._room is None else self._room.name}
        head: dict[str, Any] = json.loads(self._exchange(json.dumps(place).encode(), self.target))
        return head

    def places(self) -> dict[str, list[str]]:
        """Places that it has touched since it started, by `audit.KINDS`; none before that."""
        if self._process is None or self._late or self._process.poll() is not None:
            return join_places(())
        places: dict[str, list[str]] = json.loads(self._exchange(PLACES, self.target))
        return places

    def scores(self, given: Mapping[str, Any], where: str) -> Any:
        """What the function returned: real numbers in the shape that is due.

        Args:
            given: its inputs by name, for several lists of one length or padded to one; one list
                where it takes no mask.
            where: these lists in words.

        Raises:
            DataError: it failed, crashed, hung or returned something else.
        """
        if self._process is None or self._late or self._process.poll() is not None:
            self.start()
        words = {name: value for name, value in given.items() if name not in ARRAYS}
        message = io.BytesIO()
        message.write(json.dumps(words).encode() + b"\n")
        for name in ARRAYS:
            if name in given:
                np.save(message, given[name])
        try:
            return self._scores(message, where)
        except DataError:
            if not self.own_folders or self._over:
                raise
        self.own_folders = False  # it may need what lies in the usual ones
        self._open()
        return self._scores(message, where)

    def _scores(self, message: io.BytesIO, where: str) -> Any:
        with message.getbuffer() as content:
            answer = self._exchange(content, where)
        if answer.startswith(SCORES):
            return np.load(io.BytesIO(answer.removeprefix(SCORES)), allow_pickle=False)
        head = json.loads(answer)
        if FAILED in head:
            raise DataError(where, f"the function failed: {head[FAILED]}", "Mend it.")
        expected = " x ".join(map(str, head[EXPECTED]))
        due = head[REMEDY] or f"Expected {expected} numbers: {SIGNATURE}."
        shapes = tuple(head[SHAPE]), tuple(head[EXPECTED])
        raise AnswerError.of_shape(where, f"it returned {head[RETURNED]}", due, shapes)

    def _exchange(self, message: Any, where: str) -> bytes:
        """The answer to a message; the process is ended where it comes too late."""
        self._may_go_on()
        try:
            self._connection.send_bytes(message)
            return self._connection.recv_bytes()
        except BlockingIOError as error:  # the socket's own time limit
            self._expire()
            raise self._death_error(where) from error
        except (EOFError, OSError) as error:
            raise self._death_error(where) from error
        except BaseException:  # Ctrl-C: what it answers now is no answer to the next call
            self.end()
            raise

    def _expire(self) -> None:
        """End a process that hangs, once it had time to say where."""
        self._late = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGUSR1)
                time.sleep(WORDING)
            _kill(self._process)

    def _death_error(self, where: str) -> DataError:
        self._may_go_on()
        code = _exit_status(self._process)
        self._faults.seek(0)
        lines = LINE.findall(self._faults.read().decode(errors="replace"))
        location = place([(file, int(line), name) for file, line, name in reversed(lines)])
        line = f" ({location})" if location else ""
        if self._late:
            finding = f"it has not answered within {self.seconds:g} s{line}"
            return DataError(where, finding, f"Mend it, or allow it more seconds: {ALLOWED}=600.")
        finding = f"it ended its own process with exit status {code}"
        if code < 0:
            finding = f"it crashed with {signal.Signals(-code).name}{line}"
        advice = " or give it more memory" if code == -signal.SIGKILL else ""
        return DataError(where, finding, f"Mend it{advice}.")


def _exit_status(process: "subprocess.Popen[bytes] | None") -> int:
    """The exit status of a process that has closed its connection; 0 where none was started."""
    if process is None:
        return 0
    with suppress(subprocess.TimeoutExpired):
        process.wait(LAST_BREATH)
    _kill(process)
    return process.wait()


def _time_value(seconds: float) -> bytes:
    """Seconds as sockets take them: whole ones and microseconds, 0 of both would be no limit."""
    return struct.pack("ll", *divmod(max(round(seconds * 1e6), 1), 1_000_000))


def _environment(
    threads: int | None, room: "TemporaryDirectory[str] | None" = None
) -> dict[str, str]:
    limits = {} if threads is None else dict.fromkeys(THREADS, str(threads))
    folders = {} if room is None else _folders(Path(room.name))
    return os.environ | {"OMP_WAIT_POLICY": "passive"} | limits | folders


def _folders(room: Path) -> dict[str, str]:
    """The variables that make a folder the place of temporary files, of home and of caches."""
    folders = {name: room / name.lower() for name in (*TEMPORARY, "HOME", *XDG)}
    for path in folders.values():
        path.mkdir()
    base = {"PYTHONUSERBASE": site.getuserbase()}  # packages that lie at home stay in sight
    return {name: str(path) for name, path in folders.items()} | base


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):  # it is over already
        os.killpg(process.pid, signal.SIGKILL)


def _end_all(
    process: "subprocess.Popen[bytes]",
    connection: Connection,
    faults: IO[bytes],
    room: "TemporaryDirectory[str] | None",
) -> None:
    connection.close()
    if process.poll() is None:
        _kill(process)
    process.wait()
    faults.close()
    if room is not None:
        room.cleanup()


MakeCall = Callable[[FunctionProcess, int], None]
"""Make a call by its number in this process."""


class FunctionProcesses:
    """Several processes of one function, so that calls that wait need not wait for each other.

    Processes and not threads of one process: what holds for a call of a single one holds for each
    of them (its seconds, its crash told with its query, no state shared with another call), and
    functions need not be safe in threads.

    Calls about one query always go to the same of them: what a function remembers of a query, it
    remembers as if there was a single process. All but the first are started when they are needed.

    Attributes:
        processes: one or more.
    """

    def __init__(
        self,
        target: str,
        seconds: float,
        jobs: int,
        threads: int | None = None,
        *,
        own_folders: bool = False,
    ) -> None:
        """Nothing is started yet; arguments as `FunctionProcess` takes them."""
        self.processes = tuple(
            FunctionProcess(target, seconds, threads, own_folders=own_folders) for _ in range(jobs)
        )
        self._homes: dict[str, int] = {}

    @property
    def own_folders(self) -> bool:
        """Whether all had, up to now, temporary and home folders of their own."""
        return all(process.own_folders for process in self.processes)

    def places(self) -> dict[str, list[str]]:
        """Places that any of them has touched, by `audit.KINDS`."""
        return join_places(process.places() for process in self.processes)

    def map_calls(self, queries: Sequence[str], ask: MakeCall) -> None:
        """Make calls, as many at the same time as there are processes.

        Args:
            queries: what each call is about.
            ask: makes one of them.

        Raises:
            ShuffleproofError: of the first call in their order that failed, as without company.
        """
        shares: dict[int, list[int]] = {}
        for at, query in enumerate(queries):
            shares.setdefault(self._home(query), []).append(at)
        for process in self.processes:
            process.resume()
        failed: dict[int, ShuffleproofError] = {}
        stopped = Event()

        def work(home: int) -> None:
            for at in shares[home]:
                if stopped.is_set() or min(failed, default=at) < at:
                    return
                try:
                    ask(self.processes[home], at)
                except ShuffleproofError as error:
                    failed[at] = error

        with ThreadPoolExecutor(max(len(shares), 1)) as pool:
            try:
                list(pool.map(work, shares))
            except BaseException:  # Ctrl-C: whoever waits for an answer is told that none comes
                stopped.set()
                self.end()
                raise
        if failed:
            raise failed[min(failed)]

    def end(self) -> None:
        """End all of them, also in the middle of calls."""
        for process in self.processes:
            process.end()

    def _home(self, query: str) -> int:
        """The process of a query: in turn, so that any regular share of them is spread too."""
        assigned, count = len(self._homes), len(self.processes)
        return self._homes.setdefault(query, (assigned + assigned // count) % count)
