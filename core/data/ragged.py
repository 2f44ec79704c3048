"""Ragged arrays, whose segments are given by rising offsets (0 … total): indexes and sorting."""

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Float64, Int64, Shaped

Bounds: TypeAlias = Int64[np.ndarray, " bounds"]
Places: TypeAlias = Int64[np.ndarray, " elements"]
Values: TypeAlias = Shaped[np.ndarray, " elements"]

SELECTED = 10
"""Segments longer than this many times the number of values asked for are not sorted fully."""


def offsets_of(lengths: Int64[np.ndarray, " segments"]) -> Bounds:
    """The offsets of segments of these lengths.

    >>> offsets_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def segment_ids(offsets: Bounds) -> Places:
    """The segment that each element belongs to."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def places_of(offsets: Bounds) -> Places:
    """The 0-based place of each element in its segment."""
    return np.arange(offsets[-1], dtype=np.int64) - np.repeat(offsets[:-1], np.diff(offsets))


def elements_of(offsets: Bounds, segments: Int64[np.ndarray, " chosen"]) -> Places:
    """The element indexes of the chosen segments, segment after segment.

    >>> elements_of(np.array([0, 2, 5]), np.array([1, 0])).tolist()
    [2, 3, 4, 0, 1]
    """
    lengths = np.diff(offsets)[segments]
    return np.repeat(offsets[segments], lengths) + places_of(offsets_of(lengths))


def order_within(offsets: Bounds, *keys: Values) -> Places:
    """Element indexes that sort each segment by the keys, ascending, the first key leading.

    >>> order_within(np.array([0, 3, 5]), np.array([2, 0, 1, 9, 8])).tolist()
    [1, 2, 0, 4, 3]
    """
    return np.lexsort((*reversed(keys), segment_ids(offsets)))


def competition_ranks(offsets: Bounds, scores: Values) -> Places:
    """The 0-based rank of each element in its segment by falling score; ties share the best rank.

    >>> competition_ranks(np.array([0, 4]), np.array([1.0, 3.0, 3.0, 0.0])).tolist()
    [2, 0, 0, 3]
    """
    return blocks_of(offsets, scores, falling_order(offsets, scores))


def sort_within(offsets: Bounds, keys: Values, depth: int | None = None) -> None:
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


def same_length(offsets: Bounds) -> Iterator[int | Int64[np.ndarray, "segments length"]]:
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


def falling_order(offsets: Bounds, scores: Values, ties: Places | None = None) -> Places:
    """Element indexes that put each segment in falling order of score, NaN last.

    Equal scores rise by `ties`; without it they keep their order.

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


def blocks_of(offsets: Bounds, scores: Values, order: Places) -> Places:
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


def in_single_precision(
    offsets: Bounds, scores: Float64[np.ndarray, " elements"]
) -> Float32[np.ndarray, " elements"]:
    """The scores as float32, in every list of the same order and with the same ties.

    Where rounding would tie two, the higher one moves up by the smallest step there is.

    >>> scores = in_single_precision(np.array([0, 3]), np.array([1 + 1e-9, 1.0, 1.0]))
    >>> bool(scores[0] > scores[1] == scores[2] == 1)
    True
    """
    rounded = scores.astype(np.float32)
    # Rising, so that a step up can carry on to the scores above
    order = order_within(offsets, scores)
    lists = segment_ids(offsets)
    follows = np.diff(lists, prepend=-1) == 0
    rises, flat = np.zeros((2, len(order)), dtype=bool)  # differences of two −∞ are no numbers
    rises[1:] = scores[order][1:] > scores[order][:-1]
    flat[1:] = rounded[order][1:] <= rounded[order][:-1]
    tied = follows & rises & flat
    # Only lists with a new tie are walked through: rounding rarely makes one
    for place in np.flatnonzero(follows & np.isin(lists, lists[tied])).tolist():
        below, document = rounded[order[place - 1]], order[place]
        # The smallest float32 above the one below, if rounding did not separate them
        above = max(rounded[document], np.nextafter(below, np.float32(np.inf)))
        rounded[document] = above if rises[place] else below
    return rounded
