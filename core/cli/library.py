"""`library`: what is stored, its names and tags, and taking it to another machine."""

import argparse
from typing import Any

from core.cli.answer import Answer
from core.cli.open import done, store_of
from core.errors import UsageError
from core.store import archive
from core.store.artefacts import Store
from core.store.tags import Tags
from core.studies import library
from core.studies.library import Entry


def listing(arguments: argparse.Namespace) -> Answer:
    """`library list`: everything, the newest first."""
    found = [entry for entry in library.entries(store_of(arguments)) if not entry.part]
    wanted = (arguments.tag or "", arguments.kind)
    rows = [
        _row(entry)
        for entry in found
        if wanted[0] in ("", *entry.tags) and wanted[1] in (None, entry.key.kind)
    ]
    return Answer(rows)


def export(arguments: argparse.Namespace) -> Answer:
    """`library export`: artefacts and all that they need, as one file."""
    store = store_of(arguments)
    found = library.entries(store)
    keys = [_entry(store, found, text).key for text in arguments.what]
    chosen = [entry.artefact for entry in library.required(found, keys)]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    done("export", archive.write(store, chosen, arguments.out))
    size = arguments.out.stat().st_size
    kept = [str(artefact.key) for artefact in chosen]
    return Answer({"out": str(arguments.out), "bytes": size, "artefacts": kept})


def take(arguments: argparse.Namespace) -> Answer:
    """`library import`: the artefacts of an archive, digests checked."""
    found = done("import", archive.read(arguments.archive, store_of(arguments)))
    return Answer({"artefacts": [str(artefact.key) for artefact in found]})


def rename(arguments: argparse.Namespace) -> Answer:
    """`library rename`: call an artefact by another name."""
    store = store_of(arguments)
    entry = _entry(store, library.entries(store), arguments.what)
    library.rename(store, entry, arguments.name)
    return Answer({"key": str(entry.key), "name": arguments.name})


def tag(arguments: argparse.Namespace) -> Answer:
    """`library tag`: let an artefact carry exactly these tags."""
    store = store_of(arguments)
    entry = _entry(store, library.entries(store), arguments.what)
    Tags(store.root).put(entry.key, arguments.tags)
    return Answer({"key": str(entry.key), "tags": list(Tags(store.root).of(entry.key))})


def delete(arguments: argparse.Namespace) -> Answer:
    """`library delete`: an artefact with what was made from it.

    Raises:
        UsageError: something was made from it and --with-dependents was not said.
    """
    store = store_of(arguments)
    found = library.entries(store)
    entry = _entry(store, found, arguments.what)
    made = library.dependents(found, entry.key)
    if made and not arguments.with_dependents:
        keys = ", ".join(str(one.key) for one in made[:5])
        raise UsageError(
            f"{len(made)} artefacts were made from {entry.key} ({keys} …): "
            "add --with-dependents to delete them too"
        )
    freed = library.remove(store, [*made, entry])
    gone = [str(one.key) for one in (*made, entry)]
    return Answer({"deleted": gone, "bytes": freed})


def _entry(store: Store, found: list[Entry], text: str) -> Entry:
    key = store.resolve(text).key
    for entry in found:
        if entry.key == key:
            return entry
    raise UsageError(f"{key} is no part of the library")


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "key": str(entry.key),
        "summary": entry.summary,
        "tags": list(entry.tags),
        "created": entry.artefact.created,
        "bytes": entry.artefact.size,
        "seconds": entry.seconds,
        "needs": sorted(str(key) for key in entry.needs),
        "bundled": entry.bundled,
    }
