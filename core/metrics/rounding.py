"""How far float32 arithmetic alone carries a score: at the size of that score, in its own list.

Nothing here is an absolute number and no list lends its scale to another, so that the answers stay
the same when all scores of a list are multiplied by a positive number.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64, Real

from shuffleproof.core.compiled import compiled

STEPS = 4.0
"""Neighbouring float32 numbers that two summations of the same few terms end apart."""


HALF_PRECISION = {"bfloat16": 8, "float16": 11}
"""Significant bits of the types that half-precision networks score in."""

LAST_BITS, DISTINCT = 0.2, 8
"""Share and number of the distinct scores that must use the last bit of such a type: scores that
were rounded to whole numbers or tenths of 2 fit into its grid, and do not."""


@dataclass(frozen=True)
class Scales:
    """The sizes of each list's scores.

    Attributes:
        magnitude: median |score|; 0 for an empty list.
        spread: median distance from the median of the scores that are not the median; 0 where all
            are equal. A few outliers change neither.
    """

    magnitude: Float64[np.ndarray, " segments"]
    spread: Float64[np.ndarray, " segments"]


def scales(offsets: Int64[np.ndarray, " bounds"], scores: Real[np.ndarray, " elements"]) -> Scales:
    """Magnitude and spread of every list; scores that are not finite are left out.

    >>> sizes = scales(np.array([0, 5]), np.array([1.0, 2.0, 3.0, 4.0, 1e8]))
    >>> sizes.magnitude.tolist(), sizes.spread.tolist()
    ([3.0], [1.5])
    """
    return Scales(*_scales(offsets, scores.astype(np.float64, copy=False)))


def representable(scores: Real[np.ndarray, " elements"]) -> Float64[np.ndarray, " elements"]:
    """STEPS times the float32 spacing at each score.

    >>> steps = representable(np.array([1.0, 1.0, 1e8])) / STEPS
    >>> steps.tolist() == [2.0**-23, 2.0**-23, 8.0]
    True
    """
    size = np.abs(scores.astype(np.float64, copy=False))
    finite = np.minimum(np.where(np.isfinite(size), size, 0.0), np.finfo(np.float32).max)
    return STEPS * np.spacing(finite.astype(np.float32)).astype(np.float64)


def half_precision(scores: Real[np.ndarray, " elements"]) -> str:
    """The half-precision type whose grid all scores lie on and use; empty where there is none.

    >>> half_precision(1 + np.arange(40) / 128), half_precision(np.arange(40)), half_precision(
    ...     np.float16(np.linspace(0.1, 0.9, 40)))
    ('bfloat16', '', 'float16')
    """
    values = np.unique(np.abs(scores[np.isfinite(scores) & (scores != 0)].astype(np.float64)))
    if (values == np.rint(values)).all():
        return ""
    for name, bits in HALF_PRECISION.items():
        mantissas = np.frexp(values)[0] * 2.0**bits
        if (mantissas == np.rint(mantissas)).all():
            last = mantissas % 2 == 1
            return name if last.sum() >= DISTINCT and last.mean() >= LAST_BITS else ""
    return ""


def half_step(
    scores: Real[np.ndarray, " elements"], precision: str
) -> Float64[np.ndarray, " elements"]:
    """The distance of neighbouring numbers of a half-precision type at each score.

    >>> half_step(np.array([1.0, -3.0]), "bfloat16").tolist()
    [0.0078125, 0.015625]
    """
    size = np.where(np.isfinite(scores), np.abs(scores), 0.0).astype(np.float64)
    return np.ldexp(1.0, np.frexp(size)[1] - HALF_PRECISION[precision]) * (size > 0)


@no_type_check  # jaxtyping's import hook wraps what it checks, and numba takes no wrapped function
@compiled()
def _scales(offsets: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    magnitude = np.zeros(len(offsets) - 1)
    spread = np.zeros(len(offsets) - 1)
    for segment in range(len(offsets) - 1):
        inside = scores[offsets[segment] : offsets[segment + 1]]
        inside = inside[np.isfinite(inside)]
        if len(inside):
            magnitude[segment] = np.median(np.abs(inside))
            away = np.abs(inside - np.median(inside))
            away = away[away > 0]
            if len(away):
                spread[segment] = np.median(away)
    return magnitude, spread
