"""Cached doors to the core: what pages ask for, found without torch and without training."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pandas as pd
import streamlit as st

from shuffleproof.core.answers.trained_rankers import TrainedRanker, studied_on, trained_on
from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.catalogue import KIND, SAMPLE, find
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.rankers.name import remember_file_name
from shuffleproof.core.store.arrival import Arrival, arrival
from shuffleproof.core.store.artefacts import Store, default_store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.invariance.certificate import (
    Certificate,
    certificates,
    per_query,
)
from shuffleproof.core.studies.question import preset_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import limits

KEPT = ("artefacts", "names")

StoreState = tuple[tuple[str, int], ...]
"""The folders of the store and when each changed last."""


@st.cache_resource
def store() -> Store:
    """The user's store, with the shipped artefacts behind it."""
    return default_store()


def studies(kind: str, data: str) -> list[Artefact]:
    """Stored studies of one kind on one data set, whatever its name was then, newest first."""
    try:
        fingerprint = data_set(data).facts.get("fingerprint")
    except ArtefactError:  # deleted: its studies are still known by its name
        fingerprint = None
    return list(_studies(kind, data, fingerprint, store_state()))


def data_set(name: str) -> Artefact:
    """The stored data set of a name, the sample's included.

    Raises:
        ArtefactError: there is none.
    """
    key = sample_key() if name == SAMPLE else name
    return _data_set(key, store_state())


def artefacts(kind: str) -> tuple[Artefact, ...]:
    """All that is stored of a kind, by key; unreadable ones are left out."""
    return _artefacts(kind, store_state())


def trained_rankers(data: str, train: str, valid: str) -> list[TrainedRanker]:
    """The rankers trained on a data set, whose parts have these fingerprints, newest first."""
    return list(_trained(train, valid, preset_of(data), store_state()))


def arrival_order(artefact: Artefact) -> Arrival:
    """What artefacts are sorted by as they came, the shipped ones first."""
    return arrival(store(), artefact)


def store_state() -> StoreState:
    """What changes whenever something is stored, removed or named."""
    return folder_changes(KEPT)


def folder_changes(kinds: Sequence[str]) -> StoreState:
    """The store's folders of these kinds, the shipped ones included, and when each changed last."""
    places = [root / kind for root in (store().root, *store().bundled) for kind in kinds]
    return tuple(
        (str(place), place.stat().st_mtime_ns if place.is_dir() else 0) for place in places
    )


@st.cache_resource(max_entries=8, show_spinner=False)
def _artefacts(kind: str, state: StoreState) -> tuple[Artefact, ...]:
    """Manifests are read again only when something was stored, removed or named."""
    del state  # part of the memory's key alone
    found = tuple(store().artefacts(kind))
    for artefact in found if kind == "ranker" else ():
        if file := artefact.recipe["ranker"].get("file"):
            remember_file_name(artefact.key.digest, file)
    return found


@st.cache_resource(max_entries=16, show_spinner=False)
def _trained(train: str, valid: str, usual: str, state: StoreState) -> list[TrainedRanker]:
    """Manifests are read again only when something was stored, removed or named."""
    del state  # part of the memory's key alone
    return trained_on(store(), train, valid, usual)


@st.cache_data(max_entries=64, show_spinner=False)
def _data_set(key: str, state: StoreState) -> Artefact:
    """Manifests are read again only when something was stored, removed or named."""
    del state  # part of the memory's key alone
    return store().resolve(key, KIND)


@st.cache_data(max_entries=64, show_spinner=False)
def _studies(kind: str, data: str, fingerprint: str | None, state: StoreState) -> list[Artefact]:
    """Manifests are read again only when something was stored, removed or named."""
    del state  # part of the memory's key alone
    if fingerprint is None:
        named = store().artefacts("study")
        own = [artefact for artefact in named if artefact.facts["data"] == data]
        own.sort(key=lambda artefact: artefact.created, reverse=True)
    else:
        known = {SAMPLE, *store().names()}
        own = [_today(one, data, known) for one in studied_on(store(), fingerprint)]
    return [artefact for artefact in own if artefact.recipe["kind"] == kind]


def _today(study: Artefact, data: str, known: Collection[str]) -> Artefact:
    """A study whose facts name its data set as it is called now, where the old name is gone."""
    if study.facts["data"] in known:
        return study
    return replace(study, facts={**study.facts, "data": data})


@st.cache_data(max_entries=64)
def invariance_cards(key: str) -> list[Certificate]:
    """The certificates of a stored invariance study."""
    return certificates(StudyResult.open(store().resolve(key, "study").path))


@st.cache_resource(max_entries=8, show_spinner=False)
def fold(key: str) -> Fold:
    """A stored data set, memory-mapped, by its artefact's key."""
    return mapped_file.open_fold(store().resolve(key, KIND).path)


@st.cache_data(ttl=30, show_spinner=False)
def sample_key() -> str:
    """The key of the shipped sample, ingested first if need be."""
    return str(find(SAMPLE, store()).key)


@dataclass(frozen=True)
class StoredCertificate:
    """A ranker's certificate and the stored study that it is from.

    Attributes:
        study: the study's key.
        label: what it calls the ranker.
        certificate: its verdict.
        documents: of all lists together.
        limits: what of the study is not there, in sentences.
    """

    study: str
    label: str
    certificate: Certificate
    documents: int
    limits: tuple[str, ...] = ()


def stored_certificates(data: str, asked: Collection[str] = ()) -> dict[str, StoredCertificate]:
    """A certificate of every ranker of a data set that has one, by the ranker's digest.

    Args:
        data: the data set.
        asked: keys of the studies whose certificates go first; then the oldest, which no later
            examination replaces.
    """
    studied = studies("invariance", data)
    found: dict[str, StoredCertificate] = {}
    for artefact in sorted(
        studied, key=lambda one: (str(one.key) not in asked, arrival_order(one))
    ):
        key = str(artefact.key)
        cards = {card.ranker: card for card in invariance_cards(key)}
        for label, digest in artefact.recipe["rankers"]:
            documents = int(artefact.facts["candidates"])
            limited = tuple(limits(artefact.facts))
            card = StoredCertificate(key, label, cards[label], documents, limited)
            found.setdefault(digest, card)
    return found


@st.cache_data(max_entries=64, show_spinner=False)
def damage(study: str, label: str) -> pd.DataFrame:
    """The queries of a stored invariance study, the most changed first, for one ranker."""
    artefact = store().resolve(study, "study")
    return per_query(StudyResult.open(artefact.path), label)
