"""One query of one trial again: the list as it was, as it was disturbed, and what a ranker said.

The disturbed list is drawn exactly as the study drew it. Answered in JSON, by the resident
scoring process.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.perturb.base import disturbed
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies import score_floor
from shuffleproof.core.studies.answers.scoring import (
    answered_order,
    check_same_data,
    documents_moved,
    lists_for,
    ranker_for,
)
from shuffleproof.core.studies.answers.shown_order import document_names
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL, InitialRanking
from shuffleproof.core.studies.score_reuse import source_of


def replayed(item: Mapping[str, Any]) -> dict[str, Any]:
    """What one trial did to one query's list.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `lists` (their digest), `query`, `ranker`
            (artefact key, or `initial ranking`), `family`, `level`, `draw`, `seed`.

    Returns:
        Columns document, label, shown, answered, shown_before, answered_before (positions from 1)
        and moved, documents in the order of the undisturbed list; and `floor`, how far
        arithmetic carries each score.

    Raises:
        DataError: the test part has no such query, or the name means another data set by now.
        UsageError: a family that changes documents; see `perturbed_query`.
    """
    check_same_data(item, item["recipe"], item["lists"])
    base = lists_for(item)
    ids = [base.dataset.query_ids[query] for query in base.lists.queries]
    if item["query"] not in ids:
        raise DataError(
            f"query {item['query']!r}", f"not in the test part of {item['data']}", "Choose another."
        )
    ranker = InitialRanking() if item["ranker"] == INITIAL else ranker_for(item)
    change = perturbation(item["family"], item["level"])
    if change.changes & {"set", "features"}:
        raise UsageError(f"{change} changes documents; `study perturbations` shows such a query")
    draws = generator(item["seed"], item["family"], float(item["level"]), item["draw"])
    chosen = np.array([ids.index(item["query"])])
    after = disturbed(change, base, draws).lists.select(chosen)
    few = JudgedLists(base.dataset, base.lists.select(chosen))
    return compared(ranker, few, after)


def compared(ranker: Ranker, base: JudgedLists, disturbed: CandidateLists) -> dict[str, Any]:
    """One list before and after: where each document was shown and where the ranker put it."""
    before = ranker.score(base.dataset, base.lists)
    source = source_of(base.lists, disturbed)
    after = np.empty_like(before)
    after[source] = ranker.score(base.dataset, disturbed)
    floor = score_floor.measured(ranker, base, before)[0].doubt
    shown = np.empty(len(source), dtype=np.int64)
    shown[source] = np.arange(len(source))
    answered_before, answered = answered_order(before, after, floor)
    return {
        "document": document_names(base.dataset.doc_ids, base.lists.rows),
        "label": base.dataset.labels[base.lists.rows].tolist(),
        "shown": (shown + 1).tolist(),
        "answered": (answered + 1).tolist(),
        "shown_before": list(range(1, len(source) + 1)),
        "answered_before": (answered_before + 1).tolist(),
        "moved": documents_moved(before, after, floor).tolist(),
        "floor": floor.tolist(),
    }
