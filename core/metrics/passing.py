"""Which documents were passed: order changes that are more than rounding.

Two float32 scorings of the same list differ in their last bits. A document counts as moved only
if it changed places with a document whose score lay further away than a stated floor.
"""

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float32, Int64


def documents_passed(
    offsets: Int64[np.ndarray, " bounds"],
    before: Float32[np.ndarray, " elements"],
    after: Float32[np.ndarray, " elements"],
    floor: float,
) -> Int64[np.ndarray, " segments"]:
    """How many documents of each list changed places with one further away than `floor`.

    Args:
        offsets: bounds of the lists.
        before: scores before, one a document.
        after: scores after, of the same documents in the same order.
        floor: score differences up to this are ties.

    >>> two_swapped = np.array([1.0, 2.0, 9.0], dtype=np.float32)
    >>> documents_passed(np.array([0, 3]), np.array([2, 1, 9], dtype=np.float32), two_swapped, 0.1)
    array([2])
    """
    return _passed(offsets, before.astype(np.float64), after.astype(np.float64), floor)


def smallest_gap(
    offsets: Int64[np.ndarray, " bounds"], scores: Float32[np.ndarray, " elements"]
) -> Float32[np.ndarray, " segments"]:
    """The smallest positive difference of two scores in each list; infinite where there is none."""
    return _gaps(offsets, scores)


@no_type_check  # jaxtyping's import hook wraps what it checks, and numba takes no wrapped function
@numba.njit(cache=True)
def _passed(offsets: np.ndarray, before: np.ndarray, after: np.ndarray, floor: float) -> np.ndarray:
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        for i in range(start, stop):
            for j in range(start, stop):
                gap, new_gap = before[i] - before[j], after[i] - after[j]
                if abs(gap) > floor and abs(new_gap) > floor and (gap > 0) != (new_gap > 0):
                    counts[segment] += 1
                    break
    return counts


@no_type_check
@numba.njit(cache=True)
def _gaps(offsets: np.ndarray, scores: np.ndarray) -> np.ndarray:
    gaps = np.full(len(offsets) - 1, np.inf, dtype=np.float32)
    for segment in range(len(offsets) - 1):
        inside = np.sort(scores[offsets[segment] : offsets[segment + 1]])
        for i in range(1, len(inside)):
            gap = inside[i] - inside[i - 1]
            if 0 < gap < gaps[segment]:
                gaps[segment] = gap
    return gaps
