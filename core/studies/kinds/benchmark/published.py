"""The rows that the paper printed, beside those of a benchmark on the same collection."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy
from jaxtyping import Float64

from shuffleproof.core.data.published import (
    CONVENTION,
    CONVENTIONS,
    CUTOFFS,
    DEPTH,
    RANKED_BY,
    SOURCE,
    PublishedRows,
    table_for,
)
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS
from shuffleproof.core.studies.result import StudyResult

COLUMNS = (
    tables.RANKER,
    tables.Column("measure", "Measure"),
    tables.Column("printed", "Printed", ".4f"),
    tables.Column("here", "Here", ".4f", "Under the paper's convention."),
    tables.Column("difference", "Difference", "+.4f"),
)


def printed_for(facts: Mapping[str, Any]) -> PublishedRows | None:
    """The printed table of a benchmark's collection, where the paper has one."""
    sizes = facts.get("sizes")  # runs from outside are of no data set
    return table_for(**sizes[0]) if sizes else None


def in_words(printed: PublishedRows) -> str:
    """Whose rows these are, under which convention, and what to know before comparing.

    >>> in_words(table_for(31_531, 3_771_125, 136, 4)).partition(" · ")[0]
    'Pang et al., SIGIR 2020, Table 2, MSLR30K'
    """
    return f"{SOURCE}, {printed.collection} · {CONVENTION}. {printed.remark}"


def comparison_warning(facts: Mapping[str, Any], measures: Sequence[str]) -> str:
    """Why columns may not be compared with the printed rows; empty where nothing is known.

    >>> comparison_warning({}, ["NDCG@10", "NDCG(gain=linear,empty=one)@10", "RR"])
    'Not under the convention of the printed rows: NDCG(gain=linear,empty=one)@10.'
    """
    deviating = [text for text in measures if not _as_printed(Measure.parse(text))]
    parts = []
    if deviating:
        parts.append(f"Not under the convention of the printed rows: {', '.join(deviating)}.")
    lists = facts.get("lists")
    if lists and (lists["depth"] != DEPTH or RankerName.of(lists["initial"][0]).base != RANKED_BY):
        parts.append(
            f"The lists here are the top {lists['depth'] or 'of all'} by "
            f"{', '.join(lists['initial'])}, those of the printed rows the top {DEPTH} by "
            "LambdaMART."
        )
    return " ".join(parts)


def _as_printed(measure: Measure) -> bool:
    """Whether a measure is none of the printed ones, or has the paper's convention."""
    return measure.name != "NDCG" or all(
        getattr(measure, name) == value for name, value in CONVENTIONS.items()
    )


def published_table(result: StudyResult, printed: PublishedRows) -> pd.DataFrame:
    """The printed numbers and ours, under the convention of the paper.

    Returns:
        Columns COLUMNS, one row a printed ranker and cut-off; `here` is NaN for a ranker that the
        benchmark does not have. A ranker is known by its name, whatever its preset.
    """
    measures = [f"NDCG@{cutoff}" for cutoff in CUTOFFS]
    means = benchmark_table.means(result, measures)
    ours: dict[tuple[str, str], float] = {}
    for row in means.to_dict("records"):
        ours.setdefault((RankerName.of(row["ranker"]).base, row["measure"]), row["mean"])
    rows = [
        (name, measure, value, ours.get((name, measure), np.nan))
        for name, values in printed.rows.items()
        for measure, value in zip(measures, values, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=tables.keys(COLUMNS)[:-1])
    return frame.assign(difference=frame["here"] - frame["printed"])


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

    Returns:
        Without ranks and queries where none counts, or a mean over them is undefined.
    """
    groups = result.facts["groups"]
    by_ranker = benchmark_table.values_of(result, measure)
    labels = list(rankers or (label for label in by_ranker if groups[label] != GROUPS[0]))
    values = np.stack([by_ranker[label].mean(axis=0, dtype=np.float64) for label in labels])
    defined = ~np.isnan(values).any(axis=0)
    if not defined.any() or (Measure.parse(measure).empty == "nan" and not defined.all()):
        undefined = float("nan")
        return CriticalDifference(pd.Series(dtype=float), undefined, undefined, undefined, 0, ())
    values = values[:, defined]
    of_queries = pd.DataFrame(-np.round(values, 9)).rank().to_numpy()
    queries, count = values.shape[1], len(labels)
    ranks = pd.Series(of_queries.mean(axis=1), index=labels).sort_values(kind="stable")
    difference = float(_spread(count) / np.sqrt(2) * np.sqrt(count * (count + 1) / (6 * queries)))
    statistic, p = _friedman(of_queries)
    return CriticalDifference(ranks, statistic, p, difference, queries, _cliques(ranks, difference))


SPREADS = (
    2.771807648699355, 3.314493155398122, 3.6331595749026278, 3.857655510378623,
    4.030092053180576, 4.169554155006547, 4.286309409349043, 4.38650911549537,
    4.474124221725907, 4.551863584065974, 4.621655471868518, 4.684919847313499,
    4.7427317076846975, 4.795923860431186, 4.845154183957343, 4.890951125576789,
    4.933745358126922, 4.973892348748306, 5.0116887941184425,
)  # fmt: skip
"""Of the studentised range, at ALPHA, from two rankers on: scipy.stats takes .5 s to load."""


def _spread(count: int) -> float:
    """The .95 quantile of the studentised range of so many rankers, without end of freedom."""
    if 2 <= count < 2 + len(SPREADS):
        return SPREADS[count - 2]
    return float(scipy.stats.studentized_range.ppf(1 - ALPHA, count, np.inf))


def _friedman(ranks: Float64[np.ndarray, "rankers queries"]) -> tuple[float, float]:
    """Friedman's χ² with the correction for ties, and its p; two rankers are enough."""
    count, queries = ranks.shape
    between = queries * ((ranks.mean(axis=1) - (count + 1) / 2) ** 2).sum()
    within = ((ranks - (count + 1) / 2) ** 2).sum() / max(queries * (count - 1), 1)
    if not within:
        return float("nan"), float("nan")
    statistic = float(between / within)
    return statistic, float(scipy.special.chdtrc(count - 1, statistic))


def _cliques(ranks: "pd.Series[float]", difference: float) -> tuple[tuple[str, ...], ...]:
    """The longest runs of neighbours that lie within the difference, those of one left out."""
    labels, heights = list(map(str, ranks.index)), ranks.to_numpy()
    cliques: list[tuple[int, int]] = []
    for first in range(len(labels)):
        last = int(np.searchsorted(heights, heights[first] + difference, side="right"))
        if last - first > 1 and (not cliques or last > cliques[-1][1]):
            cliques.append((first, last))
    return tuple(tuple(labels[first:last]) for first, last in cliques)
