"""Stored studies for pages: studies of a data set, cached values, dates."""

import hashlib
import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd
import streamlit as st

from shuffleproof.app import jobs, services, state
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, PREFERENCE_STUDIES, page_of
from shuffleproof.core.studies.result import StudyResult


def _name(function: FunctionType) -> str:
    """Unique name of a module's function."""
    if "<" in function.__qualname__:
        raise ValueError(f"{function.__qualname__} has no name of its own")
    return f"{function.__module__}.{function.__qualname__}"


def _content(frame: pd.DataFrame) -> bytes:
    """Digest of a whole frame; Streamlit's own hash reads only a sample of a long one."""
    return hashlib.sha256(pickle.dumps(frame)).digest()


BY_CONTENT: dict[str | type[Any], Callable[[Any], Any]] = {
    FunctionType: _name,
    pd.DataFrame: _content,
}
"""Hash functions of arguments, for the caches of values and figures."""

CallParameters = ParamSpec("CallParameters")
Value = TypeVar("Value")


def stored_studies(kind: str, data: str) -> dict[str, Artefact]:
    """Stored studies of a kind on a data set, by key, newest first."""
    return {str(artefact.key): artefact for artefact in services.studies(kind, data)}


def place(artefact: Artefact) -> tuple[str, dict[str, str]]:
    """Page of a study, and its query parameters: the data and the study."""
    kind, data = str(artefact.recipe["kind"]), str(artefact.facts.get("data", ""))
    of = "collection" if kind in COLLECTION_STUDIES else state.USE
    of = "preferences" if kind in PREFERENCE_STUDIES else of
    of = "answers" if artefact.recipe.get("recorded") else of
    return page_of(kind), {of: data, "study": str(artefact.key)}


def place_of_job(job: Job) -> tuple[str, dict[str, str]] | None:
    """Page of a job's result, and its query parameters; None: no result to show."""
    if job.state != "done":
        return None
    if job.kind == "ingest":
        name = str(job.parameters["name"])
        return ("data", {state.USE: name}) if name in state.data_sets() else None
    if job.kind == "tune":
        data = str(job.parameters["data"])
        of = {state.USE: data} if data in state.data_sets() else {}
        return "tune", of | {"tuned": jobs.tuned_preset(job)}
    key = job.result.get("artefact") if isinstance(job.result, dict) else None
    try:
        artefact = services.store().resolve(str(key))
    except ShuffleproofError:  # removed meanwhile, or the job has no result
        return None
    if artefact.key.kind == "study":
        return place(artefact)
    return ("library", {"chosen": str(artefact.key)}) if artefact.key.kind == "ranker" else None


def path(key: str) -> Path:
    """Folder of a stored study."""
    return Path(services.store().resolve(key, "study").path)


@st.cache_resource(max_entries=16, show_spinner=False)
def result(key: str) -> StudyResult:
    """Opened study, cached for all sessions: never change it."""
    return StudyResult.open(path(key))


def compute(
    key: str,
    compute: Callable[Concatenate[StudyResult, CallParameters], Value],
    /,
    *given: CallParameters.args,
    **more: CallParameters.kwargs,
) -> Value:
    """Value of a function of a stored study, cached by the study's key and the arguments."""
    answer: Value = _computed(key, compute, given, more)
    return answer


@st.cache_data(max_entries=1024, show_spinner=False, hash_funcs=BY_CONTENT)
def _computed(key: str, compute: Callable[..., Any], given: Any, more: Any) -> Any:
    """Cached value; every session gets a copy."""
    return compute(result(key), *given, **more)


def day(artefact: Artefact) -> str:
    """Date and time (UTC) at which a study was stored, as in its label."""
    return datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")


def dated_name(artefact: Artefact, words: str) -> str:
    """Short label of a stored study, for menus: its day, and these words."""
    return f"{day(artefact)} · {words}"
