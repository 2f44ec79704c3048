"""`study initial-rankings`: Table 4 on the terminal."""

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.figures import fixed
from shuffleproof.core.cli.open import asked, done
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.ordinal_geometry import geometries, words
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.multi_ranking import study as initial_rankings
from shuffleproof.core.studies.kinds.multi_ranking import table as initial_rankings_table
from shuffleproof.core.studies.result import StudyResult, stored_summary

RANKS = 40
"""Ranks of the geometry where lists have no depth."""


def study(arguments: argparse.Namespace) -> Answer:
    """`study initial-rankings`: none, one or many initial rankings, left out and exchanged."""
    question, scope = asked(initial_rankings.KIND, arguments)
    artefact = done("initial rankings", question.study(scope))
    result = StudyResult.open(artefact.path)
    measure = result.measures[0]
    frame = initial_rankings_table.table(result, measure)
    verdict = initial_rankings_table.claim(result, measure)
    learnt = _geometry(result, scope.store)
    answer: dict[str, Any] = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "claim": None if verdict is None else asdict(verdict),
        "finding": initial_rankings_table.finding(result, measure),
        "convention": Measure.parse(measure).convention(),
        "geometry": learnt,
    }
    decimals = partial(fixed, digits=arguments.digits)
    parts = [
        frame.to_string(index=False, na_rep="–", float_format=decimals),
        answer["finding"],
        answer["convention"],
        *(f"{table['ranker']}. {table['words']}" for table in learnt),
        f"stored as {artefact.key}",
    ]
    return Answer(answer, "\n".join(parts))


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
