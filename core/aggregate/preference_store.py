"""Preferences in the store: filed under the digest of their files and of how they were read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shuffleproof.core.aggregate import planted
from shuffleproof.core.aggregate import preferences as table
from shuffleproof.core.aggregate.preferences import Preferences
from shuffleproof.core.aggregate.reading import PreferenceFormat, read
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, file_digest, key_of
from shuffleproof.core.store.manifest import Artefact

KIND = "preferences"
READER = 2  # Version of the reader, for the key: raise it when a file is read otherwise than before


def ingest(
    paths: Sequence[Path], name: str | None, store: Store, reading: PreferenceFormat | None = None
) -> Artefact:
    """Read files into the store and give them a name; None: they are found by their key.

    Raises:
        LetorError, DataError: malformed files; nothing is stored.
    """
    reading = reading or PreferenceFormat()
    side_files = [] if reading.qrels is None else [reading.qrels]
    digests = [file_digest(path) for path in (*paths, *side_files)]
    recipe = {key: value for key, value in asdict(reading).items() if value}
    recipe |= {"items": False, "qrels": bool(reading.qrels)}
    recipe["columns"] = dict(reading.columns)
    recipe["reader"] = READER
    file_names = {"files": [path.name for path in paths]}
    key = key_of(KIND, recipe | file_names, digests)
    with store.found_or_locked(key) as found:
        artefact = found
        if artefact is None:
            preferences = read(paths, reading)
            artefact = add(preferences, key, recipe | file_names, store)
    if name is not None:
        store.set_name(name, artefact.key)
    return artefact


def add(
    preferences: Preferences, key: ArtefactKey, recipe: Mapping[str, Any], store: Store
) -> Artefact:
    """Store preferences under a key."""
    facts = {
        "queries": preferences.queries,
        "items": preferences.documents,
        "judgments": len(preferences.value),
        "rankers": len(preferences.judges) if preferences.rankings else 0,
        "labelled": bool(preferences.labels),
        "notes": list(preferences.notes),
    }
    return store.add(key, recipe, lambda target: table.save(preferences, target), facts)


def find(text: str, store: Store) -> Preferences:
    """The preferences that a name or a key means, or those of a file, which stays where it is.

    `sample` means those that ship, unless something of the store has that name.

    Raises:
        ArtefactError: nothing of that name.
        LetorError, DataError: a malformed file.
    """
    path = Path(text)
    if text not in store.names():
        if text == planted.NAME:
            return planted.planted_preferences()
        if path.is_file():
            return read([path])
    return table.open_(store.resolve(text, KIND).path)
