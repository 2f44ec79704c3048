"""Sections of a study of preferences: preferences, agreements, disturbances, bounds, calls."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from shuffleproof.core.aggregate.disturbances import AS_IS, DISTURBANCES
from shuffleproof.core.aggregate.registry import AGGREGATORS
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import DEGRADES, FAILS, LARGE, ROBUST, SMALL
from shuffleproof.core.studies.kinds.preferences.study import (
    AGREEMENT,
    BEST,
    CALLS,
    CORRECT,
    LABEL_LOSS,
    LOSS,
    RELEVANCE,
    SCALE,
    SECONDS,
    SHARE,
    TAU,
)
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import (
    Convention,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import counted, number, percent

AGGREGATOR = Column("aggregator", "Aggregator")
DISTURBANCE = Column("disturbance", "Perturbation")
LEVEL = Column("level", "Level", tables.LEVEL)
WORDS = {
    AGREEMENT: "agreement with the preferences", TAU: "τ to the best order", RELEVANCE: RELEVANCE,
    CORRECT: "share of graded pairs in the right order",
}  # fmt: skip
"""Measures in words."""

SUMMARY = (
    AGGREGATOR,
    DISTURBANCE,
    LEVEL,
    Column("measure", "Measure"),
    Column("mean", "Mean", tables.VALUE, "Over queries, after the mean over draws."),
    *tables.bounds(),
    tables.QUERIES,
)
UNPERTURBED = (
    AGGREGATOR,
    Column(
        AGREEMENT,
        "Agreement",
        tables.VALUE,
        "Weighted share of preferences that the order agrees with.",
    ),
    Column("short", "Below best", tables.VALUE, "Agreement of the best order minus this."),
    Column(TAU, "τ to best", tables.TAU, "Kendall τ to the order with the fewest contradictions."),
    Column(RELEVANCE, RELEVANCE, tables.VALUE, "Of the items' grades."),
    Column(CORRECT, "Pairs right", tables.VALUE, "Pairs of unequal grade in the right order."),
    Column(CALLS, "Calls", tables.COUNT, "Pairs compared, all queries."),
)
BOUNDS = (
    Column("bound", "Proven"),
    DISTURBANCE,
    LEVEL,
    Column("measured", "Measured", tables.VALUE, "Mean over queries and draws."),
    Column("limit", "Bound", tables.LEVEL),
    Column("holds", "Holds", tables.FLAG),
    tables.QUERIES,
)
SCALES = (
    AGGREGATOR,
    Column("items", "Items", tables.COUNT),
    Column("calls", "Calls", tables.COUNT, "Pairs compared."),
    Column("seconds", "Seconds", tables.SHORT, "Of one order, on this machine."),
)


class Bound(NamedTuple):
    """Proven bound of an aggregator.

    Attributes:
        aggregator: its name.
        words: the bound in words.
        measure: the bounded measure.
        limit: the bound.
        above: True for a lower bound.
    """

    aggregator: str
    words: str
    measure: str
    limit: float
    above: bool


PROVEN = (
    Bound("goa", "Greedy order: agreement ≥ ½ of the best order's", SHARE, 0.5, above=True),
    Bound("quicksort", "QuickSort: expected loss ≤ 2 × the least", LOSS, 2.0, above=False),
    Bound(
        "quicksort", "QuickSort, two grades: expected errors ≤ those of the preferences",
        LABEL_LOSS, 1.0, above=False,
    ),
)  # fmt: skip


def label(name: str) -> str:
    """Display name of an aggregator.

    >>> label("goa"), label("gone")
    ('Greedy order', 'gone')
    """
    return AGGREGATORS[name].title if name in AGGREGATORS else name


def families(result: StudyResult) -> list[str]:
    """Disturbances of the result, in the requested order."""
    present = dict.fromkeys(map(str, result.trials["family"]))
    return [family for family in present if family in DISTURBANCES]


def headline(result: StudyResult, view: View) -> Headline:
    """Largest and smallest loss of agreement, at the strongest level of a disturbance."""
    present = families(result)
    family = view.family if view.family in present else present[0] if present else ""
    if not family:
        _, unperturbed, _ = _agreements(result, AS_IS)
        best = str(unperturbed.idxmax())
        return Headline(
            f"{label(best)} agrees with most of the preferences: {number(unperturbed[best])}."
        )
    level, unperturbed, perturbed = _agreements(result, family)
    lost = ((unperturbed - perturbed) / unperturbed).dropna()
    if lost.empty:
        return Headline("No query has a preference.")
    worst, least = str(lost.idxmax()), str(lost.idxmin())
    text = f"{label(worst)} loses {percent(lost[worst])} of its agreement to "
    text += f"{DISTURBANCES[family].title.lower()} at {level:g}"
    text += f"; {label(least)} {percent(lost[least])}." if least != worst else "."
    greatest = float(lost[worst])
    tier = ROBUST if greatest < SMALL else DEGRADES if greatest < LARGE else FAILS
    return Headline(text, tier, "by the largest mean loss of agreement")


def _agreements(
    result: StudyResult, family: str
) -> tuple[float, "pd.Series[float]", "pd.Series[float]"]:
    """Strongest level of a disturbance; by aggregator the agreement without it, and at it."""
    frame = summary(result)
    frame = frame[frame["measure"] == AGREEMENT].set_index("aggregator")
    of_family = frame[frame["disturbance"] == family]
    level = of_family["level"].min() if family == "calls" else of_family["level"].max()
    perturbed = of_family.loc[of_family["level"] == level, "mean"]
    unperturbed = frame.loc[frame["disturbance"] == AS_IS, "mean"]
    return float(level), unperturbed.reindex(perturbed.index), perturbed


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    frame = summary(result)
    yield as_given(result)
    for family in families(result):
        if view.family not in {"", family}:
            continue
        entry = DISTURBANCES[family]
        curves = people(frame, family)
        yield Picture(
            "preferences", (curves, entry.title, entry.unit, WORDS[AGREEMENT]),
            [by_level(result, family)],
        )  # fmt: skip
    proven = bounds(result)
    if len(proven):
        yield Picture("bounds", (proven,))
        yield Table(_with_titles(proven), BOUNDS, "Proven bounds and measured values")
    by_items = _with_titles(scale(result))
    if len(by_items):
        yield Picture("calls", (by_items,))
        yield Table(by_items, SCALES, "Calls and time on generated tournaments")
    yield Convention(convention_text(result))
    yield Table(_with_titles(frame), SUMMARY, "All numbers", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {
        "summary": records(summary(result)),
        "bounds": records(bounds(result)),
        "consistency": result.facts["consistency"],
        "scale": records(scale(result)),
    }


def convention_text(result: StudyResult) -> str:
    """Convention of the numbers."""
    facts = result.facts["consistency"]
    return (
        f"Preferences: {counted(facts['pairs'], 'pair')} of "
        f"{counted(facts['items'], 'item')} in {counted(result.facts['queries'], 'query')}, "
        f"{percent(facts['cyclic_rate'], 1)} of {counted(facts['triads'], 'triad')} cyclic; the "
        f"best order is exact for {facts['exact_queries']:,}. Bounds are against what the "
        "aggregator was shown."
    )


def people(frame: pd.DataFrame, family: str, measure: str = AGREEMENT) -> pd.DataFrame:
    """Curves of a disturbance by display name; level 0 is the unperturbed preferences."""
    curves = frame[(frame["measure"] == measure) & (frame["disturbance"] == family)]
    if family not in {"calls", "runs"} and len(curves):
        unperturbed = frame[(frame["measure"] == measure) & (frame["disturbance"] == AS_IS)]
        unperturbed = unperturbed[unperturbed["aggregator"].isin(curves["aggregator"])]
        curves = pd.concat([unperturbed, curves])
    curves = curves.sort_values("level", kind="stable")
    return curves.assign(aggregator=curves["aggregator"].map(label)).reset_index(drop=True)


def summary(result: StudyResult) -> pd.DataFrame:
    """Aggregator, disturbance, level, measure, mean, interval and number of queries."""
    frame = result.summary_under().rename(columns={"ranker": "aggregator", "family": "disturbance"})
    return frame.loc[frame["disturbance"] != SCALE, tables.keys(SUMMARY)].reset_index(drop=True)


def by_level(result: StudyResult, family: str) -> Table:
    """Agreement under a disturbance: aggregators × levels."""
    frame = people(summary(result), family)
    title = f"{WORDS[AGREEMENT].capitalize()} under {DISTURBANCES[family].title.lower()}"
    value = Column("mean", "", tables.VALUE)
    return tables.wide_table(
        frame, [AGGREGATOR], "level", value, f"{title} ({DISTURBANCES[family].unit})"
    )


def as_given(result: StudyResult) -> Table:
    """Agreements of every aggregator with unperturbed preferences, and its calls."""
    rows = []
    for name in map(str, result.trials["ranker"].unique()):
        row = {
            measure: known_mean(result.per_query(name, AS_IS, 0.0, measure))
            for measure in (*WORDS, BEST)
        }
        calls = round(float(np.nansum(result.per_query(name, AS_IS, 0.0, CALLS))))
        rows.append(
            {"aggregator": label(name), "short": row.pop(BEST) - row[AGREEMENT], CALLS: calls} | row
        )
    frame = pd.DataFrame(rows, columns=tables.keys(UNPERTURBED))
    table = Table(frame, UNPERTURBED, "Unperturbed: agreement with preferences, best order, labels")
    lacking = [measure for measure in (RELEVANCE, CORRECT) if measure not in result.measures]
    return table.without(*lacking)


def bounds(result: StudyResult) -> pd.DataFrame:
    """Proven bounds, and the measured means under every disturbance that they apply to."""
    points = result.trials[["ranker", "family", "level"]].drop_duplicates()
    rows = []
    for bound in PROVEN:
        of_aggregator = points[points["ranker"] == bound.aggregator]
        for family, level in zip(
            of_aggregator["family"].astype(str), of_aggregator["level"].tolist(), strict=True
        ):
            values = result.draws(bound.aggregator, family, level, bound.measure)
            values = np.asarray(values, np.float64)
            defined = np.isfinite(values).all(axis=0)
            if not defined.any():
                continue
            mean = float(values[:, defined].mean())
            holds = mean >= bound.limit if bound.above else mean <= bound.limit
            rows.append(
                {"bound": bound.words, "disturbance": family, "level": level,
                 "measured": mean, "limit": bound.limit, "holds": bool(holds),
                 "n": int(defined.sum())}
            )  # fmt: skip
    return pd.DataFrame(rows, columns=tables.keys(BOUNDS))


def scale(result: StudyResult) -> pd.DataFrame:
    """Calls and seconds of every aggregator by the number of items."""
    rows = result.trials[result.trials["family"] == SCALE]
    costs = [
        (
            name,
            int(level),
            *(float(result.draws(name, SCALE, level, cost)[0, 0]) for cost in (CALLS, SECONDS)),
        )
        for name, level in zip(rows["ranker"].astype(str), rows["level"].tolist(), strict=True)
    ]
    return pd.DataFrame(costs, columns=tables.keys(SCALES))


def _with_titles(frame: pd.DataFrame) -> pd.DataFrame:
    """Frame with the display names of aggregators and disturbances."""
    aggregators = {name: entry.title for name, entry in AGGREGATORS.items()}
    disturbances = {AS_IS: "Nothing", **{name: entry.title for name, entry in DISTURBANCES.items()}}
    return frame.replace({"aggregator": aggregators, "disturbance": disturbances})
