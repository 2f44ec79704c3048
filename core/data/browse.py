"""Looking into a data set: a line a query, the documents of one, and search by id or label.

Everything works on the memory-mapped arrays and touches only the requested part.
"""

from collections.abc import Collection
from itertools import islice

import numpy as np
import pandas as pd
from jaxtyping import Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset

MOST_FOUND = 1000


def query_table(dataset: RankingDataset) -> pd.DataFrame:
    """One row a query: documents, relevant documents (label above 0), and the best label.

    The best label of a query without documents is −∞; the index is the query's place.

    >>> labels = np.array([0, 2, 1, 0], dtype=np.float32)
    >>> dataset = RankingDataset(np.zeros((4, 1), np.float32), labels, np.array([0, 3, 4]),
    ...                          ("a", "b"), (1,))
    >>> query_table(dataset).to_numpy().tolist()
    [['a', 3, 2, 2.0], ['b', 1, 0, 0.0]]
    """
    owner = ragged.segment_ids(dataset.offsets)
    best = np.full(dataset.queries, -np.inf, dtype=np.float32)
    np.maximum.at(best, owner, dataset.labels)
    return pd.DataFrame(
        {
            "query": list(dataset.query_ids),
            "documents": np.diff(dataset.offsets),
            "relevant": np.bincount(owner[dataset.labels > 0], minlength=dataset.queries),
            "best label": best,
        }
    )


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
    dataset: RankingDataset, text: str, others: Collection[str] = ()
) -> Int64[np.ndarray, " some"]:
    """Rows of documents by a part of their id, in any case, or by their whole id, if in `others`.

    At most MOST_FOUND rows.
    """
    sought, names = text.strip().lower(), dataset.doc_ids or [""] * dataset.documents
    found = (row for row, name in enumerate(names) if sought in name.lower() or name in others)
    return np.fromiter(islice(found, MOST_FOUND), np.int64)
