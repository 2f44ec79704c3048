"""Robustness cards, told: for every family the picture, its sentence, the cards."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Picture, Section, View
from shuffleproof.core.studies.table_text import records

MEASURE = "NDCG@10"


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    measure = next(iter(view.measures), MEASURE)
    for family, level in _levels(result).items():
        frame = card_table.pareto(card_table.cards(result, family, measure))
        yield Picture("cards", (frame, measure, f"{family} {level:g}"))
        yield Finding(card_table.finding(frame, family, measure))
        yield card_table.told(frame, family)
    yield Convention(card_table.convention(result, measure))


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    frames = {
        family: card_table.pareto(card_table.cards(result, family, MEASURE))
        for family in _levels(result)
    }
    return {
        "cards": {family: records(frame) for family, frame in frames.items()},
        "convention": card_table.convention(result, MEASURE),
        "units": {family: entry_of(family).unit for family in frames},
        "findings": {
            family: card_table.finding(frame, family, MEASURE) for family, frame in frames.items()
        },
    }


def _levels(result: StudyResult) -> dict[str, float]:
    """The last level of every family."""
    return {str(family): float(level) for family, level in result.recipe["perturbations"]}
