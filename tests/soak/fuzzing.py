"""Shared by every fuzzer here: damaged inputs by number, and a count of how each of them ended.

A fuzzer is a function `attempt(generator, room)` of a module of its own. It makes one input from
the generator, hands it to what is tested and compares the answer with an independent reading:

    return                     accepted, and the answer is right
    raise WrongError           accepted, and the answer is not what the input says
    raise ShuffleproofError    refused; a message without place, finding or remedy is unclear
    raise anything else        a defect of ours; so is the death of the process

Attempts run in a process apart, which is killed where one does not answer; a new one goes on. Input
`number` depends on (seed, number) alone: `--only NUMBER` repeats one of them.
"""

import argparse
import gzip
import json
import multiprocessing
import re
import resource
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
LONGEST_MESSAGE = 1000
WARM, FIRST_WARM, START = 100, 1 << 40, 600.0
DATA = 1 << 33
"""Bytes that the process of the attempts may hold; beyond them Python raises MemoryError."""

Attempt = Callable[[np.random.Generator, Path], None]


class WrongError(Exception):
    """An input was accepted and its answer is not what the input says."""


class UnclearError(Exception):
    """An input was refused in words that do not help; for what `lacking` cannot know."""


@dataclass(frozen=True)
class Bounds:
    """What an attempt may take.

    Attributes:
        seconds: of processor time; more is a hang.
        patience: seconds of the clock before the process is killed, which is a hang too.
    """

    seconds: float = 5.0
    patience: float = 600.0


@dataclass
class Tally:
    """How many attempts ended how.

    Attributes:
        endings: attempts by kind.
        bad: number, kind and message of those that ended badly.
        peak: bytes of memory that a process of the attempts held at most.
    """

    endings: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)
    peak: int = 0

    def shown(self) -> str:
        """One JSON object."""
        return json.dumps({**self.endings, "peak_mib": self.peak >> 20, "bad": self.bad[:40]})


def run(
    attempt: Attempt, count: int, seed: int = 0, bounds: Bounds | None = None, *, warm: int = 0
) -> Tally:
    """Make so many attempts and count how they ended.

    Args:
        attempt: see the head of this module.
        count: how many.
        seed: of the inputs.
        bounds: what an attempt may take.
        warm: attempts that a new process makes first, uncounted: imports and compilation are slow.
    """
    tally, bounds, context = Tally(), bounds or Bounds(), multiprocessing.get_context("spawn")
    number = 0
    while number < count:
        pipe, theirs = context.Pipe()
        arguments = attempt, seed, (warm, range(number, count)), bounds.seconds, theirs
        process = context.Process(target=_serve, args=arguments, daemon=False)
        process.start()
        theirs.close()
        if not pipe.poll(START):
            raise TimeoutError("the process of the attempts does not start")
        pipe.recv()
        while number < count:
            if not pipe.poll(bounds.patience):
                kind, words, peak = HANG, "killed without an answer", 0
            else:
                try:
                    kind, words, peak = pipe.recv()
                except EOFError:
                    process.join()
                    kind, words, peak = TRACEBACK, f"process ended: {process.exitcode}", -1
            tally.endings[kind] += 1
            tally.peak = max(tally.peak, peak)
            if kind not in SOUND:
                tally.bad.append(f"{number} {kind}: {words}")
            number += 1
            if peak <= 0:
                break
        process.kill()
        process.join()
        pipe.close()
    return tally


def _serve(
    attempt: Attempt, seed: int, numbers: tuple[int, range], seconds: float, pipe: Connection
) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))
    warnings.simplefilter("error", RuntimeWarning)
    warm, counted = numbers
    for place in range(warm):
        _judged(attempt, seed, FIRST_WARM + place)
    pipe.send("ready")
    for number in counted:
        began = _seconds()
        kind, words = _judged(attempt, seed, number)
        if (took := _seconds() - began) > seconds:
            kind, words = HANG, f"{took:.1f} s, then {kind}: {words}"
        pipe.send((kind, words, _peak()))


def _seconds() -> float:
    """Processor time of this process, and of its children that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def _peak() -> int:
    """Bytes of memory that this process held at most (`ru_maxrss` begins with its parent's)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) << 10


def _judged(attempt: Attempt, seed: int, number: int) -> tuple[str, str]:
    try:
        with TemporaryDirectory(suffix=f"-{number}") as room:
            attempt(np.random.default_rng([seed, number]), Path(room))
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
        tally = run(attempt, asked.count, asked.seed, bounds, warm=warm)
    sys.stdout.write(tally.shown() + "\n")
    sys.exit(1 if tally.bad else 0)
