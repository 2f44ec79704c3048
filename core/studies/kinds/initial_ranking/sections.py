"""Sections of Figure 3: curves, headline, the paper's claim, and significance tests.

Each row (ranker and level) has two tests: the change from the unperturbed lists to this level, and
the difference from a chosen ranker at the same level. Both are paired tests over queries. Holm's
adjustment covers all tests of the same kind in the table.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import mean_of
from shuffleproof.core.metrics.significance import ALPHA, PairedTest, holm, paired_t
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.perturb.wording import condition_in_words
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.headline import headline as of_losses
from shuffleproof.core.studies.headline import losses
from shuffleproof.core.studies.noise import within_noise
from shuffleproof.core.studies.paired_differences import (
    claim_text,
    loss_in,
    paired_rows,
    rising_verdict,
)
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Headline,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records

NO_TEST = PairedTest(float("nan"), float("nan"), float("nan"), 0)


def _levels(result: StudyResult, family: str) -> list[float]:
    """Levels of a family, starting from the unperturbed one."""
    return [float(level) for name, level in result.recipe["perturbations"] if name == family]


def claim(result: StudyResult, family: str, measure: str) -> dict[str, Any]:
    """Verdict on the paper's claim that DLCM falls further than SetRank with ordinals.

    It compares the per-query falls of the two at the highest level
    (`core.studies.paired_differences.rising_verdict`). Empty if the study lacks one of the two.
    """
    labels = [label for label, _ in result.recipe["rankers"]]
    dlcm = next((label for label in labels if RankerName.of(label).base == "dlcm"), None)
    setrank = next((label for label in labels if rankings_of(RankerName.of(label).base)), None)
    if dlcm is None or setrank is None:
        return {}
    levels = _levels(result, family)
    drops = [
        result.per_query(label, family, levels[0], measure)
        - result.per_query(label, family, levels[-1], measure)
        for label in (setrank, dlcm)
    ]
    verdict = rising_verdict(
        [(setrank, drops[0].astype(np.float64)), (dlcm, drops[1].astype(np.float64))]
    )
    (step,) = records(verdict.steps.drop(columns=["less", "more"]))
    return {
        "claim": f"{dlcm} falls further than {setrank}",
        "verdict": verdict.word,
        "text": verdict.text,
        **step,
        "level": levels[-1],
    }


def losses_of(result: StudyResult, family: str, measure: str) -> pd.DataFrame:
    """Losses of each ranker at every level of a family, paired by query, tested as in `marks`.

    Returns:
        SUMMARY and p. The measure has the name of `paired_differences.loss_in`; its mean is the
        loss from the unperturbed lists: minus the change in `marks`, with the same p.
    """
    summary = result.summary([measure])
    frame = summary[summary["family"] == family].reset_index(drop=True)
    start = _levels(result, family)[0]
    unchanged = {
        label: result.per_query(label, family, start, measure) for label in frame["ranker"].unique()
    }
    points = zip(frame["ranker"], frame["level"], strict=True)
    pairs = {
        row: (unchanged[label], result.per_query(label, family, level, measure))
        for row, (label, level) in enumerate(points)
        if level != start
    }
    return paired_rows(frame, pairs).assign(measure=loss_in(measure))


def _loss_curves(
    result: StudyResult, family: str, measure: str
) -> tuple[pd.DataFrame, str, str, str]:
    losses = losses_of(result, family, measure)
    return losses, family, loss_in(measure), entry_of(family).unit


TESTED = (
    "change: from the unchanged lists; against: {baseline} at the same level. Paired t tests, p "
    "adjusted by Holm over each column, d: Cohen's d, ▲ ▼: p ≤ 0.05."
)


def headline(result: StudyResult, view: View) -> Headline:
    """Largest and smallest loss of the rankers, at the last level of a family."""
    family = view.family or str(result.recipe["perturbations"][0][0])
    measure, levels = view.measure(result), _levels(result, family)
    how = condition_in_words(family, levels[-1])
    labels = view.compared_labels(result.rankers_at(family, levels[-1]))
    values = {
        (label, how): (
            result.per_query(label, family, levels[0], measure),
            result.per_query(label, family, levels[-1], measure),
        )
        for label in labels
    }
    noisy = [(label, how) for label in labels if within_noise(result, label, family, levels[-1])]
    return of_losses(losses(values, noisy))


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Sections of the result, in display order."""
    summary = result.summary_under(view.measures)
    if view.family:
        summary = summary[summary["family"] == view.family]
    several = len(summary.groupby(["family", "measure"])) > 1
    baseline = next(iter(view.baselines or ()), INITIAL)
    for (name, measure_name), group in summary.groupby(["family", "measure"], sort=False):
        family, measure = str(name), str(measure_name)
        unit = entry_of(family).unit
        table = tables.levels(group, f"{measure} under {family} ({unit})")
        yield Picture("curves", partial(_loss_curves, result, family, measure), title="Loss")
        yield Picture("curves", (summary, family, measure, unit), [table], title="Mean")
        if several:
            yield Finding(f"{measure}: {headline(result, View((measure,), family=family)).text}")
        yield Convention(Measure.parse(measure).convention())
        yield Finding(claim_text(claim(result, family, measure)))
        frame = marks(result, family, measure, baseline)
        title = f"Significance: {measure} under {family}"
        against = TESTED.format(baseline=f"the {INITIAL}" if baseline == INITIAL else baseline)
        yield tables.Table(frame, columns(baseline), title, [against], folded=True)
    yield tables.Table(summary, SUMMARY, "All numbers", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    families = dict.fromkeys(family for family, _ in result.recipe["perturbations"])
    return {
        "findings": [
            {
                "family": family,
                "measure": measure,
                "convention": Measure.parse(measure).convention(),
                "finding": headline(result, View((measure,), family=family)).text,
                "claim": claim(result, family, measure) or None,
            }
            for family in families
            for measure in result.measures
        ]
    }


def columns(baseline: str = INITIAL) -> tuple[tables.Column, ...]:
    """Columns of `marks`, compared with a baseline."""
    column = tables.Column
    compared = {
        "change": ("− unchanged", "Mean minus unperturbed mean."),
        "against": (f"− {baseline}", "Mean minus that ranker's, same level."),
    }
    return (
        tables.RANKER,
        column("level", "Level", tables.LEVEL),
        column("tau", "τ to original", tables.TAU),
        column("mean", "Mean", tables.VALUE),
        tables.QUERIES,
        *(
            entry
            for name, (label, words) in compared.items()
            for entry in (
                column(name, label, tables.CHANGE, words),
                column(f"{name}_p", "p", tables.P, tables.HOLM),
                column(f"{name}_effect", "d", tables.EFFECT, "Cohen's d of the differences."),
                column(f"{name}_mark", "▲▼", help="p ≤ 0.05."),
            )
        ),
    )


def marks(
    result: StudyResult,
    family: str,
    measure: str,
    baseline: str = INITIAL,
) -> pd.DataFrame:
    """Significance table of one family and measure: `columns`.

    A mark is ▲ or ▼ if p ≤ 0.05, else empty; numbers are NaN without a comparison.

    Args:
        result: an initial-ranking study.
        family: of perturbations.
        measure: one that is stored, or follows from stored ones.
        baseline: the ranker to compare the others with.

    Raises:
        UnknownNameError: the study has no such ranker.
    """
    labels = list(dict.fromkeys(result.trials.ranker))
    if baseline not in labels:
        raise UnknownNameError("ranker of the study", baseline, labels)
    trials = result.trials[result.trials.family == family]
    taus = trials.groupby(["ranker", "level"])["tau"].mean().to_dict()
    levels = list(dict.fromkeys(trials.level))
    points = [point for point in product(labels, levels) if point in taus]  # only finished ones
    values = {
        (label, level): result.per_query(label, family, level, measure).astype(np.float64)
        for label, level in points
    }
    parsed = Measure.parse(measure)
    frame = pd.DataFrame(points, columns=["ranker", "level"]).assign(
        tau=[taus[point] for point in points],
        mean=[mean_of(parsed, values[point].astype(np.float32)) for point in points],
        n=[int((~np.isnan(values[point])).sum()) for point in points],
    )
    compared_with = {
        "change": [(label, levels[0]) for label, _ in points],
        "against": [(baseline, level) for _, level in points],
    }
    for name, references in compared_with.items():
        pairs = [
            (values[point], values[reference])
            if reference != point and reference in values
            else None
            for point, reference in zip(points, references, strict=True)
        ]
        compared = [NO_TEST if pair is None else paired_t(*pair) for pair in pairs]
        # One family of hypotheses per question: all rows of the table
        p = holm(np.array([comparison.p_value for comparison in compared]))
        difference = np.array([comparison.difference for comparison in compared])
        frame[name], frame[f"{name}_p"] = difference, p
        frame[f"{name}_effect"] = [comparison.effect_size for comparison in compared]
        frame[f"{name}_mark"] = np.where(p <= ALPHA, np.where(difference > 0, "▲", "▼"), "")
    return frame
