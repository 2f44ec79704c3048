"""Tables of documents as rows of a data set: a row a document, its features in columns.

A column holds the query, one the label (`core.data.frames.NAMES`), perhaps one the document's id
and one `comment`; all others are features, 1 being the first. One column `features` may hold lists
of them instead. A column `part` may say the part of each row. Empty cells of features and values
beyond float32 mean what NULL and such values mean in LETOR text.

Tables are untrusted: `head_of` and `rows_of` read them in a guarded process.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from shuffleproof.core.data import guarded, tables
from shuffleproof.core.data.layout import PART_WORDS, check_shards, visible_files
from shuffleproof.core.data.letor import stream
from shuffleproof.core.data.letor.chunks import Chunk
from shuffleproof.core.errors import DataError, quoted, shown
from shuffleproof.core.words import counted

if TYPE_CHECKING:
    import pandas as pd

LISTS = "features"
PART = "part"
ANY_PART = "any"
"""A part that rows of all parts have."""

HEADS_KEPT = 64  # files whose heads are remembered
REPAIR = "Give every document a list of numbers."
SAME_COLUMNS = "Give every row the same columns."


@dataclass(frozen=True)
class TableHead:
    """The columns of a table, by its first rows.

    Attributes:
        columns: names of all columns, in their order; a column of lists is as many columns.
        features: names of the features among them.
    """

    columns: tuple[str, ...]
    features: tuple[str, ...]


class DocumentRows(NamedTuple):
    """Some rows of a table.

    Attributes:
        chunk: the rows; values beyond float32 are its largest.
        names: of the columns; None: the table has no names but those of ids.
        stored: bytes of the file that have been read so far.
    """

    chunk: Chunk
    names: tuple[str, ...] | None
    stored: int


@dataclass(frozen=True)
class TableReading:
    """Options for making documents of the rows of a table.

    Attributes:
        columns: names of the columns of query, label and document, where they are none of NAMES.
        gaps: whether features may have empty cells.
        part: the part of the rows: all rows must say it, where a column says parts. None: that of
            the first row.
        only: whether rows of other parts are passed over instead.
        order: names of all columns in the order that is due; None: that of the first rows.
    """

    columns: Mapping[str, str] | None = None
    gaps: bool = False
    part: str | None = None
    only: bool = False
    order: Sequence[str] | None = None


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


def head_of(path: Path, name: str, columns: Mapping[str, str] | None = None) -> TableHead | None:
    """The columns of a table; None where a file is none.

    Raises:
        DataError: it is damaged.
    """
    if not path.is_file() or not is_table(path, name):
        return None
    about = path.stat()
    given = tuple(sorted((columns or {}).items()))
    return _head(path, name, given, (about.st_mtime_ns, about.st_size))


@lru_cache(HEADS_KEPT)
def _head(
    path: Path, name: str, columns: tuple[tuple[str, str], ...], changed: tuple[int, int]
) -> TableHead:
    """`head_of`, remembered until the file changes."""
    del changed
    arguments = {"path": str(path), "place": name, "columns": dict(columns)}
    limits = guarded.GuardLimits.of_file(path)
    reader = "data.document_tables:read_head"
    with closing(guarded.answers(reader, arguments, name, limits)) as answers:
        facts, _ = next(answers)
    return TableHead(tuple(facts["columns"]), tuple(facts["features"]))


def has_parts(path: Path) -> bool:
    """Tell if a file is a table with a column `part`, which says the part of each row.

    Raises:
        DataError: it is damaged.
    """
    head = head_of(path, str(path))
    return head is not None and PART in head.columns


def tables_of_parts(folder: Path) -> list[Path]:
    """The files of a folder, or of the only one in it, where all are such tables; else none."""
    files = visible_files(folder)
    if len(files) == 1 and files[0].is_dir():
        return tables_of_parts(files[0])
    try:
        return files if all(path.is_file() and has_parts(path) for path in files) else []
    except DataError:  # another JSON, or a damaged table: told by who reads the folder
        return []


def parts_in(path: Path) -> tuple[list[Path], set[str]]:
    """The tables at a path whose rows say their parts, and the parts that occur.

    Args:
        path: a table, or a folder of nothing else.

    Raises:
        DataError: one is damaged or names other parts, rows of a part are lacking, or files of
            shards are missing.
    """
    files = tables_of_parts(path) if path.is_dir() else [path]
    check_shards(path, files)
    found = set[str]()
    for file in files:
        arguments = {"path": str(file), "place": str(file)}
        limits = guarded.GuardLimits.of_file(file)
        reader = "data.document_tables:read_parts"
        for facts, _ in guarded.answers(reader, arguments, str(file), limits):
            found |= set(facts["parts"])
    for part in ("train", "test"):
        if part not in found:
            others = ", ".join(sorted(found)) or "nothing"
            remedy = f"Add such rows, or drop the column {PART}: queries are then split."
            raise DataError(str(path), f"no rows of part {part}, but of {others}", remedy)
    return files, found


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
            names, queries = facts["names"], (query.encode() for query in facts["queries"])
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
            yield DocumentRows(chunk, None if names is None else tuple(names), stored)


# What follows runs in the guarded process.


def read_head(path: str, place: str, columns: Mapping[str, str]) -> Iterator[guarded.Answer]:
    """The columns of a table."""
    from shuffleproof.core.data.frames import features_of  # noqa: PLC0415 (pandas)

    for frame, _ in _frames(path, place, columns, tables.ROWS):
        parts = _says_parts(frame)
        names = features_of(place, frame, columns)
        features = [str(name) for name in names if name != PART or not parts]
        yield {"columns": [*map(str, frame.columns)], "features": features}, {}
        return
    yield {"columns": [], "features": []}, {}


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
    due = how.part
    for whole, share in _frames(path, place, how.columns or {}, rows, how.order):
        frame = whole
        if _says_parts(whole) or (PART in whole.columns and due == ANY_PART):
            parts = _parts_of(whole, place)
            frame = whole.drop(columns=PART)
            if how.only:
                frame = frame[(parts == due).to_numpy()]
            elif due != ANY_PART and len(parts):
                due = due or str(parts.iloc[0])
                _check_part(parts, due, place)
        if not len(frame):
            continue
        some = rows_of_frame(place, frame, how.columns or {}, text=True, gaps=how.gaps)
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
        names = None if LISTS in whole.attrs or some.names is None else list(some.names)
        facts = {
            "names": names,
            "queries": [some.queries[at] for at in starts],
            "clipped": int(beyond.sum()),
            "share": share,
        }
        yield facts, arrays


def _frames(
    path: str,
    place: str,
    columns: Mapping[str, str],
    rows: int,
    order: Sequence[str] | None = None,
) -> Iterator[tables.Framed]:
    """Frames of the same columns in the same order; lists of features are columns.

    Raises:
        DataError: other columns, or lists of different lengths.
    """
    from shuffleproof.core.data.frames import COMMENT, NAMES  # noqa: PLC0415 (pandas)

    ids = [name for meaning in ("query", "document") for name in NAMES[meaning]]
    texts = {*ids, COMMENT, *(columns[name] for name in ("query", "document") if name in columns)}
    names = list(order or ())
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


def _says_parts(frame: "pd.DataFrame") -> bool:
    """Tell if there is a column `part` of texts; one of numbers is a feature."""
    return PART in frame.columns and frame[PART].dtype.kind not in "biuf"


def _check_part(parts: "pd.Series[str]", due: str, name: str) -> None:
    """Refuse rows of another part.

    Raises:
        DataError: there are some.
    """
    if (parts != due).any():
        row = parts.index[parts != due][0]
        finding = f"row {row} of column {PART} says {parts[row]} in a file that is read as {due}"
        remedy = "Give it for the part that its rows say, or a table of several parts by itself."
        raise DataError(name, finding, remedy)


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
