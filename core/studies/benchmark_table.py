"""What a benchmark says: means over seeds and folds, who beats whom, and by how much.

All of it follows from the stored per-query values, so another convention is another table at
once. Tests pair queries: a query's value is its mean over the seeds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy import stats

from core.errors import UnknownNameError
from core.metrics.measure import Measure
from core.metrics.relevance import mean_of
from core.metrics.robustness import win_tie_loss
from core.metrics.significance import (
    PairedTest,
    bootstrap_interval,
    holm,
    paired_randomisation,
    paired_t,
)
from core.seeds import generator
from core.studies.benchmark import GROUPS, KIND
from core.studies.result import StudyResult
from core.studies.table import LEVEL_OF_SIGNIFICANCE, TESTS

LETTERS = "abcdefghijklmnopqrstuvwxyz"
COMPARISON = (
    "group", "ranker", "difference", "low", "high", "p", "effect", "wins", "ties", "losses", "n",
)  # fmt: skip


def rankers_of(result: StudyResult) -> list[str]:
    """The rows that are there, group by group, as they were asked for within each."""
    found = dict.fromkeys(result.trials.ranker)
    return sorted(found, key=lambda label: GROUPS.index(result.facts["groups"][label]))


def means(result: StudyResult, measures: Sequence[str]) -> pd.DataFrame:
    """The means: one row a ranker and measure.

    Args:
        result: a benchmark.
        measures: any that follow from what is stored.

    Returns:
        Columns group, ranker, measure, mean (over queries and seeds), sd (standard deviation,
        n − 1, of the means of each seed and fold; NaN for a single one), runs (how many of
        them), n (queries that count), best (the highest of those that are no references).
    """
    rows = []
    for measure in measures:
        found = [_mean_row(result, label, measure) for label in rankers_of(result)]
        ranked = [row["mean"] for row in found if row["group"] != GROUPS[0]]
        highest = max((mean for mean in ranked if not np.isnan(mean)), default=np.nan)
        rows += [
            row | {"best": row["group"] != GROUPS[0] and row["mean"] == highest} for row in found
        ]
    return pd.DataFrame(rows)


def _mean_row(result: StudyResult, label: str, measure: str) -> dict[str, Any]:
    values = result.draws(label, KIND, 0.0, measure)
    parsed = Measure.parse(measure)
    of_runs = [
        mean_of(parsed, seed[fold["start"] : fold["stop"]])
        for seed in values
        for fold in result.facts["folds"]
    ]
    own = result.per_query(label, KIND, 0.0, measure)
    return {
        "group": result.facts["groups"][label],
        "ranker": label,
        "measure": measure,
        "mean": mean_of(parsed, own),
        "sd": float(np.std(of_runs, ddof=1)) if len(of_runs) > 1 else float("nan"),
        "runs": len(of_runs),
        "n": int((~np.isnan(own)).sum()),
    }


def compared(
    result: StudyResult, measure: str, baseline: str, test: str = "paired t"
) -> pd.DataFrame:
    """Every ranker against one: difference, interval, test, effect and queries won and lost.

    Args:
        result: a benchmark.
        measure: one that follows from what is stored.
        baseline: the ranker that the others are compared with.
        test: a name of `core.studies.table.TESTS`.

    Returns:
        Columns COMPARISON, the baseline left out; the interval is a bootstrap of the difference
        over queries (BCa), p is adjusted by Holm over the rows, effect is Cohen's d.

    Raises:
        UnknownNameError: no such ranker in the study, or no such test.
    """
    labels = rankers_of(result)
    _check(baseline, "ranker of the study", labels)
    _check(test, "test", TESTS)
    other = _values(result, baseline, measure)
    rows = []
    for label in labels:
        if label == baseline:
            continue
        own = _values(result, label, measure)
        found = _tested(own, other, test, label)
        low, high = bootstrap_interval(own - other, generator(0, "benchmark", label))
        counts = win_tie_loss(other, own, tolerance=1e-6)
        rows.append(
            {"group": result.facts["groups"][label], "ranker": label}
            | {"difference": found.difference, "low": low, "high": high}
            | {"p": found.p_value, "effect": found.effect_size}
            | {"wins": counts.wins, "ties": counts.ties, "losses": counts.losses, "n": found.n}
        )
    frame = pd.DataFrame(rows, columns=list(COMPARISON))
    return frame.assign(p=_adjusted(frame["p"].to_numpy(np.float64)))


def marks(
    result: StudyResult, measures: Sequence[str], baselines: Sequence[str], test: str = "paired t"
) -> pd.DataFrame:
    """Letters: a row that is significantly above baseline a carries `a`, one below it `(a)`.

    Holm's adjustment covers every ranker and measure that is compared with one baseline.

    Returns:
        Columns ranker, measure, marks.
    """
    frames = []
    for letter, baseline in zip(LETTERS, baselines, strict=False):
        of_one = [compared_once(result, measure, baseline, test) for measure in measures]
        frame = pd.concat(of_one, ignore_index=True)
        counts = _adjusted(frame["p"].to_numpy(np.float64)) <= LEVEL_OF_SIGNIFICANCE
        above = frame["difference"].to_numpy(np.float64) > 0
        texts = np.where(above, letter, f"({letter})")
        frames.append(frame.assign(mark=np.where(counts, texts, "")))
    if not frames:
        return pd.DataFrame(columns=["ranker", "measure", "marks"])
    every = pd.concat(frames, ignore_index=True)
    joined = every.groupby(["ranker", "measure"], sort=False)["mark"].agg("".join)
    return joined.rename("marks").reset_index()


def compared_once(
    result: StudyResult, measure: str, baseline: str, test: str = "paired t"
) -> pd.DataFrame:
    """Differences from a baseline, p not adjusted: columns ranker, measure, difference, p."""
    labels = rankers_of(result)
    _check(baseline, "ranker of the study", labels)
    _check(test, "test", TESTS)
    other = _values(result, baseline, measure)
    rows = []
    for label in labels:
        if label != baseline:
            found = _tested(_values(result, label, measure), other, test, label)
            rows.append((label, measure, found.difference, found.p_value))
    return pd.DataFrame(rows, columns=["ranker", "measure", "difference", "p"])


def deltas(result: StudyResult, ranker: str, baseline: str, measure: str) -> pd.DataFrame:
    """A ranker's difference from another for every query, the greatest gain first.

    Returns:
        Columns query, fold, ranker, baseline, difference; queries that the measure leaves out
        are left out.
    """
    own, other = _values(result, ranker, measure), _values(result, baseline, measure)
    names = np.repeat(
        [fold["name"] for fold in result.facts["folds"]],
        [fold["stop"] - fold["start"] for fold in result.facts["folds"]],
    )
    frame = pd.DataFrame(
        {
            "query": result.query_ids,
            "fold": names,
            "ranker": own,
            "baseline": other,
            "difference": own - other,
        }
    )
    counted = frame[frame.difference.notna()]
    return counted.sort_values("difference", ascending=False, kind="stable", ignore_index=True)


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
    """
    groups = result.facts["groups"]
    labels = list(rankers or (x for x in rankers_of(result) if groups[x] != GROUPS[0]))
    values = np.stack([_values(result, label, measure) for label in labels])
    values = values[:, ~np.isnan(values).any(axis=0)]
    of_queries = stats.rankdata(-np.round(values, 9), axis=0)
    queries, count = values.shape[1], len(labels)
    ranks = pd.Series(of_queries.mean(axis=1), index=labels).sort_values(kind="stable")
    spread = stats.studentized_range.ppf(1 - LEVEL_OF_SIGNIFICANCE, count, np.inf) / np.sqrt(2)
    difference = float(spread * np.sqrt(count * (count + 1) / (6 * max(queries, 1))))
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


def _values(result: StudyResult, label: str, measure: str) -> Float64[np.ndarray, " queries"]:
    return result.per_query(label, KIND, 0.0, measure).astype(np.float64)


def _tested(own: Any, other: Any, test: str, label: str) -> PairedTest:
    if test == "paired t":
        return paired_t(own, other)
    return paired_randomisation(own, other, generator(0, "benchmark", label))


def _adjusted(p: Float64[np.ndarray, " tests"]) -> Float64[np.ndarray, " tests"]:
    adjusted = p.copy()
    tested = ~np.isnan(p)
    adjusted[tested] = holm(p[tested])
    return adjusted


def _check(name: str, what: str, known: Iterable[str]) -> None:
    if name not in known:
        raise UnknownNameError(what, name, known)
