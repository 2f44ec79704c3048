"""Intervals that say the same as the paired t tests beside them, adjusted where those are."""

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.metrics.significance import holm, paired_t, t_interval

ALPHA = 0.05
ADJUSTED = "The interval of the paired t test, adjusted by Holm as p is."


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
    p, low, high = holm(raw), np.full(len(raw), np.nan), np.full(len(raw), np.nan)
    tested = np.flatnonzero(~np.isnan(raw))
    for at, factor in zip(tested, _factors(raw[tested]), strict=True):
        low[at], high[at] = t_interval(differences[at], 1 - ALPHA / factor)
    return p, low, high


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
