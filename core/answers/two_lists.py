"""One list before and after, as a ranker answers both: documents may have left or joined.

Answered in JSON, for the resident scoring process.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment.score_reuse import shared_source
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.rankers.base import Ranker


@dataclass(frozen=True)
class PrecomputedRanker:
    """Answers one list with scores that are there, in the input order."""

    scores: Float32[np.ndarray, " docs"]

    def score(self, dataset: RankingDataset, lists: CandidateLists) -> Float32[np.ndarray, " docs"]:
        """The scores."""
        del dataset, lists
        return self.scores


def compare_lists(
    ranker: "Ranker | PrecomputedRanker",
    base: JudgedLists,
    after: JudgedLists,
    features: tuple[int, ...] = (),
    other: "Ranker | PrecomputedRanker | None" = None,
) -> dict[str, Any]:
    """One list before and after.

    Args:
        ranker: scores both.
        base: the original list.
        after: the changed list.
        features: ids of columns to be shown as they were and as they are.
        other: scores what was made of it in the ranker's place.

    Returns:
        Columns, documents in the original order and new ones after them: `document`,
        `label`, `kind` (kept, gone, new), `shown_before`, `shown`, `answered_before`, `answered`
        (positions from 1; None where it is not in that list), `score_before`, `score`; and
        `features`: by id, pairs before and after.
    """
    source, old = shared_source(base, after), len(base.lists.rows)
    new, shared = np.flatnonzero(source < 0), np.flatnonzero(source >= 0)
    was = np.concatenate([np.arange(old), np.full(len(new), -1)])
    at = np.concatenate([np.full(old, -1), new])
    at[source[shared]] = shared
    columns: dict[str, Any] = {}
    for name, judged, place, scorer in (
        ("_before", base, was, ranker),
        ("", after, at, other or ranker),
    ):
        scores = scorer.score(judged.dataset, judged.lists)
        answer_ranks = positions(judged.lists.offsets, scores, judged.lists.rows)
        columns[f"shown{name}"] = _at_places(place, np.arange(1, len(scores) + 1))
        columns[f"answered{name}"] = _at_places(place, answer_ranks + 1)
        columns[f"score{name}"] = _at_places(place, scores)
    names = document_names(base.dataset.doc_ids, base.lists.rows)
    names += document_names(after.dataset.doc_ids, after.lists.rows[new])
    labels = base.dataset.labels[base.lists.rows], after.dataset.labels[after.lists.rows[new]]
    kinds = ["kept" if place >= 0 else "gone" for place in at[:old]] + ["new"] * len(new)
    feature_pairs = {}
    for feature in features:
        ours = base.dataset.feature(feature)[base.lists.rows]
        theirs = after.dataset.feature(feature)[after.lists.rows]
        pairs = zip(_at_places(was, ours), _at_places(at, theirs), strict=True)
        feature_pairs[str(feature)] = [list(pair) for pair in pairs]
    return {
        "document": names,
        "label": np.concatenate(labels).tolist(),
        "kind": kinds,
        **columns,
        "features": feature_pairs,
    }


def _at_places(place: Any, values: Any) -> list[Any]:
    """The value at each place; None where there is no place."""
    return [None if at < 0 else values[at].item() for at in place.tolist()]
