"""Index arithmetic of ragged arrays: segments given by rising offsets (0 … total)."""

import numpy as np
from jaxtyping import Int64, Shaped

from shuffleproof.core.data.argsort_descending import blocks_of, falling_order


def offsets_of(lengths: Int64[np.ndarray, " segments"]) -> Int64[np.ndarray, " bounds"]:
    """The offsets of segments of these lengths.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def segment_ids(offsets: Int64[np.ndarray, " bounds"]) -> Int64[np.ndarray, " elements"]:
    """The segment that each element belongs to."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def places_of(offsets: Int64[np.ndarray, " bounds"]) -> Int64[np.ndarray, " elements"]:
    """The 0-based place of each element in its segment."""
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def elements_of(
    offsets: Int64[np.ndarray, " bounds"], segments: Int64[np.ndarray, " chosen"]
) -> Int64[np.ndarray, " elements"]:
    """The element indexes of the chosen segments, segment after segment.

    >>> elements_of(np.array([0, 2, 5]), np.array([1, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    lengths = np.diff(offsets)[segments]
    return np.repeat(offsets[segments], lengths) + places_of(offsets_of(lengths))


def order_within(
    offsets: Int64[np.ndarray, " bounds"], *keys: Shaped[np.ndarray, " elements"]
) -> Int64[np.ndarray, " elements"]:
    """Element indexes that sort each segment by the keys, ascending, the first key leading.

    >>> order_within(np.array([0, 3, 5]), np.array([2, 0, 1, 9, 8])).tolist()
    [1, 2, 0, 4, 3]
    """
    return np.lexsort((*reversed(keys), segment_ids(offsets)))


def competition_ranks(
    offsets: Int64[np.ndarray, " bounds"], scores: Shaped[np.ndarray, " elements"]
) -> Int64[np.ndarray, " elements"]:
    """The 0-based rank of each element in its segment by falling score; ties share the best rank.

    >>> competition_ranks(np.array([0, 4]), np.array([1.0, 3.0, 3.0, 0.0])).tolist()
    [2, 0, 0, 3]
    """
    return blocks_of(offsets, scores, falling_order(offsets, scores))
