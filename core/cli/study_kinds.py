"""Studies whose commands answer more than their sections: baselines, geometry, maps."""

import argparse
from collections.abc import Sequence

import numpy as np

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import answer_question, asked_question, run_shown
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.initial import InitialRanking
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.neural.ordinal_geometry import geometries, words
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.user_names import ranker_name
from shuffleproof.core.words import number

RANKS = 40
"""Ranks of the geometry where lists have no depth."""

DEAREST = 10
"""Exchanges of a map that are printed; JSON has all."""


def benchmark(arguments: argparse.Namespace) -> Answer:
    """`study benchmark`: every ranker on the same lists, over seeds and folds; Table 2."""
    question, scope = asked_question(arguments)
    view = View(
        digits=arguments.digits,
        baselines=list(dict.fromkeys(map(ranker_name, parts_of(arguments.against)))),
        test=arguments.test,
        symbols=benchmark_table.SYMBOLS[arguments.marks],
    )
    benchmark_table.check_baselines(view.baselines or (), view.symbols)
    rows = benchmark_rows.rows_of(question.names().rankers, scope.usual_preset, 1)
    _check_rows(view.baselines or (), [row.label for row in rows])
    artefact = answer_question(question, scope, arguments)
    result = StudyResult.open(artefact.path)
    failed = result.facts.get("failed", {})
    _check_rows(view.baselines or (), [*benchmark_table.rankers_of(result), *failed])
    return print_study(artefact, arguments, view=view)


def _check_rows(baselines: Sequence[str], labels: Sequence[str]) -> None:
    for baseline in baselines:
        if baseline not in labels:
            raise UnknownNameError("row of the table", baseline, labels)


def initial_rankings(arguments: argparse.Namespace) -> Answer:
    """`study initial-rankings`: none, one or many, left out and exchanged; Table 4."""
    question, scope = asked_question(arguments)
    artefact = answer_question(question, scope, arguments)
    learnt = _geometry(StudyResult.open(artefact.path), scope.store)
    lines = [f"{table['ranker']}. {table['words']}" for table in learnt]
    return print_study(artefact, arguments, {"geometry": learnt}, lines)


def _geometry(result: StudyResult, store: Store) -> list[dict[str, str]]:
    """What every SetRank of the study has learnt of ranks, one entry a table of embeddings."""
    rows, lists = [], result.facts["lists"]
    for row in result.trials.drop_duplicates("artefacts").to_dict("records"):
        name = RankerName.of(str(row["ranker"]))
        if not (rankings_of(name.base) and row["artefacts"]):
            continue
        place = store.resolve(row["artefacts"], "ranker").path
        tables = geometries(place, lists["depth"] or RANKS)
        for ranking, table in zip(lists["initial"], tables, strict=False):
            of = f", {ranking}" if len(tables) > 1 else ""
            seed = f", seed {row['draw']}" if result.trials["draw"].max() else ""
            rows.append({"ranker": f"{row['ranker']}{seed}{of}", "words": words(table)})
    return rows


def worst_case(arguments: argparse.Namespace) -> Answer:
    """`study worst-case`: random mean against worst found; with --map the cost of each exchange."""
    question, scope = asked_question(arguments)
    if arguments.map is None:
        return print_study(answer_question(question, scope, arguments), arguments)
    from shuffleproof.core.studies.kinds.worst_case.study import check_query, swap_map  # noqa: PLC0415 (only of --map)

    workbench = run_shown("lists", scope.open_workbench())
    check_query(workbench, arguments.map)
    artefact = answer_question(question, scope, arguments)
    rankers: dict[str, Ranker] = {INITIAL: InitialRanking()}
    for name in question.names().rankers:
        rankers[name] = run_shown(name, workbench.identified(name)).ranker
    how = (arguments.map, artefact.recipe["target"], artefact.recipe["measure"])
    maps = {label: swap_map(workbench, ranker, *how) for label, ranker in rankers.items()}
    lines = [line for ranker, costs in maps.items() for line in _dearest(ranker, costs)]
    more = {"maps": {name: costs.tolist() for name, costs in maps.items()}}
    return print_study(artefact, arguments, more, lines)


def _dearest(ranker: str, costs: np.ndarray) -> list[str]:
    """The dearest exchanges of one ranker's map, as lines."""
    places = np.stack(np.triu_indices(len(costs), 1), axis=1)
    each = costs[places[:, 0], places[:, 1]]
    order = np.argsort(-each, kind="stable")[:DEAREST]
    known = [at for at in order.tolist() if each[at] > 0]
    if not known:
        return [f"{ranker}: no single exchange costs anything", ""]
    share = f"{100 * float((each > 0).mean()):.0f} % of {len(each)} exchanges cost something"
    rows = [f"  {places[at, 0] + 1} ↔ {places[at, 1] + 1}: {number(each[at])}" for at in known]
    return [f"{ranker}: {share}; the dearest, by places", *rows, ""]
