"""The studies whose commands answer more than their sections: tables, lists, maps, geometry."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import answer_question, asked_question, run_shown
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers.attention.kinds import AttentionRecord, attends
from shuffleproof.core.rankers.attention.summary import MEASURES, POINT
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.initial import InitialRanking
from shuffleproof.core.rankers.name import INITIAL, RankerName
from shuffleproof.core.rankers.neural.ordinal_geometry import geometries, words
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.attention import sections as attention_sections
from shuffleproof.core.studies.kinds.attention.study import (
    NO_CHANGE,
    AttendedList,
    ListEdit,
    attention_after,
)
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.worst_case.study import check_query, swap_map
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.table_text import records, terminal
from shuffleproof.core.studies.user_names import ranker_name
from shuffleproof.core.studies.workbench import Workbench
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
    workbench = run_shown("lists", scope.open_workbench())
    check_query(workbench, arguments.map)
    artefact = answer_question(question, scope, arguments)
    maps = _swap_maps(workbench, question.names().rankers, arguments.map, artefact.recipe)
    lines = [line for ranker, costs in maps.items() for line in _dearest(ranker, costs)]
    more = {"maps": {name: costs.tolist() for name, costs in maps.items()}}
    return print_study(artefact, arguments, more, lines)


def _swap_maps(
    workbench: Workbench, names: Sequence[str], query: str, recipe: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """What every single exchange of two places costs each ranker in one query."""
    rankers: dict[str, Ranker] = {INITIAL: InitialRanking()}
    rankers |= {name: run_shown(name, workbench.identified(name)).ranker for name in names}
    how = (query, recipe["target"], recipe["measure"])
    return {label: swap_map(workbench, ranker, *how) for label, ranker in rankers.items()}


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


def attention(arguments: argparse.Namespace) -> Answer:
    """`study attention`: entropy, relevant mass, redundancy, dead points of every head.

    With `--query` one list's weights, before and after `--change`; the map itself with `--json`.
    """
    question, scope = asked_question(arguments)
    if arguments.query is None:
        return print_study(answer_question(question, scope, arguments), arguments)
    if arguments.queries is not None or arguments.max_seconds is not None:
        raise UsageError(
            "--query looks at one list: leave --queries and --max-seconds out, or --query"
        )
    return _attention_in_list(scope, question.names().rankers, arguments)


def _attention_in_list(scope: Scope, names: Sequence[str], arguments: argparse.Namespace) -> Answer:
    change = ListEdit.parse(arguments.change)
    for name in names:
        if not attends(RankerName.parse(name).base):
            raise UsageError(f"{name} has no attention and no gates: choose a SetRank or a DLCM")
    workbench = run_shown("lists", scope.open_workbench())
    test = workbench.prepared.test
    lists = test.lists.select(np.array([test.dataset.query_ids.index(arguments.query)]))
    judged = JudgedLists(test.dataset, lists)
    documents = document_names(test.dataset.doc_ids, lists.rows)
    answers, parts = [], []
    for name in names:
        ranker = run_shown(f"train {name}", workbench.train(name)).ranker
        before = attention_after(ranker, judged, ListEdit.parse(NO_CHANGE))
        after = attention_after(ranker, judged, change)
        changes = before.changes(after)
        verdict = attention_sections.verdict(name, sorted(ranker.reads), change, changes).text
        frame = _heads(before)
        answers.append(
            {
                "ranker": name, "query": arguments.query, "change": str(change), "said": verdict,
                "documents": documents, "labels": before.labels.tolist(),
                "heads": records(frame), "changes": [list(pair) for pair in changes],
                **_attention_map(before.record, after.record, arguments),
            }
        )  # fmt: skip
        table = tables.infer_columns(frame, "", attention_sections.COLUMNS)
        parts += [terminal(table), verdict, ""]
    return Answer(answers, "\n".join(parts).rstrip())


def _heads(attended: AttendedList) -> pd.DataFrame:
    """The numbers of every head of one list; block and head from 1."""
    rows = pd.DataFrame(attended.numbers.rows, columns=["map", "block", "head"])
    frame = pd.concat([rows, pd.DataFrame(attended.numbers.values, columns=list(MEASURES))], axis=1)
    frame[["block", "head"]] += 1
    return frame[frame["map"] != POINT].drop(columns="received")


def _attention_map(
    before: AttentionRecord, after: AttentionRecord, arguments: argparse.Namespace
) -> dict[str, Any]:
    """The map that is asked for; block and head count from 1."""
    kind = arguments.map or before.kinds[0]
    block, head = arguments.block - 1, None if arguments.head is None else arguments.head - 1
    if block >= before.blocks(kind):
        raise ParameterError("block", arguments.block, f"1 to {before.blocks(kind)}")
    if head is not None and head >= before.heads(kind):
        raise ParameterError("head", arguments.head, f"1 to {before.heads(kind)}")
    return {
        "map": kind, "block": arguments.block, "head": arguments.head,
        "before": before.map_of(kind, block, head).tolist(),
        "after": after.map_of(kind, block, head).tolist(),
    }  # fmt: skip
