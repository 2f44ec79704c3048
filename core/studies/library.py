"""Everything in a store as a person sees it: what it is, what made it, what needs what."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.data import stored
from core.data.catalogue import SAMPLE, SAMPLE_FOLDER
from core.errors import ArtefactError, DataError
from core.rankers import outside
from core.rankers.initial import ListRecipe
from core.store.artefacts import Store
from core.store.keys import ArtefactKey, key_of
from core.store.manifest import Artefact
from core.store.tags import Tags
from core.studies.command_runs import is_of_runs
from core.studies.differences import from_preset, from_usual_lists, in_words
from core.studies.initial_ranking import INITIAL
from core.studies.methods import rankers_of
from core.words import counted

KINDS = {"data": "data set", "ranker": "ranker", "study": "study", "scores": "scores"}
"""The kinds of artefacts that a person has to do with, in words."""


@dataclass(frozen=True)
class Entry:
    """One artefact of the library.

    Attributes:
        artefact: where it is and what made it.
        name: the name given to it, or what it is called by itself.
        named: whether a person gave that name.
        summary: what it is, in one line.
        tags: words that were put on it.
        seconds: what it took to make, where that was noted.
        bundled: it comes with the program and can be neither changed nor deleted.
        needs: what it was made from, as far as that is in the store.
        part: it is one part of a cross-fitting: of interest only with what it belongs to.
    """

    artefact: Artefact
    name: str
    named: bool
    summary: str
    tags: tuple[str, ...]
    seconds: float | None
    bundled: bool
    needs: frozenset[ArtefactKey]
    part: bool

    @property
    def key(self) -> ArtefactKey:
        """The artefact's key."""
        return self.artefact.key


def entries(store: Store) -> list[Entry]:
    """Every artefact of a store that a person has to do with, the newest first."""
    called: dict[ArtefactKey, str] = {}
    for name, key in store.names().items():
        called.setdefault(key, name)
    artefacts = [one for one in store.artefacts() if one.key.kind in KINDS]
    needs = dependencies(store, artefacts)
    tags = Tags(store.root)
    own = store.root / "artefacts"
    found = [
        Entry(
            artefact=one,
            name=called.get(one.key) or _own_name(one),
            named=one.key in called,
            summary=summary_of(one),
            tags=tags.of(one.key),
            seconds=_seconds(one),
            bundled=one.path.parent != own,
            needs=frozenset(needs[one.key]),
            part="without part" in _lists(one),
        )
        for one in artefacts
    ]
    return sorted(found, key=lambda entry: entry.artefact.created, reverse=True)


def dependencies(
    store: Store, artefacts: Sequence[Artefact] | None = None
) -> dict[ArtefactKey, set[ArtefactKey]]:
    """What every artefact was made from, by the digests in its recipe; data sets need nothing.

    Args:
        store: where they are.
        artefacts: those to look at; all by default.
    """
    every = list(store.artefacts()) if artefacts is None else list(artefacts)
    folds = {one.key: _fingerprints(one) for one in every if one.key.kind == "data"}
    rankers = {one.key.digest: one.key for one in every if one.key.kind == "ranker"}
    by_text = {str(key): key for key in rankers.values()}
    found: dict[ArtefactKey, set[ArtefactKey]] = {}
    for one in every:
        needed: set[ArtefactKey] = set()
        if one.key.kind in {"ranker", "scores"}:
            needed = {key for key, prints in folds.items() if _made_from(one, prints)}
        elif one.key.kind == "study":
            pairs = [pair for pair in one.recipe.get("rankers", ()) if not isinstance(pair, str)]
            digests = [pair[1] for pair in pairs if pair[0] != INITIAL]
            needed = {rankers[digest] for digest in digests if digest in rankers}
            needed |= {by_text[text] for text in _trials(one).rankers if text in by_text}
            needed |= {key for key, prints in folds.items() if _studied(one, prints)}
        found[one.key] = needed
    return found


def dependents(found: Iterable[Entry], key: ArtefactKey) -> list[Entry]:
    """What was made from an artefact, directly or through another, the newest first."""
    every = list(found)
    reached, grown = {key}, True
    while grown:
        more = {entry.key for entry in every if entry.needs & reached} - reached
        grown, reached = bool(more), reached | more
    return [entry for entry in every if entry.key in reached - {key}]


def data_of(entry: Entry, found: Iterable[Entry]) -> str:
    """The name of the data set that something was made from; `sample` where none is stored."""
    named = [one.name for one in found if one.key in entry.needs and one.key.kind == "data"]
    return next((name for name in named if name != SAMPLE_FOLDER.name), SAMPLE)


def required(found: Iterable[Entry], keys: Iterable[ArtefactKey]) -> list[Entry]:
    """These artefacts and all that they need, so that another machine can open them."""
    by_key = {entry.key: entry for entry in found}
    reached: set[ArtefactKey] = set()
    waiting = [key for key in keys if key in by_key]
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += [needed for needed in by_key[key].needs if needed in by_key]
    return [entry for entry in by_key.values() if entry.key in reached]


def remove(store: Store, chosen: Sequence[Entry]) -> int:
    """Remove artefacts with their names and tags; returns the bytes that are free now.

    Raises:
        ArtefactError: one of them comes with the program; those before it are gone.
    """
    freed = 0
    for entry in chosen:
        store.remove(entry.key)
        Tags(store.root).put(entry.key, ())
        freed += entry.artefact.size
    return freed


def rename(store: Store, entry: Entry, name: str) -> None:
    """Call an artefact by another name; an old name means nothing any more.

    Raises:
        ParameterError: no name.
        ArtefactError: the name means something else.
    """
    meant = store.names().get(name)
    if meant not in {None, entry.key}:
        raise ArtefactError(name, f"it is the name of {meant}", "Choose another name.")
    old = [text for text, key in store.names().items() if key == entry.key and text != name]
    store.set_name(name, entry.key)
    for text in old:
        store.remove_name(text)


def differing(chosen: Sequence[Entry]) -> dict[str, list[Any]]:
    """Facts and recipes side by side: only the fields in which these artefacts differ."""
    rows = [_flat(entry.artefact.recipe) | _flat(entry.artefact.facts) for entry in chosen]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = {name: [row.get(name) for row in rows] for name in names}
    return {
        name: values for name, values in table.items() if any(one != values[0] for one in values)
    }


def summary_of(artefact: Artefact) -> str:
    """What an artefact is, in one line."""
    facts, recipe = artefact.facts, artefact.recipe
    if artefact.key.kind == "data":
        kinds = {"queries": "query", "documents": "document", "features": "feature"}
        return ", ".join(counted(facts.get(name, 0), one) for name, one in kinds.items())
    if artefact.key.kind == "ranker":
        preset, changed = from_preset(recipe["ranker"])
        if recipe["ranker"]["name"] in outside.KINDS:
            return _of_file(artefact)
        said = f"{preset} preset" + (f", {in_words(changed)}" if changed else "")
        said += _on_lists(artefact)
        quality = facts.get("valid", {}).get("NDCG@10")
        return said + (f"; validation NDCG@10 {quality:.3f}" if quality is not None else "")
    if artefact.key.kind == "study":
        return f"on {facts.get('data', '?')}: {', '.join(rankers_of(recipe))}"
    return f"of {recipe.get('ranker', {}).get('name', '?')} on all documents"


def _of_file(artefact: Artefact) -> str:
    """A ranker from outside: which file, and how good it is where that was measured."""
    ranker, facts = artefact.recipe["ranker"], artefact.facts
    said = f"{outside.WORDS[ranker['name']]} ({ranker['file']}), from outside"
    for part in ("valid", "test"):
        quality = facts.get(part, {}).get("NDCG@10")
        if quality is not None:
            name = {"valid": "validation", "test": "test"}[part]
            return f"{said}; {name} NDCG@10 {quality:.3f}"
    return said


def _own_name(artefact: Artefact) -> str:
    recipe = artefact.recipe
    if artefact.key.kind == "study":
        return "benchmark of runs" if is_of_runs(recipe) else str(recipe["kind"])
    if artefact.key.kind == "ranker":
        file = recipe["ranker"].get("file", "")
        return f"{artefact.facts.get('name') or recipe['ranker']['name']} {file}".strip()
    if artefact.key.kind == "scores":
        return f"scores of {recipe.get('ranker', {}).get('name', artefact.key)}"
    return str(artefact.facts.get("name") or artefact.key)


@dataclass(frozen=True)
class Trials:
    """What a study's trials say of themselves.

    Attributes:
        rankers: keys, as printed, of those that were trained for it.
        seconds: all trials took together, training left out.
    """

    rankers: frozenset[str]
    seconds: float | None


def _trials(artefact: Artefact) -> Trials:
    """What the trials of a stored study say; nothing where they cannot be read."""
    try:
        frame = json.loads((artefact.path / "trials.json").read_text(encoding="utf-8"))
        columns = {name: [row[at] for row in frame["data"]]
                   for at, name in enumerate(frame["columns"])}  # fmt: skip
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return Trials(frozenset(), None)
    keys = {key for text in columns.get("artefacts", ()) for key in str(text or "").split()}
    known = [value for value in columns.get("seconds", ()) if isinstance(value, int | float)]
    return Trials(frozenset(keys), float(sum(known)) if known else None)


def _seconds(artefact: Artefact) -> float | None:
    value = artefact.facts.get("seconds")
    if isinstance(value, int | float):
        return float(value) or None
    return _trials(artefact).seconds or None if artefact.key.kind == "study" else None


def _on_lists(artefact: Artefact) -> str:
    """How the lists that a ranker was trained on were made; nothing for one of documents."""
    made = _lists(artefact)
    if "initial" not in made:
        return ""
    lists = ListRecipe(**(dict(made) | {"initial": tuple(made["initial"])}))
    return f"; on lists by {in_words(from_usual_lists(lists)).removeprefix('initial ')}"


def _lists(artefact: Artefact) -> Mapping[str, Any]:
    made = artefact.recipe.get("lists")
    return made if isinstance(made, Mapping) else {}


def _fingerprints(artefact: Artefact) -> tuple[str, ...]:
    """Of train, validation, test, and of the whole; none where it cannot be opened."""
    try:
        fold = stored.open_fold(artefact.path)
    except DataError:
        return ()
    parts = (fold.train.fingerprint, fold.valid.fingerprint, fold.test.fingerprint)
    return (*parts, fold.fingerprint)


def _made_from(artefact: Artefact, prints: tuple[str, ...]) -> bool:
    seen = prints[:2] if artefact.key.kind == "ranker" else prints[:3]
    return bool(prints) and key_of(artefact.key.kind, artefact.recipe, seen) == artefact.key


def _studied(artefact: Artefact, prints: tuple[str, ...]) -> bool:
    if not prints:
        return False
    facts, recipe = artefact.facts, artefact.recipe
    if prints[3] in facts.get("fingerprints", ()):
        return True
    digest = key_of("lists", facts.get("lists", {}), (prints[3],)).digest
    lists = recipe.get("lists")
    return digest in lists.values() if isinstance(lists, Mapping) else digest == lists


def _flat(values: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{place}{name}.")
        else:
            flat[f"{place}{name}"] = value
    return flat
