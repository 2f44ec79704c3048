"""Sorting each segment of a ragged array by falling score, and a stable sort of whole numbers."""

from typing import no_type_check

import numpy as np
from jaxtyping import Int64, Shaped

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.sort_within import same_length


def falling_order(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Shaped[np.ndarray, " elements"],
    ties: Int64[np.ndarray, " elements"] | None = None,
) -> Int64[np.ndarray, " elements"]:
    """Element indexes that put each segment in falling order of score.

    Args:
        offsets: bounds of the segments.
        scores: sort key; NaN comes last.
        ties: second key, rising; without it, equal scores keep their order.

    >>> falling_order(np.array([0, 3, 5]), np.array([1.0, 3.0, 3.0, 0.0, 9.0])).tolist()
    [1, 2, 0, 4, 3]
    """
    order = np.arange(len(scores), dtype=np.int64)
    falling = -scores if scores.dtype.kind == "f" else ~scores  # −x of an unsigned one wraps
    for places in same_length(offsets):
        elements = order.reshape(-1, places) if isinstance(places, int) else places
        chosen = elements
        for keys in (ties, falling):
            if keys is not None:
                inside = np.argsort(keys[chosen], axis=1, kind="stable")
                chosen = np.take_along_axis(chosen, inside, axis=1)
        order[elements] = chosen
    return order


def blocks_of(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Shaped[np.ndarray, " elements"],
    order: Int64[np.ndarray, " elements"],
) -> Int64[np.ndarray, " elements"]:
    """The 0-based competition rank of each element, given the order by falling score.

    >>> blocks_of(np.array([0, 4]), np.array([1.0, 3.0, 3.0, 0.0]), np.array([1, 2, 0, 3])).tolist()
    [2, 0, 0, 3]
    """
    ordered, places = scores[order], np.arange(len(order))
    is_new = np.append(True, ordered[1:] != ordered[:-1])[: len(order)]
    firsts = np.repeat(offsets[:-1], np.diff(offsets))
    ranks = np.empty_like(order)
    starts = np.maximum.accumulate(np.where(is_new | (places == firsts), places, 0))
    ranks[order] = starts - firsts
    return ranks


@compiled()
@no_type_check
def rising_order(values: np.ndarray) -> np.ndarray:
    """Indexes that put whole numbers in rising order, equal ones as they stood; for compiled code.

    Numba's own sort and argsort are closures of one function. Compiled by two processes they can
    get one name, and a third process that loads both from the cache takes one for the other.
    """
    order, merged = np.arange(len(values)), np.empty(len(values), dtype=np.int64)
    width = 1
    while width < len(order):  # merge sort from the bottom
        for start in range(0, len(order), 2 * width):
            middle, end = min(start + width, len(order)), min(start + 2 * width, len(order))
            left, right = start, middle
            for place in range(start, end):
                take_left = right >= end or (
                    left < middle and values[order[left]] <= values[order[right]]
                )
                merged[place] = order[left] if take_left else order[right]
                left += take_left
                right += not take_left
        order, merged = merged, order
        width *= 2
    return order
