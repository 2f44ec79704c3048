"""Sections of a robustness card: one row per ranker, and a picture of all rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.experiment.precomputed_scores import NOT_SCORED
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.metrics.robustness import (
    area_under_curve,
    conditional_value_at_risk,
    worst_query,
)
from shuffleproof.core.metrics.significance import resampled_means
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.perturb.wording import condition_in_words
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import ROBUST, TIERS, Loss, losses
from shuffleproof.core.studies.headline import headline as of_losses
from shuffleproof.core.studies.kinds.card.study import FLIPS, TIMED_LISTS, TIMINGS
from shuffleproof.core.studies.noise import within_noise
from shuffleproof.core.studies.result import (
    CONFIDENCE,
    OWN_PROCESS,
    RESAMPLES,
    StudyResult,
    known_mean,
)
from shuffleproof.core.studies.sections import (
    Convention,
    Details,
    Finding,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import counted, listed, percent

RISK = 0.05

UNREAD = (
    "neither the input order nor the initial ranking. Try `study perturbations` with "
    "feature-noise or missing-mean."
)
"""Headline of rankers that no perturbation of a card can change, after their names."""

CERTIFIED, NO_WORST = "none (certified)", "none"
"""No query lost anything; `certified`: none can (`kinds.invariance.certificate`)."""

CONVENTIONS = (
    f"CVaR {percent(RISK)}, worst query and flips at the last level",
    f"time: median of {TIMINGS} scorings of up to {TIMED_LISTS} lists in batches",
    "interval of the kept share: paired t, adjusted by Holm for the compared rankers",
    f"interval of the area: {RESAMPLES:,} resamples of the queries, rankers paired",
)
"""Conventions of single columns."""

KEPT_INTERVAL = "95 % interval of the headline's test: paired t, adjusted by Holm."
AREA_INTERVAL = "95 % interval over queries (bootstrap, rankers paired)."


def headline(result: StudyResult, view: View) -> Headline:
    """Largest and smallest loss of the rankers, at the last level of any family."""
    measure, values = view.measure(result), {}
    noisy, certified = list[tuple[str, str]](), list[str]()
    for family, level in _last_levels(result).items():
        if view.family not in {"", family}:
            continue
        points = _Points(result, family, measure)
        for label in view.compared_labels(points.curves):
            point = (label, condition_in_words(family, level))
            values[point] = (points.values[label][0], points.values[label][-1])
            noisy += [point] if within_noise(result, label, family, level) else []
            certified += [label] if points.is_certified(label) else []
    if values and len(certified) == len(values):
        names = listed([RankerName.of(label).display for label in dict.fromkeys(certified)])
        verb = "reads" if len(set(certified)) == 1 else "read"
        return Headline(f"{names} {verb} {UNREAD}", ROBUST, TIERS[ROBUST])
    return of_losses(losses(values, noisy))


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measure, families = view.measure(result), _last_levels(result)
    for family, level in families.items():
        if view.family not in {"", family}:
            continue
        frame = cards(result, family, measure)
        yield Picture("cards", (frame, measure, condition_in_words(family, level)))
        if len(families) > 1 and not view.family:  # else the headline has this sentence
            yield Finding(headline(result, replace(view, family=family)).text)
        unread = frame["worst"].isin([CERTIFIED]) | (frame["ranker"] == INITIAL)
        yield replace(shown_cards(frame, family), detail=bool(unread.all()))
    yield Convention(f"{measure}, {counted(len(result.query_ids), 'query')}, {_draws(result)}")
    yield Details("Conventions", [Measure.parse(measure).convention(), *CONVENTIONS])


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    measure = str(result.measures[0])
    frames = {family: cards(result, family, measure) for family in _last_levels(result)}
    return {
        "cards": {family: records(frame) for family, frame in frames.items()},
        "convention": convention(result, measure),
        "units": {family: entry_of(family).unit for family in frames},
        "findings": {family: headline(result, View(family=family)).text for family in frames},
    }


def _last_levels(result: StudyResult) -> dict[str, float]:
    return {str(family): float(level) for family, level in result.recipe["perturbations"]}


def resampled_areas(
    values: Mapping[str, Float64[np.ndarray, "levels queries"]],
    distance: Float64[np.ndarray, " levels"],
    draws: np.random.Generator,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Bootstrap the area under every ranker's curve, with the same resampled queries for all.

    Args:
        values: per level and query, by ranker; NaN where a query does not count. The first level
            is the unperturbed one.
        distance: of each level from the first, rising.
        draws: generator of the resamples.
        resamples: number of resamples.

    Returns:
        Area under the curve mean / unperturbed mean: one column per ranker, one row per resample.

    >>> values = {"a": np.array([[1.0, 0.5], [0.5, 0.25]])}
    >>> area = resampled_areas(values, np.array([0.0, 1.0]), np.random.default_rng(0), 50)
    >>> percentiles(area["a"])
    (0.75, 0.75)
    """
    # All rankers and levels in one array, so that each resample uses the same queries
    every_curve = np.concatenate(list(values.values()))
    means = resampled_means(every_curve, draws, resamples)
    curves = means.reshape(-1, len(values), len(distance))
    with np.errstate(invalid="ignore", divide="ignore"):  # no area above a mean of 0: NaN
        areas = area_under_curve(distance, curves) / curves[..., 0]
    return pd.DataFrame(areas, columns=[*values])


def percentiles(values: pd.Series) -> tuple[float, float]:
    """Percentiles around 95 % of the finite values; NaN without any."""
    defined = values[np.isfinite(values)].round(12)  # equal shares differ in their last bits
    if defined.empty:
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def columns(unit: str = "") -> tuple[tables.Column, ...]:
    """Columns of `cards`; the unit is that of the family's levels."""
    column, value, detail = tables.Column, tables.VALUE, True
    below = f"Breakdown point: the first level ({unit}) below the unchanged initial ranking."
    return (
        tables.RANKER,
        column("start", "Start", value, "Mean on the unchanged lists."),
        column("end", "End", value, "Mean at the last level."),
        column("kept", "Kept", tables.SHARE, "End as a share of start."),
        *tables.bounds("kept_low", "kept_high", tables.SHARE, KEPT_INTERVAL, detail=detail),
        column("area", "Area", value, "Under the curve; 1: no loss at any level.", detail),
        *tables.bounds("area_low", "area_high", words=AREA_INTERVAL, detail=detail),
        column("below_initial", "Below initial", tables.LEVEL, below),
        column("cvar", "CVaR 5 %", tables.CHANGE, "Mean change of the worst 5 %.", detail),
        column("worst", "Worst query", detail=detail),
        column("worst_change", "its change", tables.CHANGE, "", detail),
        *(
            column(
                name, f"top {depth} flips", tables.SHARE,
                f"Share of the first {depth} documents that changed.",
                detail,
            )
            for name, depth in FLIPS.items()
        ),
        column("milliseconds_a_list", "ms per list", tables.SHORT, "Scoring, in batches.", detail),
        column("noise", "Noise", tables.TEXT, "Of nondeterministic rankers.", detail),
    )  # fmt: skip


def shown_cards(frame: pd.DataFrame, family: str) -> tables.Table:
    """Cards as a table to display."""
    unit = entry_of(family).unit
    title = f"Cards under {family} ({unit})"
    return tables.Table(frame, columns(unit), title)


def cards(result: StudyResult, family: str, measure: str) -> pd.DataFrame:
    """Cards of all rankers for one family: `columns`.

    `below_initial` is NaN if a curve is never below. Milliseconds are NaN while the study runs,
    and for the initial ranking. Scores in a file only have a start.
    """
    points = _Points(result, family, measure)
    if not points.curves:
        return pd.DataFrame(columns=tables.keys(columns()))
    rows = [_card(points, label) for label in points.curves]
    rows += [_file_card(points, label) for label in points.labels if RankerName.of(label).is_scores]
    return pd.DataFrame(rows, columns=tables.keys(columns()))


def convention(result: StudyResult, measure: str) -> str:
    """Convention of the cards' numbers."""
    return Convention.of(measure, len(result.query_ids), _draws(result), *CONVENTIONS).text


def _draws(result: StudyResult) -> str:
    return f"{counted(result.recipe['draws'], 'draw')} per level"


@dataclass(frozen=True)
class _Points:
    """Data of the cards: values of a family at every level, by ranker."""

    result: StudyResult
    family: str
    measure: str

    @cached_property
    def trials(self) -> pd.DataFrame:
        return self.result.trials[self.result.trials.family == self.family]

    @cached_property
    def labels(self) -> list[str]:
        """Labels of the rankers, in the study's order."""
        return list(dict.fromkeys(self.trials.ranker))

    @cached_property
    def levels(self) -> list[float]:
        """Levels, starting from the unperturbed one."""
        return list(dict.fromkeys(self.trials.level))

    @cached_property
    def distance(self) -> Float64[np.ndarray, " levels"]:
        """Distance of each level from the unperturbed one."""
        return np.abs(np.array(self.levels) - self.levels[0])

    @cached_property
    def values(self) -> dict[str, Float64[np.ndarray, "levels queries"]]:
        """Values of every ranker whose levels are all measured; without scores in a file."""
        levels_measured = self.trials.groupby("ranker")["level"].nunique()
        return {
            label: np.stack([self.at(label, level, self.measure) for level in self.levels])
            for label in self.labels
            if levels_measured[label] == len(self.levels) and not RankerName.of(label).is_scores
        }

    @cached_property
    def curves(self) -> dict[str, Float64[np.ndarray, " levels"]]:
        """Means of `values` under the measure's convention."""
        return {
            label: np.array([self.mean(of_level) for of_level in values], dtype=np.float64)
            for label, values in self.values.items()
        }

    @cached_property
    def tests(self) -> dict[str, Loss]:
        """Loss at the last level by ranker, tested as in the headline: apart from the initial."""
        ends = {(label, ""): (values[0], values[-1]) for label, values in self.values.items()}
        initial = {point: ends.pop(point) for point in [*ends] if point[0] == INITIAL}
        return {loss.ranker: loss for loss in [*losses(ends), *losses(initial)]}

    @cached_property
    def areas(self) -> pd.DataFrame:
        """Areas under the curve of every ranker over resampled queries."""
        return resampled_areas(self.values, self.distance, generator(0, "card"))

    def mean(self, values: Float64[np.ndarray, " queries"]) -> float:
        """Mean under the measure's convention."""
        return mean_of(Measure.parse(self.measure), values.astype(np.float32))

    def at(self, label: str, level: float, measure: str) -> Float64[np.ndarray, " queries"]:
        return self.result.per_query(label, self.family, level, measure).astype(np.float64)

    def is_certified(self, label: str) -> bool:
        """True if the ranker is certified and its scores were carried over at every level."""
        changed = self.trials[
            (self.trials["ranker"] == label) & (self.trials["level"] != self.levels[0])
        ]
        if not self.result.facts.get("certificates", {}).get(label, {}).get("proven"):
            return False
        return len(changed) > 0 and bool(changed["carried"].astype(bool).all())


def _card(points: _Points, label: str) -> dict[str, Any]:
    result, last, curve = points.result, points.levels[-1], points.curves[label]
    change = points.values[label][-1] - points.values[label][0]
    worst = worst_query(change) if np.nanmin(change, initial=0.0) < 0 else None
    no_loss = CERTIFIED if points.is_certified(label) else NO_WORST
    apart = RankerName.of(label).is_scored_apart
    times = result.facts.get(OWN_PROCESS if apart else "milliseconds_a_list", {})
    start, test = curve[0], points.tests.get(label)
    area_low, area_high = percentiles(points.areas[label])
    return {
        "ranker": label,
        "start": start,
        "end": curve[-1],
        "kept": curve[-1] / start if start else float("nan"),
        "kept_low": 1 - test.high if test and start else float("nan"),
        "kept_high": 1 - test.low if test and start else float("nan"),
        "area": float(area_under_curve(points.distance, curve, start or np.nan)),
        "area_low": area_low,
        "area_high": area_high,
        "below_initial": _level_below_initial(points, label),
        "cvar": conditional_value_at_risk(change, RISK),
        "worst": no_loss if worst is None else result.query_ids[worst],
        "worst_change": 0.0 if worst is None else float(change[worst]),
        **{name: known_mean(points.at(label, last, name)) for name in FLIPS},
        "milliseconds_a_list": times.get(label, float("nan")),
        "noise": within_noise(result, label, points.family, last),
    }


def _file_card(points: _Points, label: str) -> dict[str, Any]:
    """Card of scores in a file: only their quality, since they cannot score other lists."""
    start = points.mean(points.at(label, points.levels[0], points.measure))
    known = {"ranker": label, "start": start, "worst": NOT_SCORED, "noise": ""}
    return dict.fromkeys(tables.keys(columns()), float("nan")) | known


def _level_below_initial(points: _Points, label: str) -> float:
    """First level at which a curve is below the unperturbed initial ranking; NaN: none."""
    if label == INITIAL or INITIAL not in points.curves:
        return float("nan")
    below = np.flatnonzero(points.curves[label] < points.curves[INITIAL][0])
    return points.levels[below[0]] if len(below) else float("nan")
