"""Checks of a text collection: query numbers, duplicates, empty texts, misleading judgments."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shuffleproof.core.data.doctor import Severity
from shuffleproof.core.retrieval.collection import MISSING
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.retrieval.words import Bm25
from shuffleproof.core.words import counted

FIRST, SHOWN = 50, 5
LEAST_PAIRS = 100  # Minimum number of graded pairs within queries for a check of their direction


@dataclass(frozen=True)
class Finding:
    """Finding that affects measures on a collection, or is only informative."""

    code: str
    severity: Severity
    message: str  # with the first few ids
    action: str = ""  # recommended remedy


def examine_collection(indexed: IndexedCollection) -> list[Finding]:
    """All findings, problems first."""
    order = ("problem", "warning", "info")
    findings = [
        *(Finding("reading", "info", note) for note in indexed.collection.notes),
        *_judgments(indexed), *_queries(indexed), *_not_their_words(indexed),
        *_documents(indexed), *_direction(indexed),
    ]  # fmt: skip
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def _judgments(indexed: IndexedCollection) -> Iterator[Finding]:
    collection = indexed.collection
    lost = np.flatnonzero(collection.judged == MISSING)
    if len(lost):
        names = {_bare(name): name for name in collection.doc_ids}
        ids = [collection.judged_ids[place] for place in lost.tolist()]
        near = [f"{name} (perhaps {names[_bare(name)]})" for name in ids if _bare(name) in names]
        yield Finding(
            "judged-missing", "warning",
            f"{counted(len(lost), 'judgment')} of missing documents: {_few(near or ids)}",
            "Correct the ids; recall counts these documents as not retrieved.",
        )  # fmt: skip
    if len(collection.judged) == 0:
        message = "no relevance judgments"
        yield Finding("no-judgments", "warning", message, "Add a file of judgments.")


def _queries(indexed: IndexedCollection) -> Iterator[Finding]:
    collection = indexed.collection
    places = range(len(collection.query_ids))
    if len(collection.judged):
        none = [collection.query_ids[at] for at in places if not collection.relevant(at)]
        if none:
            message = f"{counted(len(none), 'query')} without a relevant document: {_few(none)}"
            yield Finding("no-relevant", "info", message, "No action: measures leave them out.")
    lengths = indexed.tokens.queries.lengths
    empty = [collection.query_ids[at] for at in places if lengths[at] == 0]
    if empty:
        message = f"{counted(len(empty), 'query')} without a word of the collection: {_few(empty)}"
        yield Finding("empty-query", "warning", message, "Check the files of queries.")


def _not_their_words(indexed: IndexedCollection) -> Iterator[Finding]:
    """Finding if relevant documents match the query of a neighbour better than their own.

    This happens if judgments name queries by position but were read as ids, or vice versa.
    """
    collection = indexed.collection
    if len(collection.query_ids) < 4 or not len(collection.judged):
        return
    depth = min(FIRST, max(1, len(collection) // 4))  # of a few documents all are among the first
    ranked = Bm25(indexed).search(collection.queries, depth)
    tops = [set(ranked.of(query)[0].tolist()) for query in range(len(collection.queries))]
    relevant = [
        {document for document, grade in collection.judgments(query).items() if grade > 0}
        for query in range(len(collection.queries))
    ]
    hits = sum(len(top & good) for top, good in zip(tops, relevant, strict=True))
    others = {
        shift: sum(len(tops[(at - shift) % len(tops)] & good) for at, good in enumerate(relevant))
        for shift in (-2, -1, 1, 2)
    }
    # Swapped numbering shifts all judgments, so the neighbours' top documents match more often
    largest = max(others, key=lambda shift: others[shift])
    expected = sum(depth * len(good) for good in relevant) / len(collection)
    if hits < max(2 * expected, others[largest]):
        yield Finding(
            "query-numbers", "problem",
            f"BM25's top {depth} contain {hits:,} relevant documents of their query (chance: "
            f"{expected:,.0f}), and {others[largest]:,} of the query {abs(largest)} places away",
            "Ingest again with --numbers ids or positions: judgments name other queries.",
        )  # fmt: skip


def _documents(indexed: IndexedCollection) -> Iterator[Finding]:
    collection, encoded = indexed.collection, indexed.tokens.documents
    empty = np.flatnonzero(encoded.lengths == 0)
    if len(empty):
        ids = [collection.doc_ids[place] for place in empty[:SHOWN].tolist()]
        message = f"{counted(len(empty), 'document')} without a word: {_few(ids, len(empty))}"
        yield Finding("empty-text", "warning", message, "Check the files of documents.")
    originals: dict[bytes, int] = {}
    copies = []
    for place in range(len(encoded)):
        tokens = encoded.of(place).tobytes()
        if tokens and originals.setdefault(tokens, place) != place:
            copies.append(f"{collection.doc_ids[place]} = {collection.doc_ids[originals[tokens]]}")
    if copies:
        message = f"{counted(len(copies), 'document')} with the words of another: {_few(copies)}"
        yield Finding("duplicates", "warning", message, "Ties are broken by position.")


def _direction(indexed: IndexedCollection) -> Iterator[Finding]:
    """Finding if better grades go with lower BM25 scores.

    Without a relation, `against − agree` has a standard deviation of about √pairs; two of them
    are the bound.
    """
    collection = indexed.collection
    ranked = Bm25(indexed).search(collection.queries, len(collection))
    agree = against = 0
    for query in range(len(collection.queries)):
        scores = dict(zip(*(part.tolist() for part in ranked.of(query)), strict=True))
        graded = collection.judgments(query).items()
        rows = [(grade, scores.get(document, 0.0)) for document, grade in graded if grade > 0]
        table = np.array(rows).reshape(-1, 2)
        # Signs over all pairs of documents, each pair twice: halved below
        steps = np.sign(np.subtract.outer(table[:, 0], table[:, 0]))
        sides = steps * np.sign(np.subtract.outer(table[:, 1], table[:, 1]))
        agree, against = agree + int((sides > 0).sum()) // 2, against + int((sides < 0).sum()) // 2
    pairs = agree + against
    if pairs >= LEAST_PAIRS and against - agree > 2 * pairs**0.5:
        yield Finding(
            "grades-reversed", "problem",
            f"BM25 ranks the lower grade first in {against:,} of {pairs:,} pairs of relevant "
            "documents",
            "Ingest again with --grades small if the smallest grade is the best.",
        )  # fmt: skip


def _bare(name: str) -> str:
    """Id in lower case, without leading zeros of its numbers."""
    parts = name.lower().split("-")
    return "-".join(part.lstrip("0") if part.isdigit() else part for part in parts)


def _few(names: list[str], total: int = 0) -> str:
    more = (total or len(names)) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
