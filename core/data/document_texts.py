"""What documents say: a side file of texts by document id, kept with a data set for functions.

CSV (or tabs) whose first line names the columns `document` and `text`, or a JSON object of these
two a line; plain or compressed.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.letor.stream import Limits, blocks
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, LetorError
from shuffleproof.core.words import counted

DOCUMENT, TEXT = "document", "text"
LIMITS = Limits(line_bytes=1 << 24, decoded_bytes=1 << 35)
REMEDY = (
    'Give it the columns document and text, or one {"document": …, "text": …} a line; ids as the '
    "data set has them."
)


def with_texts(fold: Fold, path: Path) -> tuple[Fold, str]:
    """The fold with its documents' texts, and in words how many have one.

    Args:
        fold: its documents named.
        path: of the side file; texts of other documents are passed over.

    Raises:
        DataError: no such file, one of another shape, or one that knows none of the documents.
        LetorError: a line that is malformed, or a second text of a document.
    """
    parts = {name: getattr(fold, name) for name in ("train", "valid", "test")}
    id_columns = [part.doc_ids for part in parts.values() if part.doc_ids is not None]
    names = {name for column in id_columns for name in column if name}
    texts = _read(path, names)
    if not texts:
        finding = f"it has a text of none of the {counted(len(names), 'named document')}"
        raise DataError(str(path), finding, REMEDY)
    note = f"Texts of {len(texts):,} of {counted(len(names), 'named document')} ({path.name})."
    with_columns = {name: replace(part, texts=_column(part, texts)) for name, part in parts.items()}
    return Fold(**with_columns), note


def _column(part: RankingDataset, texts: dict[str, str]) -> TextColumn:
    """A text a row; rows of one document share its bytes, and what has none is empty."""
    names = list(part.doc_ids or [""] * part.documents)
    with_text = [name for name in dict.fromkeys(names) if name in texts]
    once = TextColumn.of(texts[name] for name in with_text)
    place = {name: at for at, name in enumerate(with_text)}
    rows = np.array([place.get(name, len(with_text)) for name in names], dtype=np.int64)
    starts, ends = (np.append(bounds, 0) for bounds in (once.starts, once.ends))
    return TextColumn(once.blob, starts[rows], ends[rows])


def _read(path: Path, names: set[str]) -> dict[str, str]:
    texts_by_name: dict[str, str] = {}
    for line, name, text in _pairs(path):
        if name in names and texts_by_name.setdefault(name, text) != text:
            raise LetorError(path, line, name, "a second text of a document", "Leave one of them.")
    return texts_by_name


def _pairs(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, document and text of every entry."""
    lines = _lines(path)
    head = next(lines, None)
    if head is None:
        raise DataError(str(path), "it is empty", REMEDY)
    if head[1].startswith("{"):
        yield _of_json(path, *head)
        yield from (_of_json(path, *entry) for entry in lines)
        return
    delimiter = "\t" if "\t" in head[1] else ","
    header = [name.strip() for name in next(csv.reader([head[1]], delimiter=delimiter))]
    if not {DOCUMENT, TEXT} <= set(header):
        raise LetorError(path, head[0], head[1].strip(), "no columns document and text", REMEDY)
    document, text = header.index(DOCUMENT), header.index(TEXT)
    csv.field_size_limit(LIMITS.line_bytes)
    reader = csv.reader((line for _, line in lines), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row and len(row) != len(header):
                finding = f"{counted(len(row), 'column')} instead of {len(header)}"
                raise LetorError(path, head[0] + reader.line_num, ",".join(row), finding, REMEDY)
            if row:
                yield head[0] + reader.line_num, row[document].strip(), row[text]
    except csv.Error as error:
        at = head[0] + reader.line_num
        raise LetorError(path, at, "", f"broken quotes ({error})", "Close each quote.") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, from the first that is not blank."""
    started = False
    for block in blocks(path, str(path), LIMITS):
        text = block.buffer[: block.end].tobytes().decode(errors="replace")
        for at, line in enumerate(text.split("\n")[:-1], block.first_line):
            started = started or bool(line.strip())
            if started:
                yield at, f"{line}\n"


def _of_json(path: Path, at: int, line: str) -> tuple[int, str, str]:
    try:
        entry = json.loads(line) if line.strip() else {DOCUMENT: "", TEXT: ""}
        name, text = entry[DOCUMENT], entry[TEXT]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        finding = "no object of document and text"
        raise LetorError(path, at, line.strip(), finding, REMEDY) from error
    if not (isinstance(name, str) and isinstance(text, str)):
        raise LetorError(path, at, line.strip(), "a document or text that is no text", REMEDY)
    return at, name, text
