"""What a robustness card says: one row a ranker, and the picture of all of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.metrics.measure import Measure
from core.metrics.relevance import mean_of
from core.metrics.robustness import (
    area_under_curve,
    breakdown_point,
    conditional_value_at_risk,
    worst_query,
)
from core.studies.card import FLIPS, MOVED, TIMED_LISTS, TIMINGS
from core.studies.initial_ranking import INITIAL
from core.studies.result import StudyResult

RISK = 0.05
COLUMNS = (
    "ranker", "start", "end", "kept", "area", "below_initial", "below_twin", "cvar", "worst",
    "worst_change", *FLIPS, *MOVED, "milliseconds_a_list",
)  # fmt: skip


def cards(result: StudyResult, family: str, measure: str) -> pd.DataFrame:
    """The cards of all rankers for one family.

    Args:
        result: a card study.
        family: of perturbations.
        measure: one that follows from what is stored.

    Returns:
        Columns COLUMNS: mean on the lists as they are and at the highest level, the share of it
        that is kept, area under the curve (1 = unharmed, over the distance from the unchanged
        level), the level at which the curve falls below the undisturbed initial ranking and below
        the ranker's own twin without ordinal embeddings (NaN: nowhere, or there is no twin), the
        mean change of the worst 5 % of queries at the highest level, the worst query and its
        change, flips and moves of the answer at that level, milliseconds a list (NaN while it
        runs).
    """
    of_family = result.trials[result.trials.family == family]
    labels = list(dict.fromkeys(of_family.ranker))
    levels = list(dict.fromkeys(of_family.level))
    whole = {
        label for label in labels if set(of_family[of_family.ranker == label].level) == set(levels)
    }
    curves = {
        label: _curve(result, label, family, levels, measure) for label in labels if label in whole
    }
    shown = _Shown(result, family, measure, levels, curves)
    return pd.DataFrame([_card(shown, label) for label in curves], columns=list(COLUMNS))


def convention(result: StudyResult, measure: str) -> str:
    """What the numbers of the cards are of, and how they are counted.

    Args:
        result: a card study.
        measure: that the cards are of.
    """
    draws = result.recipe["draws"]
    return " · ".join(
        [
            Measure.parse(measure).convention(),
            f"N = {len(result.query_ids):,} quer{'ies' if len(result.query_ids) != 1 else 'y'}",
            f"{draws} draw{'s' if draws != 1 else ''} a level",
            f"CVaR {RISK:.0%}, worst query, flips and moves at the last level".replace("%", " %"),
            f"time: median of {TIMINGS} scorings of up to {TIMED_LISTS} lists in batches",
        ]
    )


def pareto(frame: pd.DataFrame) -> pd.DataFrame:
    """The cards with a column `front`: no ranker is better in one thing and as good in the others.

    The three things are start (effectiveness), kept (robustness) and milliseconds a list; the
    initial ranking takes no part.
    """
    points = np.stack(
        [frame["start"], frame["kept"], -frame["milliseconds_a_list"].fillna(0.0)], axis=1
    ).astype(np.float64)
    given = frame["ranker"].to_numpy() == INITIAL
    beaten = [
        any((other >= one).all() and (other > one).any() for other in points[~given])
        for one in points
    ]
    return frame.assign(front=~np.array(beaten, dtype=bool) & ~given)


def finding(frame: pd.DataFrame, family: str, measure: str) -> str:
    """What the cards amount to, in words.

    Args:
        frame: `pareto`.
        family: of perturbations.
        measure: that the cards are of.
    """
    rows: list[dict[str, Any]] = frame[frame["ranker"] != INITIAL].to_dict("records")  # type: ignore[assignment]
    known = [row for row in rows if not np.isnan(row["kept"])]
    if not known:
        return ""
    first = max(known, key=lambda row: float(row["kept"]))
    last = min(known, key=lambda row: float(row["kept"]))
    words = f"Under {family} {first['ranker']} keeps most: {_kept(first)} of its {measure} "
    words += f"({first['start']:.3f} → {first['end']:.3f})"
    if last is not first:
        words += f"; {last['ranker']} keeps least: {_kept(last)} "
        words += f"({last['start']:.3f} → {last['end']:.3f})"
        if not np.isnan(last["below_initial"]):
            words += f", below the initial ranking from {last['below_initial']:.3g} on"
    front = [str(row["ranker"]) for row in rows if row["front"]]
    if len(rows) > 1 and front:
        words += f". Not beaten in quality, robustness and cost at once: {', '.join(front)}"
    return f"{words}."


def _kept(row: Mapping[str, Any]) -> str:
    return f"{100 * row['kept']:.1f} %"


def twin_of(label: str, labels: Mapping[str, Any]) -> str | None:
    """The same ranker without ordinal embeddings, where the study has it.

    Of the same preset; where there is none, the only one of that name.

    >>> twin_of("setrank-imsab-init@small", {"setrank-imsab@small": 0, "setrank-imsab": 0})
    'setrank-imsab@small'
    >>> twin_of("setrank-imsab-init#0123", {"setrank-imsab#4567": 0})
    'setrank-imsab#4567'
    """
    name, preset = _named(label)
    for ending in ("-multi-init", "-init"):
        if name.endswith(ending) and not name.endswith("without-init"):
            twins = [one for one in labels if _named(one)[0] == name.removesuffix(ending)]
            alike = [one for one in twins if _named(one)[1] == preset]
            found = alike or twins
            return found[0] if len(found) == 1 else None
    return None


def _named(label: str) -> tuple[str, str]:
    """A label's name, and its preset or digits."""
    found = re.split(r"(?=[@# ])", label, maxsplit=1)
    return found[0], "".join(found[1:])


@dataclass(frozen=True)
class _Shown:
    """What every card is made from."""

    result: StudyResult
    family: str
    measure: str
    levels: list[float]
    curves: Mapping[str, Float64[np.ndarray, " levels"]]

    def at(self, label: str, level: float, measure: str) -> Float64[np.ndarray, " queries"]:
        """A ranker's values at a level."""
        return self.result.per_query(label, self.family, level, measure).astype(np.float64)


def _card(shown: _Shown, label: str) -> dict[str, Any]:
    result, levels, curves = shown.result, shown.levels, shown.curves
    curve, distance = curves[label], np.abs(np.array(levels) - levels[0])
    change = shown.at(label, levels[-1], shown.measure) - shown.at(label, levels[0], shown.measure)
    worst = worst_query(change) if np.nanmin(change, initial=0.0) < 0 else None
    initial = None if label == INITIAL or INITIAL not in curves else float(curves[INITIAL][0])
    twin = twin_of(label, curves)
    answer = {name: _mean(shown.at(label, levels[-1], name)) for name in (*FLIPS, *MOVED)}
    return {
        "ranker": label,
        "start": curve[0],
        "end": curve[-1],
        "kept": curve[-1] / curve[0] if curve[0] else float("nan"),
        "area": float(area_under_curve(distance, curve, curve[0])) if curve[0] else float("nan"),
        "below_initial": _breakdown(distance, curve, initial, levels),
        "below_twin": _breakdown(distance, curve, None if twin is None else curves[twin], levels),
        "cvar": conditional_value_at_risk(change, RISK),
        "worst": None if worst is None else result.query_ids[worst],
        "worst_change": 0.0 if worst is None else float(change[worst]),
        **answer,
        "milliseconds_a_list": result.facts.get("milliseconds_a_list", {}).get(label, float("nan")),
    }


def _curve(
    result: StudyResult, label: str, family: str, levels: list[float], measure: str
) -> Float64[np.ndarray, " levels"]:
    parsed = Measure.parse(measure)
    means = [mean_of(parsed, result.per_query(label, family, level, measure)) for level in levels]
    return np.array(means, dtype=np.float64)


def _breakdown(
    distance: Float64[np.ndarray, " levels"],
    curve: Float64[np.ndarray, " levels"],
    reference: Float64[np.ndarray, " levels"] | float | None,
    levels: list[float],
) -> float:
    """The level, in the family's own unit, at which a curve falls below; NaN where it does not."""
    found = None if reference is None else breakdown_point(distance, curve, reference)
    if found is None:
        return float("nan")
    return float(levels[0] + np.sign(levels[-1] - levels[0]) * found)


def _mean(values: Any) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if len(counted) else float("nan")
