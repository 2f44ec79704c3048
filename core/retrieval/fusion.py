"""What several retrievers find, made one ranking.

Literature: Cormack, Clarke & Büttcher, SIGIR 2009 (reciprocal rank fusion); Fox & Shaw, TREC 1994
(sums of scores brought to 0 … 1).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.retrieval.name import FusedName
from shuffleproof.core.retrieval.registry import RankedDocuments, Retriever

DEPTH = 1000
"""Documents of each retriever that are made one; more where more are asked for."""


class FusedRetriever:
    """Σ 1 / (k + rank), or a weighted mean of scores between 0 and 1, over what each finds.

    A document that a retriever does not find gets nothing from it.
    """

    def __init__(self, name: FusedName, parts: Sequence[Retriever]) -> None:
        """Keep the retrievers."""
        self._name, self._parts = name, parts

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query, among those that any of them finds; ties by place."""
        found = [one.search(query_texts, max(k, DEPTH)) for one in self._parts]
        return RankedDocuments.of_queries(
            [self._one([one.of(query) for one in found], k) for query in range(len(query_texts))]
        )

    def _one(
        self, found: Sequence[tuple[np.ndarray, np.ndarray]], k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        documents = np.unique(np.concatenate([own for own, _ in found]))
        total = np.zeros(len(documents))
        for part, (own, scores) in enumerate(found):
            total[np.searchsorted(documents, own)] += self._values(part, scores)
        best = np.argsort(-total, kind="stable")[:k]
        return documents[best], total[best]

    def _values(self, part: int, scores: np.ndarray) -> Float64[np.ndarray, " found"]:
        """What each document of one retriever's list gets, best first."""
        if self._name.method == "rrf":
            return 1.0 / (self._name.number + np.arange(1, len(scores) + 1))
        share = self._name.number / 100
        return unit(scores) * (1 - share if part else share)


def unit(scores: np.ndarray) -> Float64[np.ndarray, " found"]:
    """Scores between 0, the list's lowest, and 1, its highest; all 1 where they are alike.

    >>> unit(np.array([3.0, 2.0, 1.0])).tolist(), unit(np.array([5.0])).tolist()
    ([1.0, 0.5, 0.0], [1.0])
    """
    if not len(scores):
        return np.zeros(0)
    low, high = float(scores.min()), float(scores.max())
    spread = high - low
    return (scores.astype(np.float64) - low) / spread if spread > 0 else np.ones(len(scores))
