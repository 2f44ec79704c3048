"""Mallows' model by its expected Kendall τ: the dispersion that a target asks for.

P(order) ∝ φ^inversions = exp(−θ · inversions). The inversions that document i (0-based) adds
when inserted are independent, geometric on 0 … i; θ = 0 is the even draw, θ = ∞ the old order.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Float64, Int64

HIGHEST = 700.0  # exp(−700) is the smallest double above 0 in effect: no inversion at all


def expected_tau(length: int, theta: float) -> float:
    """The expected Kendall τ of a list of this length with the order it was drawn around.

    >>> round(expected_tau(2, float(np.log(3))), 6)  # P(exchanged) = 1/4
    0.5
    """
    if length < 2:
        return 1.0
    sizes = np.arange(2, length + 1, dtype=np.float64)
    return float(1 - 4 * _mean_depth(sizes, theta).sum() / (length * (length - 1)))


@lru_cache(maxsize=4096)
def dispersion(length: int, tau: float) -> float:
    """The θ at which lists of this length keep an expected Kendall τ of `tau` in [0, 1].

    >>> round(expected_tau(40, dispersion(40, 0.5)), 9)
    0.5
    """
    if length < 2 or tau >= 1:
        return HIGHEST
    low, high = 0.0, HIGHEST
    for _ in range(80):  # halves 700 to below the spacing of doubles around any answer
        middle = (low + high) / 2
        if expected_tau(length, middle) < tau:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def insertion_depths(
    places: Int64[np.ndarray, " candidates"],
    theta: Float64[np.ndarray, " candidates"],
    uniform: Float64[np.ndarray, " candidates"],
) -> Int64[np.ndarray, " candidates"]:
    """How many documents each one passes when inserted: geometric on 0 … place, by inversion.

    Args:
        places: the document's place in its list.
        theta: dispersion of its list.
        uniform: one even draw from [0, 1) a document.

    >>> insertion_depths(np.array([0, 1, 2]), np.zeros(3), np.array([0.9, 0.9, 0.5])).tolist()
    [0, 1, 1]
    """
    sizes = places + 1.0
    steep = np.where(theta > 0, theta, 1.0)
    kept = -np.expm1(-steep * sizes)
    geometric = np.floor(-np.log1p(-uniform * kept) / steep)
    depths = np.where(theta * sizes > 1e-9, geometric, np.floor(uniform * sizes))
    return np.clip(depths, 0, places).astype(np.int64)


def _mean_depth(
    sizes: Float64[np.ndarray, " documents"], theta: float
) -> Float64[np.ndarray, " documents"]:
    """Mean of the geometric on 0 … size − 1; a series where its closed form cancels."""
    if theta <= 0:
        return (sizes - 1) / 2
    reach = np.minimum(sizes * theta, HIGHEST)
    closed = 1 / np.expm1(theta) - sizes / np.expm1(reach)
    series = (sizes - 1) / 2 - theta * (sizes**2 - 1) / 12
    return np.where(reach < 1e-4, series, closed)
