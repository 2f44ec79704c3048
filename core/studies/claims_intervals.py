"""Intervals that say the same as the paired t tests beside them, adjusted where those are."""

import numpy as np
from jaxtyping import Float64
from scipy.special import stdtrit

from shuffleproof.core.metrics.significance import holm, paired_t

ALPHA = 0.05


def t_interval(
    differences: Float64[np.ndarray, " queries"], confidence: float = 0.95
) -> tuple[float, float]:
    """Student's interval of the mean difference; NaN values are left out.

    It leaves out 0 exactly where `paired_t` of the same values gives p ≤ 1 − confidence. Equal
    differences give an interval of no width, fewer than two NaN.

    >>> low, high = t_interval(np.array([1.0, 0.0, 2.0]))
    >>> round(low, 3), round(high, 3)
    (-1.484, 3.484)
    """
    counted = differences[~np.isnan(differences)]
    if len(counted) < 2:
        return float("nan"), float("nan")
    mean = float(counted.mean())
    if np.ptp(counted) == 0:
        return mean, mean
    error = counted.std(ddof=1) / np.sqrt(len(counted))
    half = float(stdtrit(len(counted) - 1, (1 + confidence) / 2) * error)
    return mean - half, mean + half


def adjusted(
    differences: Float64[np.ndarray, "comparisons queries"],
) -> tuple[
    Float64[np.ndarray, " comparisons"],
    Float64[np.ndarray, " comparisons"],
    Float64[np.ndarray, " comparisons"],
]:
    """Holm's p of several mean differences, and intervals that say the same.

    Holm (1979) compares p times a factor between 1 and the number of comparisons with 0.05; each
    interval is Student's at the confidence 1 − 0.05 / that factor, so it leaves out 0 exactly
    where the adjusted p is ≤ 0.05.

    Args:
        differences: one row a comparison, paired by query; NaN is left out.

    Returns:
        Adjusted p, low and high; NaN for rows of fewer than two queries, which are not counted.

    >>> p, low, high = adjusted(np.array([[0.0, 1.0, 2.0, 1.5], [0.0, -1.0, 1.0, 0.5]]))
    >>> p.round(3).tolist(), low.round(2).tolist(), high.round(2).tolist()
    ([0.156, 0.789], [-0.66, -1.23], [2.91, 1.48])
    """
    raw = np.array([paired_t(own, np.zeros_like(own)).p_value for own in differences])
    p, low, high = raw.copy(), np.full(len(raw), np.nan), np.full(len(raw), np.nan)
    tested = np.flatnonzero(~np.isnan(raw))
    p[tested] = holm(raw[tested])
    for at, factor in zip(tested, _factors(raw[tested]), strict=True):
        low[at], high[at] = t_interval(differences[at], 1 - ALPHA / factor)
    return p, low, high


def p_words(p: float) -> str:
    """A p value in words, bounded where its digits say nothing.

    >>> p_words(0.0312), p_words(1e-30), p_words(float("nan"))
    ('p = 0.031', 'p < 0.0001', 'p undefined')
    """
    if np.isnan(p):
        return "p undefined"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def _factors(p_values: Float64[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    """What Holm's adjustment multiplies each p with, before it is cut at 1.

    >>> _factors(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [3.0, 1.5, 2.0]
    >>> _factors(np.array([0.0, 0.02, 0.03])).round(3).tolist()
    [3.0, 2.0, 1.333]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(len(p_values), 0, -1, dtype=np.float64)
    sorted_p = p_values[order]
    reached = np.maximum.accumulate(sorted_p * steps)
    factors = np.empty(len(p_values))
    factors[order] = np.divide(reached, sorted_p, out=steps, where=sorted_p > 0)
    return factors
