"""Tables of documents as rows of a data set: a row a document, its features in columns.

A column holds the query, one the label (`core.data.frames.NAMES`), perhaps one the document's id
and one `comment`; all others are features, 1 being the first. One column `features` may hold lists
of them instead. A column `part` may say the part of each row: a file that is read as a part gives
its rows of that part. Empty cells of features and values beyond float32 mean what NULL and such
values mean in LETOR text.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shuffleproof.core.data import tables
from shuffleproof.core.data.layout import PART_WORDS, TEST, TRAIN
from shuffleproof.core.data.letor import stream
from shuffleproof.core.data.letor.chunks import Chunk
from shuffleproof.core.data.tables import LISTS
from shuffleproof.core.errors import DataError, quoted, shown
from shuffleproof.core.words import counted

if TYPE_CHECKING:
    import pandas as pd

PART = "part"
ANY_SIZE = 1 << 62  # Bytes of a table of documents: its matrix is bounded instead
REPAIR = "Give every document a list of numbers."


DocumentRows = tuple[Chunk, tuple[str, ...], bool, int]
"""Some rows of a table (values beyond float32 are its largest), the columns of the features as the
table calls them, whether these are more than numbers, and the bytes of the file read so far."""


def is_table(path: Path, name: str) -> bool:
    """Tell by its first bytes if a file is a table; an unreadable file is none."""
    try:
        with stream.unpacked_file(path, name) as file:
            return stream.kind_of(file.head) is not None
    except DataError:
        return False


def has_parts(path: Path) -> bool:
    """Tell if a file is a table with a column `part`, which says the part of each row.

    Raises:
        DataError: it is damaged.
    """
    return path.is_file() and is_table(path, str(path)) and PART in tables.names_of(path, str(path))


def parts_in(path: Path) -> set[str]:
    """The parts that the rows of a table say.

    Raises:
        DataError: it is damaged or names other parts, or rows of a part are lacking.
    """
    found, row = set[str](), 1
    for batch in tables.batches(path, str(path), [PART]):
        cells = list(batch.columns[PART])
        found |= set(_parts_of(cells, row, str(path)))
        row += len(cells)
    for part in (TRAIN, TEST):
        if part not in found:
            others = ", ".join(sorted(found)) or "nothing"
            remedy = f"Add such rows, or drop the column {PART}: queries are then split."
            raise DataError(str(path), f"no rows of part {part}, but of {others}", remedy)
    return found


def rows_of(
    path: Path, name: str, columns: Mapping[str, str], part: str | None, *, gaps: bool
) -> Iterator[DocumentRows]:
    """The rows of a table, some thousands at a time.

    Args:
        path: of the table, plain or packed.
        name: what errors call it.
        columns: names of the columns of query, label and document, where they are none of NAMES.
        part: rows of other parts are passed over, where a column says parts; None: none are.
        gaps: features may have empty cells.

    Raises:
        DataError: it is damaged, or no table of documents.
    """
    from shuffleproof.core.data.frames import COMMENT, NAMES, rows_of_frame  # noqa: PLC0415 (pandas)

    size, lists = path.stat().st_size, False
    named = (columns[meaning] for meaning in ("query", "document") if meaning in columns)
    texts = {*NAMES["query"], *NAMES["document"], COMMENT, *named}
    names: list[str] = []
    first = 1
    with closing(tables.batches(path, name, texts=texts, most_bytes=ANY_SIZE)) as batches:
        for batch in batches:
            lists = lists or LISTS in batch.columns
            frame = _frame(batch.columns, first, name)
            first += len(frame)
            names = names or [*frame.columns]
            if sorted(frame.columns) != sorted(names):
                odd, rows = min(set(names) ^ set(frame.columns)), frame.index
                finding = f"rows {rows[0]} to {rows[-1]} differ in column {shown(odd)}"
                raise DataError(name, finding, "Give every row the same columns.")
            frame = frame[names]
            if PART in names and frame[PART].dtype.kind not in "biuf":  # else a feature
                of_rows = frame.pop(PART)
                if part is not None:
                    parts = _parts_of(of_rows.tolist(), first - len(frame), name)
                    frame = frame[[each == part for each in parts]]
            if not len(frame):
                continue
            some = rows_of_frame(name, frame, columns, gaps=gaps)
            largest = np.finfo(np.float32).max
            beyond = np.isinf(some.features)
            starts = [0, *(at for at, (a, b) in enumerate(pairwise(some.queries), 1) if a != b)]
            comments = some.comments or [b""] * len(frame)
            text = np.frombuffer(b"".join(comments), dtype=np.uint8)
            chunk = Chunk(
                cells=np.clip(some.features, -largest, largest),
                feature_ids=np.array(some.feature_ids, dtype=np.int64),
                labels=some.labels,
                runs=[(at, some.queries[at].encode()) for at in starts],
                comments=None if some.comments is None else text,
                comment_ends=np.cumsum([*map(len, comments)], dtype=np.uint32),
                missing=int(np.isnan(some.features).sum()),
                clipped=int(beyond.sum()),
            )
            has_names = some.has_names and not lists
            yield chunk, some.columns, has_names, int(size * batch.share)


def _frame(columns: Mapping[str, tables.Column], first: int, place: str) -> "pd.DataFrame":
    """Columns as a frame whose rows are numbered from `first` on; lists of features are columns."""
    import pandas as pd  # noqa: PLC0415 (only tables need it)

    spread: dict[str, Any] = {}
    for name, column in columns.items():
        if name == LISTS and not (isinstance(column, np.ndarray) and column.ndim == 1):
            cells = _stacked(column, first, place)
            spread |= {f"{LISTS} {at}": values for at, values in enumerate(cells.T, 1)}
        else:  # as objects, numbers with gaps stay as exact as they are
            exact = isinstance(column, np.ndarray)
            spread[name] = column if exact else pd.Series(column, dtype=object)
    frame = pd.DataFrame(spread)
    frame.index = pd.RangeIndex(first, first + len(frame))
    return frame


def _parts_of(cells: Sequence[Any], first: int, place: str) -> list[str]:
    """The part of every row, by the words that name files of parts."""
    parts = []
    for row, cell in enumerate(cells, first):
        part = PART_WORDS.get(cell.strip().casefold()) if isinstance(cell, str) else None
        if part is None:
            finding = f"row {row} of column {PART} holds {quoted(str(cell))}"
            remedy = "It says train, valid or test of every row; call it otherwise if it does not."
            raise DataError(place, finding, remedy)
        parts.append(part)
    return parts


def _stacked(column: tables.Column, first: int, place: str) -> np.ndarray:
    """A column of lists of numbers as a matrix."""
    if isinstance(column, np.ndarray):
        return column
    lists: list[np.ndarray] = []
    for row, values in enumerate(column, first):
        try:
            lists.append(np.asarray(values, dtype=np.float64))
        except (ValueError, TypeError, OverflowError) as error:
            finding = f"row {row} of column {LISTS} holds no list of numbers"
            raise DataError(place, finding, REPAIR) from error
        if lists[-1].shape != lists[0].shape:
            finding = f"row {row} of column {LISTS} holds {counted(lists[-1].size, 'number')}"
            finding += f", row {first} {lists[0].size}"
            raise DataError(place, finding, "Give every document as many features.")
    if not lists or lists[0].ndim != 1 or not lists[0].size:
        raise DataError(place, f"row {first} of column {LISTS} holds no list of numbers", REPAIR)
    return np.stack(lists)
