"""Randomisation tests of many paired differences: Fisher's, and Westfall & Young's max-T."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Float64

from shuffleproof.core.metrics.significance import ALPHA

RESAMPLES = 10_000
NUMBERS_AT_ONCE = 2**23


def randomisation_p(
    differences: Float64[np.ndarray, "tests queries"],
    generator: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Float64[np.ndarray, " tests"]:
    """P value of every row of paired differences by Fisher's randomisation test.

    All 2ⁿ exchanges of the two values of each query count if these are at most `resamples`. Else
    random exchanges and the observed one count (Smucker, Allan & Carterette 2007). All rows share
    one draw of signs.

    Args:
        differences: first − second of every query; NaN: left out.
        generator: generator of the signs.
        resamples: number of draws, without the observed one.

    >>> randomisation_p(np.array([[1.0, 2.0, 3.0], [1.0, np.nan, -1.0]]), np.random.default_rng(0))
    array([0.25, 1.  ])
    """
    tests = len(differences)
    is_known = ~np.isnan(differences)
    counts = is_known.sum(axis=1)
    p = np.full(tests, np.nan)
    # 2ⁿ exchanges in all: exact where they are no more than the draws
    enumerable = counts <= np.log2(resamples)
    for at in np.flatnonzero(enumerable & (counts > 0)):
        p[at] = _exact_p(differences[at, is_known[at]])
    drawn = np.flatnonzero(~enumerable)
    if not len(drawn):
        return p
    filled = np.where(is_known, differences, 0.0)[drawn].T
    observed = np.abs(filled.sum(axis=0)) - 1e-12 * np.abs(filled).sum(axis=0)
    larger = np.zeros(len(drawn))
    for sums in _flipped_sums(filled, generator, resamples):
        larger += (np.abs(sums) >= observed).sum(axis=0)
    p[drawn] = (larger + 1) / (resamples + 1)  # + 1: the observed signs, so that p > 0
    return p


def _exact_p(differences: Float64[np.ndarray, " queries"]) -> float:
    """Share of all exchanges whose sum is at least as far from 0 as the observed one."""
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    # tolerance: equal sums may differ in their last bits
    least = abs(differences.sum()) - 1e-12 * np.abs(differences).sum()
    return float(np.mean(np.abs(sums) >= least))


def _flipped_sums(
    differences: Float64[np.ndarray, "queries tests"],
    generator: np.random.Generator,
    resamples: int,
) -> Iterator[Float64[np.ndarray, "some tests"]]:
    """Sums over queries under random signs; a query has one sign in all tests of a resample."""
    queries = len(differences)
    at_once = max(1, NUMBERS_AT_ONCE // max(queries, 1))
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        bits = np.unpackbits(
            np.frombuffer(generator.bytes(rows * -(-queries // 8)), np.uint8).reshape(rows, -1),
            axis=1, count=queries,
        )  # fmt: skip
        # bits b give signs 2b − 1: Σ (2b − 1) x = 2 Σ b x − Σ x, one matrix product
        yield 2 * (bits.astype(np.float64) @ differences) - differences.sum(axis=0)


class MaxT(NamedTuple):
    """Tests of several mean differences together.

    Attributes:
        p: adjusted p; NaN if a row has fewer than two values.
        low: lower end of the interval, which excludes 0 exactly if p ≤ ALPHA.
        high: upper end of that interval.
    """

    p: Float64[np.ndarray, " tests"]
    low: Float64[np.ndarray, " tests"]
    high: Float64[np.ndarray, " tests"]


def max_t(
    differences: Float64[np.ndarray, "tests queries"],
    generator: np.random.Generator,
    resamples: int = RESAMPLES - 1,
) -> MaxT:
    """Step-down max-T of Westfall & Young (1993, algorithm 4.1) over sign flips of queries.

    All tests share the signs, which preserves their correlation: nearly identical tests cost almost
    no power, while Holm's adjustment counts each of them. The chance of any false rejection is at
    most ALPHA if, under the null hypothesis, a query's differences are symmetric about 0.

    Args:
        differences: paired by query, one row per test; NaN: left out.
        generator: generator of the signs.
        resamples: number of draws, without the observed one.

    >>> rows = np.array([[1.0, 2.0, 1.5, 2.5, 1.2, 0.9], [0.1, -0.2, 0.1, 0.0, -0.1, 0.2]])
    >>> max_t(np.vstack([rows, np.zeros(6)]), np.random.default_rng(0)).p.round(2).tolist()
    [0.03, 1.0, 1.0]
    """
    is_known = ~np.isnan(differences)
    counts = is_known.sum(axis=1)
    result = MaxT(*(np.full(len(differences), np.nan) for _ in range(3)))
    tests = np.flatnonzero(counts >= 2)
    if not len(tests):
        return result
    n, filled = counts[tests], np.where(is_known, differences, 0.0)[tests].T
    squares = (filled**2).sum(axis=0)

    def studentised(sums: np.ndarray) -> np.ndarray:
        """|t| of sums; signs do not change the sum of squares, which gives the variance."""
        with np.errstate(divide="ignore", invalid="ignore"):
            # With share = S²/(n Σx²): t² = (n − 1) share / (1 − share).
            share = np.minimum(np.nan_to_num(sums**2 / (n * squares)), 1.0)
            t = np.sqrt((n - 1) * share / (1 - share))
        # Fewer queries give larger |t| by chance: compare tests on the scale of the normal.
        return t if np.ptp(n) == 0 else -scipy.special.ndtri(scipy.special.stdtr(n - 1.0, -t))

    observed = studentised(filled.sum(axis=0))
    order = np.argsort(-observed, kind="stable")
    largest = np.concatenate(
        [
            # step-down: largest |t| among a test and all later tests in `order`
            np.maximum.accumulate(studentised(sums)[:, order[::-1]], axis=1)[:, ::-1]
            for sums in _flipped_sums(filled, generator, resamples)
        ]
    )
    reached = (largest >= observed[order] * (1 - 1e-9)).sum(axis=0)
    # Adjusted p must not fall along `order` (algorithm 4.1, monotonicity).
    p = np.maximum.accumulate((reached + 1) / (resamples + 1))
    # Critical value of p ≤ ALPHA; after the first test that fails, the value of that test.
    place = resamples - int(ALPHA * (resamples + 1))
    # Only one order statistic is needed: no full sort
    critical = np.partition(largest, place, axis=0)[place] / (1 - 1e-9)
    failed = int(np.argmax(p > ALPHA)) if (p > ALPHA).any() else len(p)
    critical[failed:] = critical[min(failed, len(p) - 1)]
    if np.ptp(n):
        critical = -scipy.special.stdtrit(n[order] - 1.0, scipy.special.ndtr(-critical))
    means = filled.sum(axis=0) / n
    errors = np.sqrt(np.maximum(squares - n * means**2, 0.0) / (n - 1) / n)
    halves = np.empty(len(tests))
    halves[order] = np.where(errors[order] > 0, critical * errors[order], 0.0)
    result.p[tests[order]] = p
    result.low[tests], result.high[tests] = means - halves, means + halves
    return result
