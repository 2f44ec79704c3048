"""Learnt sparse vectors of documents and queries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, Int64
from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """Vector per text, with weights above 0.

    Attributes:
        offsets: entries of text t are `offsets[t] … offsets[t + 1] − 1`.
        dimensions: of each entry, rising within a text.
        weights: of each entry.
        width: number of dimensions.

    >>> vectors = SparseVectors.of(np.array([[0, 0.5, 0], [0, 0, 0]], np.float32))
    >>> vectors.dimensions.tolist(), vectors.weights.tolist(), vectors.nonzeros.tolist()
    ([1], [0.5], [1, 0])
    """

    offsets: Int64[np.ndarray, " bounds"]
    dimensions: Int32[np.ndarray, " entries"]
    weights: Float32[np.ndarray, " entries"]
    width: int

    @classmethod
    def of(cls, rows: Any) -> "SparseVectors":
        """Vectors of a matrix texts × dimensions; entries of 0 are left out.

        Args:
            rows: a NumPy array or a SciPy matrix.
        """
        table: Any = csr_array(rows).astype(np.float32)
        # SciPy allows an entry twice; a posting list must not
        table.sum_duplicates()
        table.eliminate_zeros()
        offsets = table.indptr.astype(np.int64)
        width = int(np.shape(rows)[1])
        return cls(offsets, table.indices.astype(np.int32), table.data, width)

    def __len__(self) -> int:
        """Number of texts."""
        return len(self.offsets) - 1

    @property
    def nonzeros(self) -> Int64[np.ndarray, " texts"]:
        """Number of dimensions of each text."""
        return np.diff(self.offsets)

    @property
    def matrix(self) -> csr_array:
        """Matrix texts × dimensions."""
        # SciPy sorts in place, and these arrays may be memory-mapped and read-only
        parts = (self.weights.copy(), self.dimensions.copy(), self.offsets.copy())
        return csr_array(parts, shape=(len(self), self.width))

    def dimensions_of_texts(self) -> list[Int32[np.ndarray, " read"]]:
        """Dimensions of every text."""
        return np.split(self.dimensions, self.offsets[1:-1])

    def text(self, place: int) -> dict[int, float]:
        """Vector of one text: weight by dimension."""
        span = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return dict(zip(self.dimensions[span].tolist(), self.weights[span].tolist(), strict=True))
