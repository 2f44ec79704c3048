"""`study attention`: what every head looks at, over all queries or in one list."""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import answer_question, asked_question, run_shown
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import ParameterError, UsageError
from shuffleproof.core.rankers.attention.kinds import AttentionRecord, attends
from shuffleproof.core.rankers.attention.summary import MEASURES, POINT
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.attention import sections
from shuffleproof.core.studies.kinds.attention.study import (
    NO_CHANGE,
    AttendedList,
    ListEdit,
    attention_after,
)
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.table_text import records, terminal


def study(arguments: argparse.Namespace) -> Answer:
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
    return _in_list(scope, question.names().rankers, arguments)


def _in_list(scope: Scope, names: Sequence[str], arguments: argparse.Namespace) -> Answer:
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
        verdict = sections.verdict(name, sorted(ranker.reads), change, changes).text
        frame = _heads(before)
        answers.append(
            {
                "ranker": name, "query": arguments.query, "change": str(change), "said": verdict,
                "documents": documents, "labels": before.labels.tolist(),
                "heads": records(frame), "changes": [list(pair) for pair in changes],
                **_map(before.record, after.record, arguments),
            }
        )  # fmt: skip
        table = tables.infer_columns(frame, "", sections.COLUMNS)
        parts += [terminal(table), verdict, ""]
    return Answer(answers, "\n".join(parts).rstrip())


def _heads(attended: AttendedList) -> pd.DataFrame:
    """The numbers of every head of one list; block and head from 1."""
    rows = pd.DataFrame(attended.numbers.rows, columns=["map", "block", "head"])
    frame = pd.concat([rows, pd.DataFrame(attended.numbers.values, columns=list(MEASURES))], axis=1)
    frame[["block", "head"]] += 1
    return frame[frame["map"] != POINT].drop(columns="received")


def _map(
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
