"""Latent semantic indexing: documents and queries in the leading singular vectors of tf·idf.

Literature: Deerwester et al., JASIS 1990; weights (1 + ln tf) · ln(N / df), documents of length 1.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64
from scipy.sparse import csr_array

from shuffleproof.core.data import mapped_file
from shuffleproof.core.retrieval.registry import IndexedCollection, RankedDocuments
from shuffleproof.core.retrieval.text import EncodedTexts, TokenisedCollection
from shuffleproof.core.store.keys import key_of

KIND = "lsi"
FORMAT = "shuffleproof-lsi-1"
FILE = "lsi.safetensors"
DIMENSIONS = 200
BLOCK = 200_000
"""Block size in numbers of a product with the documents. It is small enough for one thread:
synchronising more threads takes OpenBLAS longer than the product."""

SMALL = 4
"""Maximum ratio of a matrix's smaller side to the rank for LAPACK. There ARPACK, which computes the
vectors one by one, may not converge and is not faster."""


class LatentSemanticIndex:
    """Cosines between a query and the documents, in the space of the singular directions."""

    def __init__(
        self,
        tokens: TokenisedCollection,
        directions: Float32[np.ndarray, "terms dimensions"],
        documents: Float32[np.ndarray, "documents dimensions"],
    ) -> None:
        """Store the directions of terms, and documents of length 1."""
        self._tokens, self._directions = tokens, directions
        rows = max(1, BLOCK // max(1, documents.shape[1]))
        starts = range(0, max(1, len(documents)), rows)
        self._blocks = [documents[start : start + rows] for start in starts]

    def over(self, texts: Iterable[str]) -> "LatentSemanticIndex":
        """Index of other documents in the same directions (folding in)."""
        # Folding in: singular directions stay those of the earlier documents
        rows = weighted_counts(self._tokens.encode(texts), self._tokens) @ self._directions
        return LatentSemanticIndex(self._tokens, self._directions, _of_length_one(rows))

    def search(self, query_texts: Sequence[str], k: int) -> RankedDocuments:
        """At most k documents for each query with a known word."""
        encoded = self._tokens.encode(query_texts)
        places = _of_length_one(weighted_counts(encoded, self._tokens) @ self._directions)
        return RankedDocuments.of_queries([self._search_one(place, k) for place in places])

    def _search_one(self, query: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        if not query.any():
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        scores = np.concatenate([block @ query for block in self._blocks])
        order = np.argsort(-scores, kind="stable")[:k]
        return order.astype(np.int32), scores[order]


def weighted_counts(encoded: EncodedTexts, tokens: TokenisedCollection) -> csr_array:
    """Matrix texts × terms: (1 + ln tf) · ln(N / df)."""
    shape = (len(encoded), len(tokens.terms))
    ones = np.ones(len(encoded.tokens))
    counts = csr_array((ones, encoded.tokens.copy(), encoded.offsets.copy()), shape=shape)
    counts.sum_duplicates()
    idf = np.log(len(tokens.documents) / np.maximum(tokens.document_frequency, 1))
    counts.data = (1 + np.log(counts.data)) * idf[counts.indices]  # (1 + ln tf) · ln(N / df)
    return counts


def _of_length_one(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def lsi(indexed: IndexedCollection) -> LatentSemanticIndex:
    """Index of a collection, computed or loaded from the store."""
    tokens = indexed.tokens
    rank = max(1, min(DIMENSIONS, len(tokens.documents) - 1, len(tokens.terms) - 1))
    recipe = {"dimensions": rank, "analysis": repr(indexed.collection.analysis)}
    key = key_of(KIND, recipe, [indexed.collection.digest])
    with indexed.store.found_or_locked(key) as found:
        artefact = found
        if artefact is None:
            table = weighted_counts(tokens.documents, tokens)
            norms = np.sqrt(table.multiply(table).sum(axis=1))
            # Rows of length 1 before the decomposition: long documents must not dominate it
            table.data /= np.repeat(np.where(norms > 0, norms, 1), np.diff(table.indptr))
            _, _, directions = leading_vectors(table, rank)
            arrays = {
                "directions": np.ascontiguousarray(directions.T, np.float32),
                "documents": _of_length_one(table @ directions.T),  # products are then cosines
            }
            write = lambda at: mapped_file.write(at / FILE, arrays, {"format": FORMAT})  # noqa: E731
            artefact = indexed.store.add(key, recipe, write, {"dimensions": rank})
    arrays, _ = mapped_file.open_mapped(artefact.path / FILE, FORMAT)
    return LatentSemanticIndex(tokens, arrays["directions"], arrays["documents"])


def leading_vectors(
    table: csr_array, rank: int
) -> tuple[
    Float64[np.ndarray, "rows rank"],
    Float64[np.ndarray, " rank"],
    Float64[np.ndarray, "rank columns"],
]:
    """Largest singular values, rising, with their vectors on both sides.

    `rank` is smaller than either side of the table.

    >>> _, values, _ = leading_vectors(csr_array(np.diag([3.0, 1.0, 2.0])), 2)
    >>> values.round(6).tolist()
    [2.0, 3.0]
    """
    from scipy.sparse.linalg import svds  # noqa: PLC0415 (only who trains waits for it)

    side = min(np.shape(table))
    if side <= SMALL * rank:
        left, values, right = np.linalg.svd(table.toarray().astype(np.float64), full_matrices=False)
        best: Any = slice(rank - 1, None, -1)
        return left[:, best], values[best], right[best]
    # A fixed start vector: ARPACK's default is random
    decomposition: Any = svds(table, k=rank, v0=np.ones(side), solver="arpack")
    return decomposition[0], decomposition[1], decomposition[2]
