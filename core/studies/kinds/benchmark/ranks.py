"""Which rankers of a benchmark cannot be told apart by their ranks over the queries."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy import stats

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.benchmark.query_values import values_of
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, groups_of
from shuffleproof.core.studies.kinds.ranking_degradation.significance import LEVEL_OF_SIGNIFICANCE
from shuffleproof.core.studies.result import StudyResult


@dataclass(frozen=True)
class CriticalDifference:
    """Friedman's test and Nemenyi's critical difference of mean ranks (Demšar, JMLR 2006).

    Attributes:
        ranks: mean rank of every ranker over the queries, 1 = best, ties averaged; best first.
        statistic: Friedman's χ², corrected for ties.
        p_value: of the hypothesis that all rankers are alike.
        difference: two rankers differ where their mean ranks are further apart (α = 0.05).
        queries: counted.
        cliques: runs of rankers, best first, within which none differs from another.
    """

    ranks: "pd.Series[float]"
    statistic: float
    p_value: float
    difference: float
    queries: int
    cliques: tuple[tuple[str, ...], ...]


def critical_difference(
    result: StudyResult, measure: str, rankers: Iterable[str] | None = None
) -> CriticalDifference:
    """Which rankers cannot be told apart by their ranks over the queries.

    Args:
        result: a benchmark.
        measure: one that follows from what is stored.
        rankers: those to compare; all but the references by default. At least two.

    Returns:
        Without ranks and queries where none counts, or a mean over them is undefined.
    """
    groups = groups_of(result.facts)
    own = values_of(result, measure)
    labels = list(rankers or (label for label in own if groups[label] != GROUPS[0]))
    values = np.stack([own[label].mean(axis=0, dtype=np.float64) for label in labels])
    defined = ~np.isnan(values).any(axis=0)
    if not defined.any() or (Measure.parse(measure).empty == "nan" and not defined.all()):
        nothing = float("nan")
        return CriticalDifference(pd.Series(dtype=float), nothing, nothing, nothing, 0, ())
    values = values[:, defined]
    of_queries = stats.rankdata(-np.round(values, 9), axis=0)
    queries, count = values.shape[1], len(labels)
    ranks = pd.Series(of_queries.mean(axis=1), index=labels).sort_values(kind="stable")
    spread = stats.studentized_range.ppf(1 - LEVEL_OF_SIGNIFICANCE, count, np.inf) / np.sqrt(2)
    difference = float(spread * np.sqrt(count * (count + 1) / (6 * queries)))
    statistic, p = _friedman(of_queries)
    return CriticalDifference(ranks, statistic, p, difference, queries, _cliques(ranks, difference))


def _friedman(ranks: Float64[np.ndarray, "rankers queries"]) -> tuple[float, float]:
    """Friedman's χ² with the correction for ties, and its p; two rankers are enough."""
    count, queries = ranks.shape
    between = queries * ((ranks.mean(axis=1) - (count + 1) / 2) ** 2).sum()
    within = ((ranks - (count + 1) / 2) ** 2).sum() / max(queries * (count - 1), 1)
    if not within:
        return float("nan"), float("nan")
    statistic = float(between / within)
    return statistic, float(stats.chi2.sf(statistic, count - 1))


def _cliques(ranks: "pd.Series[float]", difference: float) -> tuple[tuple[str, ...], ...]:
    """The longest runs of neighbours that lie within the difference, those of one left out."""
    labels, heights = list(map(str, ranks.index)), ranks.to_numpy()
    found: list[tuple[int, int]] = []
    for first in range(len(labels)):
        last = int(np.searchsorted(heights, heights[first] + difference, side="right"))
        if last - first > 1 and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(tuple(labels[first:last]) for first, last in found)
