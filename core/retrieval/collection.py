"""A text collection: documents, queries, judgments; memory-mapped, so that opening copies nothing.

Whatever files it came from (`core.retrieval.reading`), a document is an id, a title and a text, and
a higher grade is better.
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
SNIPPET = 200
"""Letters of a text that are shown at most."""

MISSING = -1
"""In place of a document that is judged and not there."""


@dataclass(frozen=True, eq=False)
class Collection:
    """Documents, queries, and how relevant the judged documents of each query are.

    Attributes:
        name: what its files were called.
        doc_ids: one id a document.
        titles: one a document; empty where its source has none.
        texts: one a document, the title left out.
        query_ids: one id a query.
        queries: what each query says.
        judged_offsets: judgments of query q are `judged_offsets[q] … judged_offsets[q + 1] − 1`.
        judged_ids: the id of each judged document.
        judged: the document of each judgment, `MISSING` where the collection has none of its id.
        grades: of each judgment; above 0 is relevant, higher is better.
        notes: what reading decided or left out, in sentences.
        digest: of all of the above but name and notes.
        analysis: how its texts become terms.
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
        """The number of documents."""
        return len(self.doc_ids)

    def document(self, place: int) -> str:
        """What is indexed of a document: its title, and its text unless that begins with it."""
        title, text = self.titles[place], self.texts[place]
        if not title or " ".join(text[: 2 * len(title)].split()).startswith(title):
            return text
        return f"{title}\n{text}"

    def snippet(self, place: int) -> str:
        """How a document's text begins, without its title."""
        text = " ".join(self.texts[place].split()).removeprefix(self.titles[place]).strip()
        return text if len(text) <= SNIPPET else f"{text[:SNIPPET].rpartition(' ')[0]} …"

    def documents(self) -> Iterator[str]:
        """What is indexed of every document, in order."""
        return (self.document(place) for place in range(len(self)))

    def judgments(self, query: int) -> dict[int, int]:
        """The grade of each judged document of a query that is there."""
        span = slice(self.judged_offsets[query], self.judged_offsets[query + 1])
        pairs = zip(self.judged[span].tolist(), self.grades[span].tolist(), strict=True)
        return {document: grade for document, grade in pairs if document != MISSING}

    def relevant(self, query: int) -> int:
        """How many documents of a query are relevant, those that are not there among them."""
        span = slice(self.judged_offsets[query], self.judged_offsets[query + 1])
        return int((self.grades[span] > 0).sum())


def save(collection: Collection, folder: Path) -> None:
    """Write a collection into a folder; `open_` reads it."""
    queries = TextColumn.of([*collection.query_ids, *collection.queries])
    columns = {
        "doc_ids": collection.doc_ids, "titles": collection.titles, "texts": collection.texts,
        "judged_ids": collection.judged_ids, "queries": queries,
    }  # fmt: skip
    blobs: dict[int, str] = {}
    arrays: dict[str, np.ndarray] = {
        "judged_offsets": collection.judged_offsets,
        "judged": collection.judged,
        "grades": collection.grades,
    }
    of = {}
    for name, column in columns.items():
        of[name] = blobs.setdefault(id(column.blob), f"{name}.blob")
        arrays[of[name]] = column.blob
        arrays[f"{name}.starts"], arrays[f"{name}.ends"] = column.starts, column.ends
    about = {
        "format": FORMAT, "name": collection.name, "digest": collection.digest,
        "notes": json.dumps(collection.notes), "blobs": json.dumps(of),
        "analysis": json.dumps(asdict(collection.analysis)),
    }  # fmt: skip
    mapped_file.write(folder / FILE, arrays, about)


def open_(folder: Path) -> Collection:
    """The collection that `save` wrote; its texts are the file's pages, read when touched.

    Raises:
        DataError: there is no such file, or it is damaged.
    """
    arrays, about = mapped_file.open_mapped(folder / FILE, FORMAT)
    try:
        columns = {
            name: TextColumn(arrays[blob], arrays[f"{name}.starts"], arrays[f"{name}.ends"])
            for name, blob in json.loads(about["blobs"]).items()
        }
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
    """The digest of what a collection holds: alike for alike content, whatever its files were."""
    digest = hashlib.sha256()
    judged = (collection.judged_ids,)
    for column in (collection.doc_ids, collection.titles, collection.texts, *judged):
        for lengths, text in column.pieces():
            digest.update(lengths.data)
            digest.update(np.ascontiguousarray(text).data)
        digest.update(b"|")
    for array in (collection.judged_offsets, collection.grades):
        digest.update(np.ascontiguousarray(array).data)
    digest.update(repr((collection.query_ids, collection.queries)).encode())
    return digest.hexdigest()
