"""A study of perturbations, told: losses, whom attacks reach, what is left out."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.perturbations import notes
from shuffleproof.core.studies.kinds.perturbations import table as perturbations_table
from shuffleproof.core.studies.kinds.perturbations.answer_changes import OWN
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Picture,
    Section,
    Sentence,
    View,
)
from shuffleproof.core.words import counted

LAST = "last"
"""At each family's last level, where nobody chooses another."""


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    measure = next(iter(view.measures), str(result.measures[0]))
    frame = perturbations_table.losses(result, measure)
    cells = perturbations_table.condensed(frame, LAST)
    groups = perturbations_table.headed(cells["family"])
    yield Picture("losses", (cells, groups, measure), list(_by_level(result, view)))
    yield Finding(_finding(frame, measure))
    wide = notes.transfer(frame)
    if not wide.empty:
        yield notes.transfer_table(frame, measure)
        yield Sentence(notes.transferred(wide, measure))
    for sentence in _notes(result.facts, set(cells["family"])):
        yield Sentence(sentence)
    yield Convention(_convention(result, measure))
    title = "Losses by ranker, family and level"
    yield tables.Table(frame, perturbations_table.COLUMNS, title, folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    measure, facts = str(result.measures[0]), result.facts
    frame = perturbations_table.losses(result, measure)
    wide = notes.transfer(frame).to_dict("index")
    return {
        "transfer": {
            str(row): {str(ranker): float(loss) for ranker, loss in own.items()}
            for row, own in wide.items()
        },
        "left_out": facts.get("left_out", {}),
        "lists_that_reach": facts.get("reached", {}),
        "finding": _finding(frame, measure),
        "said": _notes(facts, {family for family, _ in result.recipe["perturbations"]}),
        "convention": _convention(result, measure),
    }


def _finding(frame: pd.DataFrame, measure: str) -> str:
    return perturbations_table.finding(frame, measure, list(frame["ranker"].unique()), LAST)


def _notes(facts: Mapping[str, Any], families: set[str]) -> list[str]:
    return list(filter(None, [notes.left_out(facts, families), notes.short_of(facts, families)]))


def _convention(result: StudyResult, measure: str) -> str:
    draws, queries = counted(result.recipe["draws"], "draw"), len(result.query_ids)
    convention = Measure.parse(measure).convention()
    return f"{convention} · N = {counted(queries, 'query')} · {draws}"


def _by_level(result: StudyResult, view: View) -> Iterator[tables.Table]:
    """Rankers × levels, for every family and measure."""
    summary = result.summarised(view.measures)
    for (family, measure), group in summary.groupby(["family", "measure"], sort=False):
        entry = entry_of(str(family))
        told = OWN[:1] if entry.of_input else (OWN[0], OWN[-1])
        if measure in OWN and measure not in told:
            continue
        spec = tables.SHORT if measure in OWN else tables.VALUE
        yield tables.levels(group, f"{measure} under {family} ({entry.unit})", spec,
                            left=entry.of_input)  # fmt: skip
