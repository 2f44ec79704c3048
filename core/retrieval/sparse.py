"""Learnt sparse vectors: of documents, and of queries."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, Int64
from scipy.sparse import csr_array

from shuffleproof.core.data.ragged import elements_of, offsets_of
from shuffleproof.core.errors import DataError

KEEP = "Keep what is above 0: a dimension that says nothing of a text has no entry."


@dataclass(frozen=True, eq=False)
class SparseVectors:
    """A vector a text, of weights above 0.

    Attributes:
        offsets: entries of text t are `offsets[t] … offsets[t + 1] − 1`.
        dimensions: of each entry, rising within a text.
        weights: of each entry.
        width: the number of dimensions there are.

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
        """The vectors of a matrix, texts × dimensions; entries of 0 are left out.

        Args:
            rows: a NumPy array or a SciPy matrix.

        Raises:
            DataError: an entry below 0, infinite or not a number.
        """
        table: Any = csr_array(rows).astype(np.float32)
        table.sum_duplicates()
        wrong = np.flatnonzero(~((table.data >= 0) & (table.data < np.inf)))
        if len(wrong):
            text = int(np.searchsorted(table.indptr, wrong[0], side="right")) - 1
            place = f"text {text}, dimension {table.indices[wrong[0]]}"
            raise DataError(place, f"the weight {table.data[wrong[0]]:g}", KEEP)
        table.eliminate_zeros()
        offsets = table.indptr.astype(np.int64)
        width = int(np.shape(rows)[1])
        return cls(offsets, table.indices.astype(np.int32), table.data, width)

    def __len__(self) -> int:
        """The number of texts."""
        return len(self.offsets) - 1

    @property
    def nonzeros(self) -> Int64[np.ndarray, " texts"]:
        """How many dimensions each text has."""
        return np.diff(self.offsets)

    @property
    def matrix(self) -> csr_array:
        """Texts × dimensions."""
        parts = (self.weights.copy(), self.dimensions.copy(), self.offsets.copy())
        return csr_array(parts, shape=(len(self), self.width))

    @property
    def digest(self) -> str:
        """What tells these vectors from any others."""
        digest = sha256(f"{self.width} {len(self)} ".encode())
        for array in (self.offsets, self.dimensions, self.weights):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def text(self, place: int) -> dict[int, float]:
        """The vector of one text, weight by dimension."""
        span = slice(int(self.offsets[place]), int(self.offsets[place + 1]))
        return dict(zip(self.dimensions[span].tolist(), self.weights[span].tolist(), strict=True))

    def select(self, places: Int64[np.ndarray, " chosen"]) -> "SparseVectors":
        """The vectors of some texts, in this order."""
        entries, offsets = elements_of(self.offsets, places), offsets_of(self.nonzeros[places])
        return SparseVectors(offsets, self.dimensions[entries], self.weights[entries], self.width)


def concatenate(left: SparseVectors, right: SparseVectors) -> SparseVectors:
    """The texts of one after those of another.

    Raises:
        DataError: they have other numbers of dimensions.
    """
    if left.width != right.width:
        finding = f"{right.width} dimensions beside {left.width}"
        raise DataError("the vectors", finding, "Encode all texts with one network.")
    return SparseVectors(
        np.append(left.offsets, left.offsets[-1] + right.offsets[1:]),
        np.append(left.dimensions, right.dimensions),
        np.append(left.weights, right.weights),
        left.width,
    )
