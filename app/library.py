"""The library for pages: cached entries, filters, archives."""

import tempfile
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from shuffleproof.app import services, state, study_access
from shuffleproof.app.when import age_in_words
from shuffleproof.core.data.catalogue import SAMPLE
from shuffleproof.core.library import entries as library
from shuffleproof.core.library.entries import KINDS, Entry
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store import archive
from shuffleproof.core.store.damaged_entries import DamagedEntry, size_of
from shuffleproof.core.studies import reproduce
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.registry import LISTLESS

AT_ONCE = 100_000_000
"""Bytes of the largest archive that the page writes; the command line writes larger ones."""

LEAST_DIGITS = 6
"""Least length of a word to search in keys; shorter ones would match almost every key."""

PAGES = {"data": "data", "ranker": "train"}
"""Pages of entries by kind; a study has the page of its kind."""


@dataclass(frozen=True)
class Filter:
    """Filter of the library.

    Attributes:
        kind: kind of artefacts; empty: all.
        data: name of a data set; empty: all.
        text: words that all occur in the entry's names or summary, or long ones in its key.
    """

    kind: str = ""
    data: str = ""
    text: str = ""


@services.until_stored(st.cache_resource, show_spinner="Reading the library …")
def entries() -> tuple[Entry, ...]:
    """All entries of the store that users see, newest first."""
    return tuple(library.entries(services.store()))


@services.until_stored(st.cache_resource)
def damaged_entries() -> tuple[DamagedEntry, ...]:
    """Damaged files of the store."""
    return tuple(library.damaged_entries(services.store()))


def size() -> int:
    """Bytes of all files in the store's folder, at most five minutes old."""
    return _size(services.folder_changes())


@st.cache_data(max_entries=2, ttl=300, show_spinner=False)
def _size(now: services.StoreState) -> int:
    del now  # only part of the cache's key
    return size_of(services.store().root)


def entry_name(entry: Entry) -> str:
    """Names that users gave to an entry, else the display name of its ranker."""
    return ", ".join(entry.names) or with_display_names(entry.name)


def data_of(every: Sequence[Entry]) -> dict[str, str]:
    """Name of the data set of every entry, by key; empty if it is not stored."""
    names = {entry.key: entry.name for entry in every if entry.key.kind == "data"}
    data = {}
    for entry in every:
        needed = (entry.key, *sorted(entry.needs, key=str))
        fact = str(entry.artefact.facts.get("data", "")) if entry.key.kind == "study" else ""
        data[str(entry.key)] = next((names[key] for key in needed if key in names), fact)
    return data


def filter_entries(every: Sequence[Entry], wanted: Filter) -> list[Entry]:
    """Entries that match a filter, in input order, without parts of cross-fittings."""
    data, words = data_of(every), wanted.text.casefold().split()
    return [
        entry
        for entry in every
        if wanted.kind in {"", entry.key.kind}
        and not entry.part
        and wanted.data in {"", data[str(entry.key)]}
        and all(_has(entry, word) for word in words)
    ]


def _has(entry: Entry, word: str) -> bool:
    parts = (entry.name, *entry.names, entry.summary, KINDS[entry.key.kind])
    long = len(word) >= LEAST_DIGITS
    return word in " ".join(parts).casefold() or (long and word in str(entry.key))


def table(shown: Sequence[Entry], every: Sequence[Entry]) -> pd.DataFrame:
    """One row per entry: description, size (MB), age, cost, and dependencies in both directions."""
    data = data_of(every)
    counts = Counter(key for entry in every for key in entry.needs)
    rows = [
        {
            "name": entry_name(entry),
            "kind": KINDS[entry.key.kind],
            "what": with_display_names(entry.summary),
            "megabytes": entry.artefact.size / 1e6,
            "age": age_in_words(stored_on(entry).timestamp()),
            "seconds": entry.seconds,
            "data": data[str(entry.key)],
            "needs": len(entry.needs),
            "needed": counts[entry.key],
            "bundled": entry.bundled,
            "from": str(entry.artefact.imported or "").removeprefix("imported from "),
            "key": str(entry.key),
        }
        for entry in shown
    ]
    return pd.DataFrame(rows)


def stored_on(entry: Entry) -> datetime:
    """Time at which an entry was stored."""
    return datetime.fromisoformat(entry.artefact.created).astimezone(UTC)


def page_of(entry: Entry) -> tuple[str, dict[str, str]]:
    """Page of an entry and its query parameters; empty for scores."""
    kind = entry.key.kind
    if kind == "study" and is_of_runs(entry.artefact.recipe):
        return "benchmark", {"study": str(entry.key)}
    if kind == "study" and entry.artefact.recipe["kind"] in LISTLESS:
        return study_access.place(entry.artefact)
    data = data_of(entries()).get(str(entry.key), "")
    if kind == "scores" or data not in state.data_sets():
        return "", {}
    if kind == "study":
        return study_access.place(entry.artefact)
    return PAGES[kind], {state.USE: data}


def command(entry: Entry) -> str:
    """Command that reproduces a ranker or a study.

    Raises:
        UsageError: no flags express it.
    """
    recipe, facts = entry.artefact.recipe, entry.artefact.facts
    if entry.key.kind == "ranker":
        return reproduce.ranker_command(recipe, data_of(entries())[str(entry.key)] or SAMPLE)
    return reproduce.study_command(recipe, facts)


def python(entry: Entry) -> str:
    """Python code that reproduces a study.

    Raises:
        UsageError: only the study's own page can show it.
    """
    return reproduce.study_python(entry.artefact.recipe, entry.artefact.facts)


def with_parts(chosen: Collection[Entry]) -> list[Entry]:
    """Entries and all their dependencies."""
    return library.with_dependencies(entries(), [entry.key for entry in chosen])


def archive_of(chosen: Sequence[Entry]) -> bytes:
    """Entries and all their dependencies as the bytes of an archive.

    Raises:
        ArtefactError: one of them has changed since it was stored.
    """
    with tempfile.TemporaryDirectory() as room:
        out = Path(room) / "library.zip"
        artefacts = [entry.artefact for entry in with_parts(chosen)]
        run_to_end(archive.write(services.store(), artefacts, out))
        return out.read_bytes()
