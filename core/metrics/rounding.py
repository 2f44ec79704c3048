"""Rounding errors of float32 scores, relative to the score and to its list.

All values are relative and depend on one list only, so that multiplying a list's scores by a
positive number does not change the results.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.metrics import segments
from shuffleproof.core.metrics.segments import Bounds, Elements, Floors, PerSegment

STEPS = 4.0
"""Distance of two summations of the same few terms, in float32 spacings."""


HALF_PRECISION = {"bfloat16": 8, "float16": 11}
"""Significant bits of half-precision types."""

LAST_BITS, DISTINCT = 0.2, 8
"""Least share and least number of distinct scores that use the last bit of such a type. Scores
rounded to a coarser grid also fit its grid, but do not use that bit."""


@dataclass(frozen=True)
class Scales:
    """Scales of each list's scores.

    Attributes:
        magnitude: median |score|; 0 for an empty list.
        spread: median distance from the median, over scores unlike the median; 0 if all are equal.
            A few outliers change neither value.
    """

    magnitude: PerSegment
    spread: PerSegment


def scales(offsets: Bounds, scores: Elements) -> Scales:
    """Magnitude and spread of every list; infinite and NaN scores are left out.

    >>> sizes = scales(np.array([0, 5]), np.array([1.0, 2.0, 3.0, 4.0, 1e8]))
    >>> sizes.magnitude.tolist(), sizes.spread.tolist()
    ([3.0], [1.5])
    """
    finite, count = np.isfinite(scores), len(offsets) - 1
    lists = np.repeat(np.arange(count), np.diff(offsets))[finite]
    values = scores[finite].astype(np.float64)
    away = np.abs(values - _medians(lists, values, count)[lists])
    return Scales(
        _medians(lists, np.abs(values), count), _medians(lists[away > 0], away[away > 0], count)
    )


def representable(scores: Elements) -> Floors:
    """STEPS times the float32 spacing at each score.

    >>> steps = representable(np.array([1.0, 1.0, 1e8])) / STEPS
    >>> steps.tolist() == [2.0**-23, 2.0**-23, 8.0]
    True
    """
    size = np.abs(scores.astype(np.float64, copy=False))
    # Above float32 the spacing would be infinite or NaN
    finite = np.minimum(np.where(np.isfinite(size), size, 0.0), np.finfo(np.float32).max)
    return STEPS * np.spacing(finite.astype(np.float32)).astype(np.float64)


def half_precision(scores: Elements) -> str:
    """Half-precision type whose grid contains all scores, which use it; empty if there is none.

    >>> half_precision(1 + np.arange(40) / 128), half_precision(np.arange(40)), half_precision(
    ...     np.float16(np.linspace(0.1, 0.9, 40)))
    ('bfloat16', '', 'float16')
    """
    # The sign has its own bit; zeros are on every grid
    values = np.unique(np.abs(scores[np.isfinite(scores) & (scores != 0)].astype(np.float64)))
    if (values == np.rint(values)).all():
        return ""
    for name, bits in HALF_PRECISION.items():
        # frexp gives [½, 1): times 2^bits it is whole if the type holds the number
        mantissas = np.frexp(values)[0] * 2.0**bits
        if (mantissas == np.rint(mantissas)).all():
            last = mantissas % 2 == 1
            return name if last.sum() >= DISTINCT and last.mean() >= LAST_BITS else ""
    return ""


def half_step(scores: Elements, precision: str) -> Floors:
    """Spacing of a half-precision type at each score.

    >>> half_step(np.array([1.0, -3.0]), "bfloat16").tolist()
    [0.0078125, 0.015625]
    """
    size = np.where(np.isfinite(scores), np.abs(scores), 0.0).astype(np.float64)
    return np.ldexp(1.0, np.frexp(size)[1] - HALF_PRECISION[precision]) * (size > 0)


def _medians(lists: Int64[np.ndarray, " elements"], values: Floors, count: int) -> PerSegment:
    """Median of the values of each list; 0 for a list without values."""
    lengths = np.bincount(lists, minlength=count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    ordered, some = values[segments.falling_order(offsets, values)], lengths > 0
    medians = np.zeros(count)
    low, high = (
        offsets[:-1][some] + half for half in ((lengths[some] - 1) // 2, lengths[some] // 2)
    )
    medians[some] = (ordered[low] + ordered[high]) / 2
    return medians
