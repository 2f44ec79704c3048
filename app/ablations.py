"""Cached doors to stored ablations: every answer by the study's content key."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from app import services
from core.store.manifest import Artefact
from core.studies import ablation, ablation_finding
from core.studies.result import StudyResult

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
        f"{len(recipe['rankers'])} variants · {sizes} · {levels} transpositions, "
        f"{recipe['draws']} draws · on {', '.join(recipe['initial'])}"
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
