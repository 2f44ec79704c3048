"""Cached doors to stored studies of GSF's shuffles: every answer by the study's content key."""

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from app import services
from core.store.manifest import Artefact
from core.studies import group_shuffles, group_shuffles_table
from core.studies.result import StudyResult
from core.words import counted

KIND = group_shuffles.KIND


def stored(data: str) -> dict[str, Artefact]:
    """The stored studies of a data set by key, newest first."""
    return {str(artefact.key): artefact for artefact in services.studies(KIND, data)}


def rankers(artefact: Artefact) -> list[str]:
    """The labels of a study's rankers."""
    return [str(label) for label, _ in artefact.recipe["rankers"]]


def short_words(artefact: Artefact) -> str:
    """What tells a stored study from others in a narrow place."""
    day = datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")
    return f"{day} · {', '.join(rankers(artefact))}"


def words(artefact: Artefact) -> str:
    """A stored study in a line: how many queries, orders and shuffles."""
    recipe = artefact.recipe
    return (
        f"{counted(artefact.facts['queries'], 'query')} · "
        f"{counted(recipe['orders'], 'order')} shown · S = "
        f"{', '.join(map(str, recipe['shuffles']))} · lists by {', '.join(recipe['initial'])}"
    )


def path(key: str) -> Path:
    """Where a stored study lies."""
    return Path(services.store().resolve(key, "study").path)


@st.cache_resource(max_entries=4, show_spinner=False)
def result(key: str) -> StudyResult:
    """A stored study, opened; shared between sessions and never changed."""
    return StudyResult.open(path(key))


@st.cache_data(max_entries=64, show_spinner=False)
def table(key: str) -> pd.DataFrame:
    """The error by the number of shuffles, of every ranker."""
    return group_shuffles_table.table(result(key))


@st.cache_data(max_entries=64, show_spinner=False)
def finding(key: str, ranker: str) -> str:
    """What the numbers of a ranker amount to, in words."""
    return group_shuffles_table.finding(result(key), ranker)
