"""Growing arrays that LETOR files are parsed into, and the in-place surgery that they need.

Everything happens in place, because the matrix may fill the memory: rows are appended by
`realloc`, columns are inserted and dropped by moving rows, scattered queries are gathered by
following the cycles of the permutation. Beside the matrix a row takes its label (4 bytes), its
comment's bytes with their length (4), and ends with 12 bytes of spans of comment and document id,
16 and, meanwhile, 4 for the new order where scattered queries were gathered. A matrix that would
take much of the free memory lies in a file instead, which the system pages out. How large it may
become is said by a stated limit, the machine, and the text (`MatrixLimit`).
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float32, Int32, Int64, UInt8

from shuffleproof.core.data.document_tables import DocumentRows
from shuffleproof.core.data.letor.comment import document_name
from shuffleproof.core.data.letor.numbers import (
    COLON,
    HASH,
    NEWLINE,
    NINE,
    RETURN,
    SPACE,
    TAB,
    ZERO,
)
from shuffleproof.core.data.letor.sink import (
    ABSENT,
    COMMENT_END,
    COMMENTED,
    LEFT_OUT,
    ROW,
    STATES,
    Sink,
)
from shuffleproof.core.data.letor.stream import Block, Limits
from shuffleproof.core.data.nameless_file import NamelessFile
from shuffleproof.core.data.text import TextColumn, span_type
from shuffleproof.core.words import percent

GROWTH, TEXT_GROWTH, FILE_GROWTH = 1.125, 1.03, 1.25
DEAR = 4  # cells a byte of text
MOST_AHEAD = 1 << 21  # bytes that the matrix grows ahead of its need: growing touches its pages
SCRATCH = (
    "runs", "run_text", "query", "columns",
    "stamps", "words", "masks", "skips", "places", "patches",
)  # fmt: skip
_NO_WORD = np.iinfo(np.uint64).max

MEMORY = Path("/proc/meminfo")
GROUP, GROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
SHARE = 0.8
"""Of the memory or disk that is free when reading begins."""

IN_MEMORY = 0.2
"""Of the free memory: a matrix that takes more lies in a file."""

UNCHECKED = 1 << 28
"""Bytes of a matrix that any text may take; from there on `Limits.ratio` holds."""


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
    """What the matrix of a table may take, and which of the bounds says so.

    Attributes:
        in_memory: bytes from which on it lies in a file.
    """

    def __init__(self, limits: Limits) -> None:
        memory, folder = available(), tempfile.gettempdir()
        disk = shutil.disk_usage(folder).free
        self._limits, self.in_memory = limits, int(IN_MEMORY * memory)
        in_words = ("the memory that this machine has left", f"what is free in {folder} (TMPDIR)")
        free, where = max(zip((memory, disk), in_words, strict=True))
        self._free, self._why = int(SHARE * free), f"{percent(SHARE)} of {where}"

    def bound(self, text_bytes: int) -> tuple[int, str]:
        """(bytes that a matrix may take, why no more) once so much text has been read."""
        dense = max(UNCHECKED, int(self._limits.ratio * text_bytes))
        return min(
            (self._limits.matrix_bytes, "the limit on a table"),
            (self._free, self._why),
            (dense, f"{self._limits.ratio:.0f} times the text read, as nearly empty rows do"),
        )


class GrowingTable:
    """The rows read so far. `sink` is what the parser fills; attributes are its own arrays.

    Columns stand in the order of their ids, but those of ids met late: these take the room that
    the last layout left behind them, so that moving all rows for new ids stays rare.
    """

    def __init__(self, limits: Limits, in_memory: int) -> None:
        self._in_memory = in_memory
        self._file: NamelessFile | None = None
        self.width, self.used, self.capacity = 0, 0, 0
        self.needed, self.file_start = 0, 0
        self._ordered, self._laid_out = 0, 0  # columns by rising id, and rows at that layout
        self.sink = Sink(
            cells=np.zeros(0, dtype=np.float32),
            labels=np.zeros(0, dtype=np.float32),
            comments=np.zeros(0, dtype=np.uint8),
            comment_lengths=np.zeros(0, dtype=np.uint32),
            runs=np.zeros((0, 3), dtype=np.int64),
            run_text=np.zeros(0, dtype=np.uint8),
            query=np.zeros(256, dtype=np.uint8),
            columns=np.full(limits.feature_id + 1, -1, dtype=np.int64),
            **_scratch(0),
            state=np.zeros(STATES, dtype=np.int64),
        )

    @property
    def rows(self) -> int:
        """Documents read."""
        return int(self.sink.state[ROW])

    @property
    def feature_ids(self) -> Int64[np.ndarray, " features"]:
        """The ids that have a column, rising."""
        return np.flatnonzero(self.sink.columns >= 0).astype(np.int64)

    def expect(self, before: int, block: Block, width: int) -> None:
        """Count the rows with a block behind so many: its lines, or where these are dear its rows.

        A row of few cells takes more of the matrix than of the text, and so would a blank line.
        """
        dear = block.lines * width > DEAR * block.end
        self.needed = before + (documents_in(block.buffer, block.end) if dear else block.lines)

    def reserve(self, block: Block, most_bytes: int) -> None:
        """Make room for the rows of a block, and for more where the file goes on so."""
        if self.needed > self.capacity:
            rows_read = self.needed - self.file_start
            row_bytes = 4 * max(self.width, 1)
            ahead = min(self.needed * GROWTH, self.needed + MOST_AHEAD // row_bytes)
            if block.share:
                ahead = self.file_start + rows_read / block.share * 1.01 + 64
                ahead = min(ahead, self.needed * FILE_GROWTH) if self.rows else ahead
            self.capacity = int(max(self.needed, min(ahead, most_bytes // row_bytes)))
            self._resize_rows()
        sink, state = self.sink, self.sink.state
        self._grow_text("comments", int(state[COMMENT_END]) + block.end)
        if len(sink.runs) < block.lines:
            sink.runs.resize((int(block.lines * GROWTH), 3), refcheck=False)
        self._grow_text("run_text", block.end)

    def _grow_text(self, name: str, length: int) -> None:
        array = getattr(self.sink, name)
        if len(array) < length:
            array.resize(int(length * TEXT_GROWTH), refcheck=False)

    def _resize_rows(self) -> None:
        """Resize what has a place for each row; while empty only reserve it, touching no page."""
        sink, rows = self.sink, self.capacity
        if self.rows == 0:
            self.sink = sink._replace(
                cells=np.empty(0, dtype=np.float32),
                labels=np.empty(rows, dtype=np.float32),
                comment_lengths=np.empty(rows, dtype=np.uint32),
            )
        else:
            sink.labels.resize(rows, refcheck=False)
            sink.comment_lengths.resize(rows, refcheck=False)
        self._resize_cells(rows * self.width)

    def _resize_cells(self, count: int) -> None:
        """Give the matrix so many cells, in memory or, once it takes much of that, in a file."""
        cells = self.sink.cells
        if self._file is None and 4 * count <= self._in_memory:
            if self.rows:
                cells.resize(count, refcheck=False)
            else:
                self.sink = self.sink._replace(cells=np.empty(count, dtype=np.float32))
            return
        if self._file is None:
            self._file = NamelessFile("feature matrix")
            if self.rows:
                self._file.array(cells.shape, np.float32)[:] = cells
        self.sink = self.sink._replace(cells=self._file.array((count,), np.float32))

    def admit(self, new: Int64[np.ndarray, " new"], most_bytes: int) -> None:
        """Give ids that have none a column; absent in the rows read."""
        if len(new) <= self.width - self.used:
            self.sink.columns[new] = np.arange(self.used, self.used + len(new))
            self.used += len(new)
        else:
            self._lay_out(new, most_bytes)

    def put_in_order(self, most_bytes: int) -> None:
        """Sort the columns where rows of late ids became many: their cells are read slower."""
        if self.used > self._ordered and self.rows > 2 * self._laid_out:
            self._lay_out(np.zeros(0, dtype=np.int64), most_bytes)

    def _lay_out(self, new: Int64[np.ndarray, " new"], most_bytes: int) -> None:
        """Columns by rising id, and room for more of them where rows have to move for it."""
        old, known_ids = self.width, self.feature_ids
        ids = np.sort(np.concatenate([known_ids, new]))
        sources, targets = self.sink.columns[known_ids], np.searchsorted(ids, known_ids)
        self.width = self.used = self._ordered = len(ids)
        if self.rows:
            fitting = most_bytes // (4 * max(self.needed, 1))
            self.width = max(self.used, old, min(int(self.used * GROWTH) + 1, fitting))
            self.capacity = self.needed
        else:
            self.capacity = max(self.needed, min(self.capacity, most_bytes // (4 * self.width)))
        self._laid_out = self.rows
        self.sink.columns[ids] = np.arange(len(ids))
        self.sink = self.sink._replace(**_scratch(self.width))
        self._resize_rows()
        self._relay(old, (sources, targets))

    def close(self) -> None:
        """Put the columns in order and let go of what only the parser needs."""
        sources, old = self.sink.columns[self.feature_ids], self.width
        self.width = len(sources)
        if old > self.width or (sources[1:] < sources[:-1]).any():
            self._relay(old, (sources, np.arange(self.width)))
        self._resize_cells(self.rows * self.width)
        self._drop_scratch()

    def _drop_scratch(self) -> None:
        """Let go of what only the parser needs."""
        none = {name: np.zeros(0, dtype=getattr(self.sink, name).dtype) for name in SCRATCH}
        self.sink = self.sink._replace(**none)

    def add_columns(self, targets: Int64[np.ndarray, " old"], width: int) -> None:
        """Move column i to `targets[i]` of `width` columns; the others are absent."""
        old, self.width = self.width, width
        self._resize_cells(self.rows * width)
        self._relay(old, (np.arange(old), targets))

    def _relay(self, old: int, moves: tuple[np.ndarray, np.ndarray]) -> None:
        """Move the columns of all rows, which had `old` of them."""
        self.sink.state[LEFT_OUT] |= len(moves[1]) < self.width
        relaid(self.sink.cells.view(np.uint32), self.rows, (old, self.width), moves)

    def append(self, rows: DocumentRows, most_bytes: int) -> None:
        """Add rows that have been read already, but for their queries."""
        sink, first, count = self.sink, self.rows, len(rows.labels)
        self.needed = first + count
        new = rows.feature_ids[sink.columns[rows.feature_ids] < 0]
        if len(new):
            self.admit(new, most_bytes)
        if self.needed > self.capacity:
            ahead = min(int(self.needed * GROWTH), self.needed + MOST_AHEAD // (4 * self.width))
            self.capacity = max(self.needed, min(ahead, most_bytes // (4 * self.width)))
            self._resize_rows()
        sink, state = self.sink, self.sink.state
        cells = sink.cells[first * self.width : self.needed * self.width].reshape(count, -1)
        if len(rows.feature_ids) < self.width:
            cells.view(np.uint32)[:] = ABSENT
            state[LEFT_OUT] = 1
        cells[:, sink.columns[rows.feature_ids]] = rows.features
        sink.labels[first : self.needed] = rows.labels
        sink.comment_lengths[first : self.needed] = rows.comment_lengths
        if rows.comments is not None:
            end = int(state[COMMENT_END])
            self._grow_text("comments", end + len(rows.comments))
            sink.comments[end : end + len(rows.comments)] = rows.comments
            state[COMMENT_END] += len(rows.comments)
            state[COMMENTED] += count
        state[ROW] += count

    def absent_cells(self) -> UInt8[np.ndarray, "docs bytes"] | None:
        """Bits of the cells that rows left out, which become 0; None: there are none."""
        if not self.sink.state[LEFT_OUT]:
            return None
        cells = self.matrix().view(np.uint32)
        if not absent_in(cells, np.zeros((0, 0), dtype=np.uint8)):
            return None
        bits = np.zeros((self.rows, -(-self.width // 8)), dtype=np.uint8)
        absent_in(cells, bits)
        return bits

    def matrix(self) -> Float32[np.ndarray, "docs features"]:
        """The feature matrix; a view."""
        return self.sink.cells[: self.rows * self.width].reshape(self.rows, self.width)

    def finish(
        self, order: Int32[np.ndarray, " docs"] | Int64[np.ndarray, " docs"] | None
    ) -> tuple[TextColumn | None, TextColumn | None]:
        """Put row `order[i]` in place i, without a second matrix; `order` is used up.

        Returns:
            (comments, document ids) in the new order, sharing one blob; None where none.
        """
        self.sink.labels.resize(self.rows, refcheck=False)
        if order is not None:
            self.sink = self.sink._replace(labels=permuted(self.sink.labels, order))
        texts = self._comments(order)
        if order is not None:
            permute_rows(self.matrix(), order)
        return texts

    def _comments(
        self, order: Int32[np.ndarray, " docs"] | Int64[np.ndarray, " docs"] | None
    ) -> tuple[TextColumn | None, TextColumn | None]:
        blob, lengths = self.sink.comments, self.sink.comment_lengths
        self.sink = self.sink._replace(comment_lengths=np.zeros(0, dtype=np.uint32))
        if not self.sink.state[COMMENTED]:
            return None, None
        end = int(self.sink.state[COMMENT_END])
        blob.resize(end, refcheck=False)
        bounds = np.zeros(self.rows + 1, dtype=span_type(end))
        np.cumsum(lengths[: self.rows], out=bounds[1:])
        starts, ends = bounds[:-1], bounds[1:]
        del lengths
        if order is not None:
            starts, ends = permuted(starts, order), permuted(ends, order)
        del bounds
        first, last = np.empty_like(starts), np.empty_like(ends)
        names = document_spans(blob.ctypes.data, (starts, ends), (first, last))
        documents = TextColumn(blob, first, last) if names else None
        return TextColumn(blob, starts, ends), documents


def _scratch(width: int) -> dict[str, np.ndarray]:
    """What the parser needs for rows of so many columns, by field of the sink."""
    ids = width + 2
    return {
        "stamps": np.zeros(ids, dtype=np.int64),
        "words": np.full(ids, _NO_WORD, dtype=np.uint64),
        "masks": np.zeros(ids, dtype=np.uint64),
        "skips": np.zeros(ids, dtype=np.int64),
        "places": np.zeros(ids, dtype=np.int64),
        "patches": np.zeros((2 * ids, 3), dtype=np.int64),
    }


@no_type_check
@numba.njit(cache=True)
def permuted(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """`values[order]`, without an order of wider integers on the way."""
    result = np.empty(len(order), dtype=values.dtype)
    for place in range(len(order)):
        result[place] = values[order[place]]
    return result


@no_type_check
@numba.njit(cache=True)
def document_spans(
    blob: int,
    comments: tuple[np.ndarray, np.ndarray],
    documents: tuple[np.ndarray, np.ndarray],
) -> int:
    """Fill (starts, ends) of the document that each comment names; how many name one."""
    names = 0
    for row in range(len(comments[0])):
        first, last = document_name(blob, np.int64(comments[0][row]), np.int64(comments[1][row]))
        documents[0][row], documents[1][row] = first, last
        names += last > first
    return names


@no_type_check
@numba.njit(cache=True)
def relaid(
    cells: np.ndarray,
    rows: int,
    widths: tuple[int, int],
    moves: tuple[np.ndarray, np.ndarray],
) -> None:
    """Change rows in place from one width to another: column `sources[i]` goes to `targets[i]`.

    Args:
        cells: the bits of all rows.
        rows: how many there are.
        widths: before and after.
        moves: sources and targets. Columns that nothing goes to are absent, those that nothing
            comes from are dropped.
    """
    old, new = widths
    sources, targets = moves
    old_row = np.empty(old, dtype=cells.dtype)
    for step in range(rows):
        row = rows - 1 - step if new > old else step  # a row may lie where others lay
        old_row[:] = cells[row * old : row * old + old]
        cells[row * new : row * new + new] = np.uint32(ABSENT)
        for index in range(len(sources)):
            cells[row * new + targets[index]] = old_row[sources[index]]


@no_type_check
@numba.njit(cache=True)
def absent_in(cells: np.ndarray, bits: np.ndarray) -> int:
    """Count absent cells by their bits; with room in `bits`, note them and make them 0."""
    count, noted = 0, len(bits) > 0
    for row in range(len(cells)):
        for column in range(cells.shape[1]):
            if cells[row, column] == ABSENT:
                count += 1
                if noted:
                    cells[row, column] = 0
                    bits[row, column >> 3] |= np.uint8(128 >> (column & 7))
    return count


@no_type_check
@numba.njit(cache=True)
def permute_rows(matrix: np.ndarray, order: np.ndarray) -> None:
    """Row `order[i]` goes to place i, in place; `order` is used up."""
    first_row = np.empty(matrix.shape[1], dtype=matrix.dtype)
    for start in range(len(order)):
        if order[start] < 0 or order[start] == start:
            continue
        first_row[:] = matrix[start]
        place = start
        while order[place] != start:
            source = order[place]
            matrix[place] = matrix[source]
            order[place] = -1
            place = source
        matrix[place] = first_row
        order[place] = -1


@no_type_check
@numba.njit(cache=True)
def column_totals(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(sum, count, largest) of the cells of every column that are not NaN, in float64."""
    columns = matrix.shape[1]
    sums, largest = np.zeros(columns), np.full(columns, -np.inf)
    counts = np.zeros(columns, dtype=np.int64)
    for row in range(len(matrix)):
        for column in range(columns):
            value = matrix[row, column]
            if not np.isnan(value):
                sums[column] += value
                counts[column] += 1
                largest[column] = max(largest[column], value)
    return sums, counts, largest


@no_type_check
@numba.njit(cache=True)
def cut_to_missing(matrix: np.ndarray, largest: np.float32) -> int:
    """Make cells of this size NaN, in place; how many."""
    count = 0
    for row in range(len(matrix)):
        for column in range(matrix.shape[1]):
            if abs(matrix[row, column]) == largest:
                matrix[row, column] = np.nan
                count += 1
    return count


@no_type_check
@numba.njit(cache=True)
def fill_missing(matrix: np.ndarray, values: np.ndarray) -> None:
    """Put `values[column]` where a cell is NaN, in place."""
    for row in range(len(matrix)):
        for column in range(matrix.shape[1]):
            if np.isnan(matrix[row, column]):
                matrix[row, column] = values[column]


@no_type_check
@numba.njit(cache=True, nogil=True)
def mark_features(buffer: np.ndarray, start: int, end: int, marks: np.ndarray) -> None:
    """Set `marks[id]` of every id that stands between a blank and a colon outside comments."""
    place = start
    while place < end:
        character = buffer[place]
        place += 1
        if character == HASH:
            while buffer[place] != NEWLINE:
                place += 1
        elif character in (SPACE, TAB):
            feature, digits = 0, 0
            while ZERO <= buffer[place] <= NINE and digits < 8:
                feature = feature * 10 + buffer[place] - ZERO
                digits += 1
                place += 1
            if digits > 0 and buffer[place] == COLON and feature < len(marks):
                marks[feature] = True


@no_type_check
@numba.njit(cache=True, nogil=True)
def documents_in(buffer: np.ndarray, end: int) -> int:
    """How many lines are neither blank nor comments alone."""
    count, place = 0, 0
    while place < end:
        while buffer[place] == SPACE or buffer[place] == TAB:
            place += 1
        blank = buffer[place] in (HASH, NEWLINE)
        count += 0 if blank or (buffer[place] == RETURN and buffer[place + 1] == NEWLINE) else 1
        while buffer[place] != NEWLINE:
            place += 1
        place += 1
    return count
