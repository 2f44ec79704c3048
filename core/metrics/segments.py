"""The only ragged reductions: one value a segment, and sorting inside segments.

Segments are given by rising offsets (0 … elements); a segment may be empty. A float64 sum is
kept for every reduction, whatever the values' own precision.
"""

from collections.abc import Iterator
from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64, Real, Shaped

from shuffleproof.core.compiled import compiled

_SUM, _MAXIMUM = 0, 1


def sums(
    offsets: Int64[np.ndarray, " bounds"], values: Real[np.ndarray, " elements"]
) -> Float64[np.ndarray, " segments"]:
    """The sum of every segment; 0 for an empty one.

    >>> sums(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, 5.0]))
    array([3., 0., 5.])
    """
    return _reduce_as_float(_SUM, offsets, values)


def means(
    offsets: Int64[np.ndarray, " bounds"], values: Real[np.ndarray, " elements"]
) -> Float64[np.ndarray, " segments"]:
    """The mean of every segment; NaN for an empty one."""
    lengths = np.diff(offsets)
    return np.where(lengths > 0, sums(offsets, values) / np.maximum(lengths, 1), np.nan)


def maxima(
    offsets: Int64[np.ndarray, " bounds"], values: Real[np.ndarray, " elements"]
) -> Float64[np.ndarray, " segments"]:
    """The largest value of every segment; −inf for an empty one, NaN where there is a NaN.

    >>> maxima(np.array([0, 2, 3]), np.array([1.0, 2.0, -5.0]))
    array([ 2., -5.])
    """
    return _reduce_as_float(_MAXIMUM, offsets, values)


def largest_deviations(
    offsets: Int64[np.ndarray, " bounds"],
    first: Real[np.ndarray, " elements"],
    second: Real[np.ndarray, " elements"],
) -> Float64[np.ndarray, " segments"]:
    """The largest |first − second| of every segment; 0 for an empty one.

    >>> largest_deviations(np.array([0, 2]), np.array([1.0, 2.0]), np.array([1.0, -2.0]))
    array([4.])
    """
    difference = np.abs(first.astype(np.float64) - second.astype(np.float64))
    return np.maximum(_reduce_as_float(_MAXIMUM, offsets, difference), 0.0)


def sort_within(
    offsets: Int64[np.ndarray, " bounds"], keys: Shaped[np.ndarray, " elements"]
) -> None:
    """Sort every segment of `keys` in place, ascending.

    Segments of one length are sorted together as a matrix: NumPy's vectorised sort takes rows
    several times faster than one call a segment, and nothing is padded.

    >>> keys = np.array([3, 1, 9, 2])
    >>> sort_within(np.array([0, 3, 4]), keys)
    >>> keys
    array([1, 3, 9, 2])
    """
    for places in _same_length(offsets):
        if isinstance(places, int):
            keys.reshape(-1, places).sort(axis=1)
        else:
            keys[places] = np.sort(keys[places], axis=1)


def falling_order(
    offsets: Int64[np.ndarray, " bounds"], values: Real[np.ndarray, " elements"]
) -> Int64[np.ndarray, " elements"]:
    """Element indexes that sort every segment by falling value; the order of ties is not defined.

    >>> falling_order(np.array([0, 3, 5]), np.array([1.0, 3.0, 2.0, 0.0, 4.0]))
    array([1, 2, 0, 4, 3])
    """
    order = np.arange(len(values), dtype=np.int64)
    falling = -values.astype(np.float64, copy=False)
    for places in _same_length(offsets):
        if isinstance(places, int):
            rows = falling.reshape(-1, places)
            order = (np.argsort(rows, axis=1) + offsets[:-1, None]).ravel()
        else:
            order[places] = np.argsort(falling[places], axis=1) + places[:, :1]
    return order


def _same_length(
    offsets: Int64[np.ndarray, " bounds"],
) -> Iterator[int | Int64[np.ndarray, "segments length"]]:
    """Element places of the segments of each length ≥ 2; the length alone where all share it."""
    lengths = np.diff(offsets)
    if len(lengths) and lengths[0] > 1 and (lengths == lengths[0]).all():
        yield int(lengths[0])
        return
    by_length = np.argsort(lengths, kind="stable")
    distinct, starts = np.unique(lengths[by_length], return_index=True)
    for length, members in zip(distinct, np.split(by_length, starts[1:]), strict=False):
        if length > 1:
            yield offsets[members][:, None] + np.arange(length, dtype=np.int64)


def _reduce_as_float(
    kind: int,
    offsets: Int64[np.ndarray, " bounds"],
    values: Real[np.ndarray, " elements"],
) -> Float64[np.ndarray, " segments"]:
    return _reduce(kind, offsets, values.astype(np.float64, copy=False))


@no_type_check  # jaxtyping's import hook wraps what it checks, and numba takes no wrapped function
@compiled()
def _reduce(kind: int, offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    reduced = np.empty(len(offsets) - 1, dtype=np.float64)
    for segment in range(len(reduced)):
        total, high = 0.0, -np.inf
        for element in range(offsets[segment], offsets[segment + 1]):
            value = values[element]
            total += value
            if value > high or np.isnan(value):
                high = value
        reduced[segment] = total if kind == _SUM else high
    return reduced
