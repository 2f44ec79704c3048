"""The two products of a linear fit: a float32 matrix times a vector, summed in float64.

Compiled loops of one thread take half of BLAS's time at these shapes, and do not wait for other
threads on a busy machine. They sum a row in the same order at any position.
"""

from typing import no_type_check

import numpy as np

from shuffleproof.core.compiled import compiled


# Reassociation lets SIMD add partial sums; a reduction cannot be vectorised otherwise
@compiled(fastmath={"reassoc", "contract"})
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def row_sums(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One sum a row, of its values times the weights: `matrix @ weights`."""
    sums = np.empty(len(matrix))
    for row in range(len(matrix)):
        total = 0.0
        for column in range(len(weights)):
            total += matrix[row, column] * weights[column]
        sums[row] = total
    return sums


@compiled(fastmath={"contract"})
@no_type_check
def column_sums(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """One sum a column, of its values times the rows' weights: `weights @ matrix`."""
    sums = np.zeros(matrix.shape[1])
    for row in range(len(matrix)):
        # Documents without an active pair weigh 0: their rows are skipped
        if weights[row] != 0.0:
            for column in range(len(sums)):
                sums[column] += weights[row] * matrix[row, column]
    return sums
