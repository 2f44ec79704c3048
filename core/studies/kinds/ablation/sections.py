"""Results of an ablation: effect of each difference on quality, robustness and cost."""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import DEGRADES, INCONCLUSIVE
from shuffleproof.core.studies.kinds.ablation.sources import BASE, step_of
from shuffleproof.core.studies.kinds.ablation.study import MEASURE
from shuffleproof.core.studies.paired_differences import ADJUSTED, PAPER_FAMILY, mean_differences
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import (
    Convention,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted, number, p_value

Queries = Float64[np.ndarray, " queries"]
LOST = "At the highest level of the perturbation."
OVER_VARIANTS = "Paired t, Holm over the variants."

COLUMNS = (
    tables.Column("variant", "Variant"),
    tables.Column("mean", "Mean", tables.VALUE, "On the unchanged lists."),
    tables.Column("change", f"− {BASE}", tables.CHANGE),
    *tables.bounds("change_low", "change_high", tables.CHANGE, ADJUSTED),
    tables.Column("change_p", "p", tables.P, OVER_VARIANTS),
    tables.Column("loss", "lost", tables.VALUE, LOST),
    tables.Column("loss_change", f"lost − {BASE}", tables.CHANGE, LOST),
    *tables.bounds("loss_low", "loss_high", tables.CHANGE, ADJUSTED),
    tables.Column("loss_p", "p", tables.P, OVER_VARIANTS),
    tables.Column("seconds", "seconds", ".0f", "Of training, on this machine."),
    tables.Column("parameters", "Parameters", tables.COUNT),
    tables.Column("source", "Source", help="Value in the paper and in the released code."),
)


def table(result: StudyResult, measure: str = MEASURE) -> pd.DataFrame:
    """Quality, robustness and cost of every variant: COLUMNS.

    Changes are relative to the first variant, whose own changes are 0 without a test. Seconds are
    NaN while the study runs. Unfinished variants are left out.
    """
    facts, ends = result.facts, points(result, measure)
    if not ends:
        return pd.DataFrame(columns=tables.keys(COLUMNS))
    starts = np.stack([start for start, _ in ends.values()])
    losses = starts - np.stack([end for _, end in ends.values()])
    seconds = facts.get("training_seconds", {})
    frame = pd.DataFrame(
        {
            "variant": [*ends],
            "mean": _means(measure, starts),
            "loss": _means(measure, losses),
            "seconds": [seconds.get(label, float("nan")) for label in ends],
            "parameters": [facts["parameters"][label] for label in ends],
            "source": [facts["sources"][label] for label in ends],
        }
    )
    frame = frame.join([_changes(starts, "change"), _changes(losses, "loss")])
    return frame[tables.keys(COLUMNS)]


def points(result: StudyResult, measure: str) -> dict[str, tuple[Queries, Queries]]:
    """Values of every finished variant at the lowest and at the highest level, by label."""
    trials = result.trials
    lowest, highest = trials.level.min(), trials.level.max()
    measured = {(ranker, level) for ranker, _, level in result.points}

    def at(label: str, level: float) -> Queries:
        return result.per_query(label, PAPER_FAMILY, level, measure).astype(np.float64)

    return {
        label: (at(label, lowest), at(label, highest))
        for label in dict.fromkeys(trials.ranker)
        if {(label, lowest), (label, highest)} <= measured
    }


def _changes(values: Float64[np.ndarray, "variants queries"], name: str) -> pd.DataFrame:
    """Difference of each row from the first: mean, interval and adjusted p."""
    differences = values - values[0]
    # NaN keeps the first row out of Holm's adjustment: it differs from itself by 0
    tested = mean_differences(np.where(np.arange(len(values))[:, None] > 0, differences, np.nan))
    tested.loc[0, ["mean", "low", "high"]] = 0.0
    columns = {"mean": name if name == "change" else f"{name}_change"}
    columns |= {column: f"{name}_{column}" for column in ("low", "high", "p")}
    return tested.drop(columns="n").rename(columns=columns)


def _means(measure: str, values: Float64[np.ndarray, "variants queries"]) -> list[float]:
    """Means under the measure's convention for queries without a value; NaN if one counts."""
    skips = Measure.parse(measure).empty == "skip"
    return [known_mean(row) if skips else float(row.mean()) for row in values]


def headline(result: StudyResult, _view: View) -> Headline:
    """Effect on quality of all differences together, or of the single one that changes most."""
    frame = table(result)
    if len(frame) < 2:
        return Headline("No difference has been measured yet.", INCONCLUSIVE)
    whole = frame[~_is_single(frame)].iloc[1:]
    row = (whole if len(whole) else frame[frame["variant"] == most_changed(frame)]).iloc[0]
    name = (
        f"The {row['variant']} recipe" if len(whole) else f"With {_label(str(row['variant']))} it"
    )
    side = "below" if row["change"] < 0 else "above"
    text = f"{name} scores {number(abs(row['change']))} {MEASURE} {side} the {BASE}'s"
    tested = f"{p_value(row['change_p'])}, Holm, n = {result.facts['queries']:,}"
    if row["change_p"] <= ALPHA:
        return Headline(f"{text} ({tested}).", DEGRADES, OVER_VARIANTS)
    return Headline(f"{text}, not significant ({tested}).", INCONCLUSIVE, OVER_VARIANTS)


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    measure = str(next(iter(view.measures), MEASURE))
    frame = table(result, measure)
    if len(frame) > 1:
        for effect in ("quality", "robustness"):
            yield Picture("ablation", (frame, effect, measure, step_of), title=effect.capitalize())
    level = int(max(level for _, level in result.recipe["perturbations"]))
    yield Convention.of(
        measure,
        result.facts["queries"],
        f"lost: by {counted(level, 'transposition')} of the initial ranking",
        "paired t, Holm over the variants",
    )
    yield Table(frame, COLUMNS, f"Variants of {result.facts['ranker']}")


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {
        "table": records(table(result)),
        "convention": Measure.parse(MEASURE).convention(),
        "queries": result.facts["queries"],
    }


def _is_single(frame: pd.DataFrame) -> pd.Series:
    """Mask of the variants that are the base with one difference."""
    return frame["variant"].str.startswith(f"{BASE} + ")


def _label(variant: str) -> str:
    """Label of a single difference.

    >>> _label("paper + loss softmax-ce")
    'loss softmax-ce'
    """
    return variant.removeprefix(f"{BASE} + ")


Effect = Literal["quality", "robustness"]


def most_changed(table: pd.DataFrame, effect: Effect = "quality") -> str:
    """Single difference with the largest change, significant or not; else the last variant."""
    column = "change" if effect == "quality" else "loss_change"
    single = table[_is_single(table) & table[column].notna()]
    if single.empty:
        return str(table["variant"].iloc[-1])
    return str(single["variant"].iloc[int(single[column].abs().argmax())])
