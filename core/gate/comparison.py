"""Is a ranker worse than it was: values of the same queries before and after in, a tier out.

Nothing here knows files, studies or rankers. All comparisons of a build are tested together by
max-T, so that the chance of any false regression in it is at most 5 %, however many levels of a
perturbation it holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from jaxtyping import Float64, Real

from shuffleproof.core.errors import ParameterError, ShapeError
from shuffleproof.core.metrics.randomisation import max_t
from shuffleproof.core.metrics.significance import ALPHA, Queries
from shuffleproof.core.seeds import generator
from shuffleproof.core.words import counted, number, p_value, signed

LEAST = 0.01
"""Of a measure: the smallest loss of the mean that is worth stopping for, where none is stated."""

FEWEST = 10
"""Queries: of fewer a mean difference is not tested."""

ROUNDING = 1e-6
"""Of a measure: what float32 values of it cannot tell apart."""


class Tier(StrEnum):
    """Tiers of a comparison under one condition, the worst first; the values are those in JSON."""

    REGRESSION = "regression"
    INCOMPARABLE = "not comparable"
    UNRELIABLE = "unreliable baseline"
    SOFT = "soft"
    IMPROVEMENT = "improvement"
    TIE = "tie"

    @property
    def words(self) -> str:
        """Tier in texts: noise or few queries make a comparison inconclusive, old card or new."""
        return "inconclusive" if self is Tier.UNRELIABLE else self.value


MEANINGS = {
    Tier.REGRESSION: "a significant loss of at least --least, larger than the ranker's own noise",
    Tier.INCOMPARABLE: "other data, lists, draws or conventions, or nothing to compare with",
    Tier.UNRELIABLE: f"fewer than {FEWEST} queries, or own noise as large as --least",
    Tier.SOFT: "a significant loss below --least, or a loss of that size that is not significant",
    Tier.IMPROVEMENT: "a significant gain, larger than the ranker's own noise",
    Tier.TIE: "none of these",
}
"""Meanings of the tiers; significant: max-T at 5 % over all comparisons of a build."""


@dataclass(frozen=True, eq=False)
class Pair:
    """One ranker under one condition, before and after.

    Attributes:
        before: one value a query; NaN where the query does not count.
        after: likewise, of the same queries in the same order.
        noise: change of the mean by the ranker's own noise.
        steady: the ranker repeats its scores.
    """

    before: Real[np.ndarray, " _"]
    after: Real[np.ndarray, " _"]
    noise: float = 0.0
    steady: bool = True


@dataclass(frozen=True)
class Comparison:
    """Verdict on a pair.

    Attributes:
        tier: see MEANINGS.
        because: why, in words.
        before: mean over the queries that count in both; NaN where nothing was compared.
        after: likewise.
        difference: after − before.
        low: of its 95 % interval, adjusted as p is; NaN where it was not tested.
        high: likewise.
        p: two-sided, of max-T over the build.
        n: queries that count in both.
        noise: see Pair.
    """

    tier: Tier
    because: str
    before: float = float("nan")
    after: float = float("nan")
    difference: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    p: float = float("nan")
    n: int = 0
    noise: float = float("nan")


def compare(pairs: Sequence[Pair], least: float = LEAST) -> list[Comparison]:
    """The tier of every comparison of a build.

    Comparisons with the same differences throughout (a ranker that reads no order has the same
    values under every order) are one hypothesis.

    Args:
        pairs: all of the build.
        least: the smallest loss of the mean that is worth stopping for.

    Raises:
        ParameterError: `least` is not above 0.
        ShapeError: a pair whose sides are not of the same queries.

    >>> before = np.linspace(0.2, 0.8, 40)
    >>> after = before - 0.05 + 0.01 * np.sin(np.arange(40))
    >>> [one.tier.value for one in compare([Pair(before, after), Pair(after, before)])]
    ['regression', 'improvement']
    """
    if not least > 0:
        raise ParameterError("the least loss that counts", least, "a number above 0")
    differences = [_differences(pair) for pair in pairs]
    unreliable = [
        _unreliable(pair, difference, least)
        for pair, difference in zip(pairs, differences, strict=True)
    ]
    tested = [
        np.full_like(difference, np.nan) if why else difference
        for difference, why in zip(differences, unreliable, strict=True)
    ]
    tests = _tested(tested)
    return [
        _comparison(pair, difference, test, why, least)
        for pair, difference, test, why in zip(pairs, differences, tests, unreliable, strict=True)
    ]


def _differences(pair: Pair) -> Float64[np.ndarray, " queries"]:
    if pair.after.shape != pair.before.shape:
        problem = f"{len(pair.before)} before and {len(pair.after)} after"
        raise ShapeError("paired values", problem, "one pair a query")
    return pair.after.astype(np.float64) - pair.before.astype(np.float64)


def _tested(
    differences: Sequence[Float64[np.ndarray, " _"]],
) -> list[tuple[float, float, float]]:
    """Adjusted p, low and high of each row of differences; equal rows are one test."""
    distinct = {row.tobytes(): row for row in differences}
    longest = max(map(len, distinct.values()), default=0)
    padded = np.full((len(distinct), longest), np.nan)
    for at, row in enumerate(distinct.values()):
        padded[at, : len(row)] = row
    tests = max_t(padded, generator(0, "gate"))
    results = zip(*(column.tolist() for column in tests), strict=True)
    by_row = dict(zip(distinct, results, strict=True))
    return [by_row[row.tobytes()] for row in differences]


def _unreliable(pair: Pair, differences: Queries, least: float) -> str:
    """Reason why no test is made; empty if one is."""
    n = int(np.count_nonzero(~np.isnan(differences)))
    if n < FEWEST:
        return f"{counted(n, 'query')} that count in both: {FEWEST} are needed"
    if pair.noise >= least:
        size = f"moves the mean by {number(pair.noise, '.2g')}, and --least is {least:g}"
        if pair.steady:
            return f"rounding of its scores {size}"
        return (
            f"the ranker is not deterministic: scoring the same lists again {size}. Fix its seed, "
            "or raise --least"
        )
    return ""


def _comparison(
    pair: Pair,
    differences: Queries,
    test: tuple[float, float, float],
    unreliable: str,
    least: float,
) -> Comparison:
    known = ~np.isnan(differences)
    n = int(known.sum())
    before, after = (
        float(side[known].astype(np.float64).mean()) if n else float("nan")
        for side in (pair.before, pair.after)
    )
    mean = float(differences[known].mean()) if n else float("nan")
    p, low, high = test
    floor = max(pair.noise, ROUNDING)
    tier, why = (
        (Tier.UNRELIABLE, unreliable) if unreliable else _tier(mean, p, floor, least, pair.steady)
    )
    return Comparison(tier, why, before, after, mean, low, high, p, n, pair.noise)


def _tier(mean: float, p: float, floor: float, least: float, steady: bool) -> tuple[Tier, str]:  # noqa: FBT001 (a fact)
    """The tier of a tested difference, and why."""
    significant, size = p <= ALPHA, f"{signed(mean)} ({p_value(p)})"
    if abs(mean) <= floor:
        cause = "rounding" if steady else "its own noise"
        return Tier.TIE, "unchanged" if mean == 0 else f"{size}: no more than {cause}"
    if significant and mean > 0:
        return Tier.IMPROVEMENT, size
    if significant and -mean >= least:
        return Tier.REGRESSION, f"{size}: a loss of {least:g} or more"
    if significant:
        return Tier.SOFT, f"{size}: real, but less than {least:g}"
    if -mean >= least:
        return Tier.SOFT, f"{size}: {least:g} or more, but not significant"
    return Tier.TIE, f"{size}: not significant"
