"""The leading singular vectors of a sparse matrix: by LAPACK where it is small, else by ARPACK."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array

SMALL = 4
"""A matrix whose smaller side has at most so many times the vectors wanted: ARPACK, which builds
them up one by one, may not converge there, and takes as long."""


def leading_vectors(
    table: csr_array, rank: int
) -> tuple[
    Float64[np.ndarray, "rows rank"],
    Float64[np.ndarray, " rank"],
    Float64[np.ndarray, "rank columns"],
]:
    """The largest singular values, rising, with their vectors on both sides.

    Args:
        table: sparse.
        rank: how many, fewer than either side of the table has.

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
    decomposition: Any = svds(table, k=rank, v0=np.ones(side), solver="arpack")
    return decomposition[0], decomposition[1], decomposition[2]
