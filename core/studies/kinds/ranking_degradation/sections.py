"""Figure 3, told: for every family and measure the curves, what they show, the paper's claim.

Which differences in a study are more than chance: one row a ranker and level.

Two questions a row: did the ranker change from the unchanged lists to this level, and does it
differ from a chosen ranker at the same level? Each is a paired test over queries, and Holm's
adjustment covers all answers to the same question in the table.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.randomisation import randomised
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.metrics.significance import PairedTest, holm, paired_t
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.ranking_degradation.study import (
    INITIAL,
    claim,
    claimed,
    finding,
)
from shuffleproof.core.studies.result import SUMMARY, StudyResult, disturbed
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Picture,
    Section,
    Sentence,
    View,
)

TESTED = (
    "change: from the unchanged lists; against: the initial ranking at the same level. Paired t "
    "tests, p adjusted by Holm over each column, d: Cohen's d, ▲ ▼: p ≤ 0.05."
)


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    summary = result.summarised(view.measures)
    for (name, of), group in summary.groupby(["family", "measure"], sort=False):
        family, measure = str(name), str(of)
        unit = entry_of(family).unit
        table = tables.levels(group, f"{measure} under {family} ({unit})")
        yield Picture("curves", (summary, family, measure, unit), [table])
        yield Finding(finding(result, family, measure))
        yield Convention(Measure.parse(measure).convention())
        yield Sentence(claimed(claim(result, family, measure)))
        frame = marks(result, family, measure)
        title = f"Is it more than chance? {measure} under {family}"
        yield tables.Table(frame, columns(), title, [TESTED], folded=True)
    yield tables.Table(summary, SUMMARY, "Every number", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    families = dict.fromkeys(family for family, _ in result.recipe["perturbations"])
    return {
        "findings": [
            {
                "family": family,
                "measure": measure,
                "convention": Measure.parse(measure).convention(),
                "finding": finding(result, family, measure),
                "claim": claim(result, family, measure) or None,
            }
            for family in families
            for measure in result.measures
        ]
    }


LEVEL_OF_SIGNIFICANCE = 0.05
TESTS = {
    "paired t": "Student's paired t test",
    "randomisation": "Fisher's paired randomisation test, 10 000 exchanges",
}


def columns(baseline: str = INITIAL) -> tuple[tables.Column, ...]:
    """The columns of `marks`, compared with a baseline."""
    column, unchanged = tables.Column, "Mean minus its mean, undisturbed."
    return (
        tables.RANKER,
        column("level", "Level", tables.LEVEL),
        column("tau", "τ left", tables.TAU),
        column("mean", "Mean", tables.VALUE),
        tables.QUERIES,
        column("change", "− unchanged", tables.CHANGE, unchanged),
        column("change_p", "p", tables.P, tables.HOLM),
        column("change_effect", "d", tables.EFFECT, "Cohen's d of the differences."),
        column("change_mark", "▲▼", help="p ≤ 0.05."),
        column("against", f"− {baseline}", tables.CHANGE, "Mean minus that ranker's, same level."),
        column("against_p", "p", tables.P, tables.HOLM),
        column("against_effect", "d", tables.EFFECT, "Cohen's d of the differences."),
        column("against_mark", "▲▼", help="p ≤ 0.05."),
    )


NO_TEST = PairedTest(float("nan"), float("nan"), float("nan"), float("nan"), 0)


def marks(
    result: StudyResult,
    family: str,
    measure: str,
    baseline: str = INITIAL,
    test: str = "paired t",
) -> pd.DataFrame:
    """The significance table of one family and measure: `columns`.

    A mark is ▲ or ▼ where p ≤ 0.05, else empty; numbers are NaN where there is nothing to compare.

    Args:
        result: an initial-ranking study.
        family: of perturbations.
        measure: one whose values are stored, or follow from those stored.
        baseline: the ranker that the others are compared with.
        test: a name of `TESTS`.

    Raises:
        UnknownNameError: the study has no such ranker, or there is no such test.
    """
    labels = list(dict.fromkeys(result.trials.ranker))
    if baseline not in labels:
        raise UnknownNameError("ranker of the study", baseline, labels)
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    chosen = result.trials[result.trials.family == family]
    levels = list(dict.fromkeys(chosen.level))
    points = chosen.groupby(["ranker", "level"])["tau"].mean().reset_index()
    taus = {(row[0], row[1]): row[2] for row in points.itertuples(index=False)}
    values = {
        point: result.per_query(point[0], family, point[1], measure).astype(np.float64)
        for point in taus
    }
    rows = []
    for label, level in product(labels, levels):
        own = values.get((label, level))
        if own is None:  # a study under way
            continue
        first = None if level == levels[0] else values.get((label, levels[0]))
        other = None if label == baseline else values.get((baseline, level))
        rows.append(
            {"ranker": label, "level": level, "tau": taus[label, level]}
            | {"mean": _mean(measure, own), "n": int((~np.isnan(own)).sum())}
            | _compared("change", own, first)
            | _compared("against", own, other)
        )
    frame = pd.DataFrame(rows)
    if test != "paired t":
        for name in ("change", "against"):
            frame[f"{name}_p"] = _randomised(frame[f"{name}_by_query"], name)
    return _adjusted(frame)


def _compared(name: str, own: Any, other: Any) -> dict[str, Any]:
    found = NO_TEST if other is None else paired_t(own, other)
    return {
        name: found.difference, f"{name}_p": found.p_value, f"{name}_effect": found.effect_size,
        f"{name}_by_query": None if other is None else own - other,
    }  # fmt: skip


def _randomised(by_query: pd.Series, name: str) -> Any:
    """The p values of a column by Fisher's test, all rows with the same exchanges of a column."""
    p = np.full(len(by_query), np.nan)
    tested = [at for at, own in enumerate(by_query) if own is not None]
    if tested:
        differences = np.stack([by_query.iloc[at] for at in tested])
        p[tested] = randomised(differences, generator(0, name))
    return p


def _adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    for name in ("change", "against"):
        p = frame[f"{name}_p"] = holm(frame[f"{name}_p"].to_numpy(float))
        counts = p <= LEVEL_OF_SIGNIFICANCE
        marked = np.where(frame[name].to_numpy(float) > 0, "▲", "▼")
        frame[f"{name}_mark"] = np.where(counts, marked, "")
    return frame[tables.keys(columns())]


def _mean(measure: str, values: Any) -> float:
    return mean_of(Measure.parse(measure), values.astype(np.float32))


def damage(
    result: StudyResult, ranker: str, family: str, level: float, measure: str
) -> pd.DataFrame:
    """What a point of the figure did to every query, the most damaged first.

    Returns:
        Columns query, unchanged, disturbed (means over the draws), change, worst_draw (the draw
        with the lowest value). Queries that the measure leaves out are left out.
    """
    unchanged = result.trials[result.trials.family == family].level.iloc[0]
    before = result.per_query(ranker, family, unchanged, measure)
    return disturbed(result.query_ids, before, result.draws(ranker, family, level, measure))
