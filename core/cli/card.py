"""`study card`: the robustness card on the terminal."""

import argparse
from typing import Any

import pandas as pd

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.figures import short
from shuffleproof.core.cli.open import asked, done
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.studies.kinds.card import study as card
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.result import StudyResult, stored_summary

MEASURE = "NDCG@10"


def study(arguments: argparse.Namespace) -> Answer:
    """`study card`: everything that a worse initial ranking does to a ranker, in numbers."""
    question, scope = asked(card.KIND, arguments)
    artefact = done("card", question.study(scope))
    result = StudyResult.open(artefact.path)
    families = list(dict.fromkeys(family for family, _ in result.recipe["perturbations"]))
    frames = {
        family: card_table.pareto(card_table.cards(result, family, MEASURE)) for family in families
    }
    units = {family: entry_of(family).unit for family in families}
    answer: dict[str, Any] = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "cards": {family: records(frame) for family, frame in frames.items()},
    }
    convention = card_table.convention(result, MEASURE)
    answer |= {"convention": convention, "units": units}
    findings = {
        family: card_table.finding(frame, family, MEASURE) for family, frame in frames.items()
    }
    answer |= {"findings": findings}
    parts = [
        f"under {family} ({units[family]})\n{_printed(frame)}\n\n{findings[family]}\n"
        for family, frame in frames.items()
    ]
    return Answer(answer, "\n".join([convention, "", *parts, f"stored as {artefact.key}"]))


def _printed(frame: pd.DataFrame) -> str:
    """The cards side by side, a column a ranker."""
    numbers = frame.set_index("ranker").T
    cells = numbers.map(lambda value: short(value) if isinstance(value, float) else str(value))
    return str(cells.replace({"None": "–", "": "–"}).to_string())
