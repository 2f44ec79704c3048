"""Ranks of systems with intervals, by paired bootstrap over tasks or queries."""

import numpy as np
from jaxtyping import Float64, Int64
from scipy.stats import rankdata

from shuffleproof.core.seeds import generator

RESAMPLES = 1000
LEVEL = 0.975
"""Share of resamples above which one system is separated from another (two-sided 95 %)."""

Ranks = Int64[np.ndarray, " systems"]


def resampled_means(
    values: Float64[np.ndarray, "systems tasks"], seed: int = 0
) -> Float64[np.ndarray, "resamples systems"]:
    """Means of each system over tasks drawn with replacement: the same tasks for all systems.

    A system without any task in a resample has its mean over all tasks there.
    """
    there = ~np.isnan(values)
    tasks = values.shape[1]
    draws = generator(seed, "leaderboard").multinomial(tasks, np.full(tasks, 1 / tasks), RESAMPLES)
    weights = draws.astype(np.float64)
    sums, counts = weights @ np.nan_to_num(values).T, weights @ there.T.astype(np.float64)
    return rounded(np.where(counts > 0, sums / np.maximum(counts, 1), np.nanmean(values, axis=1)))


def rounded(means: Float64[np.ndarray, "*any"]) -> Float64[np.ndarray, "*any"]:
    """Means to 10 digits of the largest: sums of the same decimals differ in the last bits."""
    largest = np.nanmax(np.abs(means), initial=0.0)
    return np.round(means, 10 - int(np.ceil(np.log10(largest)))) if largest else means


def rank_intervals(
    means: Float64[np.ndarray, " systems"], resampled: Float64[np.ndarray, "resamples systems"]
) -> tuple[Ranks, Ranks, Ranks]:
    """Rank of each system, and its first and last one in the middle 95 % of the resamples.

    Systems with equal means share all their ranks.

    >>> for ranks in rank_intervals(np.array([3.0, 2.0, 2.0]), np.array([[3.0, 2.0, 2.0]] * 40)):
    ...     print(ranks.tolist())
    [1, 2, 2]
    [1, 2, 2]
    [1, 3, 3]
    """
    first = last = np.argsort(np.argsort(-resampled, axis=1), axis=1) + 1
    if (np.diff(np.sort(resampled, axis=1), axis=1) == 0).any():  # ties are rare, and slow
        first, last = (
            rankdata(-resampled, method=method, axis=1).astype(np.int64)
            for method in ("min", "max")
        )
    cut = int((1 - LEVEL) * len(resampled))
    low = np.partition(first, cut, axis=0)[cut]
    high = np.partition(last, -1 - cut, axis=0)[-1 - cut]
    rank = rankdata(-rounded(means), method="min").astype(np.int64)
    return rank, np.minimum(low, rank), np.maximum(high, rank)
