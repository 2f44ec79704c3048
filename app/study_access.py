"""Stored studies for every page: those of a data set, computed values, dates."""

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
    """A function of a module by its name, which must be unique."""
    if "<" in function.__qualname__:
        raise ValueError(f"{function.__qualname__} has no name of its own")
    return f"{function.__module__}.{function.__qualname__}"


def _content(frame: pd.DataFrame) -> bytes:
    """A digest of all of a frame; Streamlit's own reads a sample of a long one."""
    return hashlib.sha256(pickle.dumps(frame)).digest()


BY_CONTENT: dict[str | type[Any], Callable[[Any], Any]] = {
    FunctionType: _name,
    pd.DataFrame: _content,
}
"""What answers and pictures are remembered by."""

CallParameters = ParamSpec("CallParameters")
Value = TypeVar("Value")


def stored_studies(kind: str, data: str) -> dict[str, Artefact]:
    """The stored studies of a kind on a data set by key, newest first."""
    return {str(artefact.key): artefact for artefact in services.studies(kind, data)}


def place(artefact: Artefact) -> tuple[str, dict[str, str]]:
    """The page that shows a study, and what its address must say: of which data it is."""
    kind, data = str(artefact.recipe["kind"]), str(artefact.facts.get("data", ""))
    of = "collection" if kind in COLLECTION_STUDIES else state.USE
    of = "preferences" if kind in PREFERENCE_STUDIES else of
    return page_of(kind), {of: data, "study": str(artefact.key)}


def place_of_job(job: Job) -> tuple[str, dict[str, str]] | None:
    """The page that shows what a job made, and what its address must say; None: nothing there."""
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
    except ShuffleproofError:  # removed meanwhile, or the job made none
        return None
    if artefact.key.kind == "study":
        return place(artefact)
    return ("library", {"chosen": str(artefact.key)}) if artefact.key.kind == "ranker" else None


def path(key: str) -> Path:
    """Folder of a stored study."""
    return Path(services.store().resolve(key, "study").path)


@st.cache_resource(max_entries=16, show_spinner=False)
def result(key: str) -> StudyResult:
    """A stored study, opened; shared between sessions and never changed."""
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
    """The answer; every session gets a copy of its own."""
    return compute(result(key), *given, **more)


def day(artefact: Artefact) -> str:
    """When a study was stored, as it stands before what tells it from others."""
    return datetime.fromisoformat(artefact.created).astimezone(UTC).strftime("%d %b %H:%M")


def dated_name(artefact: Artefact, words: str) -> str:
    """Short label of a stored study, for menus: its day, and these words."""
    return f"{day(artefact)} · {words}"
