"""Text collection: documents, queries and judgments, memory-mapped.

For every file format (`core.retrieval.reading`), a document is an id, a title and a text, and a
higher grade is better.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import DataError
from shuffleproof.core.retrieval.recipe import Analysis

FORMAT = "shuffleproof-collection-1"
FILE = "collection.safetensors"
SNIPPET = 200  # Maximum number of letters in a displayed snippet
MISSING = -1  # Index of a judged document that the collection lacks


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, queries, and the grades of the judged documents of each query.

    Attributes:
        name: of its files.
        doc_ids: one id per document.
        titles: one per document; empty if the source has none.
        texts: one per document, without the title.
        query_ids: one id per query.
        queries: text of each query.
        judged_offsets: judgments of query q are `judged_offsets[q] … judged_offsets[q + 1] − 1`.
        judged_ids: the id of each judged document.
        judged: index of the document of each judgment; `MISSING` if the collection lacks it.
        grades: of each judgment; above 0 is relevant, higher is better.
        notes: decisions and omissions of the import, in sentences.
        digest: hash of all fields above except name and notes.
        analysis: conversion of its texts to terms.
    """

    name: str
    doc_ids: TextColumn
    titles: TextColumn
    texts: TextColumn
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    judged_offsets: Int64[np.ndarray, " bounds"]
    judged_ids: TextColumn
    judged: Int32[np.ndarray, " judgments"]
    grades: Int32[np.ndarray, " judgments"]
    notes: tuple[str, ...] = ()
    digest: str = ""
    analysis: Analysis = field(default_factory=Analysis)

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.doc_ids)

    def document(self, place: int) -> str:
        """Indexed text of a document: its title, and its text unless that begins with the title."""
        title, text = self.titles[place], self.texts[place]
        if not title or " ".join(text[: 2 * len(title)].split()).startswith(title):
            return text
        return f"{title}\n{text}"

    def snippet(self, place: int) -> str:
        """Beginning of a document's text, without its title."""
        text = " ".join(self.texts[place].split()).removeprefix(self.titles[place]).strip()
        return text if len(text) <= SNIPPET else f"{text[:SNIPPET].rpartition(' ')[0]} …"

    def documents(self) -> Iterator[str]:
        """Indexed texts of all documents, in order."""
        return (self.document(place) for place in range(len(self)))

    def judgments(self, query: int) -> dict[int, int]:
        """Grades of a query by document, without documents that the collection lacks."""
        span = slice(self.judged_offsets[query], self.judged_offsets[query + 1])
        pairs = zip(self.judged[span].tolist(), self.grades[span].tolist(), strict=True)
        return {document: grade for document, grade in pairs if document != MISSING}

    def relevant(self, query: int) -> int:
        """Number of relevant documents of a query, including those that the collection lacks."""
        span = slice(self.judged_offsets[query], self.judged_offsets[query + 1])
        return int((self.grades[span] > 0).sum())


def save(collection: Collection, folder: Path) -> None:
    """Write a collection into a folder; `open_` reads it."""
    queries = TextColumn.of([*collection.query_ids, *collection.queries])
    columns = {
        "doc_ids": collection.doc_ids, "titles": collection.titles, "texts": collection.texts,
        "judged_ids": collection.judged_ids, "queries": queries,
    }  # fmt: skip
    arrays, blobs = mapped_file.text_arrays(columns)
    numbers = ("judged_offsets", "judged", "grades")
    arrays = {name: getattr(collection, name) for name in numbers} | arrays
    about = {
        "format": FORMAT, "name": collection.name, "digest": collection.digest,
        "notes": json.dumps(collection.notes), "blobs": blobs,
        "analysis": json.dumps(asdict(collection.analysis)),
    }  # fmt: skip
    mapped_file.write(folder / FILE, arrays, about)


def open_(folder: Path) -> Collection:
    """Open a collection written by `save`; its texts are read from the file on access.

    Raises:
        DataError: the file is missing or damaged.
    """
    arrays, about = mapped_file.open_mapped(folder / FILE, FORMAT)
    try:
        columns = mapped_file.text_columns(arrays, about["blobs"])
        texts = list(columns.pop("queries"))
        half = len(texts) // 2
        return Collection(
            name=about["name"],
            query_ids=tuple(texts[:half]),
            queries=tuple(texts[half:]),
            judged_offsets=arrays["judged_offsets"],
            judged=arrays["judged"],
            grades=arrays["grades"],
            notes=tuple(json.loads(about["notes"])),
            digest=about["digest"],
            analysis=Analysis(**json.loads(about.get("analysis", "{}"))),
            **columns,
        )
    except (KeyError, ValueError, TypeError) as error:
        finding = f"not a whole stored collection ({error})"
        raise DataError(str(folder), finding, "Ingest the collection again.") from error


def digest_of(collection: Collection) -> str:
    """Digest of the content of a collection; its files and name do not matter."""
    digest = hashlib.sha256()
    texts = (collection.doc_ids, collection.titles, collection.texts, collection.judged_ids)
    for column in texts:
        for lengths, text in column.pieces():
            digest.update(lengths.data)
            digest.update(np.ascontiguousarray(text).data)
        digest.update(b"|")
    for array in (collection.judged_offsets, collection.grades):
        digest.update(np.ascontiguousarray(array).data)
    digest.update(repr((collection.query_ids, collection.queries)).encode())
    return digest.hexdigest()
