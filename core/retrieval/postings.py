"""Postings, summed by document, and the best documents of each query kept in a heap.

Scores are exact: every posting of a query's terms is read, and sums are kept in double precision.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.argsort_descending import best_first
from shuffleproof.core.retrieval.registry import RankedDocuments

FEW = 4
"""Where a query reads fewer postings than a quarter of the documents, touched ones are noted."""


@dataclass(frozen=True, eq=False)
class Postings:
    """What each term adds to the documents that have it.

    Attributes:
        starts: postings of term t are `starts[t] … starts[t + 1] − 1`.
        documents: of each posting, rising within a term.
        values: what it adds.
        size: the number of documents.
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
        """The k best documents of each query, among those that have one of its terms.

        Args:
            terms: of all queries; a term that stands there twice counts twice.
            bounds: those of query q are `bounds[q] … bounds[q + 1] − 1`.
            weights: of each term of a query.
            k: the most documents of a query; ties by place.
            biases: of each document (default: 0).
            bias: what each query multiplies them by.
        """
        of_documents = np.zeros(0) if biases is None else biases
        of_queries = np.zeros(len(bounds) - 1) if bias is None else bias
        documents, scores, ends = _searched(
            self.documents, self.values, self.starts, terms, bounds, weights, of_documents,
            of_queries, k, self.size,
        )  # fmt: skip
        return RankedDocuments(documents, scores, ends)


@no_type_check
@compiled(nogil=True)
def _noted(  # noqa: PLR0913, PLR0917 (a kernel)
    documents: np.ndarray,
    values: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    total: np.ndarray,
    seen: np.ndarray,
    touched: np.ndarray,
) -> int:
    """Sums, and each document noted as it is touched first: for few postings."""
    size = 0
    for place in range(len(chosen)):
        weight = weights[place]
        for posting in range(starts[chosen[place]], starts[chosen[place] + 1]):
            document = documents[posting]
            if not seen[document]:
                seen[document] = 1
                touched[size] = document
                size += 1
            total[document] += weight * values[posting]
    return size


@no_type_check
@compiled(nogil=True)
def _looked_up(  # noqa: PLR0913, PLR0917 (a kernel)
    documents: np.ndarray,
    values: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    total: np.ndarray,
    seen: np.ndarray,
    touched: np.ndarray,
) -> int:
    """Sums without a branch a posting; who was touched is looked up afterwards."""
    for place in range(len(chosen)):
        weight = weights[place]
        for posting in range(starts[chosen[place]], starts[chosen[place] + 1]):
            document = documents[posting]
            seen[document] = 1
            total[document] += weight * values[posting]
    size = 0
    for document in range(len(total)):
        touched[size] = document  # written over until it is one of them
        size += seen[document]
    return size


@no_type_check
@compiled(nogil=True)
def add_postings(  # noqa: PLR0913, PLR0917 (a kernel)
    documents: np.ndarray,
    values: np.ndarray,
    starts: np.ndarray,
    chosen: np.ndarray,
    weights: np.ndarray,
    biases: np.ndarray,
    bias: float,
    total: np.ndarray,
    seen: np.ndarray,
    touched: np.ndarray,
) -> int:
    """Add up the chosen postings by document; returns how many documents were touched.

    Args:
        documents: of all postings.
        values: what a posting adds to its document.
        starts: bounds of each list of postings.
        chosen: the lists.
        weights: what each of them is multiplied by.
        biases: what each document gets that is touched, times `bias`.
        bias: see above.
        total: a sum a document, 0 before; changed.
        seen: whether each document was touched, 0 before; changed.
        touched: filled with the documents touched; one longer than there are.
    """
    read = 0
    for place in range(len(chosen)):
        read += starts[chosen[place] + 1] - starts[chosen[place]]
    if FEW * read < len(total):
        size = _noted(documents, values, starts, chosen, weights, total, seen, touched)
    else:
        size = _looked_up(documents, values, starts, chosen, weights, total, seen, touched)
    if bias != 0:
        for place in range(size):
            total[touched[place]] += biases[touched[place]] * bias
    return size


@no_type_check
@compiled(nogil=True)
def best_documents(
    total: np.ndarray, seen: np.ndarray, touched: np.ndarray, size: int, k: int
) -> tuple[np.ndarray, ...]:
    """The k best of the documents touched, ties by place; `total` and `seen` are 0 afterwards."""
    capacity = min(size, k)
    heap = np.empty(capacity, dtype=np.int32)  # the worst of those kept on top
    scores = np.empty(capacity, dtype=np.float64)
    filled = 0
    for at in range(size):
        document = touched[at]
        score = total[document]
        total[document] = 0.0
        seen[document] = 0
        if filled < capacity:
            child = filled
            filled += 1
            while child > 0:
                parent = (child - 1) // 2
                worse = score < scores[parent] or (
                    score == scores[parent] and document > heap[parent]
                )
                if not worse:
                    break
                heap[child], scores[child] = heap[parent], scores[parent]
                child = parent
            heap[child], scores[child] = document, score
            continue
        if capacity == 0 or score < scores[0] or (score == scores[0] and document > heap[0]):
            continue
        parent = 0
        while True:
            child = 2 * parent + 1
            if child >= capacity:
                break
            right = child + 1
            if right < capacity and (
                scores[right] < scores[child]
                or (scores[right] == scores[child] and heap[right] > heap[child])
            ):
                child = right
            below = scores[child] < score or (scores[child] == score and heap[child] > document)
            if not below:
                break
            heap[parent], scores[parent] = heap[child], scores[child]
            parent = child
        heap[parent], scores[parent] = document, score
    order = best_first(scores, heap)
    return heap[order], scores[order]


@no_type_check
@compiled(nogil=True)
def _searched(  # noqa: PLR0913, PLR0917 (a kernel)
    documents: np.ndarray,
    values: np.ndarray,
    starts: np.ndarray,
    tokens: np.ndarray,
    bounds: np.ndarray,
    weights: np.ndarray,
    biases: np.ndarray,
    bias: np.ndarray,
    k: int,
    documents_in_all: int,
) -> tuple[np.ndarray, ...]:
    """The k best documents of each query, one after the other."""
    queries = len(bounds) - 1
    total = np.zeros(documents_in_all)
    seen = np.zeros(documents_in_all, dtype=np.uint8)
    touched = np.empty(documents_in_all + 1, dtype=np.int32)
    ends = np.zeros(queries + 1, dtype=np.int64)
    documents_found = np.empty(queries * min(k, documents_in_all), dtype=np.int32)
    scores = np.empty(len(documents_found), dtype=np.float32)
    for query in range(queries):
        span = slice(bounds[query], bounds[query + 1])
        size = add_postings(
            documents, values, starts, tokens[span], weights[span], biases, bias[query], total,
            seen, touched,
        )  # fmt: skip
        best, best_scores = best_documents(total, seen, touched, size, k)
        start, end = ends[query], ends[query] + len(best)
        documents_found[start:end] = best
        scores[start:end] = best_scores
        ends[query + 1] = end
    return documents_found[: ends[-1]].copy(), scores[: ends[-1]].copy(), ends
