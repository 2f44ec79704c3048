"""`library`: what is stored, its names, archives, and what is damaged or not needed."""

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.tune import plain, preset_lines
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.layout import SHIPPED
from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.library import cleaning, imports
from shuffleproof.core.library import entries as library
from shuffleproof.core.library.entries import Entry
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.damaged_entries import DamagedEntry, size_of
from shuffleproof.core.store.damaged_entries import remove as remove_damaged
from shuffleproof.core.store.verified import damaged_records, verify_files
from shuffleproof.core.studies import methods, reproduce
from shuffleproof.core.studies.user_names import key_or_name
from shuffleproof.core.words import counted, cut

WIDEST, MOST_FIELD = 44, 100
"""Letters of a cell in the list, and of a field in `library show`; --json tells everything."""

MOST_NAMED = 12
"""Entries that are named in a text; --json names all."""


def listing(arguments: argparse.Namespace) -> Answer:
    """`library list`: everything, the newest first."""
    store = store_of(arguments)
    entries = [
        entry
        for entry in library.entries(store)
        if not entry.part and arguments.kind in (None, entry.key.kind)
    ]
    broken = library.damaged_entries(store)
    rows = [_row(entry) for entry in entries]
    rows += [_damaged_row(entry) | {"bytes": entry.size} for entry in broken]
    parts = [table([_line(entry) for entry in entries])]
    if stale := [f"{entry.name} ({entry.key}): {entry.stale}" for entry in entries if entry.stale]:
        parts.append(_named("Stale; train or run again for the current recipe", stale))
    if broken:
        lines = [f"{entry.name}: {entry.found}" for entry in broken]
        parts.append(_named("Damaged; `library delete NAME` or `library clean --yes`", lines))
    return Answer(rows, "\n\n".join(parts))


def _damaged_row(entry: DamagedEntry) -> dict[str, Any]:
    return {"name": entry.name, "damaged": entry.what, "found": entry.found}


def show(arguments: argparse.Namespace) -> Answer:
    """`library show`: one entry with its recipe, what it needs, and what makes it again.

    Of a preset that `tune` made, what `tune` answered.

    Raises:
        ArtefactError: the entry is damaged.
    """
    store = store_of(arguments)
    if arguments.what not in store.names():
        preset = named_presets.find_called(store, arguments.what)
        if preset is not None:
            return Answer(plain(preset, cached=True), preset_lines(preset))
    for damaged in library.damaged_entries(store):
        if damaged.name == arguments.what:
            remedy = f"Remove it with `shuffleproof library delete {damaged.name}`."
            raise ArtefactError(damaged.name, f"damaged: {damaged.found}", remedy)
    entries, (entry,) = _entries(store, [arguments.what])
    artefact = entry.artefact
    store.find(artefact.key)  # refuses one with a damaged file
    dependents = library.dependents(entries, entry.key)
    answer = _row(entry) | {"needed_by": [str(dependent.key) for dependent in dependents]}
    answer |= {name: text for name, text in _reproduction(entry, entries).items() if text}
    if entry.key.kind == "study":
        answer["methods"] = methods.paragraph(artefact.recipe, artefact.facts)
        answer["references"] = methods.references(artefact.recipe, artefact.facts)
    answer |= {"recipe": dict(artefact.recipe), "facts": dict(artefact.facts)}
    needed = [one for one in entries if one.key in entry.needs]
    shown = answer | {
        name: _named("", [f"{one.name} ({one.key})" for one in several])
        for name, several in (("needs", needed), ("needed_by", dependents))
    }
    shown |= {"imported": str(artefact.imported or "no"), "stale": entry.stale or "no"}
    return Answer(answer, "\n".join(_field(name, value) for name, value in shown.items()))


def _line(entry: Entry) -> dict[str, str]:
    """An entry in a line of the list."""
    return {
        "name": entry.name,
        "key": str(entry.key),
        "what": cut(entry.summary, WIDEST),
        "made": f"{datetime.fromisoformat(entry.artefact.created):%Y-%m-%d %H:%M}",
        "MB": f"{entry.artefact.size / 1e6:.2f}",
        "from": str(entry.artefact.imported or ""),
    }


def _named(head: str, lines: Sequence[str]) -> str:
    """Number of lines, the first of them, and how many more there are."""
    more = len(lines) - MOST_NAMED
    rest = [f"  and {more:,} more (--json lists all)"] if more > 0 else []
    first = f"{head} ({len(lines):,}):" if head else counted(len(lines), "entry")
    return "\n".join([first, *(f"  {line}" for line in lines[:MOST_NAMED]), *rest])


def _reproduction(entry: Entry, entries: list[Entry]) -> dict[str, str]:
    """Command and Python lines that make it again; the reason where there are none."""
    recipe, facts = entry.artefact.recipe, entry.artefact.facts
    writers: dict[str, Callable[[], str]] = {}
    if entry.key.kind == "ranker":
        data = library.data_of(entry, entries)
        writers = {"command": lambda: reproduce.ranker_command(recipe, data)}
    if entry.key.kind == "study":
        writers = {
            "command": lambda: reproduce.study_command(recipe, facts),
            "python": lambda: reproduce.study_python(recipe, facts),
        }
    lines = {}
    for name, write in writers.items():
        try:
            lines[name] = write()
        except UsageError as error:
            lines[name] = f"# {error}"
    return lines


def _field(name: str, value: Any) -> str:
    """A field and its value; what has lines or parts stands below its name, a line each."""
    if isinstance(value, dict):
        parts = [f"  {field}: {cut(str(part), MOST_FIELD)}" for field, part in value.items()]
        return "\n".join([name, *parts])
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{name}\n{text}" if "\n" in text else f"{name}: {text}"


def export(arguments: argparse.Namespace) -> Answer:
    """`library export`: artefacts and all that they need, as one file."""
    store = store_of(arguments)
    entries, chosen = _entries(store, arguments.what)
    needed = library.with_dependencies(entries, [entry.key for entry in chosen])
    artefacts = [entry.artefact for entry in needed]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    run_shown("export", archive.write(store, artefacts, arguments.out))
    size = arguments.out.stat().st_size
    keys = [str(artefact.key) for artefact in artefacts]
    return Answer({"out": str(arguments.out), "bytes": size, "artefacts": keys})


def take(arguments: argparse.Namespace) -> Answer:
    """`library import`: the artefacts of an archive, digests checked."""
    artefacts = run_shown("import", imports.read_archive(arguments.archive, store_of(arguments)))
    made_here = [str(artefact.key) for artefact in artefacts if artefact.imported is None]
    keys = [str(artefact.key) for artefact in artefacts]
    return Answer({"artefacts": keys, "made_here": made_here})


def rename(arguments: argparse.Namespace) -> Answer:
    """`library rename`: call an artefact by another name."""
    store = store_of(arguments)
    _, (entry,) = _entries(store, [arguments.what])
    library.rename(store, entry, arguments.name)
    return Answer({"key": str(entry.key), "name": arguments.name})


def delete(arguments: argparse.Namespace) -> Answer:
    """`library delete`: an artefact with what was made from it, or a damaged one alone.

    Of a preset that `tune` made its name alone: what was trained with it stays.

    Raises:
        UsageError: something was made from it, it is whole, and --with-dependents was not said.
    """
    store = store_of(arguments)
    if arguments.what not in store.names():
        size = named_presets.remove(store, arguments.what.removesuffix(".json"))
        if size is not None:
            return Answer({"deleted": [arguments.what], "bytes": size})
    broken = [entry for entry in library.damaged_entries(store) if arguments.what == entry.name]
    broken += damaged_records(store, arguments.what)
    if broken:
        freed = sum(remove_damaged(store, entry) for entry in broken)
        return Answer({"deleted": [arguments.what], "bytes": freed})
    entries, (chosen,) = _entries(store, [arguments.what])
    dependents = [entry for entry in library.dependents(entries, chosen.key) if not entry.bundled]
    if dependents and not arguments.with_dependents:
        damaged = run_to_end(verify_files(store, [chosen.artefact]))
        if damaged:  # what was made from it stays: it is made again with the same key
            freed = library.remove(store, [chosen])
            return Answer({"deleted": [str(chosen.key)], "bytes": freed})
        keys = ", ".join(f"{entry.name} {entry.key}" for entry in dependents[:5])
        more = ", …" if len(dependents) > 5 else ""
        were = "was" if len(dependents) == 1 else "were"
        raise UsageError(
            f"{counted(len(dependents), 'artefact')} {were} made from {chosen.name} {chosen.key} "
            f"({keys}{more}): add --with-dependents to delete them too"
        )
    removed = [*dependents, chosen]
    freed = library.remove(store, removed)
    return Answer({"deleted": [str(entry.key) for entry in removed], "bytes": freed})


def _entries(store: Store, names: Sequence[str]) -> tuple[list[Entry], list[Entry]]:
    """Everything in a store, and what these names mean; a sample is read in where it is named."""
    keys = [
        catalogue.find(name, store).key
        if name in SHIPPED
        else store.meant(key_or_name(name, store))
        for name in names
    ]
    entries = library.entries(store)
    by_key = {entry.key: entry for entry in entries}
    for key in keys:
        if key not in by_key:
            raise UsageError(f"{key} is not in the library: see `shuffleproof library list`")
    return entries, [by_key[key] for key in keys]


def _row(entry: Entry) -> dict[str, Any]:
    origin = entry.artefact.imported
    return {
        "name": entry.name,
        "key": str(entry.key),
        "summary": entry.summary,
        "created": entry.artefact.created,
        "bytes": entry.artefact.size,
        "seconds": entry.seconds,
        "needs": sorted(str(key) for key in entry.needs),
        "bundled": entry.bundled,
        "imported": None if origin is None else {"from": origin.source, "at": origin.at},
        "stale": entry.stale,
    }


def verify(arguments: argparse.Namespace) -> Answer:
    """`library verify`: every file digested; exit status 1 where something is damaged."""
    store = store_of(arguments)
    keys = [store.meant(text) for text in arguments.what]
    chosen = [artefact for artefact in store.artefacts() if not keys or artefact.key in keys]
    broken = [] if keys else [*library.damaged_entries(store), *damaged_records(store)]
    broken += run_shown("verify", verify_files(store, chosen))
    rows = [_damaged_row(entry) for entry in broken]
    size = sum(artefact.size for artefact in chosen) / 1e6
    summary = f"{counted(len(chosen), 'artefact')}, {size:,.1f} MB: "
    summary += f"{len(broken)} damaged" if broken else "all files intact"
    remedy = "`shuffleproof library delete NAME` removes one; it is made again when needed."
    text = "\n".join([f"{summary}.", table(rows), remedy]) if broken else f"{summary}."
    answer = {"artefacts": len(chosen), "damaged": rows}
    return Answer(answer, text, exit_code=1 if broken else 0)


def clean(arguments: argparse.Namespace) -> Answer:
    """`library clean`: unneeded files and their size; --yes removes them."""
    store = store_of(arguments)
    whole, waste = size_of(store.root), cleaning.waste(store)
    freed = sum(item.size for item in waste)
    sizes: dict[str, list[int]] = defaultdict(list)
    for item in waste:
        sizes[item.what].append(item.size)
    rows = [
        {"what": what, "files": len(each), "MB": f"{sum(each) / 1e6:.2f}"}
        for what, each in sizes.items()
    ]
    if arguments.yes:
        cleaning.clean(waste, store)
    answer = {"store": whole, "freed": freed, "removed": arguments.yes, "waste": rows}
    if not waste:
        return Answer(answer, f"{cleaning.nothing_found(store)} {whole / 1e6:,.1f} MB in all.")
    verb = "Freed" if arguments.yes else "Would free"
    last = "" if arguments.yes else "\nNothing removed: add --yes to remove the files."
    head = f"{verb} {freed / 1e6:,.1f} of {whole / 1e6:,.1f} MB."
    return Answer(answer, f"{table(rows)}\n{head}{last}")
