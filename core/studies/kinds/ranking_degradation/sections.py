"""Figure 3, told: for every family and measure the curves, what they show, the paper's claim."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.ranking_degradation import significance
from shuffleproof.core.studies.kinds.ranking_degradation.study import claim, claimed, finding
from shuffleproof.core.studies.result import SUMMARY, StudyResult
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
        frame = significance.marks(result, family, measure)
        title = f"Is it more than chance? {measure} under {family}"
        yield tables.Table(frame, significance.columns(), title, [TESTED], folded=True)
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
