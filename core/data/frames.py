"""Data frames as data sets, and data sets as tables: a row a document, columns by name.

Frames are written as LETOR text and read in. So a frame is checked, split and keyed as a file with
the same content is, and one that was read in before is found again.
"""

import datetime as dt
import json
import numbers
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from csv import QUOTE_MINIMAL, QUOTE_NONNUMERIC
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset, names_of_ids
from shuffleproof.core.data.letor.write import check_queries, comment_of, whole_file, write
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import (
    LONGEST_QUOTE,
    DataError,
    ParameterError,
    UnknownNameError,
    quoted,
    shown,
)
from shuffleproof.core.numerals import NUMBER
from shuffleproof.core.parameters import parts_of

NAMES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "qid", "query_id", "q_id"),
    "label": ("label", "relevance", "grade", "rel"),
    "document": ("document", "docid", "doc_id", "docno", "did"),
}
"""What columns are, and what they may be called unless `columns` says it."""

COMMENT = "comment"  # The column of what follows `#` on a line of LETOR text
RESERVED = ("part", COMMENT, *(name for names in NAMES.values() for name in names))
"""Names that no feature of a written table has."""

_CALLED = re.compile(r"feature_([1-9][0-9]{0,8})")
PARTS = ("train", "valid", "test")

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What spreadsheets take the first letter of a formula for."""

Frames = pd.DataFrame | Mapping[str, pd.DataFrame]

ROWS = 1 << 15  # Rows that are turned into text or columns at a time
Parts = Mapping[str, RankingDataset]


@contextmanager
def files_of(
    frames: Frames, columns: Mapping[str, str] | None, *, gaps: bool = False
) -> Iterator[dict[str, Path]]:
    """The frames as files, until the block ends: `whole`, or `train`, `valid` and `test`.

    Args:
        frames: one, which is split by queries; or three by part.
        columns: names of the query, label and document columns, where they are none of NAMES.
        gaps: features may have empty cells, which are written as NULL.

    Raises:
        ParameterError: parts or columns of other names.
        DataError: no label, text among features, an empty cell, or the like.
    """
    parts = {"whole": frames} if isinstance(frames, pd.DataFrame) else dict(frames)
    if set(parts) not in ({"whole"}, set(PARTS)):
        raise ParameterError("data", ", ".join(parts), "a frame, or frames as train, valid, test")
    unknown = sorted(set(columns or ()) - set(NAMES))
    if unknown:
        raise ParameterError("columns", unknown[0], "a name for query, label or document")
    read = {}
    for part, frame in parts.items():
        place = "the frame" if part == "whole" else f"the frame {part}"
        read[part] = dataset_of(place, frame, columns or {}, gaps=gaps)
    with TemporaryDirectory() as folder:
        paths = {part: Path(folder) / f"{part}.txt" for part in read}
        for part, dataset in read.items():
            write(dataset, paths[part], names=True, finite=False)
        yield paths


def columns_named(text: str) -> dict[str, str]:
    """Names of a table's columns by meaning, from the text of `--columns`.

    Raises:
        UnknownNameError: no such meaning.
        ParameterError: no names.

    >>> columns_named("query=session_id,label=target")
    {'query': 'session_id', 'label': 'target'}
    """
    columns = {}
    for part in parts_of(text):
        ours, _, theirs = part.partition("=")
        if not theirs:
            raise ParameterError("--columns", part, "OURS=THEIRS, like query=session_id")
        if ours not in NAMES:
            raise UnknownNameError("meaning of a column", ours, tuple(NAMES))
        columns[ours] = theirs
    return columns


def _feature_ids(names: Sequence[Any]) -> tuple[int, ...]:
    """The ids of features: those that they are called by, as `write_parquet` does, or 1, 2, ….

    >>> _feature_ids(["feature_3", "feature_7"]), _feature_ids(["bm25", "feature_7"])
    ((3, 7), (1, 2))
    """
    called = [_CALLED.fullmatch(str(name)) for name in names]
    ids = tuple(int(match[1]) for match in called if match)
    rising = all(before < after for before, after in pairwise(ids))
    return ids if len(ids) == len(names) and rising else tuple(range(1, len(names) + 1))


@dataclass(frozen=True)
class FrameRows:
    """The rows of a frame, in their order."""

    features: Float32[np.ndarray, "docs features"]  # of the rows
    feature_ids: tuple[int, ...]  # of the columns of features
    columns: tuple[str, ...]  # of the features, as the frame calls them
    labels: Float32[np.ndarray, " docs"]  # of the rows
    queries: list[str]  # the query id of every row
    # what follows `#` in LETOR text, with the document's id; None: neither is there
    comments: list[bytes] | None

    @property
    def has_names(self) -> bool:
        """True if the columns have names besides their ids."""
        return self.columns != names_of_ids(self.feature_ids)


def rows_of_frame(
    place: str, frame: pd.DataFrame, columns: Mapping[str, str], *, gaps: bool = False
) -> FrameRows:
    """The rows of a frame as arrays; features beyond float32 are infinite.

    Args:
        place: what errors call it; rows are called by the frame's index.
        frame: a row a document.
        columns: names of the query, label and document columns, where they are none of NAMES.
        gaps: features may have empty cells, as NaN.

    Raises:
        DataError: no such column, no label, text among features, or an empty cell.
    """
    column_of = {}
    for meaning, usual in NAMES.items():
        or_named = f", or say --columns {meaning}=NAME (in Python columns={{{meaning!r}: NAME}})."
        present = [name for name in usual if name in frame.columns]
        if meaning in columns:
            present = [columns[meaning]]
            if columns[meaning] not in frame.columns:
                finding = f"no column {shown(columns[meaning])} for the {meaning}"
                raise DataError(place, finding, f"Name one of {_listed(frame.columns)}.")
        if len(present) > 1:  # the other would be a feature
            finding = f"several columns for the {meaning} ({', '.join(present)})"
            raise DataError(place, finding, f"Drop all but one{or_named}")
        if not present and meaning != "document":
            finding = f"no column for the {meaning}; there are {_listed(frame.columns)}"
            raise DataError(place, finding, f"Call it {', '.join(usual)}{or_named}")
        column_of[meaning] = present[0] if present else None
    commented = COMMENT in frame and not pd.api.types.is_numeric_dtype(frame[COMMENT])
    reserved = {*column_of.values(), *([COMMENT] if commented else ())}
    names = [name for name in frame.columns if name not in reserved]
    if frame.empty or not names:
        lacking = "rows" if frame.empty else "columns of features"
        raise DataError(place, f"no {lacking}", "A row is a document, its features are columns.")
    ids = _feature_ids(names)
    called = tuple(map(str, names))
    if len(set(called)) < len(called):
        raise DataError(place, "two features have the same name", "Rename one of them.")
    queries = _ids(place, frame, str(column_of["query"]))
    if None in queries:
        row = frame.index[queries.index(None)]
        raise DataError(place, f"row {row} has no query", "Drop it, or fill it in.")
    check_queries([query for query in dict.fromkeys(queries) if query is not None], place)
    labels = _numbers(place, frame, str(column_of["label"]), label=True)
    features = np.stack([_numbers(place, frame, name, gaps=gaps) for name in names], axis=1)
    document, comments = column_of["document"], None
    if document is not None or commented:
        none = [None] * len(frame)
        documents = none if document is None else _ids(place, frame, document)
        texts = _ids(place, frame, COMMENT) if commented else none
        comments = [
            comment_of((comment or "").encode(), (name or "").encode(), place)
            for comment, name in zip(texts, documents, strict=True)
        ]
    return FrameRows(features, ids, called, labels, [str(query) for query in queries], comments)


def dataset_of(
    place: str, frame: pd.DataFrame, columns: Mapping[str, str], *, gaps: bool = False
) -> RankingDataset:
    """The data set of a frame: queries in the order of their first rows, rows in theirs.

    Arguments and errors are those of `rows_of_frame`.
    """
    rows = rows_of_frame(place, frame, columns, gaps=gaps)
    codes, queries = pd.factorize(np.array(rows.queries, dtype=object))
    order = np.argsort(codes, kind="stable")
    comments = rows.comments and TextColumn.of([rows.comments[row] for row in order])
    return RankingDataset(
        rows.features[order],
        rows.labels[order],
        ragged.offsets_of(np.bincount(codes, minlength=len(queries))),
        tuple(queries.tolist()),
        rows.feature_ids,
        comments=comments or None,
        feature_names=rows.columns if rows.has_names else None,
    )


def _ids(place: str, frame: pd.DataFrame, name: str) -> list[str | None]:
    """A column of ids or texts, None where a cell is empty."""
    column = frame[name].convert_dtypes()  # gaps elsewhere made 10002 10002.0
    empty = column.isna().to_numpy()
    ids: list[str | None] = []
    for row, (value, lacking) in enumerate(zip(column.tolist(), empty, strict=True)):
        text = None if lacking else _id(value)
        if text is None and not lacking:
            said = f"{shown(repr(value)[:LONGEST_QUOTE])} ({type(value).__name__})"
            finding = f"row {frame.index[row]} of column {shown(name)} holds {said}, no id"
            raise DataError(place, finding, "An id is a text or a number.")
        ids.append(text)
    return ids


def _id(value: Any) -> str | None:
    """An id as text; None: it is none. Parquet's columns of text may be of bytes."""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, str):  # half of a pair of UTF-16 is no text: it stays apart from others
        return value.encode(errors="backslashreplace").decode()
    scalar = isinstance(value, numbers.Number | np.generic | dt.date)
    return str(value) if scalar else None


def _listed(names: Iterable[Any]) -> str:
    """The first names of columns."""
    return ", ".join(map(shown, list(names)[:12])) or "none"


def _numbers(
    place: str, frame: pd.DataFrame, name: Any, *, gaps: bool = False, label: bool = False
) -> np.ndarray:
    """A column as float32; features that it does not hold become infinite."""
    column = frame[name]
    if column.isna().all():
        column = pd.Series(np.nan, index=column.index)
    elif column.dtype == object:  # as integers beyond 64 bits
        _check_objects(place, name, column, label=label)
        column = column.where(column.notna(), np.nan).astype(np.float64)
    elif not pd.api.types.is_numeric_dtype(column):
        raise _no_number(place, name, column.dropna().head(1), str(column.dtype), label=label)
    with np.errstate(over="ignore"):
        values = column.to_numpy(dtype=np.float32, na_value=np.nan)
    wrong = ~np.isfinite(values)
    if wrong.any() and not label:
        exact = column.to_numpy(dtype=np.float64, na_value=np.nan)
        wrong = np.isinf(exact) | (np.isnan(exact) & (not gaps))
    if wrong.any():
        finding = f"row {frame.index[wrong][0]} of column {shown(name)} is {column[wrong].iloc[0]}"
        empty = np.isnan(values)
        such = wrong & (empty == empty[wrong][0])
        more = f" ({such.sum():,} rows are such)" if such.sum() > 1 else ""
        remedy = "Write a finite number instead; --nulls fills empty cells alone."
        if empty[wrong][0]:
            remedy = "Fill it in, or say what is missing (--nulls; in Python nulls=…)."
            remedy = "Write a label, or leave the row out." if label else remedy
        raise DataError(place, finding + more, remedy)
    return values


def _is_number(value: Any) -> bool:
    """True if a cell of a column of objects holds a float64 number, or nothing."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return value is None or value is pd.NA or isinstance(value, float | np.number)


def _check_objects(place: str, name: Any, column: "pd.Series[Any]", *, label: bool) -> None:
    """Refuse a column of objects with something else than numbers: its first such cell."""
    wrong = column[~column.map(_is_number)]
    if len(wrong) and all(isinstance(value, str) for value in column.dropna()):
        # One bad cell makes a whole column of CSV texts: those that read as numbers are fine
        unreadable = wrong[pd.to_numeric(wrong, errors="coerce").isna()]
        wrong = unreadable if len(unreadable) else wrong
    if len(wrong):
        raise _no_number(place, name, wrong.head(1), type(wrong.iloc[0]).__name__, label=label)


def _no_number(
    place: str, name: Any, cell: "pd.Series[Any]", kind: str, *, label: bool
) -> DataError:
    value = cell.iloc[0]
    said = quoted(value) if isinstance(value, str) else shown(repr(value)[:LONGEST_QUOTE])
    finding = f"row {cell.index[0]} of column {shown(name)} holds {said} ({kind}), no number"
    remedy = "Correct the cell; if the column is no feature, drop it or encode it as numbers."
    if label:
        remedy = "Write labels as numbers: 0 for not relevant, higher for more relevant (Good → 2)."
    return DataError(place, finding, remedy)


KINDS = ("csv", "parquet", "arrow", "jsonl")  # Kinds of tables that are written


def write_table(parts: Parts, path: Path, kind: str) -> None:
    """Write the parts, which share their features, below one another as a table of one of KINDS.

    Columns: part, query, document and comment where there are any, label, and every feature by its
    name, `feature_<id>` where it has none. Rows have the order of the source; cells that it left
    out are 0. Numbers have the fewest digits that read back the same. The file appears when it is
    complete.
    """
    frames = _frames(parts)
    with whole_file(path) as file:
        if kind in {"parquet", "arrow"}:
            import pyarrow as pa  # noqa: PLC0415 (only who writes these pays for it)
            from pyarrow import parquet  # noqa: PLC0415 (likewise)

            first = next(frames)
            schema = pa.Schema.from_pandas(first, preserve_index=False)
            opened = parquet.ParquetWriter if kind == "parquet" else pa.ipc.new_file
            with opened(file, schema) as table:
                for frame in chain([first], frames):
                    table.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))
            return
        for at, frame in enumerate(frames):
            if kind == "csv":
                text = csv(frame, header=at == 0)
            else:
                rows = frame.itertuples(index=False, name=None)
                objects = (dict(zip(frame.columns, row, strict=True)) for row in rows)
                text = "".join(json.dumps(one) + "\n" for one in objects)
            file.write(text.encode())


def csv(frame: pd.DataFrame, *, header: bool = True) -> str:
    r"""A frame as CSV text whose cells no spreadsheet takes for formulas; numbers stay numbers.

    A text, or a column's name, that starts with = + - @, a tab or a carriage return and is no
    number gets an apostrophe in front, which spreadsheets do not show. Where a text holds a
    carriage return, which would end a row, all texts are quoted.

    >>> csv(pd.DataFrame({"query": ["=1+1", "-3", "q"], "value": [-1.5, 0.0, 2.0]}))
    "query,value\n'=1+1,-1.5\n-3,0.0\nq,2.0\n"
    """
    safe = frame.rename(columns=_plain_cell)
    returns = any("\r" in str(name) for name in frame.columns)
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        if not pd.api.types.is_numeric_dtype(column):
            returns |= any(isinstance(cell, str) and "\r" in cell for cell in column)
            safe.isetitem(place, [_plain_cell(cell) for cell in column])
    quoting: Literal[0, 2] = QUOTE_NONNUMERIC if returns else QUOTE_MINIMAL
    return safe.to_csv(index=False, header=header, lineterminator="\n", quoting=quoting)


def _plain_cell(cell: Any) -> Any:
    risky = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
    return f"'{cell}" if risky else cell


def _frames(parts: Parts) -> Iterator[pd.DataFrame]:
    """The rows of all parts, some at a time; at least one frame, if an empty one."""
    columns = {
        name: any(getattr(part, name) is not None for part in parts.values())
        for name in ("doc_ids", "comments")
    }
    for name, part in parts.items():
        owners, order = ragged.segment_ids(part.offsets), part.rows_of_source
        for start in range(0, max(part.documents, 1), ROWS):
            rows = order[start : start + ROWS]
            texts = {"part": [name] * len(rows)}
            texts["query"] = [part.query_ids[query] for query in owners[rows].tolist()]
            for column, header in (("doc_ids", "document"), ("comments", "comment")):
                if columns[column]:
                    values = getattr(part, column)
                    texts[header] = ["" if values is None else values[row] for row in rows.tolist()]
            head = pd.DataFrame({key: pd.Series(text, dtype="str") for key, text in texts.items()})
            head["label"] = part.labels[rows]
            own = set(part.names).isdisjoint(RESERVED)
            features = part.names if own else names_of_ids(part.feature_ids)
            yield pd.concat([head, pd.DataFrame(part.features[rows], columns=features)], axis=1)
