"""Postings summed by document, and the best documents of each query.

Scores are exact: all postings of a query's terms are read, and sums are in double precision.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.retrieval.registry import RankedDocuments


@dataclass(frozen=True, eq=False)
class Postings:
    """Contributions of each term to the documents that contain it.

    Attributes:
        starts: postings of term t are `starts[t] … starts[t + 1] − 1`.
        documents: of each posting, rising within a term.
        values: contribution of each posting.
        size: number of documents.
    """

    starts: Int64[np.ndarray, " bounds"]
    documents: Int32[np.ndarray, " postings"]
    values: Float32[np.ndarray, " postings"]
    size: int

    def search(  # noqa: PLR0913, PLR0917 (a query's parts)
        self,
        terms: Int32[np.ndarray, " total"],
        bounds: Int64[np.ndarray, " bounds_of_queries"],
        weights: Float64[np.ndarray, " total"],
        k: int,
        biases: Float64[np.ndarray, " documents"] | None = None,
        bias: Float64[np.ndarray, " queries"] | None = None,
    ) -> RankedDocuments:
        """Best k documents of each query, among those with at least one of its terms.

        Args:
            terms: of all queries, concatenated; a repeated term counts twice.
            bounds: terms of query q are `bounds[q] … bounds[q + 1] − 1`.
            weights: of each term of a query.
            k: maximum number of documents per query; ties by index.
            biases: of each document (default: 0).
            bias: factor of the biases for each query.
        """
        total, seen = np.zeros(self.size), np.zeros(self.size, dtype=np.bool_)
        rankings = []
        for query in range(len(bounds) - 1):
            chosen = slice(bounds[query], bounds[query + 1])
            _add_postings(
                self.documents, self.values, self.starts, terms[chosen], weights[chosen], total,
                seen,
            )  # fmt: skip
            found = np.flatnonzero(seen)
            scores = total[found]
            total[:] = 0.0
            seen[:] = False
            if biases is not None and bias is not None:
                scores += biases[found] * bias[query]
            best = _best(scores, k)
            rankings.append((found[best].astype(np.int32), scores[best].astype(np.float32)))
        return RankedDocuments.of_queries(rankings)


def _best(scores: Float64[np.ndarray, " found"], k: int) -> Int64[np.ndarray, " best"]:
    """Indices of the k highest scores, highest first, ties by index."""
    places = np.arange(len(scores))
    rank = k // 4 + 8
    if rank < len(scores) // 8:  # a bound from every eighth score leaves few to partition
        above = np.flatnonzero(scores >= np.partition(scores[::8], -rank)[-rank])
        places = above if len(above) >= k else places
    if 0 < k < len(places):
        chosen = scores[places]
        # Keep all ties with the k-th score: the stable sort below then breaks them by index
        places = places[chosen >= np.partition(chosen, -k)[-k]]
    return places[np.argsort(-scores[places], kind="stable")][:k]


@no_type_check
@compiled(nogil=True)
def _add_postings(  # noqa: PLR0913, PLR0917 (a kernel)
    documents: np.ndarray,
    values: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    total: np.ndarray,
    seen: np.ndarray,
) -> None:
    """Sum the chosen postings by document.

    Args:
        documents: of all postings.
        values: contribution of each posting to its document.
        starts: bounds of each list of postings.
        chosen: indices of the lists.
        weights: factor of each list.
        total: sum per document, initially 0; changed in place.
        seen: True for each document with a posting; changed in place.
    """
    for place in range(len(chosen)):
        weight = weights[place]
        for posting in range(starts[chosen[place]], starts[chosen[place] + 1]):
            document = documents[posting]
            seen[document] = True  # a total of 0 may be a match
            total[document] += weight * values[posting]
