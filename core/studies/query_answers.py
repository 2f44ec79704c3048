"""One query of a stored study again, as the study asked it: two answers side by side.

Lists of another size, other initial rankings, or one trial's disturbed list, drawn exactly as the
study drew it. Rankers are opened, never trained; answered in JSON by the resident scoring process.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from shuffleproof.core.answers.scoring import (
    answered_order,
    check_same_data,
    checked_lists,
    digest_of_name,
    documents_moved,
    place_of,
    ranker_for,
    single_list,
)
from shuffleproof.core.answers.shown_order import document_names
from shuffleproof.core.answers.two_lists import compare_lists
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment import list_sources, score_floor
from shuffleproof.core.experiment.score_reuse import source_of
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.perturb.base import disturb
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.initial import InitialRanking, ListRecipe
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import (
    extended_lists,
    scores_under,
)
from shuffleproof.core.studies.workbench import Workbench, run_to_end

BEFORE = ("answered_before", "score_before")
"""What the second ranker of a comparison answers of `compare_lists`."""


def sizes(item: Mapping[str, Any]) -> dict[str, Any]:
    """One query's lists of two sizes, each answered by a ranker: a study of set size.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `digests` (of the lists by size), `query`,
            `now` and `before`: each a pair of a ranker (artefact key, or `initial ranking`) and a
            size; `features` (ids of columns), if wanted.

    Returns:
        As `core.answers.two_lists.compare_lists`: documents in the order of the list `before`,
        those that only the list `now` has after them.

    Raises:
        DataError: the test part has no such query, or the name means another data set by now.
    """
    sides = []
    for ranker, size in (item["before"], item["now"]):
        recipe = {**item["recipe"], "depth": size}
        lists = checked_lists({**item, "recipe": recipe, "lists": item["digests"][str(size)]})
        sides.append((ranker_for(item, ranker), single_list(lists, place_of(item, lists))))
    (ranker_before, before), (ranker_now, after) = sides
    comparison = compare_lists(ranker_now, before, after, tuple(item.get("features", ())))
    if item["now"][0] == item["before"][0]:
        return comparison
    comparison_before = compare_lists(ranker_before, before, before)
    return comparison | {
        name: [*comparison_before[name], *comparison[name][len(comparison_before[name]) :]]
        for name in BEFORE
    }


def conditions(item: Mapping[str, Any]) -> dict[str, Any]:
    """One query as a ranker answers it with other initial rankings: a study of several.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `lists` (their digest), `preset`, `initial`
            (the study's rankings, those of training first), `query`, `ranker` (artefact key),
            `before` and `now` (each the columns that it reads; None: as it was trained);
            `features` (ids of columns), if wanted.

    Returns:
        As `core.answers.two_lists.compare_lists`; `shown` is the rank under the first ranking
        that is read (as it was, where it is left out).

    Raises:
        DataError: the test part has no such query, the name means another data set by now, or a
            ranking that was put in another's place is no longer stored.
    """
    check_same_data(item)
    recipe = ListRecipe(**{**item["recipe"], "initial": tuple(item["recipe"]["initial"])})
    place = item["store"], item["data"], digest_of_name(item)
    test = _extended_lists(*place, recipe, item["preset"], tuple(item["initial"]))
    judged, ranker = single_list(test, place_of(item, test)), ranker_for(item)
    lists = judged.lists
    answer = compare_lists(InitialRanking(), judged, judged, tuple(item.get("features", ())))
    for side, columns in (("_before", item["before"]), ("", item["now"])):
        as_trained = columns is None
        scores = (
            ranker.score(judged.dataset, lists)
            if as_trained
            else scores_under(ranker, columns, judged)
        )
        answer[f"answered{side}"] = (positions(lists.offsets, scores, lists.rows) + 1).tolist()
        answer[f"score{side}"] = scores.tolist()
        first_column = columns[0] if columns else 0
        if first_column is not None:
            ranks = positions(lists.offsets, lists.prior[:, first_column], lists.rows)
            answer[f"shown{side}"] = (ranks + 1).tolist()
    return answer


@lru_cache(maxsize=4)
def _extended_lists(  # noqa: PLR0913, PLR0917 (the memory's key)
    store: str, data: str, digest: str, recipe: ListRecipe, preset: str, initial: tuple[str, ...]
) -> JudgedLists:
    del digest  # part of the memory's key alone
    opened = Store(Path(store), default_store().bundled)
    fold = resolve(data, opened)
    list_sources.check_stored(data, fold, recipe, opened)
    replacing = initial[len(recipe.initial) :]
    list_sources.check_replacing(replacing, preset, recipe, fold, opened)
    return run_to_end(
        extended_lists(run_to_end(Workbench.open(data, recipe, opened, preset)), initial)
    )


def replay_trial(item: Mapping[str, Any]) -> dict[str, Any]:
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
        UsageError: a family that changes documents; see `kinds.perturbations.query`.
    """
    base = checked_lists(item)
    at, ranker = place_of(item, base), ranker_for(item)
    change = perturbation(item["family"], item["level"])
    if change.changes & {"set", "features"}:
        raise UsageError(f"{change} changes documents; `study perturbations` shows such a query")
    draws = generator(item["seed"], item["family"], float(item["level"]), item["draw"])
    after = disturb(change, base, draws)
    return compare_orders(ranker, single_list(base, at), single_list(after, at).lists)


def compare_orders(ranker: Ranker, base: JudgedLists, disturbed: CandidateLists) -> dict[str, Any]:
    """One list before and after: where each document was shown and where the ranker put it."""
    before = ranker.score(base.dataset, base.lists)
    source = source_of(base.lists, disturbed)
    after = np.empty_like(before)
    after[source] = ranker.score(base.dataset, disturbed)
    floor = score_floor.measure_floor(ranker, base, before)[0].doubt
    answered_before, answered_after = answered_order(before, after, floor)
    return {
        "document": document_names(base.dataset.doc_ids, base.lists.rows),
        "label": base.dataset.labels[base.lists.rows].tolist(),
        "shown": (np.argsort(source) + 1).tolist(),
        "answered": (answered_after + 1).tolist(),
        "shown_before": list(range(1, len(source) + 1)),
        "answered_before": (answered_before + 1).tolist(),
        "moved": documents_moved(before, after, floor).tolist(),
        "floor": floor.tolist(),
    }
