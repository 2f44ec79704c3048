"""Replay of one query of a stored study: two rankings of its documents.

The lists may have another size, other initial rankings, or the perturbation of one trial, with the
random draws of the study. Rankers are loaded, never trained. The scoring process answers in JSON.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from shuffleproof.core.answers.scoring import (
    check_same_data,
    checked_lists,
    digest_of_name,
    place_of,
    ranker_for,
    single_list,
)
from shuffleproof.core.answers.two_lists import compare_lists
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.experiment import list_sources
from shuffleproof.core.metrics.agreement import positions
from shuffleproof.core.rankers.initial import InitialRanker, ListRecipe
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.studies.kinds.initial_rankings.ranking_conditions import (
    extended_lists,
    scores_under,
)
from shuffleproof.core.studies.workbench import Workbench, run_to_end

BEFORE = ("answered_before", "score_before")
"""Fields of `compare_lists` for the second ranker of a comparison."""


def sizes(item: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of one query in two sizes, each ranked by a ranker, for a study of set size.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `digests` (of the lists by size), `query`,
            `now` and `before`: each a pair of a ranker (artefact key, or `initial ranking`) and a
            size; `features` (ids of columns), optional.

    Returns:
        As `core.answers.two_lists.compare_lists`: documents in the order of the list `before`, then
        those that are only in the list `now`.

    Raises:
        DataError: the test part lacks the query, or the name now means another data set.
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
    """One query ranked with other initial rankings, for a study of several initial rankings.

    Args:
        item: `store`, `data`, `recipe` (of the lists), `lists` (their digest), `preset`, `initial`
            (the study's rankings, those of training first), `query`, `ranker` (artefact key),
            `before` and `now` (each the columns that it reads; None: as trained);
            `features` (ids of columns), optional.

    Returns:
        As `core.answers.two_lists.compare_lists`; `shown` is the rank under the first ranking that
        is read (the original rank, if that one is left out).

    Raises:
        DataError: the test part lacks the query, the name now means another data set, or a
            replacement ranking is no longer stored.
    """
    check_same_data(item)
    recipe = ListRecipe(**{**item["recipe"], "initial": tuple(item["recipe"]["initial"])})
    place = item["store"], item["data"], digest_of_name(item)
    test = _extended_lists(*place, recipe, item["preset"], tuple(item["initial"]))
    judged, ranker = single_list(test, place_of(item, test)), ranker_for(item)
    lists = judged.lists
    answer = compare_lists(InitialRanker(), judged, judged, tuple(item.get("features", ())))
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
    del digest  # only part of the cache key
    opened = Store(Path(store), default_store().bundled)
    fold = resolve(data, opened)
    list_sources.check_stored(data, fold, recipe, opened)
    replacing = initial[len(recipe.initial) :]
    list_sources.check_replacing(replacing, preset, recipe, fold, opened)
    return run_to_end(
        extended_lists(run_to_end(Workbench.open(data, recipe, opened, preset)), initial)
    )
