"""What every fuzzer here shares: damaged inputs by number, and how each of them ended, counted.

A fuzzer is a function `attempt(generator, room)` of a module of its own. It makes one input from
the generator, hands it to what is tested and compares the answer with an independent reading:

    return                     accepted, and the answer is right
    raise WrongError            accepted, and the answer is not what the input says
    raise ShuffleproofError    refused; a message without place, finding or remedy is unclear
    raise anything else        a defect of ours; so is the death of the process

Every attempt runs in a process apart, which is killed and counted as a hang when it does not
answer. Input `number` depends on (seed, number) alone: `--only NUMBER` repeats one of them.
"""

import argparse
import gzip
import json
import multiprocessing
import re
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shuffleproof.core.errors import DataError, ShuffleproofError

ACCEPTED, WITH_LINE, REFUSED = "accepted", "refused with line", "refused as a whole"
UNCLEAR, WRONG, TRACEBACK, HANG = "unclear", "wrong", "traceback", "hang"
SOUND = (ACCEPTED, WITH_LINE, REFUSED)
KINDS = (*SOUND, UNCLEAR, WRONG, TRACEBACK, HANG)
LONGEST_MESSAGE = 1000
NAMED = 40  # of what ended badly
WARM, FIRST_WARM, LONGEST_START = 100, 1 << 40, 600.0

Attempt = Callable[[np.random.Generator, Path], None]


class WrongError(Exception):
    """An input was accepted and its answer is not what the input says."""


class UnclearError(Exception):
    """An input was refused in words that do not help; for what `lacking` cannot know."""


@dataclass(frozen=True)
class Bounds:
    """What an attempt may take.

    Attributes:
        seconds: of processor time of the attempt's process and its children; more is a hang.
        patience: seconds of the clock before the process is killed, which is a hang too.
        data: bytes that the process may hold; beyond them Python raises MemoryError.
        peak: bytes of resident memory that a clean run stays below.
    """

    seconds: float = 5.0
    patience: float = 600.0
    data: int = 1 << 33
    peak: int = 1 << 30


@dataclass(frozen=True)
class Ending:
    """How one attempt ended: its kind, its message, and what it took."""

    kind: str
    words: str = ""
    seconds: float = 0.0
    peak: int = 0


@dataclass
class Tally:
    """How many attempts ended how.

    Attributes:
        endings: attempts by kind.
        bad: number, kind and message of the first that ended badly.
        slowest: seconds of processor time of the slowest attempt.
        peak: bytes of resident memory at most.
        messages: what the refused ones were told, without their numbers and quotations.
    """

    bounds: Bounds = field(default_factory=Bounds)
    endings: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    slowest: float = 0.0
    peak: int = 0
    messages: Counter[str] = field(default_factory=Counter)

    def count(self, number: int, ending: Ending) -> None:
        """Add an ending."""
        self.endings[ending.kind] += 1
        self.slowest, self.peak = max(self.slowest, ending.seconds), max(self.peak, ending.peak)
        if ending.kind not in SOUND and len(self.bad) < NAMED:
            self.bad.append(f"{number} {ending.kind}: {ending.words}")
        elif ending.kind in (WITH_LINE, REFUSED):
            bare = re.sub(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"", "…", ending.words)
            self.messages[re.sub(r"\S*/\S*|[\d,.]*\d", "…", bare)] += 1

    @property
    def clean(self) -> bool:
        """Nothing ended badly, and memory stayed within bounds."""
        return not self.bad and self.peak <= self.bounds.peak

    def shown(self) -> str:
        """One JSON object: every kind with its count, slowest, peak, and what ended badly."""
        counts = {kind: self.endings[kind] for kind in KINDS}
        measured = {"slowest_s": round(self.slowest, 2), "peak_mib": self.peak >> 20}
        return json.dumps({"attempts": self.endings.total(), **counts, **measured, "bad": self.bad})


def run(
    attempt: Attempt,
    count: int,
    seed: int = 0,
    bounds: Bounds | None = None,
    *,
    warm: int = 0,
    watch: Callable[[Tally], None] = lambda _tally: None,
) -> Tally:
    """Make so many attempts, each in a process apart, and count how they ended.

    Args:
        attempt: see the head of this module.
        count: how many.
        seed: of the inputs.
        bounds: what an attempt may take.
        warm: attempts that a new process makes first, uncounted: imports and compilation are slow.
        watch: called with the count so far after every 500.
    """
    tally = Tally(bounds or Bounds())
    with TemporaryDirectory() as folder:
        worker = None
        try:
            for number in range(count):
                worker = worker or _Worker(attempt, (seed, warm), Path(folder), tally.bounds)
                ending = worker.ending(number)
                tally.count(number, ending)
                if not tally.endings.total() % 500:
                    watch(tally)
                if worker.over:
                    worker = None
        finally:
            if worker is not None:
                worker.stop()
    return tally


class _Worker:
    """The process in which attempts are made, until one of them ends it."""

    def __init__(
        self, attempt: Attempt, drawn: tuple[int, int], folder: Path, bounds: Bounds
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(attempt, drawn, folder, bounds, theirs), daemon=False
        )
        self._process.start()
        theirs.close()
        self._patience = bounds.patience
        self.over = False
        if not self._pipe.poll(LONGEST_START):
            self.stop()
            raise TimeoutError("the process of the attempts does not start")
        self._pipe.recv()

    def ending(self, number: int) -> Ending:
        """Make an attempt."""
        self._pipe.send(number)
        began = time.monotonic()
        if not self._pipe.poll(self._patience):
            self.stop()
            return Ending(HANG, "killed without an answer", time.monotonic() - began)
        try:
            return self._pipe.recv()
        except EOFError:
            self.stop()
            return Ending(TRACEBACK, f"the process ended with {self._process.exitcode}")

    def stop(self) -> None:
        """End the process."""
        self.over = True
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _serve(
    attempt: Attempt, drawn: tuple[int, int], folder: Path, bounds: Bounds, pipe: Connection
) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (bounds.data, bounds.data))
    warnings.simplefilter("error", RuntimeWarning)
    seed, warm = drawn
    for place in range(warm):
        with TemporaryDirectory(dir=folder) as room:
            _judged(attempt, np.random.default_rng([seed, FIRST_WARM + place]), Path(room))
    pipe.send("ready")
    while True:
        try:
            number = pipe.recv()
        except EOFError:
            return
        room = folder / str(number)
        room.mkdir()
        pipe.send(_ending(attempt, np.random.default_rng([seed, number]), room, bounds))
        shutil.rmtree(room, ignore_errors=True)


def _ending(attempt: Attempt, generator: np.random.Generator, room: Path, bounds: Bounds) -> Ending:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM starts anew
    began = _seconds()
    kind, words = _judged(attempt, generator, room)
    took = _seconds() - began
    if took > bounds.seconds:
        kind, words = HANG, f"{took:.1f} s, then {kind}: {words}"
    return Ending(kind, words, took, _peak())


def _seconds() -> float:
    """Processor time of this process, and of its children that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _judged(attempt: Attempt, generator: np.random.Generator, room: Path) -> tuple[str, str]:
    try:
        attempt(generator, room)
    except ShuffleproofError as error:
        words = str(error)
        if reason := lacking(error):
            return UNCLEAR, f"{reason}: {words[:LONGEST_MESSAGE]!a}"
        return (WITH_LINE if re.search(r":\d+: ", words) else REFUSED), words
    except WrongError as error:
        return WRONG, str(error)
    except UnclearError as error:
        return UNCLEAR, str(error)
    except Exception:  # noqa: BLE001 (what a fuzzer looks for)
        return TRACEBACK, " | ".join(traceback.format_exc().splitlines()[-5:])
    return ACCEPTED, ""


def lacking(error: ShuffleproofError) -> str:
    """What a refusal lacks for a person to act on it; empty if nothing."""
    text = str(error)
    lines = text.split("\n") if "malformed lines; after this one:\n" in text else [text]
    if not all(line.isprintable() for line in lines):
        return "control characters"
    if max(map(len, lines)) > LONGEST_MESSAGE:
        return "longer than a person reads"
    if isinstance(error, DataError):
        parts = {"place": error.place, "finding": error.finding, "remedy": error.remedy}
        return ", ".join(f"no {name}" for name, part in parts.items() if not part.strip())
    return "" if re.search(r"[.;] \S", text) else "no remedy"


def _peak() -> int:
    """Bytes of memory that this process held at most since the attempt began, or a child ever."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) << 10


def damaged(text: bytes, generator: np.random.Generator, tokens: Sequence[bytes]) -> bytes:
    """The bytes after one to three random damages: bytes, tokens, cuts, swaps and repeats."""
    data = bytearray(text)
    for _ in range(generator.integers(1, 4)):
        place, other = sorted(generator.integers(0, max(len(data), 1), 2).tolist())
        kind = generator.integers(0, 6)
        if kind == 0 and data:
            data[place] = int(generator.integers(0, 256))
        elif kind == 1:
            data[place:place] = tokens[int(generator.integers(0, len(tokens)))]
        elif kind == 2:
            del data[place : min(other, place + 200)]
        elif kind == 3:
            data[place:place] = data[place : min(other, place + 200)]
        elif kind == 4:
            del data[max(len(data) - other, 1) :]
        else:
            lines = bytes(data).split(b"\n")
            generator.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def packed(text: bytes, generator: np.random.Generator) -> bytes:
    """One in eight is compressed, and half of those damaged afterwards."""
    if generator.integers(0, 8):
        return text
    squeezed = bytearray(gzip.compress(text, mtime=0))
    if generator.integers(0, 2):
        squeezed[int(generator.integers(0, len(squeezed)))] ^= 0xFF
    return bytes(squeezed)


def main(
    attempt: Attempt,
    about: str,
    count: int = 1000,
    *,
    warm: int = WARM,
    bounds: Bounds | None = None,
    prepared: Callable[[Path], None] = lambda _folder: None,
) -> None:
    """The command line of a fuzzer: so many attempts, or one of them alone, in this process."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("count", type=int, nargs="?", default=count)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="make this attempt alone and raise what it raises")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        prepared(Path(folder))
        if asked.only is not None:
            (Path(folder) / "room").mkdir()
            attempt(np.random.default_rng([asked.seed, asked.only]), Path(folder) / "room")
            return
        tally = run(
            attempt, asked.count, asked.seed, bounds, warm=warm,
            watch=lambda so_far: print(so_far.shown(), file=sys.stderr, flush=True),  # noqa: T201
        )  # fmt: skip
    for message, times in tally.messages.most_common():
        sys.stderr.write(f"{times:7} {message}\n")
    sys.stdout.write(tally.shown() + "\n")
    sys.exit(0 if tally.clean else 1)
