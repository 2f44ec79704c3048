"""Sorting each segment of a ragged array by falling score: the one compiled sort of the house.

NumPy's lexsort sorts the whole array at once; sorting every list alone is five times faster, and
what is in order already costs one pass. What is not is brought nearly in order first, by NumPy's
vectorised sort of one number a score that holds its leading bits and its place.
"""

import sys
from typing import no_type_check

import numpy as np
from jaxtyping import Int64, Shaped

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.sort_within import sort_within

FEW = 200_000
"""Elements that NumPy sorts sooner than Numba is loaded, where nothing has loaded it yet."""

_RUN = 8  # elements that are sorted by insertion before merging starts

_BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}
_ONE, _SIGN_PLACE, _REST = np.uint64(1), np.uint64(63), np.uint64(2**63 - 1)


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
    ties = places if ties is None else ties
    order = places.copy()
    if scores.dtype in _BITS and not _in_order(offsets, scores, ties):
        bits = np.ascontiguousarray(scores).view(_BITS[scores.dtype])
        place_bits = int(np.diff(offsets).max()).bit_length()
        keys = _keys(offsets, bits, np.uint64(64 - 8 * scores.itemsize), np.uint64(place_bits))
        sort_within(offsets, keys)
        _put_places(offsets, keys, np.uint64(place_bits), order)
    return _sorted(offsets, scores, ties, order)


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
    return _ranked(offsets, scores, order)


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
    return _sorted(bounds, alike, values, np.arange(len(values)))


@compiled()
@no_type_check
def best_first(scores: np.ndarray, ties: np.ndarray) -> np.ndarray:
    """Indexes that put scores in falling order, equal ones by rising `ties`; for compiled code."""
    return _sorted(np.array([0, len(scores)]), scores, ties, np.arange(len(scores)))


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _in_order(offsets: np.ndarray, scores: np.ndarray, ties: np.ndarray) -> bool:
    for segment in range(len(offsets) - 1):
        for place in range(offsets[segment] + 1, offsets[segment + 1]):
            if _precedes(scores, ties, place, place - 1):
                return False
    return True


@compiled()
@no_type_check
def _keys(
    offsets: np.ndarray, bits: np.ndarray, widened: np.uint64, place_bits: np.uint64
) -> np.ndarray:
    """One u64 a score: its leading bits, turned where it is positive so that it falls; its place.

    Args:
        offsets: bounds of the segments.
        bits: of the scores, as whole numbers.
        widened: how many bits they lack to 64.
        place_bits: how many the places of the longest segment need.
    """
    keys, ends = np.empty(len(bits), dtype=np.uint64), (_ONE << place_bits) - _ONE
    for segment in range(len(offsets) - 1):
        inside = slice(offsets[segment], offsets[segment + 1])
        segment_bits, segment_keys = bits[inside], keys[inside]
        for place in range(len(segment_keys)):
            score = np.uint64(segment_bits[place]) << widened
            falling = score ^ (_REST & ((score >> _SIGN_PLACE) - _ONE))
            segment_keys[place] = (falling & ~ends) | np.uint64(place)
    return keys


@compiled()
@no_type_check
def _put_places(
    offsets: np.ndarray, keys: np.ndarray, place_bits: np.uint64, order: np.ndarray
) -> None:
    ends = (_ONE << place_bits) - _ONE
    for segment in range(len(offsets) - 1):
        for place in range(offsets[segment], offsets[segment + 1]):
            order[place] = offsets[segment] + np.int64(keys[place] & ends)


@compiled()
@no_type_check
def _precedes(scores: np.ndarray, ties: np.ndarray, left: int, right: int) -> bool:
    left_score, right_score = scores[left], scores[right]
    if left_score > right_score:
        return True
    if left_score == right_score or (left_score != left_score and right_score != right_score):  # noqa: PLR0124 (NaN test)
        return ties[left] < ties[right]
    return left_score == left_score and right_score != right_score  # noqa: PLR0124 (NaN test)


@compiled()
@no_type_check
def _sorted(
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
    low, high, place = left, middle, left
    while low < middle and high < right:
        if _precedes(scores, ties, order[high], buffer[low]):
            order[place] = order[high]
            high += 1
        else:
            order[place] = buffer[low]
            low += 1
        place += 1
    while low < middle:
        order[place] = buffer[low]
        low += 1
        place += 1


@compiled()
@no_type_check
def _ranked(offsets: np.ndarray, scores: np.ndarray, order: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(order), dtype=np.int64)
    for segment in range(len(offsets) - 1):
        low, start = offsets[segment], offsets[segment]
        for place in range(low, offsets[segment + 1]):
            if place > low and scores[order[place]] != scores[order[place - 1]]:
                start = place
            ranks[order[place]] = start - low
    return ranks
