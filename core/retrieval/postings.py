"""Inverted indexes: postings summed by document, of words and of learnt sparse vectors.

Scores are exact: all postings of a query's terms are read, and sums are in double precision.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int32, Int64
from scipy.sparse import csr_array

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.ragged import offsets_of, segment_ids
from shuffleproof.core.retrieval.registry import RankedDocuments
from shuffleproof.core.retrieval.text import TokenisedCollection

FORMAT = "shuffleproof-sparse-index-1"
FILE = "index.safetensors"


@dataclass(frozen=True, eq=False)
class Postings:
    """Contributions of each term to the documents that contain it."""

    starts: Int64[np.ndarray, " bounds"]  # postings of term t are `starts[t] … starts[t + 1] − 1`
    documents: Int32[np.ndarray, " postings"]  # of each posting, rising within a term
    values: Float32[np.ndarray, " postings"]  # contribution of each posting
    size: int  # number of documents

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
    """Sum the chosen postings by document."""
    for place in range(len(chosen)):
        weight = weights[place]
        for posting in range(starts[chosen[place]], starts[chosen[place] + 1]):
            document = documents[posting]
            seen[document] = True  # a total of 0 may be a match
            total[document] += weight * values[posting]


@dataclass(frozen=True, eq=False)
class WordIndex:
    """Documents, frequencies and positions of each term."""

    tokens: TokenisedCollection  # the collection as terms
    starts: Int64[np.ndarray, " bounds"]  # postings of term t are `starts[t] … starts[t + 1] − 1`
    documents: Int32[np.ndarray, " postings"]  # of each posting, rising within a term
    counts: Int32[np.ndarray, " postings"]  # number of occurrences of the term in that document
    # position of every occurrence among all tokens, by term, then by position
    places: Int64[np.ndarray, " total"]
    # index of the first occurrence of each posting, followed by their total number
    first: Int64[np.ndarray, " postings_and_one"]

    @classmethod
    def of(cls, tokens: TokenisedCollection) -> "WordIndex":
        """Index of a collection's terms."""
        encoded = tokens.documents
        # A stable sort by term keeps positions, and so documents, in rising order per term
        places = np.argsort(encoded.tokens, kind="stable").astype(np.int64)
        terms = encoded.tokens[places]
        owners = segment_ids(encoded.offsets)[places].astype(np.int32)
        new = np.ones(len(places), dtype=bool)
        new[1:] = (terms[1:] != terms[:-1]) | (owners[1:] != owners[:-1])  # a posting begins
        first = np.append(np.flatnonzero(new), len(places)).astype(np.int64)
        starts = offsets_of(tokens.document_frequency.astype(np.int64))
        counts = np.diff(first).astype(np.int32)
        return cls(tokens, starts, owners[first[:-1]], counts, places, first)

    @cached_property
    def lengths(self) -> Int64[np.ndarray, " documents"]:
        """Number of terms of each document."""
        return self.tokens.documents.lengths

    @cached_property
    def document_terms(self) -> Int64[np.ndarray, " documents"]:
        """Number of different terms of each document."""
        return np.bincount(self.documents, minlength=len(self.lengths)).astype(np.int64)

    @cached_property
    def terms(self) -> Int64[np.ndarray, " postings"]:
        """Term of each posting."""
        return segment_ids(self.starts)

    @cached_property
    def probability(self) -> Float64[np.ndarray, " terms"]:
        """Probability of each term in the collection: its share of all occurrences."""
        return self.tokens.collection_frequency / max(1, len(self.places))

    def postings(self, values: Float32[np.ndarray, " postings"]) -> Postings:
        """Postings to search, with these contributions."""
        return Postings(self.starts, self.documents, values, len(self.lengths))

    def pair(
        self, term: int, other: int, width: int, *, ordered: bool
    ) -> tuple[Int32[np.ndarray, " shared"], Int32[np.ndarray, " shared"]]:
        """(documents, counts) of two terms near each other.

        Args:
            term: a term.
            other: the term after it, or near it.
            width: number of words in a window that contains both.
            ordered: True if `other` must follow `term`.
        """
        (places, owners), (others, owners_of_others) = map(self._occurrences, (term, other))
        near = np.zeros(len(places), dtype=bool)
        sides = [np.searchsorted(others, places, side="right")]  # the next occurrence
        sides += [] if ordered else [np.searchsorted(others, places) - 1]
        for side in sides:
            there = (side >= 0) & (side < len(others))
            at = side[there]
            same = owners_of_others[at] == owners[there]
            near[there] |= same & (np.abs(others[at] - places[there]) < width)  # both in one window
        documents, counts = np.unique(owners[near], return_counts=True)
        return documents, counts.astype(np.int32)

    def _occurrences(
        self, term: int
    ) -> tuple[Int64[np.ndarray, " occurrences"], Int32[np.ndarray, " occurrences"]]:
        """(place, document) of every occurrence of a term, in order."""
        low, high = int(self.starts[term]), int(self.starts[term + 1])
        owners = np.repeat(self.documents[low:high], self.counts[low:high])
        return self.places[self.first[low] : self.first[high]], owners


def sparse_rows(rows: Any) -> csr_array:
    """Vectors of texts as rows of a float32 matrix, each entry once and none of 0."""
    table: csr_array = csr_array(rows).astype(np.float32)
    table.sum_duplicates()  # SciPy allows an entry twice; a posting list must not
    table.eliminate_zeros()
    return table


@dataclass(frozen=True, eq=False)
class SparseIndex:
    """Postings by dimension, and the vectors that they come from.

    >>> index = SparseIndex.of(np.array([[1, 0], [2, 3]], np.float32))
    >>> ranked = index.search(sparse_rows(np.array([[1, 1], [0, 0]], np.float32)), 10)
    >>> ranked.documents.tolist(), ranked.scores.tolist(), ranked.offsets.tolist()
    ([1, 0], [5.0, 1.0], [0, 2, 2])
    """

    vectors: csr_array  # of the documents: texts × dimensions, weights above 0
    postings: Postings  # the same weights by dimension

    @classmethod
    def of(cls, rows: Any) -> "SparseIndex":
        """Index of documents; see `sparse_rows`."""
        vectors = sparse_rows(rows)
        columns = vectors.tocsc()  # a column is the posting list of a dimension
        starts, documents = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        return cls(vectors, Postings(starts, documents, columns.data, vectors.shape[0]))

    @cached_property
    def document_frequency(self) -> Int64[np.ndarray, " dimensions"]:
        """Number of documents with each dimension."""
        return np.diff(self.postings.starts)

    @cached_property
    def document_terms(self) -> Int64[np.ndarray, " documents"]:
        """Number of dimensions of each document."""
        return np.diff(self.vectors.indptr).astype(np.int64)

    def search(self, queries: csr_array, k: int) -> RankedDocuments:
        """At most k documents for each query (`sparse_rows`) that share a dimension with it.

        Ties are in the order of their indices.
        """
        # float64 sums: float32 rounding would decide near ties
        weights, bounds = queries.data.astype(np.float64), queries.indptr.astype(np.int64)
        return self.postings.search(queries.indices.astype(np.int32), bounds, weights, k)

    def explain(self, query: csr_array, document: int) -> list[tuple[int, float]]:
        """Contributions of the shared dimensions to the score, the largest first.

        `query` is one row; `document` is an index.
        """
        shared = query.astype(np.float64).multiply(self.vectors[[document]]).tocoo()
        added = zip(shared.coords[1].tolist(), shared.data.tolist(), strict=True)
        # Equal contributions by index, so that the answer is the same on every machine
        return sorted(added, key=lambda pair: (-pair[1], pair[0]))

    def save(self, path: Path) -> None:
        """Write the index to a file, atomically."""
        arrays: dict[str, np.ndarray] = {
            "offsets": self.vectors.indptr.astype(np.int64),
            "dimensions": self.vectors.indices.astype(np.int32), "weights": self.vectors.data,
            "starts": self.postings.starts, "documents": self.postings.documents,
            "values": self.postings.values,
        }  # fmt: skip
        about = {"format": FORMAT, "width": str(self.vectors.shape[1])}
        mapped_file.write(path, arrays, about)

    @classmethod
    def open(cls, path: Path) -> "SparseIndex":
        """Open a file written by `save`, memory-mapped.

        Raises:
            DataError: the file is missing or damaged.
        """
        arrays, about = mapped_file.open_mapped(path, FORMAT)
        size = len(arrays["offsets"]) - 1
        parts = arrays["weights"], arrays["dimensions"], arrays["offsets"]
        vectors = csr_array(parts, shape=(size, int(about["width"])))
        values = arrays["starts"], arrays["documents"], arrays["values"]
        return cls(vectors, Postings(*values, size))
