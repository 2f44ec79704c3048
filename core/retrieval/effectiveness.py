"""Effectiveness of retrieved documents, under any measure of the program."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.registry import RankedDocuments


def measure_queries(
    collection: Collection,
    queries: Sequence[int],
    ranked: RankedDocuments,
    measures: Sequence[Measure],
) -> Float32[np.ndarray, "measures queries"]:
    """Values of every measure for every query.

    All judged documents of a query are in its ideal ranking, including those that the collection
    lacks. Unjudged documents have grade −1. A query without matches has an empty list.
    `queries` are indices of the collection's, in the order of `ranked`.
    """
    labels, rows, counts, lengths, start = [], [], [], [], 0
    for at, query in enumerate(queries):
        span = slice(collection.judged_offsets[query], collection.judged_offsets[query + 1])
        judged = collection.judged[span].astype(np.int64)
        missing = judged < 0
        # Judged documents that the collection lacks get unique negative numbers
        judged[missing] = -1 - np.arange(missing.sum())
        documents = ranked.of(at)[0].astype(np.int64)
        every = np.union1d(judged, documents)  # the ideal ranking has all judged documents
        grades = np.full(len(every), -1, np.float32)  # unjudged ones too
        grades[np.searchsorted(every, judged)] = collection.grades[span]
        labels.append(grades)
        rows.append(start + np.searchsorted(every, documents))
        counts.append(len(every))
        lengths.append(len(documents))
        start += len(every)
    dataset = RankingDataset(
        features=np.zeros((start, 0), np.float32),
        labels=np.concatenate([np.zeros(0, np.float32), *labels]),
        offsets=offsets_of(np.array(counts, np.int64)),
        query_ids=tuple(collection.query_ids[query] for query in queries),
        feature_ids=(),
        doc_ids=TextColumn.of([str(place) for place in range(start)]),
    )
    lists = CandidateLists.unranked(
        offsets_of(np.array(lengths, np.int64)), np.concatenate([np.zeros(0, np.int64), *rows])
    )
    return np.asarray(evaluate(measures, dataset, lists, ranked.scores), np.float32)
