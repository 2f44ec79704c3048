"""Readers of untrusted files in a process of their own, with limits on memory and on time.

A crafted file can crash the library that reads it, or make it take all memory. So the reader runs
in a disposable process (`python -m shuffleproof.core.data.guarded`), which answers with plain
arrays, JSON, and refusals. The process that asks survives whatever the file does.

A reader is a generator function of this program, named `module:function` below
`shuffleproof.core`. Its arguments are JSON, and it yields (facts, arrays).
"""

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from shuffleproof.core.errors import DataError

PROGRAM = "shuffleproof.core.data.guarded"
PACKAGE = "shuffleproof.core."
LENGTH = 8  # bytes of the length of a head
LONGEST_HEAD = 1 << 24
LONGEST_ANSWER = 1 << 31
LONGEST_WORDS = 400
MOST_MEMORY, SPARE_MEMORY = 4 << 30, 256 << 20
KINDS = "biufS"
"""Kinds of NumPy arrays that are handed over: numbers and fixed bytes, never objects."""

DAMAGED = "Write the file again, or check it with the program that made it."

Arrays = Mapping[str, np.ndarray]
Answer = tuple[dict[str, Any], dict[str, np.ndarray]]


@dataclass(frozen=True)
class GuardLimits:
    """Limits of a process that reads one file.

    Attributes:
        memory: bytes that it may allocate.
        silence: seconds between two answers.
    """

    memory: int = 640 << 20
    silence: float = 60.0

    @classmethod
    def of_file(cls, path: Path) -> "GuardLimits":
        """More memory for a file that is large itself: a page of each of many columns, say."""
        size = path.stat().st_size if path.is_file() else 0
        return cls(memory=max(cls.memory, min(MOST_MEMORY, 2 * size + SPARE_MEMORY)))


def answers(
    reader: str, arguments: Mapping[str, Any], place: str, limits: GuardLimits | None = None
) -> Generator[Answer, None, None]:
    """The answers of a reader that runs in a process of its own, one after the other.

    The process ends with this generator. Close the generator to end it early.

    Args:
        reader: `module:function`, the module below `shuffleproof.core`.
        arguments: of the function; JSON.
        place: name of the file in errors.
        limits: of the process.

    Yields:
        Facts and arrays. The arrays are read-only.

    Raises:
        DataError: the reader refuses the file, crashes, or goes beyond the limits.
    """
    for facts, arrays in _replies_of_process(reader, arguments, place, limits or GuardLimits()):
        if "error" in facts:
            raise DataError(*(_printable(words) for words in facts["error"]))
        yield facts, arrays


def _replies_of_process(
    reader: str, arguments: Mapping[str, Any], place: str, limits: GuardLimits
) -> Iterator[Answer]:
    """Yield the replies of a process of its own."""
    request = {"reader": reader, "arguments": dict(arguments), "memory": limits.memory}
    environment = os.environ | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # allocations beyond the limit fail, not abort
        "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "PYTHONUTF8": "1",
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", PROGRAM],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip
    try:
        assert process.stdin is not None  # noqa: S101 (for mypy: it is piped)
        assert process.stdout is not None  # noqa: S101 (likewise)
        with suppress(BrokenPipeError):  # its end says why
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
        while "end" not in (received := _received(process, place, limits))[0]:
            yield received
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]


def _received(process: "subprocess.Popen[bytes]", place: str, limits: GuardLimits) -> Answer:
    """The next answer of a process.

    Raises:
        DataError: it crashed, does not answer, or writes something else.
    """
    pipe, ready = process.stdout, select.poll()
    ready.register(pipe, select.POLLIN)  # type: ignore[arg-type]
    deadline = time.monotonic() + limits.silence

    def taken(count: int) -> memoryview:
        """So many bytes of its output."""
        if not 0 <= count <= LONGEST_ANSWER:
            raise DataError(place, "its reader gave an answer that is too long", DAMAGED)
        held = memoryview(bytearray(count))
        filled = 0
        while filled < count:
            wait = deadline - time.monotonic()
            if wait <= 0 or not ready.poll(1000 * wait):
                finding = f"its reader gave no answer within {limits.silence:.0f} s"
                raise DataError(place, finding, "Split the file, or write it in another format.")
            got = pipe.raw.readinto(held[filled:])  # type: ignore[union-attr]
            if not got:
                raise DataError(place, _end_of(process, limits), DAMAGED)
            filled += got
        return held

    length = int.from_bytes(taken(LENGTH), "little")
    text = bytes(taken(min(length, LONGEST_HEAD)))
    try:
        head = json.loads(text)
        listed = [(str(name), np.dtype(kind), shape) for name, kind, shape in head["arrays"]]
        plain = all(dtype.kind in KINDS for _, dtype, _ in listed)
        whole = all(type(side) is int and side >= 0 for _, _, shape in listed for side in shape)
        facts = head["facts"] if plain and whole else None
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(place, "its reader gave an answer of another kind", DAMAGED) from error
    if not isinstance(facts, dict):
        raise DataError(place, "its reader gave an answer of another kind", DAMAGED)
    arrays = {}
    for name, dtype, shape in listed:
        held = taken(math.prod(shape) * dtype.itemsize)
        arrays[name] = np.frombuffer(held, dtype=dtype).reshape(shape)
        arrays[name].flags.writeable = False
    return facts, arrays


def _end_of(process: "subprocess.Popen[bytes]", limits: GuardLimits) -> str:
    """The words for a process that ended in the middle of its work."""
    code = process.wait()
    if code == -signal.SIGKILL:
        return "reading it took too much memory"
    if code < 0:
        return f"it crashed the library that reads it ({signal.Signals(-code).name})"
    return f"reading it failed, or needs more than {limits.memory >> 20} MiB of memory at a time"


def _printable(words: Any) -> str:
    """Words of a process that read an untrusted file, without control characters."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
        for letter in str(words)
    )


def _send(out: IO[bytes], facts: Mapping[str, Any], arrays: Arrays) -> None:
    """Write one answer."""
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    listed = [[name, array.dtype.str, array.shape] for name, array in whole.items()]
    head = json.dumps({"facts": dict(facts), "arrays": listed}).encode()
    out.write(len(head).to_bytes(LENGTH, "little") + head)
    for array in whole.values():
        out.write(array.reshape(-1).view(np.uint8).data if array.size else b"")
    out.flush()


def replies(reader: str, arguments: Mapping[str, Any], memory: int) -> Iterator[Answer]:
    """The answers of a reader, and as last one its refusal, if any; for the guarded process."""
    place = str(arguments.get("place", "the file"))
    try:
        module, _, function = reader.partition(":")
        yield from getattr(import_module(PACKAGE + module), function)(**arguments)
    except DataError as error:
        refusal = [error.place, error.finding, error.remedy]
    except MemoryError:
        finding = f"reading it needs more than {memory >> 20} MiB of memory at a time"
        refusal = [place, finding, "Write it in smaller batches, or split it."]
    except RecursionError:
        refusal = [place, "it is nested too deep", DAMAGED]
    except Exception as error:  # noqa: BLE001 (whatever a crafted file makes its library raise)
        words = " ".join(str(error).split())[:LONGEST_WORDS]
        refusal = [place, f"a damaged file ({type(error).__name__}: {words})", DAMAGED]
    else:
        return
    yield {"error": refusal}, {}


def main() -> int:
    """Read the request on stdin and write the replies to stdout."""
    import resource  # noqa: PLC0415 (only this process needs it)

    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    request = json.load(sys.stdin)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (request["memory"], request["memory"]))
    for facts, arrays in replies(request["reader"], request["arguments"], request["memory"]):
        _send(out, facts, arrays)
    _send(out, {"end": True}, {})
    os._exit(0)  # no destructor of a library that read a crafted file


if __name__ == "__main__":
    sys.exit(main())
