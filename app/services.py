"""Cached access to the core for pages, without torch and without training."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from shuffleproof.core.answers.trained_rankers import TrainedRanker, studied_on, trained_on
from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.catalogue import KIND, find
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.layout import SHIPPED
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.rankers.name import remember_file_name
from shuffleproof.core.store.arrival import Arrival, arrival
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import preset_of

KEPT = ("artefacts", "names", named_presets.FOLDER)

StoreState = tuple[tuple[str, int], ...]
"""Folders of the store with their times of last change."""

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


@st.cache_resource
def store() -> Store:
    """User's store, with the shipped artefacts as a fallback."""
    return default_store()


def folder_changes(kinds: Sequence[str] = KEPT) -> StoreState:
    """Version of the store: changes whenever something is stored, removed or named.

    Args:
        kinds: folders of the store, in the user's and in the shipped part.
    """
    # Times of folders, not of files: storing, removing and renaming change the folder.
    places = [root / kind for root in (store().root, *store().bundled) for kind in kinds]
    return tuple(
        (str(place), place.stat().st_mtime_ns if place.is_dir() else 0) for place in places
    )


def until_stored(
    cache: Any = st.cache_data, kinds: Sequence[str] = KEPT, **settings: Any
) -> Callable[[Callable[Arguments, Answer]], Callable[Arguments, Answer]]:
    """Cache a function's results until something is stored, removed or named.

    Args:
        cache: `st.cache_resource` if sessions share the result, which must not be changed.
        kinds: folders of the store; a change there invalidates the results.
        settings: arguments of the cache.
    """

    def remembering(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        def answer(state: StoreState, *given: Arguments.args, **more: Arguments.kwargs) -> Answer:
            del state  # only part of the cache's key
            return function(*given, **more)

        # Streamlit identifies caches by the names of their functions.
        answer.__module__, answer.__qualname__ = function.__module__, function.__qualname__
        remembered = cache(**{"max_entries": 64, "show_spinner": False} | settings)(answer)

        @wraps(function)
        def recall(*given: Arguments.args, **more: Arguments.kwargs) -> Answer:
            value: Answer = remembered(folder_changes(kinds), *given, **more)
            return value

        return recall

    return remembering


@until_stored()
def studies(kind: str, data: str) -> list[Artefact]:
    """Stored studies of one kind on one data set, also under earlier names, newest first."""
    try:
        fingerprint = data_set(data).facts.get("fingerprint")
    except ArtefactError:  # the data set is deleted; its studies still have its name
        fingerprint = None
    if fingerprint is None:
        named = store().artefacts("study")
        of_data = [artefact for artefact in named if artefact.facts["data"] == data]
        of_data.sort(key=lambda artefact: artefact.created, reverse=True)
    else:
        known = {*SHIPPED, *store().names()}
        of_data = [_today(study, data, known) for study in studied_on(store(), fingerprint)]
    return [artefact for artefact in of_data if artefact.recipe["kind"] == kind]


@until_stored()
def data_set(name: str) -> Artefact:
    """Stored data set with a name, those that ship included.

    Raises:
        ArtefactError: no such data set.
    """
    return store().resolve(shipped_key(name) if name in SHIPPED else name, KIND)


@until_stored(st.cache_resource)
def artefacts(kind: str) -> tuple[Artefact, ...]:
    """All stored artefacts of a kind, by key, without unreadable ones."""
    stored = tuple(store().artefacts(kind))
    for artefact in stored if kind == "ranker" else ():
        if file := artefact.recipe["ranker"].get("file"):
            remember_file_name(artefact.key.digest, file)
    return stored


@until_stored(st.cache_resource)
def _trained(data: str, train: str, valid: str) -> tuple[TrainedRanker, ...]:
    return tuple(trained_on(store(), train, valid, preset_of(data)))


def trained_rankers(data: str, train: str, valid: str) -> list[TrainedRanker]:
    """Rankers trained on the data set with these fingerprints, newest first."""
    return list(_trained(data, train, valid))


def arrival_order(artefact: Artefact) -> Arrival:
    """Sort key of artefacts by arrival, bundled ones first."""
    return arrival(store(), artefact)


def _today(study: Artefact, data: str, known: Collection[str]) -> Artefact:
    """Study with the current name of its data set, if the old name no longer exists."""
    if study.facts["data"] in known:
        return study
    return replace(study, facts={**study.facts, "data": data})


@st.cache_resource(max_entries=8, show_spinner=False)
def fold(key: str) -> Fold:
    """Stored data set, memory-mapped, by its artefact's key."""
    return mapped_file.open_fold(store().resolve(key, KIND).path)


@st.cache_data(ttl=30, show_spinner=False)
def shipped_key(name: str) -> str:
    """Key of a data set that ships, which is ingested first if necessary."""
    return str(find(name, store()).key)
