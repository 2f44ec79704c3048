"""Texts of documents: a side file by document id, stored with a data set for functions.

A table with the columns `document` and `text`: CSV, tabs, JSON lines, Parquet or Arrow.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from shuffleproof.core.data import tables
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError, quoted
from shuffleproof.core.words import counted

DOCUMENT, TEXT = "document", "text"
MOST_BYTES = 1 << 35
REMEDY = (
    'Give it the columns document and text, or one {"document": …, "text": …} a line; ids as the '
    "data set has them."
)


def with_texts(fold: Fold, path: Path) -> tuple[Fold, str]:
    """The fold with its documents' texts, and in words how many have one.

    Raises:
        DataError: no such file, one of another shape, one that knows none of the documents, or a
            second text of a document.
    """
    id_columns = [part.doc_ids for part in fold.parts.values() if part.doc_ids is not None]
    names = {name for column in id_columns for name in column if name}
    texts = _read(path, names)
    named = counted(len(names), "named document")
    if not texts:
        raise DataError(str(path), f"it has a text of none of the {named}", REMEDY)
    note = f"Texts of {len(texts):,} of {named} ({path.name})."
    with_columns = (replace(part, texts=_column(part, texts)) for part in fold.parts.values())
    return Fold(*with_columns), note


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
    """The text of each of these documents that the file has."""
    texts_by_name: dict[str, str] = {}
    row = 0
    columns = [DOCUMENT, TEXT]
    for batch, _ in tables.batches(path, str(path), columns, columns, MOST_BYTES):
        if not {DOCUMENT, TEXT} <= batch.keys():
            raise DataError(str(path), "no columns document and text", REMEDY)
        for name, text in zip(batch[DOCUMENT], batch[TEXT], strict=True):
            row += 1
            if not (isinstance(name, str | None) and isinstance(text, str | None)):
                finding = f"row {row} holds a document or text that is no text"
                raise DataError(str(path), finding, REMEDY)
            known = (name or "").strip()
            if known in names and texts_by_name.setdefault(known, text or "") != (text or ""):
                finding = f"row {row} is a second text of document {quoted(known)}"
                raise DataError(str(path), finding, "Leave one of them.")
    return texts_by_name
