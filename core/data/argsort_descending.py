"""Sorting each segment of a ragged array by falling score: the one compiled sort of the house.

NumPy's lexsort sorts the whole array at once; sorting every list alone is five times faster, and
a list that is in order already costs one pass.
"""

import sys
from typing import no_type_check

import numpy as np
from jaxtyping import Int64, Shaped

from shuffleproof.core.compiled import compiled

FEW = 200_000
"""Elements that NumPy sorts sooner than Numba is loaded, where nothing has loaded it yet."""

_RUN = 8  # elements that are sorted by insertion before merging starts


def falling_order(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Shaped[np.ndarray, " elements"],
    ties: Int64[np.ndarray, " elements"] | None = None,
) -> Int64[np.ndarray, " elements"]:
    """Element indexes that put each segment in falling order of score.

    Args:
        offsets: bounds of the segments.
        scores: what is sorted by; NaN comes last.
        ties: equal scores stand in rising order of these; without them, as they stood.

    >>> falling_order(np.array([0, 3, 5]), np.array([1.0, 3.0, 3.0, 0.0, 9.0])).tolist()
    [1, 2, 0, 4, 3]
    """
    places = np.arange(len(scores), dtype=np.int64)
    if _by_numpy(scores):
        segments = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return np.lexsort((places if ties is None else ties, -scores, segments))
    return _merge_sorted(offsets, scores, places if ties is None else ties, places.copy())


def blocks_of(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Shaped[np.ndarray, " elements"],
    order: Int64[np.ndarray, " elements"],
) -> Int64[np.ndarray, " elements"]:
    """The 0-based competition rank of each element, given the order by falling score.

    >>> blocks_of(np.array([0, 4]), np.array([1.0, 3.0, 3.0, 0.0]), np.array([1, 2, 0, 3])).tolist()
    [2, 0, 0, 3]
    """
    if _by_numpy(scores):
        ordered, places = scores[order], np.arange(len(order))
        is_new = np.append(True, ordered[1:] != ordered[:-1])[: len(order)]
        firsts = np.repeat(offsets[:-1], np.diff(offsets))
        ranks = np.empty_like(order)
        starts = np.maximum.accumulate(np.where(is_new | (places == firsts), places, 0))
        ranks[order] = starts - firsts
        return ranks
    return _ranks(offsets, scores, order)


def _by_numpy(scores: Shaped[np.ndarray, " elements"]) -> bool:
    return "numba" not in sys.modules and len(scores) <= FEW and scores.dtype.kind == "f"


@compiled()
@no_type_check
def rising_order(values: np.ndarray) -> np.ndarray:
    """Indexes that put whole numbers in rising order, equal ones as they stood; for compiled code.

    Numba's own sort and argsort are closures of one function. Compiled by two processes they can
    get one name, and a third process that loads both from the cache takes one for the other.
    """
    bounds, alike = np.array([0, len(values)]), np.zeros(len(values))
    return _merge_sorted(bounds, alike, values, np.arange(len(values)))


@compiled()
@no_type_check
def best_first(scores: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Indexes that put scores in falling order, equal ones by rising `ties`; for compiled code."""
    return _merge_sorted(np.array([0, len(scores)]), scores, ties, np.arange(len(scores)))


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _precedes(scores: np.ndarray, ties: np.ndarray, first: int, second: int) -> bool:
    first_score, second_score = scores[first], scores[second]
    if first_score > second_score:
        return True
    if first_score == second_score or (first_score != first_score and second_score != second_score):  # noqa: PLR0124 (NaN test)
        return ties[first] < ties[second]
    return first_score == first_score and second_score != second_score  # noqa: PLR0124 (NaN test)


@compiled()
@no_type_check
def _merge_sorted(
    offsets: np.ndarray, scores: np.ndarray, ties: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Stable merge sort: insertion-sorted runs, merged only where they are out of order."""
    buffer = np.empty_like(order)
    for segment in range(len(offsets) - 1):
        low, high = offsets[segment], offsets[segment + 1]
        _insert_runs(scores, ties, order, low, high)
        width = _RUN
        while width < high - low:
            for left in range(low, high, 2 * width):
                middle, right = min(left + width, high), min(left + 2 * width, high)
                if middle < right and _precedes(scores, ties, order[middle], order[middle - 1]):
                    _merge(scores, ties, order, buffer, (left, middle, right))
            width *= 2
    return order


@compiled()
@no_type_check
def _insert_runs(
    scores: np.ndarray, ties: np.ndarray, order: np.ndarray, low: int, high: int
) -> None:
    for left in range(low, high, _RUN):
        for place in range(left + 1, min(left + _RUN, high)):
            element, hole = order[place], place
            while hole > left and _precedes(scores, ties, element, order[hole - 1]):
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = element


@compiled()
@no_type_check
def _merge(
    scores: np.ndarray, ties: np.ndarray, order: np.ndarray, buffer: np.ndarray, bounds: tuple
) -> None:
    left, middle, right = bounds
    buffer[left:middle] = order[left:middle]
    first, second, place = left, middle, left
    while first < middle and second < right:
        if _precedes(scores, ties, order[second], buffer[first]):
            order[place] = order[second]
            second += 1
        else:
            order[place] = buffer[first]
            first += 1
        place += 1
    while first < middle:
        order[place] = buffer[first]
        first += 1
        place += 1


@compiled()
@no_type_check
def _ranks(offsets: np.ndarray, scores: np.ndarray, order: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(order), dtype=np.int64)
    for segment in range(len(offsets) - 1):
        low, start = offsets[segment], offsets[segment]
        for place in range(low, offsets[segment + 1]):
            if place > low and scores[order[place]] != scores[order[place - 1]]:
                start = place
            ranks[order[place]] = start - low
    return ranks
