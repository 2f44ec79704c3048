"""Rows on their way to one matrix: a chunk for each block of LETOR text or batch of a table.

The compiled parser says which lines are malformed; the functions below `value_of` say why.
"""

import math
import mmap
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64, UInt8, UInt32

from shuffleproof.core.data.letor import kernel
from shuffleproof.core.data.letor.kernel import LARGEST, LONGEST_QUERY_ID
from shuffleproof.core.data.letor.stream import LONE_RETURN, Block, Limits, lines, long_line
from shuffleproof.core.data.letor.write import DOCUMENT
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, LetorError, quoted
from shuffleproof.core.words import percent

ABSENT = 0x7FA5A5A5
"""The bits of a cell that a row leaves out, until reading ends: a NaN that no text means."""

THREADS = 2
MEMORY = Path("/proc/meminfo")
GROUP, GROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
SHARE = 0.8  # Of the memory that is free when reading begins
UNCHECKED = 1 << 28  # Bytes of a matrix that any text may take; from there on `Limits.ratio` holds


EXAMPLE = "A row reads: label qid:query feature:value … # comment."
NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
MISSING = re.compile(rb"[+-]?(?:null|nan)", re.IGNORECASE)
INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
NO_QUERY = (
    "no qid:… after the label",
    EXAMPLE + " If group sizes are in a separate file, put it beside this one, "
    "named like it with .query or .group.",
)
TWO_QUERIES = (
    "qid:… although a group file is given",
    "Leave the group file away: the rows name their queries.",
)
BEYOND = LARGEST + 2.0**103
"""From here on float32 rounds to infinity; below it, to its largest number."""

MOST = Decimal("1.8e308")
"""From here on a number is an error: .NET writes 1.79769313486232E+308 for its largest one."""


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
                out.values[cell] = np.clip(value, -LARGEST, LARGEST)
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
        """Refuse a matrix that would be too large for the text that was read so far.

        Raises:
            DataError: it would.
        """
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


def value_of(token: bytes) -> float | None:
    """The value of a token, NaN for NULL and NaN; beyond float32 ±infinity; None: no number.

    >>> value_of(b"0.5"), value_of(b"null"), value_of(b"1.79769313486232E+308"), value_of(b"x")
    (0.5, nan, inf, None)
    """
    if MISSING.fullmatch(token):
        return math.nan
    if not NUMBER.fullmatch(token):
        return None
    value = float(token)
    if math.isinf(value) and abs(Decimal(token.decode())) >= MOST:
        return None
    return math.copysign(math.inf, value) if abs(value) >= BEYOND else float(np.float32(value))


def line_error(
    line: bytes, number: int, name: str, limits: Limits, *, with_query: bool
) -> LetorError:
    """The error of a malformed line."""
    if len(line) > limits.line_bytes:
        return long_line(name, number, line, limits)
    finding, remedy = _finding(line, limits, with_query=with_query)
    return LetorError(name, number, line.decode(errors="backslashreplace"), finding, remedy)


def _finding(  # noqa: PLR0911 (a finding each)
    line: bytes, limits: Limits, *, with_query: bool
) -> tuple[str, str]:
    """The finding and remedy of a malformed line."""
    if b"\r" in line:
        return LONE_RETURN
    label, *words = [word for word in re.split(rb"[ \t]+", line.partition(b"#")[0]) if word]
    value = value_of(label)
    if value is None or not math.isfinite(value):
        return "the label is not a finite number", EXAMPLE
    query = words[0] if words and words[0].startswith(b"qid:") else b""
    if with_query and len(query) < len(b"qid:1"):
        return NO_QUERY
    if query and not with_query:
        return TWO_QUERIES
    if len(query) > LONGEST_QUERY_ID + len(b"qid:"):
        return f"a query id of more than {LONGEST_QUERY_ID} bytes", EXAMPLE
    seen: set[int] = set()
    for word in words[with_query:]:
        found = _finding_of_cell(word, limits, seen)
        if found is not None:
            return found
    return "something that is no row", EXAMPLE


def _finding_of_cell(  # noqa: PLR0911 (likewise)
    word: bytes, limits: Limits, seen: set[int]
) -> tuple[str, str] | None:
    """The finding and remedy of a cell; None: it is sound."""
    digits, colon, text = word.partition(b":")
    cell = quoted(word[:40].decode(errors="backslashreplace"))
    if not word[:1].isdigit():
        return f"something after the cells that is neither a cell nor # … ({cell})", EXAMPLE
    if digits.isdigit() and int(digits[:20]) > limits.feature_id:
        remedy = "A dense row that wide would not fit in memory; number the features from 1."
        return f"a feature id above {limits.feature_id:,}", remedy
    if not (colon and digits.isdigit()):
        return f"a cell that is not feature:value ({cell})", EXAMPLE
    if int(digits) in seen:
        return "the same feature twice", "Keep one of the two cells."
    seen.add(int(digits))
    value = value_of(text)
    if value is None and (INFINITE.fullmatch(text) or NUMBER.fullmatch(text)):
        remedy = "Replace it; values beyond 3.4e38 are cut to that, larger ones mean nothing."
        return f"an infinite value, or one beyond 1.8e308 ({cell})", remedy
    if value is None:
        return f"a value that is not a number ({cell})", "Write a decimal number after the colon."
    if math.isnan(value):
        remedy = "Choose what it means: zero, mean, largest or missing (`ingest --nulls`)."
        return f"a NULL or NaN cell ({cell})", remedy
    return None


def group_sizes(groups: Path, rows: int, data_name: str, limits: Limits) -> Sequence[int]:
    """The sizes in a group file, one a line; they must add up to the rows of its data file.

    Raises:
        LetorError: a line that is no positive integer, or sizes that do not add up.
    """
    name, number = str(groups), 0
    sizes: list[int] = []
    for number, line in lines(groups, name, limits):
        text = line.strip()
        if not text:
            continue
        if not text.isdigit() or not 0 < len(text) < 19 or int(text) == 0:
            quoted_line = text.decode(errors="backslashreplace")
            finding = "a group size that is not a positive integer"
            remedy = "Write the rows of one query a line."
            raise LetorError(name, number, quoted_line, finding, remedy)
        sizes.append(int(text))
    if sum(sizes) != rows:
        finding = f"group sizes that add up to {sum(sizes):,} for the {rows:,} rows of {data_name}"
        raise LetorError(name, number, "", finding, "Check that the two files belong together.")
    return sizes
