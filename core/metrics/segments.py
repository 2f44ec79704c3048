"""Ragged reductions: one value per segment, and orders inside segments.

Rising offsets (0 … elements) define the segments, which may be empty. All reductions use float64,
whatever the precision of the values.
"""

import numpy as np
from jaxtyping import Bool, Float64, Int64, Real

from shuffleproof.core.data import ragged

Bounds = Int64[np.ndarray, " bounds"]
"""Offsets of segments: segment i begins at `bounds[i]`."""

Elements = Real[np.ndarray, " elements"]
Floors = Float64[np.ndarray, " elements"]
PerSegment = Float64[np.ndarray, " segments"]


def sums(offsets: Bounds, values: Elements) -> PerSegment:
    """Sum of every segment; 0 for an empty one.

    >>> sums(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, 5.0]))
    array([3., 0., 5.])
    """
    return np.bincount(
        ragged.segment_ids(offsets), weights=values, minlength=len(offsets) - 1
    ).astype(np.float64)


def maxima(offsets: Bounds, values: Elements | Bool[np.ndarray, " elements"]) -> PerSegment:
    """Largest value of every segment, True being 1; −inf for an empty one, NaN if one is NaN.

    >>> maxima(np.array([0, 2, 3]), np.array([1.0, 2.0, -5.0]))
    array([ 2., -5.])
    """
    highest = np.full(len(offsets) - 1, -np.inf)
    filled = offsets[:-1] < offsets[1:]
    if filled.any():
        starts = offsets[:-1][filled]
        highest[filled] = np.maximum.reduceat(values.astype(np.float64, copy=False), starts)
    return highest


def largest_deviations(offsets: Bounds, values: Elements, other_values: Elements) -> PerSegment:
    """Largest |value − other value| of every segment; 0 for an empty one.

    >>> largest_deviations(np.array([0, 2]), np.array([1.0, 2.0]), np.array([1.0, -2.0]))
    array([4.])
    """
    difference = np.abs(values.astype(np.float64) - other_values.astype(np.float64))
    # An empty list has maximum −∞
    return np.maximum(maxima(offsets, difference), 0.0)


def falling_order(offsets: Bounds, values: Elements) -> Int64[np.ndarray, " elements"]:
    """Element indexes that sort every segment by falling value; the order of ties is undefined.

    >>> falling_order(np.array([0, 3, 5]), np.array([1.0, 3.0, 2.0, 0.0, 4.0]))
    array([1, 2, 0, 4, 3])
    """
    order = np.arange(len(values), dtype=np.int64)
    falling = -values.astype(np.float64, copy=False)
    # One argsort per group of segments of equal length is much faster than one per segment.
    for places in ragged.same_length(offsets):
        if isinstance(places, int):
            rows = falling.reshape(-1, places)
            order = (np.argsort(rows, axis=1) + offsets[:-1, None]).ravel()
        else:
            order[places] = np.argsort(falling[places], axis=1) + places[:, :1]
    return order
