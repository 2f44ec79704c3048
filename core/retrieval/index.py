"""Exact inverted index over learnt sparse vectors.

The score of a document is the dot product of its vector with the query's. All postings of the
query's dimensions are read, without approximation, so scores equal those of the dense product.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data import mapped_file
from shuffleproof.core.retrieval.postings import Postings
from shuffleproof.core.retrieval.registry import RankedDocuments
from shuffleproof.core.retrieval.sparse import SparseVectors

FORMAT = "shuffleproof-sparse-index-1"
FILE = "index.safetensors"


@dataclass(frozen=True, eq=False)
class SparseIndex:
    """Postings by dimension, and the vectors that they come from.

    Attributes:
        vectors: of the documents.
        postings: the same weights by dimension.

    >>> index = SparseIndex.of(SparseVectors.of(np.array([[1, 0], [2, 3]], np.float32)))
    >>> ranked = index.search(SparseVectors.of(np.array([[1, 1], [0, 0]], np.float32)), 10)
    >>> ranked.documents.tolist(), ranked.scores.tolist(), ranked.offsets.tolist()
    ([1, 0], [5.0, 1.0], [0, 2, 2])
    """

    vectors: SparseVectors
    postings: Postings

    @classmethod
    def of(cls, vectors: SparseVectors) -> "SparseIndex":
        """Index of documents."""
        # A column of the matrix is the posting list of a dimension
        columns = vectors.matrix.tocsc()
        starts, documents = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        return cls(vectors, Postings(starts, documents, columns.data, len(vectors)))

    @cached_property
    def document_frequency(self) -> Int64[np.ndarray, " dimensions"]:
        """Number of documents with each dimension."""
        return np.diff(self.postings.starts)

    def search(self, queries: SparseVectors, k: int) -> RankedDocuments:
        """At most k documents for each query that share a dimension with it, ties by index."""
        # float64 sums: float32 rounding would decide near ties
        weights = queries.weights.astype(np.float64)
        return self.postings.search(queries.dimensions, queries.offsets, weights, k)

    def explain(self, query: SparseVectors, document: int) -> list[tuple[int, float]]:
        """Contributions of the shared dimensions to the score, the largest first.

        Args:
            query: one query.
            document: its index.
        """
        query_weights, document_weights = query.text(0), self.vectors.text(document)
        shared = query_weights.keys() & document_weights.keys()
        added = [(one, query_weights[one] * document_weights[one]) for one in shared]
        # Equal contributions by index, so that the answer is the same on every machine
        return sorted(added, key=lambda pair: (-pair[1], pair[0]))

    def save(self, path: Path) -> None:
        """Write the index to a file, atomically."""
        arrays = {
            "offsets": self.vectors.offsets, "dimensions": self.vectors.dimensions,
            "weights": self.vectors.weights, "starts": self.postings.starts,
            "documents": self.postings.documents, "values": self.postings.values,
        }  # fmt: skip
        mapped_file.write(path, arrays, {"format": FORMAT, "width": str(self.vectors.width)})

    @classmethod
    def open(cls, path: Path) -> "SparseIndex":
        """Open a file written by `save`, memory-mapped.

        Raises:
            DataError: the file is missing or damaged.
        """
        arrays, about = mapped_file.open_mapped(path, FORMAT)
        vectors = SparseVectors(
            arrays["offsets"], arrays["dimensions"], arrays["weights"], int(about["width"])
        )
        values = arrays["starts"], arrays["documents"], arrays["values"]
        return cls(vectors, Postings(*values, len(vectors)))
