"""Cached doors to stored ablations: every answer by the study's content key."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from app import services
from core.store.manifest import Artefact
from core.studies import ablation, ablation_finding, ablation_queries
from core.studies.ablation_queries import Effect
from core.studies.result import StudyResult
from core.words import counted

KIND = ablation.KIND


def stored(data: str) -> dict[str, Artefact]:
    """The stored ablations of a data set by key, newest first."""
    return {str(artefact.key): artefact for artefact in services.studies(KIND, data)}


def short_words(artefact: Artefact) -> str:
    """What tells a stored ablation from others in a narrow place."""
    day = datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")
    return f"{day} · {artefact.facts['ranker']}"


def words(artefact: Artefact) -> str:
    """A stored ablation in a line: how many variants, at which sizes, how disturbed."""
    recipe, facts = artefact.recipe, artefact.facts
    levels = ", ".join(f"{level:g}" for _, level in recipe["perturbations"])
    sizes = f"sizes of {facts['sizes']}" if facts.get("sizes") else "each its own size"
    return (
        f"{counted(len(recipe['rankers']), 'variant')} · {sizes} · {levels} transpositions, "
        f"{counted(recipe['draws'], 'draw')} · on {', '.join(recipe['initial'])}"
    )


def path(key: str) -> Path:
    """Where a stored ablation lies."""
    return Path(services.store().resolve(key, "study").path)


@st.cache_resource(max_entries=4, show_spinner=False)
def result(key: str) -> StudyResult:
    """A stored ablation, opened; shared between sessions and never changed."""
    return StudyResult.open(path(key))


@st.cache_data(max_entries=64, show_spinner=False)
def table(key: str, measure: str) -> pd.DataFrame:
    """What every variant does to quality, to robustness and to cost."""
    return ablation.table(result(key), measure)


@st.cache_data(max_entries=64, show_spinner=False)
def finding(key: str, measure: str) -> str:
    """What the numbers amount to, in words."""
    return ablation_finding.finding(result(key), measure)


@st.cache_data(max_entries=64, show_spinner=False)
def by_query(key: str, variant: str, effect: Effect, measure: str) -> pd.DataFrame:
    """A variant beside the first one, query by query, the greatest gain first."""
    return ablation_queries.by_query(result(key), variant, effect, measure)
