"""The weights of one list before and after a change, by JSON: what a resident process works.

The functions here are named in questions to `core.execution.resident` and use the data sets and
rankers that `answers.scoring` holds. Maps come back by document, in the order of the initial
ranking, whatever the order shown; arrays travel as base64 of their float32 bytes.
"""

import base64
import json
import shlex
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.answers import scoring
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.numerals import finite
from shuffleproof.core.studies.kinds.attention.question import Attention
from shuffleproof.core.studies.kinds.attention.study import (
    NO_CHANGE,
    AttendedList,
    ListEdit,
    attention_after,
)
from shuffleproof.core.studies.reproduce import changed_lists, command_of, opening_lines

MOST_FEATURES = 8


def overview(item: Mapping[str, Any]) -> dict[str, Any]:
    """What there is to see of a list's weights: what the maps are of, and what the change did.

    Args:
        item: `store`, `data`, `recipe`, `query`, `ranker` (an artefact key) and `change`, a text
            of `Change`.

    Returns:
        `kinds` (name, blocks, heads), `documents` (names), `labels`, `ranks` (by the initial
        ranking, 0-based) and `scores` before and after, `shown` (the document at each position)
        before and after, `changes` (largest change of a weight by kind and block), `reads` (what
        the ranker declares), `came` (documents that the change added) and `seconds`. A document
        that the change took out has rank −1 and score NaN after it, and is shown last.
    """
    began = time.perf_counter()
    judged, (before, after) = scoring.list_for(item), _looks(item)
    lists, record = judged.lists, before.record
    return {
        "kinds": [[name, record.blocks(name), record.heads(name)] for name in record.kinds],
        "documents": document_names(judged.dataset.doc_ids, lists.rows),
        "labels": before.labels.tolist(),
        "ranks": [before.ranks.tolist(), after.ranks.tolist()],
        "scores": [before.record.scores.tolist(), after.record.scores.tolist()],
        "shown": [before.shown.tolist(), after.shown.tolist()],
        "changes": before.changes(after),
        "reads": sorted(scoring.ranker_for(item).reads),
        "came": after.came,
        "seconds": time.perf_counter() - began,
    }


def heads(item: Mapping[str, Any]) -> dict[str, Any]:
    """Every head of a list as it is, at a glance.

    Args:
        item: as for `overview`; there is no change.

    Returns:
        `numbers` (kind, block, head and then MEASURES, null where they mean nothing) and `small`
        (a picture of each head of the first kind, by block).
    """
    look = _look(item, NO_CHANGE)
    rows = zip(look.numbers.rows, look.numbers.values.tolist(), strict=True)
    return {
        "numbers": [[*row, *finite(values)] for row, values in rows],
        "small": [pack_array(picture) for picture in look.small],
    }


def chosen_map(item: Mapping[str, Any]) -> dict[str, Any]:
    """One map before and after the change, by document.

    Args:
        item: as for `overview`, and `kind`, `block`, `head` (null: the mean over the heads).
    """
    place = item["kind"], item["block"], item["head"]
    sides = zip(("before", "after"), _looks(item), strict=True)
    return {side: pack_array(look.record.map_of(*place)) for side, look in sides}


def pair(item: Mapping[str, Any]) -> dict[str, Any]:
    """Two documents' features, those that differ most first.

    Args:
        item: `store`, `data`, `recipe`, `query` and `documents`, two places in the list. Where
            they are the same, the document is compared with the mean of the list.

    Returns:
        `features`: (id, value of the first, value of the second, difference in standard
        deviations of the list), the largest differences first.
    """
    judged = scoring.list_for(item)
    values = judged.dataset.features[judged.lists.rows].astype(np.float64)
    first, second = item["documents"]
    former, latter = values[first], values.mean(axis=0) if first == second else values[second]
    spread = values.std(axis=0)
    differences = np.divide(former - latter, spread, out=np.zeros_like(spread), where=spread > 0)
    largest_first = np.argsort(-np.abs(differences), kind="stable")[:MOST_FEATURES]
    return {
        "features": [
            [
                judged.dataset.feature_ids[at],
                float(former[at]),
                float(latter[at]),
                float(differences[at]),
            ]
            for at in largest_first
        ]
    }


def pack_array(array: Float32[np.ndarray, "*shape"]) -> dict[str, Any]:
    """An array as JSON can carry it at little cost."""
    plain = np.ascontiguousarray(array, dtype="<f4")
    return {"shape": list(plain.shape), "data": base64.b64encode(plain.tobytes()).decode()}


def unpack_array(item: Mapping[str, Any]) -> Float32[np.ndarray, "*shape"]:
    """The array that `pack_array` packed.

    >>> unpack_array(pack_array(np.float32([[1.5, 2.0]]))).tolist()
    [[1.5, 2.0]]
    """
    return np.frombuffer(base64.b64decode(item["data"]), "<f4").reshape(item["shape"])


def _looks(item: Mapping[str, Any]) -> tuple[AttendedList, AttendedList]:
    """What is seen of a list before and after the change."""
    return _look(item, NO_CHANGE), _look(item, str(ListEdit.parse(item["change"])))


def _look(item: Mapping[str, Any], change: str) -> AttendedList:
    names = ("store", "data", "recipe", "query", "ranker")
    question = json.dumps({name: item[name] for name in names}, sort_keys=True)
    return _cached_look(question, scoring.digest_of_name(item), change)


@lru_cache(maxsize=3)
def _cached_look(question: str, digest: str, change: str) -> AttendedList:
    del digest  # part of the memory's key alone
    item = json.loads(question)
    return attention_after(scoring.ranker_for(item), scoring.list_for(item), ListEdit.parse(change))


Facts = Mapping[str, Any]


def list_command(ranker: str, query: str, which: Mapping[str, Any], facts: Facts) -> str:
    """The command that looks at one list.

    Args:
        ranker: `ranker` or `ranker@preset`.
        query: its id.
        which: `kind`, `block` and `head` of the map (from 0; None: the mean) and `change`.
        facts: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> list_command("dlcm", "7", {"kind": "phi", "block": 0, "head": None, "change": "-initial"},
    ...              {"data": "sample"})
    'shuffleproof study attention --rankers dlcm --query 7 --change=-initial --map phi'
    """
    words = shlex.split(command_of(Attention((ranker,)), facts))
    words += ["--query", query, f"--change={which['change']}", "--map", which["kind"]]
    words += ["--block", str(which["block"] + 1)] if which["block"] else []
    words += [] if which["head"] is None else ["--head", str(which["head"] + 1)]
    return shlex.join(words)


def list_python(ranker: str, query: str, which: Mapping[str, Any], facts: Facts) -> str:
    """The lines that print one map of one query, before and after a change."""
    lines = ["import numpy as np", "", "from shuffleproof.core.data.lists import JudgedLists"]
    if changed_lists(facts):
        lines.append("from shuffleproof.core.rankers.initial import ListRecipe")
    lines += [
        "from shuffleproof.core.studies.kinds.attention.one_list import ListEdit",
        "from shuffleproof.core.studies.kinds.attention.study import attention_after",
        "from shuffleproof.core.progress import run_to_end",
        "from shuffleproof.core.studies.workbench import Workbench",
        "",
        f"workbench = {opening_lines(facts)}",
        f"ranker = run_to_end(workbench.train({ranker!r})).ranker",
        "test = workbench.prepared.test",
        f"query = test.dataset.query_ids.index({query!r})",
        "one = test.lists.select(np.flatnonzero(test.lists.queries == query))",
        "judged = JudgedLists(test.dataset, one)",
        f"for change in ('initial', {which['change']!r}):  # as it is, and after the change",
        "    seen = attention_after(ranker, judged, ListEdit.parse(change))",
        f"    print(seen.record.map_of({which['kind']!r}, {which['block']!r}, {which['head']!r}))",
    ]
    return "\n".join(lines) + "\n"
