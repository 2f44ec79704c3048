"""Significance of differences over queries: paired tests, intervals, many comparisons.

Both sides of a test have one value per query, for the same queries in the same order. A query with
a NaN on either side (a measure that skips it) is left out of both.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from jaxtyping import Float64, Real

from shuffleproof.core.errors import ShapeError

Queries = Real[np.ndarray, " queries"]
DRAWN_AT_ONCE = 2**22  # random numbers in memory at a time

ALPHA = 0.05
"""Significance level."""


@dataclass(frozen=True)
class PairedTest:
    """A two-sided test of paired values.

    Attributes:
        difference: mean of the values minus the other values.
        p_value: chance of so large a difference if both values of a query were exchangeable.
        effect_size: Cohen's d of the differences, their mean over their standard deviation.
        n: queries counted.
    """

    difference: float
    p_value: float
    effect_size: float
    n: int


def paired_t(values: Queries, other_values: Queries) -> PairedTest:
    """Student's paired t test.

    Equal differences: p is 1 if all are 0, else 0. Fewer than two queries: p is NaN.

    >>> test = paired_t(np.array([1.0, 2.0, 4.0]), np.array([0.0, 2.0, 2.0]))
    >>> round(test.p_value, 4), round(test.effect_size, 4)
    (0.2254, 1.0)
    """
    differences = _differences(values, other_values)
    n, effect = len(differences), effect_size(differences)
    statistic = effect * np.sqrt(n)
    # t = d √n. Equal differences have no variance: d is ±∞ or NaN, p is 0 or 1
    p = 1.0 if n >= 2 else np.nan
    if n >= 2 and not np.isnan(statistic):
        p = 2 * scipy.special.stdtr(n - 1, -abs(statistic))
    return PairedTest(_mean(differences), float(p), effect, n)


def effect_size(differences: Queries) -> float:
    """Cohen's d of paired differences: mean / standard deviation (n − 1).

    NaN for fewer than two differences, or if all are 0; ±inf if all are equal and not 0.
    """
    if len(differences) < 2:
        return float("nan")
    mean, spread = _mean(differences), float(np.std(differences, ddof=1))
    # By range: a standard deviation of equal numbers may differ from 0 by rounding
    if np.ptp(differences) == 0:
        return float("nan") if mean == 0 else float(np.copysign(np.inf, mean))
    return mean / spread


def bootstrap_interval(
    values: Queries,
    generator: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2_000,
    *,
    shares: bool = False,
) -> tuple[float, float]:
    """BCa bootstrap interval of the mean over queries; NaN values are left out.

    Efron's bias-corrected and accelerated interval (Efron & Tibshirani 1993, Eq. 14.10). Equal
    values give an interval of zero width, no values give NaN.

    Args:
        values: one per query.
        generator: of the resamples.
        confidence: of the interval.
        resamples: their number.
        shares: True for values from 0 to 1: the interval of all 0, or all 1, is exact then.
    """
    counted = values[~np.isnan(values)].astype(np.float64)
    if not len(counted):
        return float("nan"), float("nan")
    if np.ptp(counted) == 0:
        return _equal_interval(counted, confidence, shares=shares)
    means = np.concatenate(
        [
            counted[generator.integers(0, len(counted), size=(draws, len(counted)))].mean(axis=1)
            for draws in _batches(resamples, len(counted))
        ]
    )
    return _interval(counted, means, confidence)


def bootstrap_intervals(
    values: Real[np.ndarray, "curves queries"],
    generator: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2_000,
    *,
    shares: bool = False,
) -> tuple[Float64[np.ndarray, " curves"], Float64[np.ndarray, " curves"]]:
    """`bootstrap_interval` of many curves over the same queries, resampled together."""
    drawn, is_known = resampled_means(values, generator, resamples), ~np.isnan(values)
    bounds = np.full((2, len(values)), np.nan)
    for curve in range(len(values)):
        curve_values = values[curve, is_known[curve]].astype(np.float64)
        if len(curve_values):
            of_curve = drawn[~np.isnan(drawn[:, curve]), curve]
            bounds[:, curve] = (
                _equal_interval(curve_values, confidence, shares=shares)
                if np.ptp(curve_values) == 0
                else _interval(curve_values, of_curve, confidence)
            )
    return bounds[0], bounds[1]


def _equal_interval(values: Queries, confidence: float, *, shares: bool) -> tuple[float, float]:
    """Interval of the mean of equal values: exact for shares that are all 0 or all 1.

    If X = 1 has probability p, all n values are 1 with probability pⁿ, and the mean of X ≤ 1 is at
    least p. The lower limit of p by Clopper & Pearson (1934), (α/2)^(1/n), so is one of the mean.
    Other values, and a single one, give an interval of zero width.

    >>> _equal_interval(np.ones(150), 0.95, shares=True)
    (0.975..., 1.0)
    """
    value, limit = float(values[0]), ((1 - confidence) / 2) ** (1 / len(values))
    if not shares or len(values) < 2 or value not in {0.0, 1.0}:
        return value, value
    return (limit, 1.0) if value else (0.0, 1 - limit)


def resampled_means(
    values: Real[np.ndarray, "curves queries"], generator: np.random.Generator, resamples: int
) -> Float64[np.ndarray, "resamples curves"]:
    """Mean of every curve over each of `resamples` sets of queries, drawn with replacement.

    One matrix product per batch of resamples serves all curves, so that hundreds of points cost
    about as much as a few. NaN values of a curve are left out of its means.
    """
    queries, is_known = values.shape[1], ~np.isnan(values)
    filled, counts = np.where(is_known, values, 0.0).astype(np.float64), is_known.astype(np.float64)
    means = []
    for draws in _batches(resamples, max(queries, 1)):
        resampled = generator.integers(0, max(queries, 1), size=(draws, queries))
        rows = np.arange(draws)[:, None] * queries
        # How often each query was drawn: a mean of a resample is then a weighted sum
        times = np.bincount((resampled + rows).ravel(), minlength=draws * queries)
        weights = times.reshape(draws, queries).astype(np.float64)
        with np.errstate(invalid="ignore"):  # a resample may have no query of a curve
            means.append((weights @ filled.T) / (weights @ counts.T))
    return np.concatenate(means)


def holm(p_values: Real[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    """Holm's (1979) adjusted p values; rejecting those ≤ α gives a family-wise error ≤ α.

    A NaN is not a test: it stays NaN and is not counted.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(4).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    order = np.argsort(p_values, kind="stable")  # NaN last
    order = order[: np.count_nonzero(~np.isnan(p_values))]
    # Factors m, m − 1, … 1 by rising p; the running maximum keeps adjusted p in order
    steps = p_values[order].astype(np.float64) * np.arange(len(order), 0, -1)
    adjusted = np.full(len(p_values), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def student(
    middle: float, error: float, freedom: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Student's interval of an estimate.

    Args:
        middle: the estimate.
        error: its standard error.
        freedom: degrees of freedom.
        confidence: of the interval.
    """
    half = float(scipy.special.stdtrit(freedom, (1 + confidence) / 2) * error)
    return middle - half, middle + half


def t_interval(
    values: Queries, confidence: float = 0.95, *, shares: bool = False
) -> tuple[float, float]:
    """Student's interval of a mean over queries, for example of differences; NaN is left out.

    It excludes 0 exactly if `paired_t` of the same differences gives p ≤ 1 − confidence. Equal
    values give an interval of zero width, fewer than two values give NaN. The interval of shares
    is clipped to 0 … 1, and exact as for `bootstrap_interval`.

    >>> low, high = t_interval(np.array([1.0, 0.0, 2.0]))
    >>> round(low, 3), round(high, 3)
    (-1.484, 3.484)
    """
    counted = values[~np.isnan(values)].astype(np.float64)
    if len(counted) < 2:
        return float("nan"), float("nan")
    if np.ptp(counted) == 0:
        return _equal_interval(counted, confidence, shares=shares)
    error = float(counted.std(ddof=1) / np.sqrt(len(counted)))
    low, high = student(_mean(counted), error, len(counted) - 1, confidence)
    return (max(low, 0.0), min(high, 1.0)) if shares else (low, high)


def adjusted_tests(
    differences: Float64[np.ndarray, "comparisons queries"],
) -> tuple[
    Float64[np.ndarray, " comparisons"],
    Float64[np.ndarray, " comparisons"],
    Float64[np.ndarray, " comparisons"],
]:
    """Holm's p of several mean differences, with consistent intervals.

    Holm (1979) compares p times a factor between 1 and the number of comparisons with 0.05. Each
    interval is Student's at the confidence 1 − 0.05 / factor, so it excludes 0 exactly if the
    adjusted p is ≤ 0.05.

    Args:
        differences: one row per comparison, paired by query; NaN is left out.

    Returns:
        Adjusted p, low and high; NaN for rows of fewer than two queries, which are not counted.

    >>> p, low, high = adjusted_tests(np.array([[0.0, 1.0, 2.0, 1.5], [0.0, -1.0, 1.0, 0.5]]))
    >>> p.round(3).tolist(), low.round(2).tolist(), high.round(2).tolist()
    ([0.156, 0.789], [-0.66, -1.23], [2.91, 1.48])
    """
    raw = np.array([paired_t(row, np.zeros_like(row)).p_value for row in differences])
    p, low, high = holm(raw), np.full(len(raw), np.nan), np.full(len(raw), np.nan)
    tested = np.flatnonzero(~np.isnan(raw))
    for at, factor in zip(tested, _factors(raw[tested]), strict=True):
        low[at], high[at] = t_interval(differences[at], 1 - ALPHA / factor)
    return p, low, high


def _interval(
    values: Float64[np.ndarray, " queries"],
    means: Float64[np.ndarray, " resamples"],
    confidence: float,
) -> tuple[float, float]:
    mean = values.mean()
    # Bias correction z0 (Eq. 14.14); of resamples equal to the mean, half count as below it.
    below = (np.count_nonzero(means < mean) + np.count_nonzero(means <= mean)) / 2
    least = 0.5 / len(means)
    bias = scipy.special.ndtri(np.clip(below / len(means), least, 1 - least))
    # Acceleration a (Eq. 14.15): jackknife deviations of a mean are proportional to these.
    deviations = values - mean
    acceleration = (deviations**3).sum() / (6 * (deviations**2).sum() ** 1.5)
    shifted = bias + scipy.special.ndtri([(1 - confidence) / 2, (1 + confidence) / 2])
    low, high = np.quantile(
        means, scipy.special.ndtr(bias + shifted / (1 - acceleration * shifted))
    )
    return float(low), float(high)


def _differences(values: Queries, other_values: Queries) -> Float64[np.ndarray, " counted"]:
    if values.shape != other_values.shape:
        raise ShapeError(
            "paired values", f"{len(values)} and {len(other_values)}", "one pair a query"
        )
    differences = values.astype(np.float64) - other_values.astype(np.float64)
    return differences[~np.isnan(differences)]


def _mean(values: Queries) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _batches(resamples: int, queries: int) -> Iterator[int]:
    """Sizes of batches of resamples that fit in memory."""
    at_once = max(1, DRAWN_AT_ONCE // queries)
    for start in range(0, resamples, at_once):
        yield min(at_once, resamples - start)


def _factors(p_values: Float64[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    """Factor of each p in Holm's adjustment, before the limit at 1.

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
