"""Growing arrays that LETOR files are parsed into, and the in-place surgery that they need.

Everything happens in place, because the matrix may fill the memory: rows are appended by
`realloc`, columns are inserted and dropped by moving rows, scattered queries are gathered by
following the cycles of the permutation. Beside the matrix a row takes its label (4 bytes), its
comment's bytes with their length (4), and ends with 12 bytes of spans of comment and document id,
16 and, meanwhile, 4 for the new order where scattered queries were gathered.
"""

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float32, Int32, Int64

from core.data.letor_comment import document_name
from core.data.letor_numbers import COLON, HASH, NEWLINE, NINE, ZERO
from core.data.letor_sink import (
    COMMENT_END,
    COMMENTED,
    ROW,
    STATES,
    Sink,
)
from core.data.letor_stream import Limits
from core.data.text import TextColumn, span_type

GROWTH, TEXT_GROWTH = 1.125, 1.03
MOST_AHEAD = 1 << 21  # bytes that the matrix grows ahead of its need: growing touches its pages
SCRATCH = ("runs", "run_text", "query", "stamps", "words", "masks", "skips", "ids", "patches")
_NO_WORD = np.iinfo(np.uint64).max


class GrowingTable:
    """The rows read so far. `sink` is what the parser fills; attributes are its own arrays."""

    def __init__(self, limits: Limits) -> None:
        self.width, self.base, self.capacity = 0, 1, 0
        self.needed, self.file_start = 0, 0
        self._matrix_bytes = limits.matrix_bytes
        self.sink = Sink(
            cells=np.zeros(0, dtype=np.float32),
            labels=np.zeros(0, dtype=np.float32),
            comments=np.zeros(0, dtype=np.uint8),
            comment_lengths=np.zeros(0, dtype=np.uint32),
            runs=np.zeros((0, 3), dtype=np.int64),
            run_text=np.zeros(0, dtype=np.uint8),
            query=np.zeros(256, dtype=np.uint8),
            seen=np.zeros(limits.feature_id + 2, dtype=np.uint8),
            **_scratch(0),
            state=np.zeros(STATES, dtype=np.int64),
        )

    @property
    def rows(self) -> int:
        """Documents read."""
        return int(self.sink.state[ROW])

    def reserve(self, rows: int, text_bytes: int, share: float) -> None:
        """Make room for a block of so many lines and bytes; `share` of the file is read with it."""
        needed = self.needed = self.rows + rows
        if needed > self.capacity:
            read = needed - self.file_start
            row_bytes = 4 * max(self.width, 1)
            unknown = min(needed * GROWTH, needed + MOST_AHEAD // row_bytes)
            ahead = self.file_start + read / share * 1.01 + 64 if share else unknown
            self.capacity = int(max(needed, min(ahead, self._most_rows())))
            self._resize_rows()
        sink, state = self.sink, self.sink.state
        self._at_least("comments", int(state[COMMENT_END]) + text_bytes)
        if len(sink.runs) < rows:
            sink.runs.resize((int(rows * GROWTH), 3), refcheck=False)
        self._at_least("run_text", text_bytes)

    def _most_rows(self) -> int:
        """How many rows the limit on the matrix leaves room for."""
        return self._matrix_bytes // (4 * max(self.width, 1))

    def _at_least(self, name: str, length: int) -> None:
        array = getattr(self.sink, name)
        if len(array) < length:
            array.resize(int(length * TEXT_GROWTH), refcheck=False)

    def _resize_rows(self) -> None:
        """Resize what has a place for each row; while empty only reserve it, touching no page."""
        sink, rows = self.sink, self.capacity
        if self.rows == 0:
            self.sink = sink._replace(
                cells=np.empty(rows * self.width, dtype=np.float32),
                labels=np.empty(rows, dtype=np.float32),
                comment_lengths=np.empty(rows, dtype=np.uint32),
            )
            return
        sink.labels.resize(rows, refcheck=False)
        sink.comment_lengths.resize(rows, refcheck=False)
        sink.cells.resize(rows * self.width, refcheck=False)

    def widen(self, width: int, base: int) -> None:
        """Make room for columns up to `base + width − 1`; the rows read move apart in place."""
        old, shift = self.width, self.base - base
        self.width, self.base = width, base
        self.sink = self.sink._replace(**_scratch(width))
        self.capacity = max(self.needed, min(self.capacity, self._most_rows()))
        self._resize_rows()
        targets = np.arange(shift, shift + old, dtype=np.int64)
        spread(self.sink.cells, self.rows, width, targets)

    def keep_columns(self, feature_ids: Int64[np.ndarray, " kept"]) -> None:
        """Drop every column whose id is not named; ids rise. No row can be added any more."""
        columns = feature_ids - self.base
        if len(columns) < self.width:
            squeeze(self.sink.cells, self.rows, self.width, columns)
        self.width = len(columns)
        self.sink.cells.resize(self.rows * self.width, refcheck=False)
        self._drop_scratch()

    def _drop_scratch(self) -> None:
        """Let go of what only the parser needs."""
        none = {name: np.zeros(0, dtype=getattr(self.sink, name).dtype) for name in SCRATCH}
        self.sink = self.sink._replace(**none)

    def add_columns(self, places: Int64[np.ndarray, " old"], width: int) -> None:
        """Move column i to `places[i]` of `width` columns; the others are zero."""
        self.sink.cells.resize(self.rows * width, refcheck=False)
        spread(self.sink.cells, self.rows, width, places)
        self.width = width

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
            self.sink = self.sink._replace(labels=taken(self.sink.labels, order))
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
            starts, ends = taken(starts, order), taken(ends, order)
        del bounds
        first, last = np.empty_like(starts), np.empty_like(ends)
        named = document_spans(blob.ctypes.data, (starts, ends), (first, last))
        documents = TextColumn(blob, first, last) if named else None
        return TextColumn(blob, starts, ends), documents


def _scratch(width: int) -> dict[str, np.ndarray]:
    """What the parser needs for rows of so many columns, by field of the sink."""
    ids = width + 2  # those of columns from 0 or 1 on
    return {
        "stamps": np.zeros(ids, dtype=np.int64),
        "words": np.full(ids, _NO_WORD, dtype=np.uint64),
        "masks": np.zeros(ids, dtype=np.uint64),
        "skips": np.zeros(ids, dtype=np.int64),
        "ids": np.zeros(ids, dtype=np.int64),
        "patches": np.zeros((2 * ids, 3), dtype=np.int64),
    }


@no_type_check
@numba.njit(cache=True)
def taken(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """`values[order]`, without an order of wider integers on the way."""
    chosen = np.empty(len(order), dtype=values.dtype)
    for place in range(len(order)):
        chosen[place] = values[order[place]]
    return chosen


@no_type_check
@numba.njit(cache=True)
def document_spans(
    blob: int,
    comments: tuple[np.ndarray, np.ndarray],
    documents: tuple[np.ndarray, np.ndarray],
) -> int:
    """Fill (starts, ends) of the document that each comment names; how many name one."""
    named = 0
    for row in range(len(comments[0])):
        first, last = document_name(blob, np.int64(comments[0][row]), np.int64(comments[1][row]))
        documents[0][row], documents[1][row] = first, last
        named += last > first
    return named


@no_type_check
@numba.njit(cache=True)
def spread(cells: np.ndarray, rows: int, width: int, targets: np.ndarray) -> None:
    """Widen rows in place from `len(targets)` to `width` columns; column i goes to targets[i]."""
    old = len(targets)
    for row in range(rows - 1, -1, -1):
        source, goal, column = row * old, row * width, width - 1
        for index in range(old - 1, -1, -1):
            value = cells[source + index]
            while column > targets[index]:
                cells[goal + column] = np.float32(0)
                column -= 1
            cells[goal + column] = value
            column -= 1
        while column >= 0:
            cells[goal + column] = np.float32(0)
            column -= 1


@no_type_check
@numba.njit(cache=True)
def squeeze(cells: np.ndarray, rows: int, width: int, columns: np.ndarray) -> None:
    """Narrow rows in place to the columns named, which rise."""
    kept = len(columns)
    for row in range(rows):
        for index in range(kept):
            cells[row * kept + index] = cells[row * width + columns[index]]


@no_type_check
@numba.njit(cache=True)
def permute_rows(matrix: np.ndarray, order: np.ndarray) -> None:
    """Row `order[i]` goes to place i, in place; `order` is used up."""
    held = np.empty(matrix.shape[1], dtype=matrix.dtype)
    for start in range(len(order)):
        if order[start] < 0 or order[start] == start:
            continue
        held[:] = matrix[start]
        place = start
        while order[place] != start:
            source = order[place]
            matrix[place] = matrix[source]
            order[place] = -1
            place = source
        matrix[place] = held
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
def fill_missing(matrix: np.ndarray, values: np.ndarray) -> None:
    """Put `values[column]` where a cell is NaN, in place."""
    for row in range(len(matrix)):
        for column in range(matrix.shape[1]):
            if np.isnan(matrix[row, column]):
                matrix[row, column] = values[column]


@no_type_check
@numba.njit(cache=True, nogil=True)
def highest_feature(buffer: np.ndarray, start: int, end: int) -> int:
    """The highest id that stands before a colon outside comments."""
    highest, feature, digits, place = 0, 0, 0, start
    while place < end:
        character = buffer[place]
        if ZERO <= character <= NINE:
            feature = min(feature * 10 + character - ZERO, 1_000_000_000)
            digits += 1
        else:
            if character == COLON and digits > 0:
                highest = max(highest, feature)
            elif character == HASH:
                while buffer[place] != NEWLINE:
                    place += 1
            feature, digits = 0, 0
        place += 1
    return highest
