"""Cached doors to stored initial-ranking studies: every answer by the study's content key."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import scoring, services, state
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.conventions import derivable
from shuffleproof.core.studies.kinds.ranking_degradation import significance as table
from shuffleproof.core.studies.kinds.ranking_degradation import study as initial_ranking
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.result import StudyResult

KIND = "initial-ranking"
REPLAY = "shuffleproof.core.studies.answers.rescored_list:replayed"


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
    draws = f"{recipe['draws']} draws" if recipe["draws"] != 1 else "1 draw"
    return f"{families} · {draws} · on {lists}"


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place: when, and of how many rankers."""
    return f"{_day(artefact)} · {_rankers(artefact.recipe)}"


def _rankers(recipe: Mapping[str, Any]) -> str:
    count = sum(label != INITIAL for label, _ in recipe["rankers"])
    return f"{count} ranker{'s' if count != 1 else ''}"


def _day(artefact: Artefact) -> str:
    return datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")


def families(recipe: Mapping[str, Any]) -> dict[str, list[float]]:
    """The levels of every family, outwards from the unchanged one."""
    found: dict[str, list[float]] = {}
    for family, level in recipe["perturbations"]:
        found.setdefault(family, []).append(float(level))
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
    return _result(key).summary([measure])


@st.cache_data(max_entries=256, show_spinner=False)
def claim(key: str, family: str, measure: str) -> dict[str, Any]:
    """Whether the paper's order holds here; empty where the study lacks one of the two."""
    return initial_ranking.claim(_result(key), family, measure)


@st.cache_data(max_entries=256, show_spinner=False)
def finding(key: str, family: str, measure: str, rankers: tuple[str, ...]) -> str:
    """What the numbers of these rankers amount to, in words."""
    return initial_ranking.finding(_result(key), family, measure, rankers)


@st.cache_data(max_entries=256, show_spinner=False)
def marks(key: str, family: str, measure: str, baseline: str, test: str) -> pd.DataFrame:
    """The significance table."""
    return table.marks(_result(key), family, measure, baseline, test)


@st.cache_data(max_entries=256, show_spinner=False)
def damage(key: str, point: tuple[str, float], family: str, measure: str) -> pd.DataFrame:
    """What one point (ranker, level) did to every query, worst first."""
    ranker, level = point
    return table.damage(_result(key), ranker, family, level, measure)


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


@st.cache_data(max_entries=64, show_spinner=False)
def seconds_a_trial(key: str) -> dict[str, float]:
    """Mean seconds of a trial of every ranker of a stored study."""
    trials = _result(key).trials
    return {
        str(name): float(mean) for name, mean in trials.groupby("ranker")["seconds"].mean().items()
    }


def _result(key: str) -> StudyResult:
    return StudyResult.open(services.store().resolve(key, "study").path)
