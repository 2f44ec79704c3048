"""Stored studies for every page: those of a data set, one of them opened, when it was made."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

from shuffleproof.app import services
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.result import StudyResult

Asked = ParamSpec("Asked")
Value = TypeVar("Value")


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


def door(
    answer: Callable[Concatenate[StudyResult, Asked], Value],
) -> Callable[Concatenate[str, Asked], Value]:
    """What a function says of a stored study, asked by the study's key and remembered."""
    name = f"{answer.__module__}.{answer.__qualname__}"

    def asked(key: str, /, *args: Asked.args, **more: Asked.kwargs) -> Value:
        found: Value = _remembered(answer, name, key, args, more)
        return found

    return asked


@st.cache_data(max_entries=1024, show_spinner=False)
def _remembered(
    _answer: Callable[..., Any], name: str, key: str, args: tuple[Any, ...], more: Mapping[str, Any]
) -> Any:
    """The answer; every session gets a copy of its own."""
    del name  # the memory's key: which function answers
    return _answer(result(key), *args, **more)


def day(artefact: Artefact) -> str:
    """When a study was stored, as it stands before what tells it from others."""
    return datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")
