"""Looking into a data set: a line a query, the documents of one, and search by id or label.

Everything works on the memory-mapped arrays and touches only the requested part, so that 30,000
queries and lists of 1,000 documents answer at once.
"""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.text import TextColumn

MOST_FOUND = 1000


@dataclass(frozen=True, eq=False)
class QueryTable:
    """One line a query.

    Attributes:
        documents: how many there are.
        relevant: how many of them have a label above 0.
        best: the highest label; −∞ for a query without documents.
    """

    documents: Int64[np.ndarray, " queries"]
    relevant: Int64[np.ndarray, " queries"]
    best: Float32[np.ndarray, " queries"]


def query_table(dataset: RankingDataset) -> QueryTable:
    """Documents, relevant documents and best label of every query.

    >>> labels = np.array([0, 2, 1, 0], dtype=np.float32)
    >>> dataset = RankingDataset(np.zeros((4, 1), np.float32), labels, np.array([0, 3, 4]),
    ...                          ("a", "b"), (1,))
    >>> table = query_table(dataset)
    >>> table.documents.tolist(), table.relevant.tolist(), table.best.tolist()
    ([3, 1], [2, 0], [2.0, 0.0])
    """
    owner = ragged.segment_ids(dataset.offsets)
    relevant = np.bincount(owner[dataset.labels > 0], minlength=dataset.queries)
    best = np.full(dataset.queries, -np.inf, dtype=np.float32)
    np.maximum.at(best, owner, dataset.labels)
    return QueryTable(np.diff(dataset.offsets), relevant.astype(np.int64), best)


def matching_queries(dataset: RankingDataset, text: str) -> Int64[np.ndarray, " some"]:
    """Queries whose id contains a text, upper and lower case alike; exact ids first.

    >>> dataset = RankingDataset(np.zeros((0, 1), np.float32), np.zeros(0, np.float32),
    ...                          np.array([0, 0, 0, 0]), ("31", "q1", "1"), (1,))
    >>> matching_queries(dataset, "1").tolist()
    [2, 0, 1]
    """
    sought = text.strip().lower()
    names = [name.lower() for name in dataset.query_ids]
    exact = [place for place, name in enumerate(names) if name == sought]
    part = [place for place, name in enumerate(names) if sought in name and name != sought]
    return np.array(exact + part, dtype=np.int64)


def matching_documents(
    dataset: RankingDataset,
    text: str = "",
    label: int | float | None = None,
    most: int = MOST_FOUND,
) -> Int64[np.ndarray, " some"]:
    """Rows of documents whose id contains a text and that have a label, at most `most`.

    Args:
        dataset: where to look.
        text: part of a document id, upper and lower case alike; empty: any.
        label: the label; None: any.
        most: largest number of rows.
    """
    rows: Int64[np.ndarray, " some"]
    if text.strip():
        if dataset.doc_ids is None:
            return np.zeros(0, dtype=np.int64)
        limit = most if label is None else dataset.documents
        rows = _rows_containing(dataset.doc_ids, text.strip(), limit)
        if label is not None:
            rows = rows[dataset.labels[rows] == label]
    elif label is not None:
        rows = np.flatnonzero(dataset.labels == label)
    else:
        rows = np.arange(min(most, dataset.documents))
    return rows[:most].astype(np.int64)


def queries_of(
    dataset: RankingDataset, rows: Int64[np.ndarray, " some"]
) -> Int64[np.ndarray, " some"]:
    """The query of each of these rows."""
    return np.searchsorted(dataset.offsets, rows, side="right").astype(np.int64) - 1


def rows_of(dataset: RankingDataset, query: int) -> Int64[np.ndarray, " list"]:
    """The rows of a query's documents, in the order of the file."""
    return np.arange(dataset.offsets[query], dataset.offsets[query + 1], dtype=np.int64)


def _rows_containing(column: TextColumn, text: str, limit: int) -> Int64[np.ndarray, " some"]:
    """Rows whose string contains a text; searches the bytes of all rows at once."""
    filled = np.flatnonzero(column.ends > column.starts)
    order = filled[np.argsort(column.starts[filled], kind="stable")]
    starts = column.starts[order].astype(np.int64)
    ends = column.ends[order].astype(np.int64)
    if not len(order):
        return np.zeros(0, dtype=np.int64)
    rows: dict[int, None] = {}
    pattern = re.compile(re.escape(text.encode()), re.IGNORECASE)
    begin, end = int(starts[0]), int(ends.max())
    while len(rows) < limit and (match := pattern.search(column.blob.data, begin, end)):
        place = int(np.searchsorted(starts, match.start(), side="right")) - 1
        inside = match.end() <= ends[place]
        if inside:
            rows[int(order[place])] = None
        begin = int(ends[place]) if inside else match.start() + 1  # it may begin in the next one
    return np.array(sorted(rows), dtype=np.int64)
