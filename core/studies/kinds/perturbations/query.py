"""Replay of one query of one trial under any perturbation: both lists and both rankings.

It extends `replay` of the study of a worse initial ranking to every family: documents may be
removed or added, and features may change. The random draws are those of the study. The resident
scoring process answers in JSON.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.answers.scoring import (
    checked_lists,
    lists_for,
    place_of,
    ranker_for,
    single_list,
)
from shuffleproof.core.answers.two_lists import PrecomputedRanker, compare_lists
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.registry import attack_target, entry_of
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.kinds.perturbations.study import AttackFactory
from shuffleproof.core.studies.kinds.perturbations.system import scores_under
from shuffleproof.core.studies.kinds.worst_case.orders import Attack
from shuffleproof.core.studies.kinds.worst_case.study import worst_orders

MOST_CANDIDATES = 50_000
"""Maximum number of candidates to score all lists again for one; above it, one list is scored."""


def replay_trial(item: Mapping[str, Any]) -> dict[str, Any]:
    """Effect of one trial of a study of perturbations on one query's list.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `lists` (their digest), `query`, `ranker`
            (artefact key, or `initial ranking`), `family`, `level`, `draw`, `seed`; `attacked`
            (artefact key) for attacks, `trained` (artefact key of the trial's own ranker) for
            families that train again; `features` (ids of columns), optional.

    Returns:
        As `compare_lists`.

    Raises:
        DataError: the test part lacks the query, or the name now means another data set.
        UsageError: the family trains again, and the trial names no trained ranker.
    """
    base = checked_lists(item)
    at, ranker = place_of(item, base), ranker_for(item)
    judged, features = single_list(base, at), tuple(item.get("features", ()))
    family, level = item["family"], float(item["level"])
    entry, draws = entry_of(family), generator(item["seed"], family, level, item["draw"])
    if entry.of_input:
        attacked_label = attack_target(family)
        attackers = {attacked_label: ranker_for(item, item["attacked"])} if attacked_label else {}
        after = perturb(AttackFactory(attackers, base)(family, level), base, draws)
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
    # Scores may depend on the batch, so all lists are scored together as in the study
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


def worst_replayed(item: Mapping[str, Any]) -> dict[str, Any]:
    """Worst order that a stored study found for one query.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `study` (artefact key), `label` (of the
            ranker in the study), `ranker` (artefact key, or `initial ranking`), `query`, `budget`;
            `features` (ids of columns), optional.

    Returns:
        As `compare_lists`.

    Raises:
        DataError: the test part lacks the query.
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
