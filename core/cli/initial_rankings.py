"""`study initial-rankings`: Table 4 on the terminal."""

import argparse
from dataclasses import asdict
from functools import partial
from typing import Any

from core.cli.answer import Answer, records
from core.cli.figures import fixed
from core.cli.open import done, measures_of, one_fold, preset_of, recipe_of, store_of, use_device
from core.metrics.measure import Measure
from core.rankers.ordinal_geometry import geometries, words
from core.studies import initial_rankings, initial_rankings_table
from core.studies.result import StudyResult, stored_summary
from core.studies.workbench import Workbench

RANKS = 40
"""Ranks of the geometry where lists have no depth."""


def study(arguments: argparse.Namespace) -> Answer:
    """`study initial-rankings`: none, one or many initial rankings, left out and exchanged."""
    measures = measures_of(arguments)
    if arguments.initial is None:
        preset = preset_of(arguments)
        arguments.initial = ",".join(f"{name}@{preset}" for name in initial_rankings.FOUR)
    use_device(arguments)
    store = store_of(arguments)
    recipe, preset = recipe_of(arguments)
    data = one_fold(arguments.data, store)
    names = arguments.rankers.split(",")
    bench = done("lists", initial_rankings.opened(data, recipe, store, preset, names))
    plan = initial_rankings.planned(
        bench,
        names,
        arguments.swaps.split(",") if arguments.swaps else (),
        measures,
        arguments.seeds,
    )
    artefact = done("initial rankings", initial_rankings.run(bench, plan))
    result = StudyResult.open(artefact.path)
    frame = initial_rankings_table.table(result, plan.measures[0])
    verdict = initial_rankings_table.claim(result, plan.measures[0])
    learnt = _geometry(result, bench)
    answer: dict[str, Any] = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "claim": None if verdict is None else asdict(verdict),
        "finding": initial_rankings_table.finding(result, plan.measures[0]),
        "convention": Measure.parse(plan.measures[0]).convention(),
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


def _geometry(result: StudyResult, bench: Workbench) -> list[dict[str, str]]:
    """What every SetRank of the study has learnt of ranks, one entry a table of embeddings."""
    found = []
    for row in result.trials.drop_duplicates("artefacts").to_dict("records"):
        name = str(row["ranker"]).partition("@")[0]
        if not (name.startswith("setrank") and name.endswith("-init") and row["artefacts"]):
            continue
        place = bench.store.resolve(row["artefacts"], "ranker").path
        tables = geometries(place, bench.recipe.depth or RANKS)
        for ranking, table in zip(bench.recipe.initial, tables, strict=False):
            of = f", {ranking}" if len(tables) > 1 else ""
            seed = f", seed {row['draw']}" if result.trials["draw"].max() else ""
            found.append({"ranker": f"{row['ranker']}{seed}{of}", "words": words(table)})
    return found
