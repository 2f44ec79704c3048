"""Rows on their way to one matrix: a chunk for each block of LETOR text or batch of a table."""

import math
import mmap
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64, UInt8, UInt32

from shuffleproof.core.data.letor import kernel
from shuffleproof.core.data.letor.errors import line_error, value_of
from shuffleproof.core.data.letor.stream import Block, Limits
from shuffleproof.core.data.letor.write import DOCUMENT
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, LetorError
from shuffleproof.core.words import percent

ABSENT = 0x7FA5A5A5
"""The bits of a cell that a row leaves out, until reading ends: a NaN that no text means."""

THREADS = 2
MEMORY = Path("/proc/meminfo")
GROUP, GROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
SHARE = 0.8  # Of the memory that is free when reading begins
UNCHECKED = 1 << 28  # Bytes of a matrix that any text may take; from there on `Limits.ratio` holds


@dataclass
class Chunk:
    """Some rows, in the order of the file."""

    # ABSENT where a row leaves a cell out, NaN where one is missing
    cells: Float32[np.ndarray, "docs features"]
    feature_ids: Int64[np.ndarray, " features"]  # of the columns, rising
    labels: Float32[np.ndarray, " docs"]  # of the rows
    runs: list[tuple[int, bytes]]  # rows at which another query begins, and its id
    # of all rows, one behind the other; None: no row has one, not even an empty one
    comments: UInt8[np.ndarray, " bytes"] | None
    comment_ends: UInt32[np.ndarray, " docs"]  # end of each row's comment
    missing: int  # NULL and NaN cells
    clipped: int  # cells beyond float32
    absent: bool = False  # whether a row leaves a cell out


def documents_in(comments: TextColumn) -> TextColumn | None:
    """The document ids that comments name, empty where one names none; None: none does."""
    text = memoryview(comments.blob)  # type: ignore[arg-type]
    starts, ends = comments.starts.copy(), comments.starts.copy()
    for row, (start, end) in enumerate(zip(comments.starts, comments.ends, strict=True)):
        if end > start and (found := DOCUMENT.match(text, start, end)):
            starts[row], ends[row] = found.span(1)
    return TextColumn(comments.blob, starts, ends) if (starts < ends).any() else None


@dataclass(frozen=True)
class Reading:
    """Options of the lines of one file."""

    name: str  # of the file, in errors
    limits: Limits  # of the file
    with_query: bool  # whether rows name their queries; else a group file does
    nulls: bool  # whether NULL and NaN cells are allowed
    limit: "MatrixLimit"  # of the matrix
    decoded: int = 0  # bytes of text read before this file

    def chunks(self, blocks: Iterable[Block]) -> Iterator[tuple[Block, Chunk, list[LetorError]]]:
        """Every block in order, its rows, and the errors of its malformed lines."""
        waiting: deque[tuple[Block, Future[tuple[Chunk, list[LetorError]]]]] = deque()
        with ThreadPoolExecutor(THREADS) as pool:
            for block in blocks:
                waiting.append((block, pool.submit(self._chunk, block)))
                if len(waiting) > THREADS:
                    first, parsed = waiting.popleft()
                    yield first, *parsed.result()
            for first, parsed in waiting:
                yield first, *parsed.result()

    def _chunk(self, block: Block) -> tuple[Chunk, list[LetorError]]:
        """The rows of a block and the errors of its malformed lines."""
        text = block.text
        out = kernel.arrays_for(len(text), block.lines, self.limits.feature_id)
        rules = kernel.Rules(self.limits.feature_id, self.limits.line_bytes, self.with_query)
        kernel.parse(np.frombuffer(text, dtype=np.uint8), rules, out)
        rows, cells, runs, bytes_of_comments, commented, clipped, patches, bad = out.counts.tolist()
        missing, faults = 0, out.faults[:bad].tolist()
        for cell, start, end in out.patches[:patches].tolist():
            value = value_of(text[start:end])
            absent = value is not None and math.isnan(value)
            if value is None or (absent and not self.nulls):
                faults.append(start)
            elif cell >= 0:
                clipped += math.isinf(value)
                missing += absent
                out.values[cell] = np.clip(value, -kernel.LARGEST, kernel.LARGEST)
            elif math.isfinite(value):
                out.labels[-1 - cell] = value
            else:
                faults.append(start)
        matrix, columns = self._matrix(block, out, rows, cells)
        chunk = Chunk(
            cells=matrix,
            feature_ids=columns,
            labels=out.labels[:rows].copy(),
            runs=[(row, text[start:end]) for row, start, end in out.runs[:runs].tolist()],
            comments=out.comments[:bytes_of_comments].copy() if commented else None,
            comment_ends=out.comment_ends[:rows].copy(),
            missing=missing,
            clipped=clipped,
            absent=cells < matrix.size,
        )
        return chunk, self._errors(block, faults)

    def _errors(self, block: Block, places: list[int]) -> list[LetorError]:
        """The errors of the lines in which some places of a block are."""
        errors = {}
        for place in sorted(places):
            start = block.text.rfind(b"\n", 0, place) + 1
            number = block.first_line + block.text.count(b"\n", 0, start)
            line = block.text[start : block.text.index(b"\n", start)].removesuffix(b"\r")
            errors[number] = line_error(
                line, number, self.name, self.limits, with_query=self.with_query
            )
        return list(errors.values())

    def _matrix(
        self, block: Block, out: kernel.Arrays, rows: int, cells: int
    ) -> tuple[Float32[np.ndarray, "docs features"], Int64[np.ndarray, " features"]]:
        """The cells of a block as a matrix, and the ids of its columns."""
        ids, values, ends = out.ids[:cells], out.values[:cells], out.ends[:rows]
        columns = np.flatnonzero(out.stamps >= 0)
        width = len(columns)
        if cells == rows * width and (ids.reshape(rows, width) == columns).all():
            return values.reshape(rows, width).copy(), columns
        self.limit.check(rows, width, self.decoded + block.decoded, self.name)
        places = np.empty(len(out.stamps), dtype=np.int64)
        places[columns] = np.arange(width)
        matrix = np.full((rows, width), ABSENT, dtype=np.uint32)
        owners = np.repeat(np.arange(rows), np.diff(ends, prepend=0))
        matrix[owners, places[ids]] = values.view(np.uint32)
        return matrix.view(np.float32), columns


def available() -> int:
    """Bytes of memory that this process could still take, by the system and its control group."""
    try:
        lines = MEMORY.read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvail"))
    except (OSError, StopIteration, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        group = int(GROUP.read_text(encoding="ascii")) - int(GROUP_USED.read_text(encoding="ascii"))
    except (OSError, ValueError):  # "max", or no such group
        return free
    return max(0, min(free, group))


class MatrixLimit:
    """Bytes that the matrix of a table may take, and the reason."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._free = limits, int(SHARE * available())

    def check(self, rows: int, width: int, text_bytes: int, name: str) -> None:
        """Refuse a matrix that would be too large."""
        dense = max(UNCHECKED, int(self._limits.ratio * text_bytes))
        limit, reason = min(
            (self._limits.matrix_bytes, "the limit on a table"),
            (self._free, f"{percent(SHARE)} of the memory that this machine has left"),
            (dense, f"{self._limits.ratio:.0f} times the text read, as nearly empty rows do"),
        )
        if rows * width * 4 > limit:
            finding = (
                f"{width:,} feature columns for {rows:,} documents, {rows * width * 4:,} bytes "
                f"and more than {limit:,}, {reason}"
            )
            remedy = "Leave out features that few documents have, or split the file."
            raise DataError(name, finding, remedy)


class GrowingArray:
    """An array that grows at its end without a second copy.

    Its pages go back to the system with the last array of them; those that nothing was written to
    take no memory.
    """

    def __init__(self, dtype: Any) -> None:
        """Make an empty array of elements of this type."""
        self._dtype, self.length = np.dtype(dtype), 0
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        self._pages = mmap.mmap(-1, mmap.PAGESIZE, flags=flags)

    def append(self, values: np.ndarray) -> None:
        """Add elements at the end."""
        start = self.length
        self.resize(start + values.size)
        self.array()[start:] = values.ravel()

    def array(self) -> np.ndarray:
        """All elements; drop it before the next `append` or `resize`."""
        return np.frombuffer(self._pages, self._dtype, self.length)

    def resize(self, length: int) -> None:
        """Set the number of elements; new ones have any value."""
        size = length * self._dtype.itemsize
        if size > len(self._pages):
            self._pages.resize(size + size // 8)  # so that pages are moved a few times only
        self.length = length
