"""`study initial-rankings`: Table 4 on the terminal."""

import argparse

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import answer_question, asked_question
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.ordinal_geometry import geometries, words
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.result import StudyResult

RANKS = 40
"""Ranks of the geometry where lists have no depth."""


def study(arguments: argparse.Namespace) -> Answer:
    """`study initial-rankings`: none, one or many initial rankings, left out and exchanged."""
    question, scope = asked_question(arguments)
    artefact = answer_question(question, scope, arguments)
    learnt = _geometry(StudyResult.open(artefact.path), scope.store)
    lines = [f"{table['ranker']}. {table['words']}" for table in learnt]
    return print_study(artefact, arguments, {"geometry": learnt}, lines)


def _geometry(result: StudyResult, store: Store) -> list[dict[str, str]]:
    """What every SetRank of the study has learnt of ranks, one entry a table of embeddings."""
    found, lists = [], result.facts["lists"]
    for row in result.trials.drop_duplicates("artefacts").to_dict("records"):
        name = RankerName.of(str(row["ranker"]))
        if not (rankings_of(name.base) and row["artefacts"]):
            continue
        place = store.resolve(row["artefacts"], "ranker").path
        tables = geometries(place, lists["depth"] or RANKS)
        for ranking, table in zip(lists["initial"], tables, strict=False):
            of = f", {ranking}" if len(tables) > 1 else ""
            seed = f", seed {row['draw']}" if result.trials["draw"].max() else ""
            found.append({"ranker": f"{row['ranker']}{seed}{of}", "words": words(table)})
    return found
