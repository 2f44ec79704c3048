"""Counts of the doctor, in compiled passes over the matrix."""

from typing import no_type_check

import numpy as np
import pandas as pd
import scipy
from jaxtyping import Bool, Float32, Float64, Int64, UInt64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset

ROWS = 1 << 14  # Rows that are hashed at a time
GROUPS = 1 << 10  # Groups of equal labels that are compared at a time


@no_type_check
@compiled()
def better_first(labels: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """The share of pairs of unlike labels whose better document stands first; NaN without pairs.

    In a file whose rows were shuffled it is .5 on average; it is (1 + Somers' D) / 2. A label for
    each document and the bounds of queries give one float64 share for each query.

    >>> labels = np.array([2, 1, 0, 0, 1], dtype=np.float32)
    >>> better_first(labels, np.array([0, 3, 5])).tolist()
    [1.0, 0.0]
    """
    shares = np.full(len(offsets) - 1, np.nan)
    for query in range(len(offsets) - 1):
        start, ahead, unlike = offsets[query], 0, 0
        for late in range(start, offsets[query + 1]):
            for early in range(start, late):
                ahead += labels[early] > labels[late]
                unlike += labels[early] != labels[late]
        if unlike > 0:
            shares[query] = ahead / unlike
    return shares


def interval(
    shares: Float64[np.ndarray, " queries"], distance: float, intervals: int = 1
) -> tuple[float, float, float, int]:
    """(mean, low, high, queries) of a share: 95 % by Wilson, and queries that show a distance.

    Wilson's interval is of a number of trials. Shares of queries vary less than single trials do,
    so a query counts as as many trials as its variance says, and as one where all are equal.
    Student's quantile replaces the normal one.

    Args:
        shares: of at least two queries.
        distance: of the mean from chance, to be seen with power 80 % at level 5 %.
        intervals: computed together; each error rate is divided by it (Bonferroni).

    >>> [round(number, 3) for number in interval(np.array([0.4, 0.5, 0.6, 0.7]), 0.1)]
    [0.55, 0.353, 0.733, 15]
    >>> [round(number, 3) for number in interval(np.ones(3), 0.1)]
    [1.0, 0.139, 1.0, 1]
    """
    mean, deviation, count = float(shares.mean()), float(shares.std(ddof=1)), len(shares)
    trials = count * max(mean * (1 - mean) / deviation**2, 1.0) if deviation else float(count)
    upper = 1 - 0.025 / intervals
    squared = float(scipy.special.stdtrit(count - 1, upper)) ** 2
    middle = (mean + squared / (2 * trials)) / (1 + squared / trials)
    half = np.sqrt(squared * (mean * (1 - mean) + squared / (4 * trials)) / trials)
    half /= 1 + squared / trials
    needed = (scipy.special.ndtri(upper) + scipy.special.ndtri(0.8)) * deviation / distance
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return mean, float(low), float(high), int(np.ceil(needed**2)) + 1


def columns(
    dataset: RankingDataset,
) -> tuple[
    Float32[np.ndarray, " features"],
    Float32[np.ndarray, " features"],
    Int64[np.ndarray, " features"],
]:
    """(lowest, highest, queries within which it varies) of every feature."""
    if not dataset.documents:
        width = dataset.features.shape[1]
        whole = np.full(width, np.inf, np.float32)
        return whole, -whole, np.zeros(width, np.int64)
    starts = dataset.offsets[:-1][np.diff(dataset.offsets) > 0]
    low = np.minimum.reduceat(dataset.features, starts)
    high = np.maximum.reduceat(dataset.features, starts)
    return low.min(axis=0), high.max(axis=0), (low < high).sum(axis=0)


def perfect_order(dataset: RankingDataset) -> Bool[np.ndarray, "2 features"]:
    """Tell of each feature if it orders all pairs of unlike labels, rising and falling.

    A pair whose values are equal is not ordered. Without such pairs all features do.

    >>> rows = np.array([[1, 5, 0], [2, 4, 0], [2, 3, 0]], dtype=np.float32)
    >>> judged = RankingDataset(rows, np.float32([0, 1, 2]), np.array([0, 3]), ("1",), (1, 2, 3))
    >>> perfect_order(judged).tolist()
    [[False, False, False], [False, True, False]]
    """
    perfect = np.ones((2, dataset.features.shape[1]), dtype=bool)
    owners = ragged.segment_ids(dataset.offsets)
    order = ragged.order_within(dataset.offsets, dataset.labels)
    labels = dataset.labels[order]
    new_query = np.diff(owners, prepend=-1) > 0  # `order` moves no row to another query
    group = np.flatnonzero(new_query | (np.diff(labels, prepend=np.nan) != 0))
    for start in range(0, len(group) - 1, GROUPS):
        groups = group[start : start + GROUPS + 1]  # one more, as the next chunk begins with it
        stop = group[start + GROUPS + 1] if start + GROUPS + 1 < len(group) else len(order)
        columns = np.flatnonzero(perfect.any(axis=0))
        values = dataset.features[np.ix_(order[groups[0] : stop], columns)]
        low, high = (
            extreme.reduceat(values, groups - groups[0]) for extreme in (np.minimum, np.maximum)
        )
        same = ~new_query[groups[1:]]  # this group and the one before are of one query
        perfect[0, columns] &= (high[:-1] < low[1:])[same].all(axis=0)
        perfect[1, columns] &= (low[:-1] > high[1:])[same].all(axis=0)
    return perfect


def repeated_rows(dataset: RankingDataset) -> tuple[Int64[np.ndarray, " some"], int, int]:
    """Rows whose features equal another row's of the same query (64-bit hash; 0 equals −0).

    Returns:
        (these rows, how many are copies, how many of the rows stand among unlike labels).
    """
    codes = row_codes(dataset.features)
    owner = ragged.segment_ids(dataset.offsets)
    order = np.lexsort((dataset.labels, codes, owner))
    equals_previous = (codes[order][1:] == codes[order][:-1]) & (
        owner[order][1:] == owner[order][:-1]
    )
    group = np.zeros(len(order), dtype=np.int64)
    group[1:] = np.cumsum(~equals_previous)
    repeats = np.flatnonzero(np.bincount(group, minlength=1)[group] > 1)
    labels = dataset.labels[order]
    mixed = equals_previous & (labels[1:] != labels[:-1])
    unlike = np.isin(group[repeats], group[1:][mixed])
    surplus = int(equals_previous.sum())
    return np.sort(order[repeats]), surplus, int(unlike.sum())


def row_codes(features: Float32[np.ndarray, "docs features"]) -> UInt64[np.ndarray, " docs"]:
    """A 64-bit hash of every row; equal rows have equal ones."""
    blocks = (features[start : start + ROWS] for start in range(0, len(features), ROWS))
    codes = [
        pd.util.hash_pandas_object(pd.DataFrame(block + np.float32(0)), index=False)  # −0 + 0 is 0
        for block in blocks
    ]
    return np.concatenate([np.zeros(0, np.uint64), *codes])
