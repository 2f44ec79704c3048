"""Sorting inside the segments of a ragged array, as many at once as have one length."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int64, Shaped

SELECTED = 10
"""A segment this many times as long as what is asked of it is not sorted whole."""


def sort_within(
    offsets: Int64[np.ndarray, " bounds"],
    keys: Shaped[np.ndarray, " elements"],
    depth: int | None = None,
) -> None:
    """Sort every segment of `keys` in place, ascending.

    Segments of one length are sorted together as a matrix: NumPy's vectorised sort takes rows
    several times faster than one call a segment, and nothing is padded.

    Args:
        offsets: bounds of the segments.
        keys: what is sorted.
        depth: how many of the least keys of a segment must be in order at its front, with
            the next one behind them; the others may be left in any order. Default: all.

    >>> keys = np.array([3, 1, 9, 2])
    >>> sort_within(np.array([0, 3, 4]), keys)
    >>> keys
    array([1, 3, 9, 2])
    """
    for places in same_length(offsets):
        is_whole = isinstance(places, int)
        segments = keys.reshape(-1, places) if is_whole else keys[places]
        if depth is not None and 0 < depth * SELECTED <= segments.shape[1]:
            segments.partition(depth, axis=1)
            segments[:, :depth].sort(axis=1)
        else:
            segments.sort(axis=1)
        if not is_whole:
            keys[places] = segments


def same_length(
    offsets: Int64[np.ndarray, " bounds"],
) -> Iterator[int | Int64[np.ndarray, "segments length"]]:
    """Element places of the segments of each length ≥ 2; the length alone where all share it."""
    lengths = np.diff(offsets)
    if len(lengths) and lengths[0] > 1 and (lengths == lengths[0]).all():
        yield int(lengths[0])
        return
    by_length = np.argsort(lengths, kind="stable")
    distinct, starts = np.unique(lengths[by_length], return_index=True)
    for length, chosen in zip(distinct, np.split(by_length, starts[1:]), strict=False):
        if length > 1:
            yield offsets[chosen][:, None] + np.arange(length, dtype=np.int64)
