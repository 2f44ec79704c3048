"""Leading singular vectors of a sparse matrix: by LAPACK if it is small, else by ARPACK."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.sparse import csr_array

SMALL = 4
"""Maximum ratio of a matrix's smaller side to the rank for LAPACK. There ARPACK, which computes the
vectors one by one, may not converge and is not faster."""


def leading_vectors(
    table: csr_array, rank: int
) -> tuple[
    Float64[np.ndarray, "rows rank"],
    Float64[np.ndarray, " rank"],
    Float64[np.ndarray, "rank columns"],
]:
    """Largest singular values, rising, with their vectors on both sides.

    Args:
        table: sparse.
        rank: number of values, smaller than either side of the table.

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
