"""One query of one trial again, whatever was disturbed: both lists and what a ranker answered.

What `replay` is for the study of a worse initial ranking, for every family: documents may have
left or joined, and features may be others. Drawn exactly as the study drew it; answered in JSON,
by the resident scoring process.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.answers.scoring import (
    checked_lists,
    list_for,
    lists_for,
    place_of,
    ranker_for,
    single_list,
)
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.score_reuse import shared_source
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.base import disturb
from shuffleproof.core.perturb.registry import attack_target, entry_of
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.kinds.perturbations.study import AttackFactory
from shuffleproof.core.studies.kinds.perturbations.system import scores_under
from shuffleproof.core.studies.kinds.worst_case.orders import READ, Attack
from shuffleproof.core.studies.kinds.worst_case.study import worst_orders
from shuffleproof.core.studies.table_text import finite

MOST_CANDIDATES = 50_000
"""Lists of more documents are not all asked again for one of them: its batch is then its own."""


def replay_trial(item: Mapping[str, Any]) -> dict[str, Any]:
    """What one trial of a study of perturbations did to one query's list.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `lists` (their digest), `query`, `ranker`
            (artefact key, or `initial ranking`), `family`, `level`, `draw`, `seed`; `attacked`
            (artefact key) where the family is an attack, `trained` (artefact key of the trial's
            own ranker) where rankers are trained again; `features` (ids of columns), if wanted.

    Returns:
        As `compare_lists`.

    Raises:
        DataError: the test part has no such query, or the name means another data set by now.
        UsageError: rankers are trained again, and none is named for this trial.
    """
    base = checked_lists(item)
    at, ranker = place_of(item, base), ranker_for(item)
    judged, features = single_list(base, at), tuple(item.get("features", ()))
    family, level = item["family"], float(item["level"])
    entry, draws = entry_of(family), generator(item["seed"], family, level, item["draw"])
    if entry.of_input:
        attacked_label = attack_target(family)
        attackers = {attacked_label: ranker_for(item, item["attacked"])} if attacked_label else {}
        after = disturb(AttackFactory(attackers, base)(family, level), base, draws)
        return compare_lists(ranker, judged, single_list(after, at), features)
    if item["ranker"] == INITIAL or level == entry.unchanged:
        return compare_lists(ranker, judged, judged, features)
    if entry.retrains:
        if not item.get("trained"):
            raise UsageError(
                f"the ranker that was trained for this trial of {family} was not noted: "
                "run the study again"
            )
        return compare_lists(ranker, judged, judged, features, ranker_for(item, item["trained"]))
    if len(base.lists.rows) > MOST_CANDIDATES:
        base, at = judged, 0
    inside = slice(base.lists.offsets[at], base.lists.offsets[at + 1])
    before = ranker.score(base.dataset, base.lists)
    otherwise = scores_under(ranker, base, family, level, draws)
    return compare_lists(
        PrecomputedRanker(before[inside]),
        judged,
        judged,
        features,
        PrecomputedRanker(otherwise[inside]),
    )


@dataclass(frozen=True)
class PrecomputedRanker:
    """Answers one list with scores that are there, in the order shown."""

    scores: Float32[np.ndarray, " docs"]

    def score(self, dataset: RankingDataset, lists: CandidateLists) -> Float32[np.ndarray, " docs"]:
        """The scores."""
        del dataset, lists
        return self.scores


def worst_replayed(item: Mapping[str, Any]) -> dict[str, Any]:
    """The worst order that a stored study found for one query.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `study` (artefact key), `label` (of the
            ranker in the study), `ranker` (artefact key, or `initial ranking`), `query`, `budget`;
            `features` (ids of columns), if wanted.

    Returns:
        As `compare_lists`.

    Raises:
        DataError: the test part has no such query.
    """
    store = Store(Path(item["store"]), default_store().bundled)
    artefact = store.resolve(item["study"], "study")
    recipe = artefact.recipe
    all_lists = lists_for(item)
    count = min(len(all_lists.lists), recipe["queries"] or len(all_lists.lists))
    base = JudgedLists(all_lists.dataset, all_lists.lists.select(np.arange(count)))
    at, ranker = place_of(item, base), ranker_for(item)
    attack = Attack(ranker, base, recipe["target"], Measure.parse(recipe["measure"]))
    orders = worst_orders(artefact, item["label"]).astype(np.int64)
    order = orders[[0, *recipe["budgets"]].index(item["budget"])]
    after = JudgedLists(base.dataset, attack.rearranged(order))
    return compare_lists(
        ranker, single_list(base, at), single_list(after, at), tuple(item.get("features", ()))
    )


def swaps(item: Mapping[str, Any]) -> dict[str, Any]:
    """What every single exchange of two places costs a ranker in one query.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `ranker` (artefact key, or
            `initial ranking`), `query`, `target`, `measure`; `places`: only among the first so
            many, if wanted.

    Returns:
        `costs`: rows and columns are places, best first; None where none was tried. `documents`
        and `labels` by place, `invariant`: the ranker declares to read nothing of it.
    """
    judged, ranker = list_for(item), ranker_for(item)
    attack = Attack(ranker, judged, item["target"], Measure.parse(item["measure"]))
    costs = attack.swap_map(item.get("places"))
    rows = judged.lists.rows[attack.holders]
    return {
        "costs": finite(costs.tolist()),
        "documents": document_names(judged.dataset.doc_ids, rows),
        "labels": judged.dataset.labels[rows].tolist(),
        "invariant": not ranker.reads & READ[item["target"]],
    }


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
        base: the list as it is.
        after: what was made of it.
        features: ids of columns to be shown as they were and as they are.
        other: scores what was made of it in the ranker's place.

    Returns:
        Columns, documents in the order of the list as it is and new ones after them: `document`,
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
