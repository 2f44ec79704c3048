"""Stored studies of disturbed inputs: what they hold in words, and their lists scored again."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from shuffleproof.app import rescoring
from shuffleproof.app.study_access import dated_name, result
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.perturb.entry import PerturbationEntry
from shuffleproof.core.perturb.registry import attack_target, entry_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.words import counted

QUERY = "shuffleproof.core.studies.kinds.perturbations.query"

TARGETS = {"ranking": "initial ranking", "shown": "order shown"}
"""What a worst-case search rearranges, in words."""


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return dated_name(artefact, counted(len(rankers(artefact.recipe)) - 1, "ranker"))


def words(artefact: Artefact) -> str:
    """What was done in a stored study, how often, on which lists."""
    recipe = artefact.recipe
    if recipe["kind"] == WorstCase.kind:
        search = recipe["search"]
        what = f"{search['method']} over {search['unit']} of the {TARGETS[recipe['target']]}"
    else:
        what = counted(len(families(recipe)), "family", "families")
    queries = counted(artefact.facts["queries"], "query", "queries")
    lists = f"lists by {', '.join(recipe['initial'])}"
    return f"{what} · {counted(recipe['draws'], 'draw')} · {queries} · {lists}"


def rankers(recipe: Mapping[str, Any]) -> list[str]:
    """All curves of a study, the initial ranking first."""
    return [str(label) for label, _ in recipe["rankers"]]


def families(recipe: Mapping[str, Any]) -> dict[str, list[float]]:
    """The levels of every family, outwards from the unchanged one."""
    levels: dict[str, list[float]] = {}
    for family, level in recipe["perturbations"]:
        levels.setdefault(str(family), []).append(float(level))
    return levels


def entry(family: str) -> PerturbationEntry | None:
    """What the registry knows of a family, a chain or an attack; None if it no longer does."""
    try:
        return entry_of(family)
    except ShuffleproofError:
        return None


def unit(family: str) -> str:
    """What the levels of a family count."""
    known = entry(family)
    return known.unit if known else "level"


def replayed_query(
    artefact: Artefact,
    point: tuple[str, str, float],
    query: str,
    draw: int,
    columns: Sequence[int] = (),
) -> pd.DataFrame:
    """One query of one draw scored again, as a frame for the bump chart.

    Args:
        artefact: the study.
        point: ranker, family and level.
        query: its id.
        draw: which one.
        columns: features to be shown as they were and as they are.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker or data set is gone.
    """
    ranker, family, level = point
    whom = attack_target(family)
    attack = {"attacked": rescoring.digest_of(artefact, whom)} if whom else {}
    return rescoring.moves(
        f"{QUERY}:replay_trial", artefact, query, ranker=rescoring.digest_of(artefact, ranker),
        lists=artefact.recipe["lists"], family=family, level=level, draw=draw,
        seed=artefact.recipe["seed"], features=list(columns),
        trained=_trained(str(artefact.key), point, draw), **attack,
    )  # fmt: skip


def _trained(key: str, point: tuple[str, str, float], draw: int) -> str:
    """The key of the ranker that was trained for a trial; empty where none was."""
    trials = result(key).trials
    if "artefact" not in trials:
        return ""
    at = dict(zip(("ranker", "family", "level", "draw"), (*point, draw), strict=True))
    same = (trials[list(at)] == pd.Series(at)).all(axis="columns")
    known = trials[same]["artefact"].dropna()
    return str(known.iloc[0]) if len(known) else ""


def worst_list(
    artefact: Artefact, point: tuple[str, int], query: str, columns: Sequence[int] = ()
) -> pd.DataFrame:
    """The worst order that was found for one query, as a frame for the bump chart.

    Args:
        artefact: the study.
        point: ranker and budget.
        query: its id.
        columns: features to be shown.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker or data set is gone.
    """
    ranker, budget = point
    return rescoring.moves(
        f"{QUERY}:worst_replayed", artefact, query, ranker=rescoring.digest_of(artefact, ranker),
        study=str(artefact.key), label=ranker, budget=budget, features=list(columns),
    )  # fmt: skip


def swaps(artefact: Artefact, ranker: str, query: str, places: int) -> dict[str, Any]:
    """What every single exchange among the first places costs a ranker in one query.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker or data set is gone.
    """
    recipe = artefact.recipe
    return rescoring.answer(
        f"{QUERY}:swaps", artefact, query, ranker=rescoring.digest_of(artefact, ranker),
        target=recipe["target"], measure=recipe["measure"], places=places,
    )  # fmt: skip
