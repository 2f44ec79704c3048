"""LETOR text out: the shortest decimals that read back to the same float32."""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import DataError, quoted

ROWS_AT_ONCE = 1024
LONGEST_ID = 255
DOCUMENT = re.compile(rb"[ \t]*docid[ \t]*=[ \t]*([^\x00-\x20]*)", re.IGNORECASE)
"""The document id in a comment: `docid = GX01 inc = 1 …`."""

NAMES_LINE = b"# feature names: "
"""The start of a first line that names features 1, 2, … as a list of JSON."""

NOT_FINITE = {b"nan": b"NULL", b"inf": b"1e39", b"-inf": b"-1e39"}


def write(dataset: RankingDataset, path: Path, *, names: bool = False, finite: bool = True) -> None:
    """Write a data set as LETOR text, gzipped where the name ends in .gz.

    Rows have the order of the source. Every cell is written, zeros too, but those that the source
    left out. Comments are written too, with the document id in front if they lack it.

    Args:
        dataset: the data set.
        path: of the file.
        names: a first line names the features 1, 2, …, if they have names.
        finite: features must be finite; else NaN is written as NULL, and infinite ones as a
            number that float32 does not hold.

    Raises:
        DataError: an id or comment that a line of LETOR text cannot hold, a value that is not
            finite, or no documents.
    """
    place = "the data set"
    if not dataset.documents:
        raise DataError(place, "no documents", "There is nothing to write.")
    features = np.isfinite(dataset.features).all() or not finite
    if not (np.isfinite(dataset.labels).all() and features):
        raise DataError(place, "a value that is not finite", "LETOR text holds finite numbers.")
    check_queries(dataset.query_ids, place)
    comments = [_comment(dataset, row) for row in range(dataset.documents)]
    with whole_file(path) as file:
        if names and dataset.feature_names is not None:
            file.write(NAMES_LINE + json.dumps(dataset.feature_names).encode() + b"\n")
        for line in _lines(dataset, comments):
            file.write(line)


@contextmanager
def whole_file(path: Path) -> Iterator[Any]:
    """A file to write bytes into, which appears whole or not at all; gzipped for a name in .gz."""
    partial = path.with_name(path.name + ".partial")
    packed = path.suffix == ".gz"
    try:
        with gzip.open(partial, "wb", 6) if packed else partial.open("wb") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _lines(dataset: RankingDataset, comments: list[bytes]) -> Iterator[bytes]:
    ids = [b"%d:" % feature for feature in dataset.feature_ids]
    heads = [f" qid:{query} ".encode() for query in dataset.query_ids]
    owners = ragged.segment_ids(dataset.offsets)
    order = dataset.rows_of_source
    for start in range(0, len(order), ROWS_AT_ONCE):
        rows = order[start : start + ROWS_AT_ONCE]
        absent = dataset.absent_cells(rows)
        labels, cells = _decimals(dataset.labels[rows]), _decimals(dataset.features[rows])
        for at, row in enumerate(rows.tolist()):
            values = cells[at * len(ids) : (at + 1) * len(ids)]
            pairs = [feature + value for feature, value in zip(ids, values, strict=True)]
            if absent is not None:
                pairs = [pair for pair, none in zip(pairs, absent[at], strict=True) if not none]
            text = b" ".join(pairs)
            yield labels[at] + heads[owners[row]] + text + b" " + comments[row] + b"\n"


def _decimals(values: Float32[np.ndarray, "..."]) -> list[bytes]:
    """The shortest decimal of each value.

    >>> _decimals(np.array([0.1, 1e-30, 3, np.nan], dtype=np.float32))
    [b'0.1', b'1e-30', b'3', b'NULL']
    """
    texts = values.ravel().astype("S32").tolist()
    return [NOT_FINITE.get(text, text.removesuffix(b".0")) for text in texts]


def _comment(dataset: RankingDataset, row: int) -> bytes:
    columns = (dataset.comments, dataset.doc_ids)
    if columns == (None, None):
        return b""
    text, document = (
        b"" if column is None else column.blob[column.starts[row] : column.ends[row]].tobytes()
        for column in columns
    )
    return b"#" + comment_of(text, document, "the data set")


def comment_of(text: bytes, document: bytes, place: str) -> bytes:
    """Comment that names a document: unchanged if it does, else with the id in front.

    An empty text is no comment, and an empty document no id; errors call the data `place`.

    Raises:
        DataError: an id with blanks, or a comment of several lines.

    >>> comment_of(b"clicks = 3", b"d7", "a"), comment_of(b"docid = d7", b"d7", "a")
    (b'docid = d7 clicks = 3', b'docid = d7')
    """
    if len(document.split()) > 1 or document.strip() != document:
        finding = f"the document id {quoted(document.decode(errors='replace'))}"
        raise DataError(place, finding, "An id in LETOR text holds no blanks.")
    named = DOCUMENT.match(text)
    if document and (named is None or named[1] != document):
        text = b"docid = " + document + (b" " + text if text else b"")
    if b"\n" in text or text.endswith(b"\r"):
        finding = f"a line break in {quoted(text.decode(errors='replace'))}"
        raise DataError(place, finding, "LETOR text is one line a document.")
    return text


def check_queries(names: Iterable[str], place: str) -> None:
    """Refuse query ids that LETOR text cannot hold.

    Raises:
        DataError: there is one.
    """
    for name in names:
        size = len(name.encode(errors="replace"))
        half = any("\ud800" <= letter <= "\udfff" for letter in name)  # of a pair: no text
        if half or not 0 < size <= LONGEST_ID or "#" in name or min(name) <= " ":
            finding = f"the query id {quoted(name)}"
            raise DataError(place, finding, "A qid is 1 to 255 bytes without blanks or #.")
