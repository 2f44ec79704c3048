"""Stored studies for every page: those of a data set, one of them opened, when it was made."""

from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from shuffleproof.app import services
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.result import StudyResult


def stored(kind: str, data: str) -> dict[str, Artefact]:
    """The stored studies of a kind on a data set by key, newest first."""
    return {str(artefact.key): artefact for artefact in services.studies(kind, data)}


def path(key: str) -> Path:
    """Where a stored study lies."""
    return Path(services.store().resolve(key, "study").path)


@st.cache_resource(max_entries=16, show_spinner=False)
def result(key: str) -> StudyResult:
    """A stored study, opened; shared between sessions and never changed."""
    return StudyResult.open(path(key))


def day(artefact: Artefact) -> str:
    """When a study was stored, as it stands before what tells it from others."""
    return datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")
