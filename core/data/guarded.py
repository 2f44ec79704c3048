"""The reader of untrusted tables in a process of its own, with limits on memory and on time.

A crafted file can crash the library that reads it, or make it take all memory. So the reader
(`core.data.tables.column_batches`) runs in a disposable process (`core.execution.worker_process`),
which answers with plain arrays, JSON, and refusals. The process that asks survives whatever the
file does.
"""

import os
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.errors import DataError
from shuffleproof.core.execution.worker_process import LATE, WorkerError, WorkerProcess

SERVER = "shuffleproof.core.data.guarded:ReaderServer"
LONGEST_WORDS = 400
MOST_MEMORY, SPARE_MEMORY = 4 << 30, 256 << 20
DAMAGED = "Write the file again, or check it with the program that made it."

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
    arguments: Mapping[str, Any], place: str, limits: GuardLimits
) -> Generator[Answer, None, None]:
    """The answers of the reader in a process of its own, one after the other.

    The process ends with this generator. Close the generator to end it early.

    Args:
        arguments: of the reader; JSON.
        place: name of the file in errors.
        limits: of the process.

    Yields:
        Facts and arrays.

    Raises:
        DataError: the reader refuses the file, crashes, or goes beyond the limits.
    """
    for facts, arrays in _replies_of_process(arguments, place, limits):
        if "error" in facts:
            raise DataError(*(_printable(words) for words in facts["error"]))
        yield facts, arrays


def _replies_of_process(
    arguments: Mapping[str, Any], place: str, limits: GuardLimits
) -> Iterator[Answer]:
    """Yield the replies of a process of its own."""
    worker = WorkerProcess(SERVER, limits.silence, threads=1, memory=limits.memory, quiet=True)
    try:
        worker.ask("start", arguments=dict(arguments), memory=limits.memory)
        while True:
            answer = worker.ask("read")
            facts = answer.pop("facts")
            if facts is None:
                return
            yield facts, answer
    except WorkerError as error:
        raise DataError(place, _end_in_words(error, limits), DAMAGED) from error
    except (LookupError, MemoryError, TypeError, ValueError) as error:
        raise DataError(place, "its reader gave an answer of another kind", DAMAGED) from error
    finally:
        worker.close()


def _end_in_words(error: WorkerError, limits: GuardLimits) -> str:
    """The words for a process that ended in the middle of its work."""
    if error.kind == LATE:
        return f"its reader gave no answer within {limits.silence:.0f} s"
    if error.signal == "SIGKILL" or "SIGKILL" in error.finding:
        return "reading it took too much memory"
    if error.signal:
        return f"it crashed the library that reads it ({error.signal})"
    return f"reading it failed, or needs more than {limits.memory >> 20} MiB of memory at a time"


def _printable(words: Any) -> str:
    """Words of a process that read an untrusted file, without control characters."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
        for letter in str(words)
    )


class ReaderServer:
    """The reader of one file, in the guarded process."""

    def __init__(self) -> None:
        """Prepare for libraries that crash or run out of memory."""
        import resource  # noqa: PLC0415 (only this process needs it)

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # allocations beyond the limit fail, where Arrow's own pool would abort
        os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
        self._replies: Iterator[Answer] = iter(())

    def start(self, arguments: Mapping[str, Any], memory: int) -> dict[str, Any]:
        """Begin to read."""
        self._replies = replies(arguments, memory)
        return {}

    def read(self) -> dict[str, Any]:
        """The next facts and arrays; without facts it was the last."""
        facts, arrays = next(self._replies, (None, {}))
        return {"facts": facts, **arrays}


def replies(arguments: Mapping[str, Any], memory: int) -> Iterator[Answer]:
    """The answers of the reader, and as last one its refusal, if any; for the guarded process."""
    from shuffleproof.core.data.tables import column_batches  # noqa: PLC0415 (it imports this)

    place = str(arguments.get("place", "the file"))
    try:
        yield from column_batches(**arguments)
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
