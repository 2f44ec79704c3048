"""Cached doors to stored initial-ranking studies: every answer by the study's content key."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import scoring, services, state
from shuffleproof.app.opened import day, door, result
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.conventions import derivable
from shuffleproof.core.studies.kinds.ranking_degradation import sections
from shuffleproof.core.words import counted

KIND = "initial-ranking"
REPLAY = "shuffleproof.core.studies.query_answers:replayed"


def stored(data: str) -> dict[str, Artefact]:
    """The stored studies of a data set by key, newest first."""
    return {str(artefact.key): artefact for artefact in services.studies(KIND, data)}


def words(artefact: Artefact) -> str:
    """A stored study in a line: when, of how many rankers, and what `details` says."""
    return f"{short_words(artefact)} · {details(artefact)}"


def details(artefact: Artefact) -> str:
    """What was disturbed in a stored study, how often, on which lists."""
    recipe = artefact.recipe
    families = ", ".join(dict.fromkeys(family for family, _ in recipe["perturbations"]))
    lists = ", ".join(recipe["initial"])
    return f"{families} · {counted(recipe['draws'], 'draw')} · on {lists}"


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place: when, and of how many rankers."""
    count = sum(label != INITIAL for label, _ in artefact.recipe["rankers"])
    return f"{day(artefact)} · {counted(count, 'ranker')}"


def families(recipe: Mapping[str, Any]) -> dict[str, list[float]]:
    """The levels of every family, outwards from the unchanged one."""
    found: dict[str, list[float]] = {}
    for family, level in recipe["perturbations"]:
        found.setdefault(str(family), []).append(float(level))
    return found


def unit(family: str) -> str:
    """What the levels of a family count."""
    return entry_of(family).unit


def offered(recipe: Mapping[str, Any]) -> list[Measure]:
    """The measures of a study whose values are stored, under default conventions, each once."""
    texts = [*recipe["measures"], *recipe.get("stored", ())]
    plain = (Measure.parse(text) for text in texts)
    return list(dict.fromkeys(Measure(one.name, one.cutoff) for one in plain))


def drawable(recipe: Mapping[str, Any], measure: Measure) -> Measure:
    """A measure where its values follow from what is stored, else as the study was asked for it."""
    if can_be_drawn(recipe, measure):
        return measure
    asked = map(Measure.parse, recipe["measures"])
    same = (one for one in asked if (one.name, one.cutoff) == (measure.name, measure.cutoff))
    return next(same, measure)


def can_be_drawn(recipe: Mapping[str, Any], measure: Measure) -> bool:
    """Whether the values of a measure follow from what is stored."""
    return derivable(str(measure), list(recipe.get("stored", recipe["measures"])))


@st.cache_data(max_entries=256, show_spinner=False)
def summary(key: str, measure: str) -> pd.DataFrame:
    """Means and intervals of every point under one measure."""
    return result(key).summary([measure])


claim = door(sections.claim)
"""Whether the paper's order holds here; empty where the study lacks one of the two."""

finding = door(sections.finding)
"""What the numbers of these rankers amount to, in words."""

marks = door(sections.marks)
"""The significance table."""


@st.cache_data(max_entries=256, show_spinner=False)
def damage(key: str, point: tuple[str, float], family: str, measure: str) -> pd.DataFrame:
    """What one point (ranker, level) did to every query, worst first."""
    ranker, level = point
    return sections.damage(result(key), ranker, family, level, measure)


def replayed(
    artefact: Artefact, point: tuple[str, float], family: str, query: str, draw: int
) -> pd.DataFrame:
    """One query of one draw scored again, as a frame for the bump chart.

    Raises:
        ScoringError: the scoring process has no answer, or the ranker or data set is gone.
    """
    ranker, level = point
    digest = dict(artefact.recipe["rankers"])[ranker]
    question = {
        "store": str(services.store().root),
        "data": state.data(),  # its name by now; the lists' digest says that it is the same set
        "recipe": artefact.facts["lists"],
        "lists": artefact.recipe["lists"],
        "query": query,
        "ranker": INITIAL if ranker == INITIAL else digest,
        "family": family,
        "level": level,
        "draw": draw,
        "seed": artefact.recipe["seed"],
    }
    return _replayed(question)


@st.cache_data(max_entries=256, show_spinner=False)
def _replayed(question: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(scoring.resident().ask(REPLAY, question))
