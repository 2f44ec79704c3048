"""Rankers from outside: a Python callable that scores one list at a time."""

import hashlib
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
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from pathlib import Path
from socket import SO_RCVTIMEO, SO_SNDTIMEO, SOL_SOCKET, socketpair
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any

import numpy as np
from jaxtyping import Bool, Float32, Int32, Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import DataError, ParameterError
from shuffleproof.core.execution.worker_process import THREAD_SETTINGS
from shuffleproof.core.numerals import number
from shuffleproof.core.rankers.base import Input
from shuffleproof.core.rankers.name import SIGNATURE
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.rankers.outside.callable_process import (
    ABSENT,
    EXPECTED,
    FAILED,
    FILES,
    MASKED,
    SCORES,
    SHAPE,
    TYPE,
    place,
)
from shuffleproof.core.rankers.outside.file_ranker import LARGEST
from shuffleproof.core.words import counted

SECONDS = 120.0
"""A call that has not answered by then is taken to hang."""

ALLOWED = "SHUFFLEPROOF_FUNCTION_SECONDS"
"""The environment variable that allows a call more or fewer seconds."""

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
        self._late = False
        self._end: weakref.finalize[Any, Any] | None = None

    def start(self) -> dict[str, Any]:
        """Start it, or start it again, and say what it found: the process's first answer.

        Raises:
            DataError: the import crashed or hung.
        """
        if not self.own_folders:
            return self._started()
        with suppress(DataError):
            found = self._started()
            if not found.keys() & {FAILED, ABSENT}:
                return found
        self.own_folders = False  # it needs what lies in the usual ones
        return self._started()

    def _started(self) -> dict[str, Any]:
        if self._end is not None:
            self._end()
        self._late, self._faults = False, TemporaryFile()  # noqa: SIM115 (closed by _ended_all)
        ours, theirs = socketpair()
        for limit in (SO_SNDTIMEO, SO_RCVTIMEO):
            ours.setsockopt(SOL_SOCKET, limit, _time_value(self.seconds))
        self._connection = Connection(ours.detach())
        self._room = TemporaryDirectory(ignore_cleanup_errors=True) if self.own_folders else None
        files = (theirs.fileno(), self._faults.fileno())
        limits = (self.seconds + LAST_BREATH, *files)
        program = ["-P", "-m", PROGRAM, self.target, *map(str, limits)]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *program], stdin=subprocess.DEVNULL, pass_fds=files,
                env=_environment(self.threads, self._room), start_new_session=True,
            )  # fmt: skip
        self._end = weakref.finalize(
            self, _ended_all, self._process, self._connection, self._faults, self._room
        )
        path = json.dumps([one or str(Path.cwd()) for one in ("", *map(str, sys.path))])
        found: dict[str, Any] = json.loads(self._asked(path.encode(), self.target))
        return found

    def scores(
        self,
        features: Float32[np.ndarray, "lists docs features"],
        ranks: Int32[np.ndarray, "lists docs rankings"],
        where: str,
        mask: Bool[np.ndarray, "lists docs"] | None = None,
    ) -> Any:
        """What the function returned: real numbers in the shape that is due.

        Args:
            features: of lists of one length, or padded to one.
            ranks: of the same.
            where: these lists in words.
            mask: True = a document; by default all are.

        Raises:
            DataError: it failed, crashed, hung or returned something else.
        """
        if self._late or self._process.poll() is not None:
            self.start()
        message = io.BytesIO()
        for given in (features, ranks) if mask is None else (features, ranks, mask):
            np.save(message, given)
        try:
            return self._scores(message, where)
        except DataError:
            if not self.own_folders:
                raise
        self.own_folders = False  # it may need what lies in the usual ones
        self._started()
        return self._scores(message, where)

    def _scores(self, message: io.BytesIO, where: str) -> Any:
        answer = self._asked(message.getbuffer(), where)
        if answer.startswith(SCORES):
            return np.load(io.BytesIO(answer.removeprefix(SCORES)), allow_pickle=False)
        head = json.loads(answer)
        if FAILED in head:
            kind, _, words = head[FAILED].partition(": ")
            refused = words.partition("()")[0].endswith(self.target.rpartition(":")[2])
            is_call = kind == "TypeError" and "()" in words and refused
            remedy = f"It is called as {SIGNATURE}." if is_call else "Mend it."
            raise DataError(where, f"the function failed: {head[FAILED]}", remedy)
        raise _misshaped(where, head)

    def _asked(self, message: Any, where: str) -> bytes:
        """The answer to a message; the process is ended where it comes too late."""
        try:
            self._connection.send_bytes(message)
            return self._connection.recv_bytes()
        except BlockingIOError as error:  # the socket's own time limit
            self._expire()
            raise self._died(where) from error
        except (EOFError, OSError) as error:
            raise self._died(where) from error

    def _expire(self) -> None:
        """End a process that hangs, once it had time to say where."""
        self._late = True
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(WORDING)
        _kill(self._process)

    def _died(self, where: str) -> DataError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_BREATH)
        _kill(self._process)
        code = self._process.wait()
        self._faults.seek(0)
        lines = LINE.findall(self._faults.read().decode(errors="replace"))
        found = place([(file, int(line), name) for file, line, name in reversed(lines)])
        line = f" ({found})" if found else ""
        if self._late:
            said = f"it has not answered within {self.seconds:g} s{line}"
            return DataError(where, said, f"Mend it, or allow it more seconds: {ALLOWED}=600.")
        said = f"it ended its own process with exit status {code}"
        if code < 0:
            said = f"it crashed with {signal.Signals(-code).name}{line}"
        more = " or give it more memory" if code == -signal.SIGKILL else ""
        return DataError(where, said, f"Mend it{more}.")


def _misshaped(where: str, head: dict[str, Any]) -> DataError:
    """What came instead of scores: None, or something of another type or shape."""
    found = f"it returned {head[TYPE]} of shape {tuple(head[SHAPE])}"
    found = "it returned nothing" if head[TYPE] == "None" else found
    expected = " x ".join(map(str, head[EXPECTED]))
    return DataError(where, found, f"Expected {expected} numbers: {SIGNATURE}.")


def _time_value(seconds: float) -> bytes:
    """Seconds as sockets take them: whole ones and microseconds, 0 of both would be no limit."""
    return struct.pack("ll", *divmod(max(round(seconds * 1e6), 1), 1_000_000))


def _environment(
    threads: int | None, room: "TemporaryDirectory[str] | None" = None
) -> dict[str, str]:
    limits = {} if threads is None else dict.fromkeys(THREAD_SETTINGS, str(threads))
    own = {} if room is None else _folders(Path(room.name))
    return os.environ | {"OMP_WAIT_POLICY": "passive"} | limits | own


def _folders(room: Path) -> dict[str, str]:
    """The variables that make a folder the place of temporary files, of home and of caches."""
    own = {name: room / name.lower() for name in (*TEMPORARY, "HOME", *XDG)}
    for path in own.values():
        path.mkdir()
    base = {"PYTHONUSERBASE": site.getuserbase()}  # packages that lie at home stay in sight
    return {name: str(path) for name, path in own.items()} | base


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process and all that it started."""
    with suppress(ProcessLookupError, PermissionError):  # it is over already
        os.killpg(process.pid, signal.SIGKILL)


def _ended_all(
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


TOGETHER = 64
"""Lists of one length that a function with a mask is given at once."""

PADDED = 3
"""Slots of padding behind the longest list of a call, where padding is looked at."""

EVERYTHING: frozenset[Input] = frozenset({"features", "order", "ranks", "neighbours"})


@dataclass(frozen=True)
class CallableRanker:
    """A function of one list or of several, documents in the order shown.

    (features f32[docs, features], ranks i32[docs, rankings]) → f32[docs] is called once a list;
    (features f32[lists, docs, features], mask bool[lists, docs], ranks i32[lists, docs, rankings])
    → f32[lists, docs], a function of three, with up to TOGETHER lists of one length. Nothing is
    known of what it reads, so it is taken to read everything. It runs in a process of its own:
    what it does there, to the end of it, is told in words and harms nothing here.

    Attributes:
        name: `module:function`.
        process: that runs it.
        masked: it is one of (features, mask, ranks).
        reads: everything.
        rankings: initial rankings that the lists must carry at least.
        source: SHA-256 of the file (or files) that module and function come from, as they were
            when it was named; empty where there is none, as for what is built into Python. What
            the file imports or reads in its turn is not in it.
        padding: lists of any lengths are given together, the shorter ones and the longest padded.
    """

    name: str
    process: FunctionProcess = field(repr=False, compare=False)
    masked: bool
    reads: frozenset[Input] = EVERYTHING
    rankings: int = 0
    source: str = ""
    padding: bool = False

    @classmethod
    def named(cls, target: str, seconds: float | None = None) -> "CallableRanker":
        """The ranker of a `module:function`, looked up from the current folder first.

        Args:
            target: the name.
            seconds: that a call may take; by default as `foreign_asked.seconds_allowed` says.

        Raises:
            DataError: no such module or function, or its import failed.
        """
        module, _, function = target.partition(":")
        if module == "__main__":
            found = "__main__ is the running program, which another process cannot import"
            raise DataError(target, found, "Put the function into a file of its own.")
        process = FunctionProcess(target, seconds_allowed() if seconds is None else seconds)
        about = process.start()
        if FAILED in about:
            raise DataError(target, f"{module} cannot be imported: {about[FAILED]}", "Mend it.")
        if about.get(ABSENT):
            found = f"cannot import {module}: {about[ABSENT]}"
            raise DataError(target, found, "Run from the folder that holds it.")
        if ABSENT in about:
            raise DataError(target, f"{module} has no function {function}", "Name module:function.")
        return cls(target, process, about[MASKED], source=_source(about[FILES]))

    def fresh(self, threads: int | None = None) -> "CallableRanker":
        """The same function in another process, which has seen nothing yet.

        Its temporary and home folders are its own, so that it finds there what it put there alone.

        Args:
            threads: numeric threads of that process; by default as many as this one's.
        """
        process = FunctionProcess(self.name, self.process.seconds, threads, own_folders=True)
        process.start()
        return replace(self, process=process)

    @property
    def has_own_folders(self) -> bool:
        """Whether its process had, up to now, temporary and home folders of its own."""
        return self.process.own_folders

    def padded(self) -> "CallableRanker | None":
        """The same function, given padded lists; None where it takes no mask, and so none."""
        return replace(self, padding=True) if self.masked else None

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Scores by one call a list, or for lists of one length; float64 keeps order and ties.

        Raises:
            DataError: the function failed, crashed, hung, or returned something other than one
                finite score a document.
        """
        scores = np.empty(len(lists.rows), dtype=np.float64)
        for chosen in self._called(lists):
            longest = int(lists.lengths[chosen].max()) + PADDED * self.padding
            places = np.arange(longest)
            mask = places < lists.lengths[chosen][:, None]
            slots = np.where(mask, lists.offsets[chosen][:, None] + places, 0)
            scores[slots[mask]] = self._answer(dataset, lists, chosen, slots, mask)[mask]
        return file_ranker.in_single_precision(lists.offsets, scores)

    def _called(self, lists: CandidateLists) -> Iterator[Int64[np.ndarray, " chosen"]]:
        """The lists of each call: one after the other, or as many as may be of one length."""
        if not self.masked:
            yield from np.arange(len(lists))[:, None]
            return
        if self.padding:
            yield from (
                np.arange(first, min(first + TOGETHER, len(lists)))
                for first in range(0, len(lists), TOGETHER)
            )
            return
        for size in np.unique(lists.lengths):
            alike = np.flatnonzero(lists.lengths == size)
            for first in range(0, len(alike), TOGETHER):
                yield alike[first : first + TOGETHER]

    def _answer(
        self,
        dataset: RankingDataset,
        lists: CandidateLists,
        chosen: Int64[np.ndarray, " chosen"],
        slots: Int64[np.ndarray, "chosen docs"],
        mask: Bool[np.ndarray, "chosen docs"],
    ) -> Any:
        """The function's scores of some lists, one where it takes no mask; checked."""
        names = [dataset.query_ids[lists.queries[one]] for one in chosen]
        features, ranks = dataset.features[lists.rows[slots]], lists.ranks[slots]
        given = None
        if self.padding:
            real, given = mask[:, :, None], mask
            features, ranks = np.where(real, features, 0), np.where(real, ranks, 0)
        answer = self.process.scores(features, ranks, f"{self.name}, {_queries(names)}", given)
        answer = answer.reshape(slots.shape)
        wrong = np.argwhere(~(np.abs(answer.astype(np.float64)) <= LARGEST) & mask)
        if len(wrong):
            (one, place), docs = wrong[0], slots.shape[1]
            found = f"it returned {answer[one, place]} for document {place + 1} of {docs}"
            remedy = "Expected finite numbers of single precision."
            raise DataError(f"{self.name}, query {names[one]}", found, remedy)
        return answer

    def save(self, directory: Path) -> None:
        """A callable cannot be stored; it is named again each time.

        Raises:
            DataError: always.
        """
        raise DataError(
            str(directory),
            f"{self.name} is a function",
            "Name it anew each time: it is not stored.",
        )


def _source(files: Sequence[str]) -> str:
    """The digest of the files that a callable comes from; empty where there are none."""
    digests = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    return hashlib.sha256("".join(digests).encode()).hexdigest() if digests else ""


def _queries(names: Sequence[str]) -> str:
    """Queries in words, three of them at most.

    >>> _queries(["7"]), _queries(["7", "8"]), _queries(list("789ab"))
    ('query 7', 'queries 7, 8', 'queries 7, 8, 9 and 2 others')
    """
    more = f" and {counted(len(names) - 3, 'other')}" if len(names) > 3 else ""
    return f"{'query' if len(names) == 1 else 'queries'} {', '.join(names[:3])}{more}"
