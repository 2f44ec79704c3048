"""`study card`: the robustness card on the terminal."""

import argparse

from core.cli.answer import Answer, records
from core.cli.open import done, workbench_of
from core.studies import card, card_table
from core.studies.result import StudyResult, stored_summary


def study(arguments: argparse.Namespace) -> Answer:
    """`study card`: everything that a worse initial ranking does to a ranker, in numbers."""
    bench = workbench_of(arguments)
    families = arguments.families.split(",")
    names = arguments.rankers.split(",")
    work = card.run(bench, names, families, arguments.draws, arguments.seed or 0)
    artefact = done("card", work)
    result = StudyResult.open(artefact.path)
    frames = {
        family: card_table.pareto(card_table.cards(result, family, "NDCG@10"))
        for family in families
    }
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "cards": {family: records(frame) for family, frame in frames.items()},
    }
    parts = [
        f"under {family}\n{frame.set_index('ranker').T.to_string(na_rep='–')}\n"
        for family, frame in frames.items()
    ]
    return Answer(answer, "\n".join([*parts, f"stored as {artefact.key}"]))
