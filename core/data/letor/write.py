"""LETOR text out: the shortest decimals that read back to the same float32."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.letor.line_texts import check_queries, comment_of
from shuffleproof.core.errors import DataError

WIDEST = 48  # bytes that one cell can take: an id of 20 digits, a colon, a number, a space
MOST_DECIMALS = 15
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-6, 1e15
_POWERS = 10.0 ** np.arange(MOST_DECIMALS + 1)
_LARGEST_EXACT = 2.0**53


NAMES_LINE = b"# feature names: "
"""The start of a first line that names features 1, 2, … as a list of JSON."""


def write(dataset: RankingDataset, path: Path, *, names: bool = False, finite: bool = True) -> None:
    """Write a data set as LETOR text, gzipped where the name ends in .gz.

    Rows have the order of the source. Every cell is written, zeros too, but those that the source
    left out. Comments are kept; a document id that its comment does not name is written in front
    of it.

    Args:
        dataset: the data set.
        path: of the file.
        names: whether a first line names the features 1, 2, …, where they have names.
        finite: as in `lines`.

    Raises:
        DataError: an id or comment that a line of LETOR text cannot hold, a value that is not
            finite, or no documents.
    """
    text = lines(dataset, finite=finite)
    partial = path.with_name(path.name + ".partial")
    packed = path.suffix == ".gz"
    try:
        with gzip.open(partial, "wb", 6) if packed else partial.open("wb") as file:
            if names and dataset.feature_names is not None:
                file.write(NAMES_LINE + json.dumps(dataset.feature_names).encode() + b"\n")
            for line in text:
                file.write(line)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def lines(
    dataset: RankingDataset, place: str = "the data set", *, finite: bool = True
) -> Iterator[bytes]:
    """The lines of a data set as LETOR text, each with its end.

    Args:
        dataset: the data set.
        place: what errors call it.
        finite: whether features must be finite; else NaN is written as NULL, and infinite ones as
            a number that float32 does not hold.

    Raises:
        DataError: see `write`.
    """
    _check(dataset, place, finite=finite)
    return _lines(dataset, [_comment(dataset, row, place) for row in range(dataset.documents)])


def decimal(value: np.float32) -> str:
    """The decimal that is written for a float32.

    >>> decimal(np.float32(0.1)), decimal(np.float32(1e-30)), decimal(np.float32(3))
    ('0.1', '1e-30', '3')
    """
    long = value != 0 and not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN
    text = (
        np.format_float_scientific(value, trim="-", exp_digits=1)
        if long
        else np.format_float_positional(value, trim="-")
    )
    return text if np.float32(float(text)) == value else f"{value:.9g}"


def _lines(dataset: RankingDataset, comments: list[bytes]) -> Iterator[bytes]:
    ids = np.array(dataset.feature_ids, dtype=np.int64)
    line = np.empty(WIDEST * (len(ids) + 1), dtype=np.uint8)
    heads = [f" qid:{query} ".encode() for query in dataset.query_ids]
    owners = ragged.segment_ids(dataset.offsets)
    for row in dataset.rows_of_source.tolist():
        cells, known = dataset.features[row], ids
        if (absent := dataset.absent_cells(slice(row, row + 1))) is not None:
            cells, known = cells[~absent[0]], ids[~absent[0]]
        length = written_cells(cells, known, line)
        text = line[:length].tobytes() if length >= 0 else _slow_cells(cells, known)
        head = heads[owners[row]]
        yield decimal(dataset.labels[row]).encode() + head + text + comments[row] + b"\n"


def _slow_cells(cells: Float32[np.ndarray, " features"], ids: np.ndarray) -> bytes:
    pairs = zip(ids.tolist(), cells, strict=True)
    return " ".join(f"{feature}:{_written(value)}" for feature, value in pairs).encode() + b" "


def _written(value: np.float32) -> str:
    """The decimal of a feature, or what is written for one that float32 does not hold.

    >>> [_written(np.float32(value)) for value in ("0.1", "nan", "-inf")]
    ['0.1', 'NULL', '-1e39']
    """
    if np.isfinite(value):
        return decimal(value)
    return "NULL" if np.isnan(value) else f"{'-' if value < 0 else ''}1e39"


def _comment(dataset: RankingDataset, row: int, place: str) -> bytes:
    comments, documents = dataset.comments, dataset.doc_ids
    text = document = b""
    if comments is None and documents is None:
        return text
    if comments is not None:
        text = comments.blob[comments.starts[row] : comments.ends[row]].tobytes()
    if documents is not None:
        document = documents.blob[documents.starts[row] : documents.ends[row]].tobytes()
    return b"#" + comment_of(text, document, place)


def _check(dataset: RankingDataset, place: str, *, finite: bool) -> None:
    if not dataset.documents:
        raise DataError(place, "no documents", "There is nothing to write.")
    features = np.isfinite(dataset.features).all() or not finite
    if not (np.isfinite(dataset.labels).all() and features):
        finding = "a value that is not finite"
        raise DataError(place, finding, "LETOR text holds finite numbers.")
    check_queries(dataset.query_ids, place)


@no_type_check
@numba.njit(cache=True)
def written_cells(cells: np.ndarray, ids: np.ndarray, line: np.ndarray) -> int:
    """Write `id:value ` of every cell; the bytes used, or −1 where a value needs an exponent."""
    end = 0
    for column in range(len(cells)):
        end = _integer(line, end, ids[column])
        line[end] = 58  # a colon
        end = _fixed(line, end + 1, cells[column])
        if end < 0:
            return -1
        line[end] = 32
        end += 1
    return end


@no_type_check
@numba.njit(cache=True)
def _fixed(line: np.ndarray, end: int, value: np.float32) -> int:
    """Write a float32 with the fewest decimals that give it back; −1 if 15 do not."""
    size = abs(np.float64(value))
    if np.signbit(value):
        line[end] = 45  # a minus sign
        end += 1
    for decimals in range(MOST_DECIMALS + 1):
        scaled = np.rint(size * _POWERS[decimals])
        if scaled >= _LARGEST_EXACT:
            return -1
        if np.float32(scaled / _POWERS[decimals]) == np.float32(size):
            whole = np.int64(scaled) // np.int64(_POWERS[decimals])
            end = _integer(line, end, whole)
            if decimals:
                line[end] = 46  # a dot
                fraction = np.int64(scaled) - whole * np.int64(_POWERS[decimals])
                end = _padded(line, end + 1, fraction, decimals)
            return end
    return -1


@no_type_check
@numba.njit(cache=True)
def _integer(line: np.ndarray, end: int, number: int) -> int:
    digits, remaining = 1, number
    while remaining >= 10:
        remaining //= 10
        digits += 1
    return _padded(line, end, number, digits)


@no_type_check
@numba.njit(cache=True)
def _padded(line: np.ndarray, end: int, number: int, digits: int) -> int:
    for place in range(end + digits - 1, end - 1, -1):
        line[place] = 48 + number % 10
        number //= 10
    return end + digits
