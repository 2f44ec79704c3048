"""Cached doors to stored studies of disturbed inputs: cards, perturbations and worst cases."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import scoring, services, state
from shuffleproof.app.curves import families as families  # noqa: PLC0414 (asked for here)
from shuffleproof.app.opened import day, door, path, result
from shuffleproof.core.answers.scoring import documents_moved
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment.score_floor import of_scores
from shuffleproof.core.perturb.entry import PerturbationEntry
from shuffleproof.core.perturb.registry import attacked, entry_of
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.card import sections as card_table
from shuffleproof.core.studies.kinds.card.question import Card
from shuffleproof.core.studies.kinds.perturbations import sections as perturbations_sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.studies.kinds.worst_case import sections as worst_case_sections
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.result import stored_summary
from shuffleproof.core.words import counted

CARD, PERTURBATIONS_KIND = Card.kind, Perturbations.kind
KINDS = (CARD, PERTURBATIONS_KIND, WorstCase.kind)
QUERY = "shuffleproof.core.studies.kinds.perturbations.query"


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    return f"{day(artefact)} · {counted(len(rankers(artefact.recipe)) - 1, 'ranker')}"


def words(artefact: Artefact) -> str:
    """What was done in a stored study, how often, on which lists."""
    recipe, facts = artefact.recipe, artefact.facts
    draws = counted(recipe["draws"], "draw")
    lists = (
        f"{counted(facts['queries'], 'query', 'queries')} · lists by {', '.join(recipe['initial'])}"
    )
    if recipe["kind"] == WorstCase.kind:
        search = recipe["search"]
        what = f"{search['method']} over {search['unit']} of the {TARGETS[recipe['target']]}"
        return f"{what} · {draws} · {lists}"
    return f"{counted(len(families(recipe)), 'family', 'families')} · {draws} · {lists}"


TARGETS = {"ranking": "initial ranking", "shown": "order shown"}
"""What a worst-case search rearranges, in words."""


def rankers(recipe: Mapping[str, Any]) -> list[str]:
    """All curves of a study, the initial ranking first."""
    return [str(label) for label, _ in recipe["rankers"]]


def entry(family: str) -> PerturbationEntry | None:
    """What the registry knows of a family, a chain or an attack; None if it no longer does."""
    try:
        return entry_of(family)
    except ShuffleproofError:
        return None


def unit(family: str) -> str:
    """What the levels of a family count."""
    found = entry(family)
    return found.unit if found else "level"


@st.cache_data(max_entries=64, show_spinner=False)
def cards(key: str, family: str, measure: str) -> pd.DataFrame:
    """The card of every ranker for one family, with the front marked."""
    return card_table.pareto(card_table.cards(result(key), family, measure))


losses = door(perturbations_sections.losses)
"""What every family at every level costs each ranker."""


@st.cache_resource(max_entries=6, show_spinner=False)
def _summary(key: str) -> pd.DataFrame:
    """What was written with a study; shared between sessions and never changed."""
    return stored_summary(path(key))


@st.cache_data(max_entries=128, show_spinner=False)
def summary(key: str, family: str, measure: str) -> pd.DataFrame:
    """Means and intervals of one family's points under one measure; as stored where they are."""
    stored = _summary(key)
    own = stored[(stored["family"] == family) & (stored["measure"] == measure)]
    if len(own):
        return own.reset_index(drop=True)
    return perturbations_sections.of_family(result(key), family).summary([measure])


@st.cache_data(max_entries=256, show_spinner=False)
def damage(key: str, point: tuple[str, str, float], measure: str) -> pd.DataFrame:
    """What one point (ranker, family, level) did to every query, the most damaged first."""
    ranker, family, level = point
    return perturbations_sections.damage(result(key), ranker, family, level, measure)


by_level = door(perturbations_sections.by_level)
"""The change of every query at every level, the most damaged first."""

worst = door(worst_case_sections.table)
"""Random mean against worst found, a row a ranker and budget."""

worst_queries = door(worst_case_sections.queries)
"""Every query as it is, over random orders and at the worst found, the most damaged first."""


@st.cache_data(max_entries=64, show_spinner=False)
def seconds_a_trial(key: str) -> dict[str, float]:
    """Mean seconds of a trial of every ranker of a stored study."""
    trials = result(key).trials
    means = trials.groupby("ranker")["seconds"].mean()
    return {str(name): float(mean) for name, mean in means.items()}


def features() -> tuple[int, ...]:
    """The ids of the features of the data set in use; none where it cannot be asked."""
    try:
        return scoring.described(state.data()).features
    except ShuffleproofError:
        return ()


def replayed(
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
    question = _question(artefact, ranker, query) | {
        "lists": artefact.recipe["lists"], "family": family, "level": level, "draw": draw,
        "seed": artefact.recipe["seed"], "features": list(columns),
    }  # fmt: skip
    if whom := attacked(family):
        question["attacked"] = dict(artefact.recipe["rankers"])[whom]
    question["trained"] = _trained(str(artefact.key), point, draw)
    return moves_of(_asked("replayed", question))


def _trained(key: str, point: tuple[str, str, float], draw: int) -> str:
    """The key of the ranker that was trained for a trial; empty where none was."""
    ranker, family, level = point
    trials = result(key).trials
    if "artefact" not in trials:
        return ""
    same = (trials["ranker"] == ranker) & (trials["family"] == family)
    own = trials[same & (trials["level"] == level) & (trials["draw"] == draw)]["artefact"].dropna()
    return str(own.iloc[0]) if len(own) else ""


def left_out(artefact: Artefact, families: Collection[str]) -> str:
    """For which rankers families of a study mean nothing, and why, in words."""
    return perturbations_sections.left_out(artefact.facts, families)


def short_of(artefact: Artefact, families: Collection[str]) -> str:
    """Which levels are more than some lists of a study have, in words."""
    return perturbations_sections.short_of(artefact.facts, families)


def no_values(artefact: Artefact) -> list[tuple[str, str]]:
    """The (ranker, family) pairs of a study of which the family means nothing for the ranker."""
    told = artefact.facts.get("left_out", {})
    return [(ranker, family) for family, reasons in told.items() for ranker in reasons]


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
    more = {"study": str(artefact.key), "label": ranker, "budget": budget,
            "features": list(columns)}  # fmt: skip
    return moves_of(_asked("worst_replayed", _question(artefact, ranker, query) | more))


def swaps(artefact: Artefact, ranker: str, query: str, places: int) -> dict[str, Any]:
    """What every single exchange among the first places costs a ranker in one query.

    Raises:
        ShuffleproofError: the scoring process has no answer, or the ranker or data set is gone.
    """
    recipe = artefact.recipe
    more = {"target": recipe["target"], "measure": recipe["measure"], "places": places}
    return _asked("swaps", _question(artefact, ranker, query) | more)


def _question(artefact: Artefact, ranker: str, query: str) -> dict[str, Any]:
    """The parts of a question that name a study's list and ranker."""
    digest = dict(artefact.recipe["rankers"])[ranker]
    return {
        "store": str(services.store().root),
        "data": state.data(),  # its name by now; the lists' digest says that it is the same set
        "recipe": artefact.facts["lists"],
        "query": query,
        "ranker": INITIAL if ranker == INITIAL else digest,
    }


@st.cache_data(max_entries=256, show_spinner=False)
def _asked(what: str, question: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = scoring.resident().ask(f"{QUERY}:{what}", question)
    return found


def moves_of(found: Mapping[str, Any]) -> pd.DataFrame:
    """Both lists as a bump chart takes them, with kind and scores; moved: passed another one."""
    names = ("shown", "answered", "shown_before", "answered_before", "score", "score_before")
    frame = pd.DataFrame({name: found[name] for name in ("document", "label", "kind", *names)})
    frame = frame.astype(dict.fromkeys(names, float))
    kept = (frame["kind"] == "kept").to_numpy()
    before, after = (
        frame.loc[kept, name].to_numpy(np.float32) for name in ("score_before", "score")
    )
    floor = of_scores(np.array([0, len(before)]), before).doubt
    moved = np.zeros(len(frame), dtype=bool)
    moved[kept] = documents_moved(before, after, floor)
    pairs = {
        f"feature {name}{when}": [pair[at] for pair in values]
        for name, values in found["features"].items()
        for at, when in enumerate((" as it is", ""))
    }
    return frame.assign(moved=moved, **pairs)
