"""`library`: what is stored, its names and tags, and taking it to another machine."""

import argparse
import json
from collections.abc import Callable
from typing import Any

from core.cli.answer import Answer
from core.cli.open import done, store_of
from core.errors import UsageError
from core.store import archive
from core.store.artefacts import Store
from core.store.tags import Tags
from core.studies import again, library, methods
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


def show(arguments: argparse.Namespace) -> Answer:
    """`library show`: one entry with its recipe, what it needs, and what makes it again."""
    store = store_of(arguments)
    found = library.entries(store)
    entry = _entry(store, found, arguments.what)
    artefact = entry.artefact
    told = _row(entry) | {
        "needed_by": [str(one.key) for one in library.dependents(found, entry.key)]
    }
    told |= {name: text for name, text in _again(entry, found).items() if text}
    if entry.key.kind == "study":
        told["methods"] = methods.paragraph(artefact.recipe, artefact.facts)
        told["references"] = methods.references(artefact.recipe, artefact.facts)
    told |= {"recipe": dict(artefact.recipe), "facts": dict(artefact.facts)}
    return Answer(told, "\n".join(_told(name, value) for name, value in told.items()))


def compare(arguments: argparse.Namespace) -> Answer:
    """`library compare`: any number of entries side by side, only the fields that differ."""
    store = store_of(arguments)
    found = library.entries(store)
    chosen = [_entry(store, found, text) for text in arguments.what]
    shown: dict[str, list[Any]] = {
        "summary": [entry.summary for entry in chosen],
        "bytes": [entry.artefact.size for entry in chosen],
        "seconds": [entry.seconds for entry in chosen],
    }
    fields = {name: values for name, values in shown.items() if len(set(values)) > 1}
    heads = [str(entry.key) for entry in chosen]
    rows: list[dict[str, Any]] = [
        {"field": name} | dict(zip(heads, values, strict=True))
        for name, values in (fields | library.differing(chosen)).items()
    ]
    return Answer(rows, "" if rows else "They do not differ in anything that was noted.")


def _again(entry: Entry, found: list[Entry]) -> dict[str, str]:
    """What makes it again, as a command and in Python; the reason where nothing says it."""
    recipe, facts = entry.artefact.recipe, entry.artefact.facts
    if entry.key.kind == "ranker":
        return {"command": _or_why(again.ranker_command, recipe, library.data_of(entry, found))}
    if entry.key.kind == "study":
        writers = {"command": again.study_command, "python": again.study_python}
        return {name: _or_why(write, recipe, facts) for name, write in writers.items()}
    return {}


def _or_why(write: Callable[..., str], *given: Any) -> str:
    try:
        return write(*given)
    except UsageError as error:
        return f"# {error}"


def _told(name: str, value: Any) -> str:
    """A field and its value; what has lines or parts stands below its name."""
    if isinstance(value, dict):
        return f"{name}\n{json.dumps(value, indent=1, ensure_ascii=False)}"
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{name}\n{text}" if "\n" in text else f"{name}: {text}"


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
