"""Studies of set size and of initial rankings as their pages find them in a store."""

import numpy as np

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies import cells, conventions
from shuffleproof.core.studies.kinds.multi_ranking import ranking_conditions
from shuffleproof.core.studies.kinds.multi_ranking import study as multi_ranking
from shuffleproof.core.studies.kinds.set_size import study as set_size
from shuffleproof.core.studies.kinds.set_size.study import stabilities
from tests import app_tables as tables

SIZES = (3, 6, 12)
ASKED = ("NDCG@5", "NDCG@10")
LISTS = tables.LISTS | {"depth": 3}
FOLLOWS = {"setrank-imsab": 0.1, "setrank-msab": 0.3, "dlcm-without-init": 0.9}
"""How much noisier a ranker becomes for every doubling of its lists."""

INITIALS = ("mart@small", "ranksvm@small")
SWAPS = ("oracle", "random")
NOISE = {"setrank-imsab": 0.8, "setrank-imsab-init": 0.5, "setrank-imsab-multi-init": 0.2}


def judged_at(data, depth):
    noise = generator(0, "prior").normal(size=data.test.documents)
    scores = (data.test.labels + noise).astype(np.float32)[:, None]
    return JudgedLists(data.test, CandidateLists.ranked_by(data.test, scores, depth))


def sizes_plan(data):
    rows = [set_size.Row(name, {"name": name}, None, 1, None) for name in (INITIAL, "ideal")]
    rows += [set_size.Row(name, {"name": name}, home, 1, None)
             for name in FOLLOWS for home in SIZES[:2]]  # fmt: skip
    lists = {str(size): lists_digest(data, LISTS | {"depth": size}) for size in SIZES}
    stored = (*conventions.stored_measures(ASKED), set_size.ORDER, set_size.SHIFT)
    return set_size.Plan(tuple(rows), SIZES, lists, ASKED, stored)


def lists_digest(data, lists):
    return key_of("lists", lists, (data.fingerprint,)).digest


def scores_of(judged, row, size):
    """What a ranker of the made-up study answers to lists of a size."""
    labels = judged.dataset.labels[judged.lists.rows]
    if row.ranker == INITIAL:
        return judged.lists.prior[:, 0].copy()
    if row.ranker == "ideal":
        return labels.astype(np.float32)
    away = abs(np.log2(size / int(row.family)))
    noise = generator(int(size), row.ranker, row.family).normal(size=len(labels))
    return (labels + FOLLOWS[row.ranker] * away * noise).astype(np.float32)


def sizes_cells(plan, data):
    """Every cell's facts and arrays."""
    measures = [Measure.parse(text) for text in plan.stored[:-2]]
    found = {}
    for cell in plan.cells():
        size = int(cell.row.level)
        judged = judged_at(data, size)
        scores = scores_of(judged, cell.row, size)
        values = evaluate(measures, judged.dataset, judged.lists, scores)
        at = int(cell.row.family) if cell.row.family != set_size.ANY else SIZES[0]
        home = judged_at(data, at)
        kept = stabilities(home, scores_of(home, cell.row, at), judged, scores)
        facts = {"queries": len(judged.lists), "set_size": float(size), "artefact": "",
                 "seconds": 0.1}  # fmt: skip
        found[cell.digest] = (facts, {"values": np.concatenate([values, kept])})
    return found


def sizes_facts(data):
    return {
        "data": tables.DATA, "queries": len(data.test.query_ids), "lists": LISTS,
        "preset": "small", "shorter": {"3": 0, "6": 0, "12": 7}, "left_out": ["dlcm <was> left"],
    }  # fmt: skip


def sizes_in(store, data):
    """The study of sizes, stored as a run stores it."""
    plan = sizes_plan(data)
    return stored(store, plan, sizes_cells(plan, data), sizes_facts(data), data)


def rankings_plan(data):
    every = (*INITIALS, *SWAPS)
    rows = [multi_ranking.Row(f"initial: {name}", {"initial": name}, "as trained", (at,), 1)
            for at, name in enumerate(every)]  # fmt: skip
    for reads, label in enumerate(NOISE):
        rows += [multi_ranking.Row(label, {"name": label}, condition, columns, 1)
                 for condition, columns in ranking_conditions.conditions(reads, every)]  # fmt: skip
    lists = lists_digest(data, rankings_facts(data)["lists"])
    return multi_ranking.Plan(tuple(rows), every, lists, ASKED, conventions.stored_measures(ASKED))


def rankings_cells(plan, data):
    judged = judged_at(data, 12)
    labels = judged.dataset.labels[judged.lists.rows]
    measures = [Measure.parse(text) for text in plan.stored]
    found = {}
    for cell in plan.cells():
        noise = generator(0, cell.row.ranker).normal(size=len(labels))
        worse = 1.0 if cell.row.family == "without any" else 0.0
        scores = labels + (NOISE.get(cell.row.ranker, 1.0) + worse) * noise
        values = evaluate(measures, judged.dataset, judged.lists, scores.astype(np.float32))
        facts = {"queries": len(judged.lists), "set_size": 12.0, "artefact": "", "seconds": 0.1}
        found[cell.digest] = (facts, {"values": values})
    return found


def rankings_facts(data):
    return {
        "data": tables.DATA, "queries": len(data.test.query_ids), "preset": "small",
        "lists": tables.LISTS | {"initial": list(INITIALS)}, "initial": [*INITIALS, *SWAPS],
    }  # fmt: skip


def rankings_in(store, data):
    """The study of initial rankings, stored as a run stores it."""
    plan = rankings_plan(data)
    return stored(store, plan, rankings_cells(plan, data), rankings_facts(data), data)


def stored(store, plan, done, facts, data):
    ids = list(data.test.query_ids)
    result = cells.assemble(plan.recipe(), plan.cells(), done, ids, facts)
    return store.add(key_of("study", plan.recipe()), plan.recipe(), result.save, facts)
