"""Tables of documents as rows of a data set: a row a document, its features in columns.

A column holds the query, one the label (`core.data.frames.NAMES`), perhaps one the document's id
and one `comment`; all others are features, 1 being the first. One column `features` may hold lists
of them instead. A column `part` may say the part of each row: a file that is read as a part gives
its rows of that part. Empty cells of features and values beyond float32 mean what NULL and such
values mean in LETOR text.

Tables are untrusted: all is read in a guarded process.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shuffleproof.core.data import guarded, tables
from shuffleproof.core.data.layout import PART_WORDS, TEST, TRAIN
from shuffleproof.core.data.letor import stream
from shuffleproof.core.data.letor.chunks import Chunk
from shuffleproof.core.errors import DataError, quoted, shown
from shuffleproof.core.words import counted

if TYPE_CHECKING:
    import pandas as pd

LISTS = "features"
PART = "part"
REPAIR = "Give every document a list of numbers."
SAME_COLUMNS = "Give every row the same columns."


class DocumentRows(NamedTuple):
    """Some rows of a table.

    Attributes:
        chunk: the rows; values beyond float32 are its largest.
        columns: of the features, as the table calls them.
        has_names: whether these are more than numbers.
        stored: bytes of the file that have been read so far.
    """

    chunk: Chunk
    columns: tuple[str, ...]
    has_names: bool
    stored: int


@dataclass(frozen=True)
class TableReading:
    """Options for making documents of the rows of a table.

    Attributes:
        columns: names of the columns of query, label and document, where they are none of NAMES.
        gaps: whether features may have empty cells.
        part: rows of other parts are passed over, where a column says parts; None: none are.
    """

    columns: Mapping[str, str] | None = None
    gaps: bool = False
    part: str | None = None


def is_table(source: stream.Source, name: str) -> bool:
    """Tell by its first bytes if a file is a table; an unreadable file is none.

    Raises:
        OSError: it cannot be read from its beginning again.
    """
    try:
        with stream.unpacked_file(source, name, seekable=False) as file:
            return stream.kind_of(file.head) is not None
    except DataError:
        return False
    finally:
        if not isinstance(source, Path):
            source.seek(0)


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
    found = set[str]()
    arguments = {"path": str(path), "place": str(path)}
    limits = guarded.GuardLimits.of_file(path)
    for facts, _ in guarded.answers(
        "data.document_tables:read_parts", arguments, str(path), limits
    ):
        found |= set(facts["parts"])
    for part in (TRAIN, TEST):
        if part not in found:
            others = ", ".join(sorted(found)) or "nothing"
            remedy = f"Add such rows, or drop the column {PART}: queries are then split."
            raise DataError(str(path), f"no rows of part {part}, but of {others}", remedy)
    return found


def rows_of(path: Path, name: str, reading: TableReading) -> Iterator[DocumentRows]:
    """The rows of a table, some thousands at a time.

    Args:
        path: of the table, plain or packed.
        name: what errors call it.
        reading: how rows become documents.

    Raises:
        DataError: it is damaged, or no table of documents.
    """
    arguments = {
        "path": str(path), "place": name, "rows": tables.ROWS, "reading": asdict(reading),
    }  # fmt: skip
    size = path.stat().st_size
    limits = guarded.GuardLimits.of_file(path)
    reader = "data.document_tables:read_rows"
    with closing(guarded.answers(reader, arguments, name, limits)) as answers:
        for facts, arrays in answers:
            queries = (query.encode() for query in facts["queries"])
            chunk = Chunk(
                cells=arrays["features"],
                feature_ids=arrays["feature_ids"],
                labels=arrays["labels"],
                runs=list(zip(arrays["starts"].tolist(), queries, strict=True)),
                comments=arrays.get("comments"),
                comment_ends=np.cumsum(arrays["comment_lengths"], dtype=np.uint32),
                missing=int(np.isnan(arrays["features"]).sum()),
                clipped=facts["clipped"],
            )
            stored = int(size * min(facts["share"], 1.0))
            yield DocumentRows(chunk, tuple(facts["columns"]), facts["has_names"], stored)


# What follows runs in the guarded process.


def read_parts(path: str, place: str) -> Iterator[guarded.Answer]:
    """The parts that the rows of a table say."""
    for frame, _ in tables.frames(Path(path), place, tables.Reading([PART])):
        yield {"parts": sorted(set(_parts_of(frame, place)))}, {}


def read_rows(
    path: str, place: str, rows: int, reading: Mapping[str, Any]
) -> Iterator[guarded.Answer]:
    """The rows of a table as arrays."""
    from shuffleproof.core.data.frames import rows_of_frame  # noqa: PLC0415 (pandas)

    how = TableReading(**reading)
    for whole, share in _frames(path, place, how.columns or {}, rows):
        frame = whole
        if PART in whole.columns and whole[PART].dtype.kind not in "biuf":  # else a feature
            frame = whole.drop(columns=PART)
            if how.part is not None:
                frame = frame[(_parts_of(whole, place) == how.part).to_numpy()]
        if not len(frame):
            continue
        some = rows_of_frame(place, frame, how.columns or {}, gaps=how.gaps)
        beyond = np.isinf(some.features)
        largest = np.finfo(np.float32).max
        some.features[beyond] = np.copysign(largest, some.features[beyond])
        starts = [0, *(at for at, (a, b) in enumerate(pairwise(some.queries), 1) if a != b)]
        arrays = {
            "features": some.features,
            "feature_ids": np.array(some.feature_ids, dtype=np.int64),
            "labels": some.labels,
            "starts": np.array(starts, dtype=np.int64),
            "comment_lengths": np.zeros(len(frame), dtype=np.uint32),
        }
        if some.comments is not None:
            arrays["comments"] = np.frombuffer(b"".join(some.comments), dtype=np.uint8)
            arrays["comment_lengths"] = np.array([*map(len, some.comments)], dtype=np.uint32)
        facts = {
            "columns": some.columns,
            "has_names": some.has_names and LISTS not in whole.attrs,
            "queries": [some.queries[at] for at in starts],
            "clipped": int(beyond.sum()),
            "share": share,
        }
        yield facts, arrays


def _frames(
    path: str, place: str, columns: Mapping[str, str], rows: int
) -> Iterator[tables.Framed]:
    """Frames of the same columns in the same order; lists of features are columns.

    Raises:
        DataError: other columns, or lists of different lengths.
    """
    from shuffleproof.core.data.frames import COMMENT, NAMES  # noqa: PLC0415 (pandas)

    ids = [name for meaning in ("query", "document") for name in NAMES[meaning]]
    texts = {*ids, COMMENT, *(columns[name] for name in ("query", "document") if name in columns)}
    names: list[str] = []
    for rows_read, share in tables.frames(Path(path), place, tables.Reading(None, texts, rows)):
        frame = _spread(rows_read, place)
        names = names or [*map(str, frame.columns)]
        if sorted(map(str, frame.columns)) != sorted(names):
            odd = sorted(set(names) ^ set(map(str, frame.columns)))
            finding = f"rows {frame.index[0]} to {frame.index[-1]} differ in column {shown(odd[0])}"
            raise DataError(place, finding, SAME_COLUMNS)
        ordered = frame[names]
        ordered.attrs = frame.attrs
        yield ordered, share


def _parts_of(frame: "pd.DataFrame", name: str) -> "pd.Series[str]":
    """The part of every row.

    Raises:
        DataError: a row names none.
    """
    parts = frame[PART].map(_part)
    if parts.isna().any():
        row = frame.index[parts.isna()][0]
        finding = f"row {row} of column {PART} holds {quoted(str(frame[PART][row]))}"
        remedy = "It says train, valid or test of every row; call it otherwise if it does not."
        raise DataError(name, finding, remedy)
    return parts


def _part(value: Any) -> str | None:
    """The part that a cell names, by the words that name files of parts; None: none."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return PART_WORDS.get(text.strip().casefold()) if isinstance(text, str) else None


def _spread(frame: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """A column of lists as so many columns, and a mark of that among the frame's `attrs`.

    Raises:
        DataError: a list of another length than the first, or with something else than numbers.
    """
    if LISTS not in frame.columns or not len(frame) or frame[LISTS].dtype.kind in "biuf":
        return frame
    import pandas as pd  # noqa: PLC0415 (only tables need it)

    lists: list[np.ndarray] = []
    for row, values in frame[LISTS].items():
        try:
            lists.append(np.asarray(values, dtype=np.float64))
        except (ValueError, TypeError, OverflowError) as error:
            finding = f"row {row} of column {LISTS} holds no list of numbers"
            raise DataError(name, finding, REPAIR) from error
        if lists[-1].shape != lists[0].shape:
            finding = f"row {row} of column {LISTS} holds {counted(lists[-1].size, 'number')}"
            finding += f", row {frame.index[0]} {lists[0].size}"
            raise DataError(name, finding, "Give every document as many features.")
    if lists[0].ndim != 1 or not lists[0].size:
        raise DataError(name, f"row 1 of column {LISTS} holds no list of numbers", REPAIR)
    cells = np.stack(lists)
    wide = pd.DataFrame(cells, index=frame.index, columns=range(1, cells.shape[1] + 1))
    spread = pd.concat([frame.drop(columns=LISTS), wide.add_prefix(f"{LISTS} ")], axis=1)
    spread.attrs[LISTS] = True
    return spread
