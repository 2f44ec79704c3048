"""The reader of untrusted tables in a process of its own, with limits on memory and on time.

A crafted file can crash the library that reads it, or make it take all memory. So the reader
(`core.data.tables.column_batches`) runs in a disposable process (`core.execution.worker_process`),
which answers with plain arrays, JSON, and refusals. The process that asks survives whatever the
file does.
"""

import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.errors import DataError
from shuffleproof.core.execution.worker_process import LATE, WorkerError, WorkerProcess

SERVER = "shuffleproof.core.data.guarded:ReaderServer"
SILENCE = 60.0  # Seconds between two answers at most
LEAST_MEMORY, MOST_MEMORY, SPARE_MEMORY = 640 << 20, 4 << 30, 256 << 20
DAMAGED = "Write the file again, or check it with the program that made it."

Answer = tuple[dict[str, Any], dict[str, np.ndarray]]  # Facts and arrays


def answers(arguments: Mapping[str, Any], path: Path, place: str) -> Generator[Answer, None, None]:
    """The answers of the reader in a process of its own, which ends with this generator.

    A large file gets more memory, for a page of each of many columns, say.

    Raises:
        DataError: the reader refuses the file, crashes, or goes beyond the limits.
    """
    size = path.stat().st_size if path.is_file() else 0
    memory = max(LEAST_MEMORY, min(MOST_MEMORY, 2 * size + SPARE_MEMORY))
    for facts, arrays in _replies_of_process(arguments, place, memory):
        if "error" in facts:
            raise DataError(*map(_printable, facts["error"]))
        yield facts, arrays


def _replies_of_process(arguments: Mapping[str, Any], place: str, memory: int) -> Iterator[Answer]:
    worker = WorkerProcess(SERVER, SILENCE, threads=1, memory=memory, quiet=True)
    try:
        worker.ask("start", arguments=dict(arguments), memory=memory)
        while True:
            answer = worker.ask("read")
            facts = answer.pop("facts")
            if facts is None:
                return
            yield facts, answer
    except WorkerError as error:
        raise DataError(place, _end_in_words(error, memory), DAMAGED) from error
    except (LookupError, MemoryError, TypeError, ValueError) as error:
        raise DataError(place, "its reader gave an answer of another kind", DAMAGED) from error
    finally:
        worker.close()


def _end_in_words(error: WorkerError, memory: int) -> str:
    """The words for a process that ended in the middle of its work."""
    if error.kind == LATE:
        return f"its reader gave no answer within {SILENCE:.0f} s"
    if error.signal == "SIGKILL" or "SIGKILL" in error.finding:
        return "reading it took too much memory"
    if error.signal:
        return f"it crashed the library that reads it ({error.signal})"
    return f"reading it failed, or needs more than {memory >> 20} MiB of memory at a time"


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
        yield {"error": [error.place, error.finding, error.remedy]}, {}
    except MemoryError:
        finding = f"reading it needs more than {memory >> 20} MiB of memory at a time"
        yield {"error": [place, finding, "Write it in smaller batches, or split it."]}, {}
    except RecursionError:
        yield {"error": [place, "it is nested too deep", DAMAGED]}, {}
    except Exception as error:  # noqa: BLE001 (whatever a crafted file makes its library raise)
        finding = f"a damaged file ({type(error).__name__}: {' '.join(str(error).split())[:400]})"
        yield {"error": [place, finding, DAMAGED]}, {}
