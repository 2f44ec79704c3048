"""Entries of a store for people: description, origin and dependencies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shuffleproof.core.data import mapped_file
from shuffleproof.core.data.catalogue import SAMPLE, SAMPLE_FOLDER
from shuffleproof.core.errors import ArtefactError, DataError, ShuffleproofError
from shuffleproof.core.experiment.list_sources import (
    has_lists_of,
    recipe_of,
    sources,
    test_rankers,
)
from shuffleproof.core.rankers import named_presets, preset_digests
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import CONFIGS, FILES, INITIAL, Kind, RankerName
from shuffleproof.core.rankers.preset_differences import from_preset, from_usual_lists, in_words
from shuffleproof.core.store import plain_json
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.damaged_entries import DamagedEntry, size_of
from shuffleproof.core.store.damaged_entries import damaged_entries as unreadable
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark.outside_runs import is_of_runs
from shuffleproof.core.studies.kinds.preferences.question import PreferenceAggregation
from shuffleproof.core.studies.kinds.preferences.sections import label as aggregator
from shuffleproof.core.studies.kinds.retrieval.question import Sparsity
from shuffleproof.core.studies.listless.retrievers import label as retriever
from shuffleproof.core.studies.methods import rankers_of
from shuffleproof.core.studies.result import TIMES
from shuffleproof.core.words import counted

KINDS = {
    "data": "data set", "ranker": "ranker", "study": "study", "scores": "scores",
    "preferences": "preferences", "collection": "text collection",
    "snrm": "learnt retriever", "fnrm": "learnt retriever", "cnrm": "learnt retriever",
}  # fmt: skip
"""The kinds of artefacts that a person has to do with, in words."""

PLURALS = {
    "data set": "data sets", "ranker": "rankers", "study": "studies", "scores": "scores",
    "preferences": "preferences", "text collection": "text collections",
    "learnt retriever": "learnt retrievers",
}  # fmt: skip
"""The same, of several."""

LEARNERS = tuple(kind for kind, words in KINDS.items() if words == "learnt retriever")
COUNTED = {
    "data": {"queries": "query", "documents": "document", "features": "feature"},
    "preferences": {
        "queries": "query", "items": "item", "judgments": "judgment", "rankers": "ranker",
    },
    "collection": {"documents": "document", "queries": "query", "judgments": "judgment"},
}  # fmt: skip
"""What the summary of a kind counts, in words; of data sets also what there is none of."""


@dataclass(frozen=True)
class Entry:
    """One artefact of the library.

    Attributes:
        artefact: path and recipe.
        name: the user's name for it, or its own.
        names: all of the user's; the same bytes may have been imported under several.
        summary: description, in one line.
        seconds: recorded time of training or scoring. For a study, the sum over its trials, more
            than the elapsed time if several ran in parallel.
        bundled: it comes with the program and can be neither changed nor deleted.
        needs: its sources, as far as they are in the store.
        part: it is one part of a cross-fitting: of interest only with what it belongs to.
        stale: why lists like its own cannot be made any more; empty: they can.
    """

    artefact: Artefact
    name: str
    names: tuple[str, ...]
    summary: str
    seconds: float | None
    bundled: bool
    needs: frozenset[ArtefactKey]
    part: bool
    stale: str = ""

    @property
    def key(self) -> ArtefactKey:
        """The artefact's key."""
        return self.artefact.key


def entries(store: Store) -> list[Entry]:
    """Every artefact of a store that a person has to do with, the newest first."""
    return _entries_and_strange(store)[0]


def damaged_entries(store: Store) -> list[DamagedEntry]:
    """Damaged file of a store: shown separately, and removed by its name."""
    undescribable = [
        artefact
        for artefact in _entries_and_strange(store)[1]
        if artefact.path.parent.parent == store.root
    ]
    return [
        *unreadable(store),
        *(
            DamagedEntry(artefact.path, "artefact", _cannot_describe(artefact), artefact.size)
            for artefact in undescribable
        ),
        *(
            DamagedEntry(path, "preset", finding, size_of(path))
            for path, finding in named_presets.damaged_presets(store)
        ),
    ]


def _entries_and_strange(store: Store) -> tuple[list[Entry], list[Artefact]]:
    """Entries of a store, and artefacts that cannot be described."""
    names: dict[ArtefactKey, tuple[str, ...]] = {}
    for name, key in store.names().items():
        names[key] = (*names.get(key, ()), name)
    artefacts = [artefact for artefact in store.artefacts() if artefact.key.kind in KINDS]
    searched = named_presets.searched_rankers(store)
    needs = _dependencies(artefacts)
    described, undescribable = [], []
    for artefact in artefacts:
        try:
            described.append(
                _entry(
                    artefact,
                    names.get(artefact.key, ()),
                    frozenset(needs[artefact.key]),
                    store,
                    searched.get(str(artefact.key), ("", None)),
                )
            )
        except STRANGE:
            undescribable.append(artefact)
    return sorted(described, key=lambda entry: entry.artefact.created, reverse=True), undescribable


def _entry(
    artefact: Artefact, names: tuple[str, ...], needs: frozenset[ArtefactKey], store: Store,
    searched: tuple[str, int | None],
) -> Entry:  # fmt: skip
    return Entry(
        artefact=artefact,
        name=names[0] if names else _searched_name(*searched) or _own_name(artefact),
        names=names,
        summary=summary_of(artefact),
        seconds=_seconds(artefact),
        bundled=artefact.path.parent != store.root / "artefacts",
        needs=needs,
        part="without part" in _lists(artefact),
        stale=preset_digests.stale(_initial(artefact)),
    )


def _cannot_describe(artefact: Artefact) -> str:
    return f"its recipe or its facts are those of no {KINDS[artefact.key.kind]} of this version"


def dependents(found: Iterable[Entry], key: ArtefactKey) -> list[Entry]:
    """Artefacts made from another, directly or indirectly, newest first."""
    candidates = list(found)
    reached, grown = {key}, True
    while grown:
        added = {entry.key for entry in candidates if entry.needs & reached} - reached
        grown, reached = bool(added), reached | added
    return [entry for entry in candidates if entry.key in reached - {key}]


def data_of(entry: Entry, found: Iterable[Entry]) -> str:
    """The name of the data set that something was made from; `sample` where none is stored."""
    names = [
        candidate.name
        for candidate in found
        if candidate.key in entry.needs and candidate.key.kind == "data"
    ]
    return next((name for name in names if name != SAMPLE), SAMPLE)


def with_dependencies(found: Iterable[Entry], keys: Iterable[ArtefactKey]) -> list[Entry]:
    """These artefacts and all that they need, so that another machine can open them.

    Rankers of user code are left out, which nothing there could open; what is stored of their
    studies needs none.
    """
    by_key = {entry.key: entry for entry in found}
    reached: set[ArtefactKey] = set()
    waiting = [key for key in keys if key in by_key]
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            needs = [by_key[needed] for needed in by_key[key].needs if needed in by_key]
            waiting += [entry.key for entry in needs if not _is_user_code(entry.artefact)]
    return [entry for entry in by_key.values() if entry.key in reached]


def remove(store: Store, chosen: Sequence[Entry]) -> int:
    """Remove artefacts with their names; returns the bytes that are free now.

    Raises:
        ArtefactError: one of them comes with the program; those before it are gone.
    """
    freed = 0
    for entry in chosen:
        store.remove(entry.key)
        freed += entry.artefact.size
    return freed


def rename(store: Store, entry: Entry, name: str) -> None:
    """Call an artefact by another name; an old name means nothing any more.

    Raises:
        ParameterError: no name.
        ArtefactError: the name means something else.
    """
    current = store.names().get(name)
    if current not in {None, entry.key}:
        raise ArtefactError(name, f"it is the name of {current}", "Choose another name.")
    old = [text for text, key in store.names().items() if key == entry.key and text != name]
    store.set_name(name, entry.key)
    for text in old:
        store.remove_name(text)


def summary_of(artefact: Artefact) -> str:
    """Description of an artefact, in one line."""
    facts, recipe = artefact.facts, artefact.recipe
    if kinds := COUNTED.get(artefact.key.kind):
        sizes = {noun: facts.get(name, 0) for name, noun in kinds.items()}
        counts = {noun: size for noun, size in sizes.items() if size or "features" in kinds}
        return ", ".join(counted(size, noun) for noun, size in counts.items())
    if artefact.key.kind == "ranker":
        preset, changed = from_preset(recipe["ranker"])
        if recipe["ranker"]["name"] in FILES:
            return _of_file(artefact)
        kind = f"{preset} preset" if preset else "combination"
        kind = "user code" if _is_user_code(artefact) else kind
        kind = "own parameters" if recipe["ranker"]["name"] in CONFIGS else kind
        text = kind + (f", {in_words(changed)}" if changed else "")
        text += _on_lists(artefact)
        quality = facts.get("valid", {}).get("NDCG@10")
        return text + (f"; validation NDCG@10 {quality:.3f}" if quality is not None else "")
    if artefact.key.kind in LEARNERS:
        return _of_retriever(facts)
    if artefact.key.kind == "study":
        compared = ", ".join(_compared(recipe))
        return f"on {facts.get('data', '?')}{f': {compared}' if compared else ''}"
    return f"of {recipe.get('ranker', {}).get('name', '?')} on all documents"


def _of_retriever(facts: Mapping[str, Any]) -> str:
    """A learnt retriever: of which collection, how long it learnt, and what its gates say."""
    text = counted(facts["steps"], "step")
    text = f"on {facts['data']}: {text}" if "data" in facts else text
    if "gates" not in facts:
        return text
    failed = "; ".join(facts["failed"])
    return f"{text}; " + (f"not sparse: {failed}" if failed else "passes the sparsity checks")


def _compared(recipe: Mapping[str, Any]) -> list[str]:
    """Systems that a study compares: rankers, else retrievers, else aggregators."""
    if recipe["kind"] == Sparsity.kind:
        return [retriever(f"snrm@{recipe['preset']}")]
    if recipe["kind"] == PreferenceAggregation.kind:
        return [*map(aggregator, recipe["aggregators"])]
    return rankers_of(recipe) or [retriever(name) for name in recipe.get("retrievers", ())]


def _is_user_code(artefact: Artefact) -> bool:
    """True for a ranker that only a process with its registered class can open."""
    name = str(artefact.recipe.get("ranker", {}).get("name", ""))
    return artefact.key.kind == "ranker" and RankerName.of(name).kind is Kind.OBJECT


def _of_file(artefact: Artefact) -> str:
    """A ranker from outside: which file, and how good it is where that was measured."""
    ranker, facts = artefact.recipe["ranker"], artefact.facts
    text = f"{FILES[ranker['name']].description} ({ranker['file']}), from outside"
    for part in ("valid", "test"):
        quality = facts.get(part, {}).get("NDCG@10")
        if quality is not None:
            name = {"valid": "validation", "test": "test"}[part]
            return f"{text}; {name} NDCG@10 {quality:.3f}"
    return text


def _searched_name(preset: str, trial: int | None) -> str:
    """Name of a ranker of a search.

    >>> _searched_name("lambdamart@tuned_mq2008", 3), _searched_name("mart@mine", None)
    ('lambdamart · trial 3', 'mart@mine')
    """
    return preset if trial is None else f"{RankerName.of(preset).base} · trial {trial}"


def _own_name(artefact: Artefact) -> str:
    recipe = artefact.recipe
    if artefact.key.kind == "study":
        return "benchmark of runs" if is_of_runs(recipe) else str(recipe["kind"])
    if artefact.key.kind == "ranker":
        ranker = recipe["ranker"]
        return str(ranker.get("file") or artefact.facts.get("name") or ranker["name"])
    if artefact.key.kind == "scores":
        return f"scores of {recipe.get('ranker', {}).get('name', artefact.key)}"
    name = str(artefact.facts.get("name") or artefact.key)
    return SAMPLE if name == SAMPLE_FOLDER.name else name


def _seconds(artefact: Artefact) -> float | None:
    value = artefact.facts.get("seconds")
    if isinstance(value, int | float):
        return float(value) or None
    return trials_of(artefact).seconds or None if artefact.key.kind == "study" else None


def _on_lists(artefact: Artefact) -> str:
    """Description of the training lists of a ranker; empty for rankers of documents."""
    lists = recipe_of(_lists(artefact))
    if lists is None:
        return ""
    return f"; on lists by {in_words(from_usual_lists(lists)).removeprefix('initial ')}"


def _initial(artefact: Artefact) -> list[str]:
    """The initial rankers of the lists that something was made on."""
    lists = artefact.facts.get("lists") if artefact.key.kind == "study" else _lists(artefact)
    return list(map(str, lists.get("initial", ()))) if isinstance(lists, Mapping) else []


def _lists(artefact: Artefact) -> Mapping[str, Any]:
    lists = artefact.recipe.get("lists")
    return lists if isinstance(lists, Mapping) else {}


STRANGE = (
    ShuffleproofError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError,
    RecursionError,
)  # fmt: skip
"""What reading the recipe or the facts of a stranger's artefact can raise."""

TRAINED = ("artefacts", "artefact")
"""Columns of trials that name what was trained for them: the first several, the second one."""

MOST_TRIALS = 1 << 27
"""Bytes of a table of trials; longer ones are no study of ours."""


@dataclass(frozen=True)
class Trials:
    """Facts of a study's trials.

    Attributes:
        rankers: keys, as printed, of those that were trained for it.
        seconds: of all trials added up, training left out; several may have run side by side.
    """

    rankers: frozenset[str]
    seconds: float | None


def _dependencies(artefacts: Sequence[Artefact]) -> dict[ArtefactKey, set[ArtefactKey]]:
    """Dependencies of every artefact, as far as they are stored; data sets have none.

    A study and a ranker of lists also need the initial rankers of these lists and their scores;
    the models of a cross-fitting are not needed, since the scores hold what they said.
    """
    folds = {
        artefact.key: _fingerprints(artefact)
        for artefact in artefacts
        if artefact.key.kind == "data"
    }
    keys = {artefact.key for artefact in artefacts}
    rankers = {key.digest: key for key in keys if key.kind == "ranker"}
    by_text = {str(key): key for key in rankers.values()}
    needs: dict[ArtefactKey, set[ArtefactKey]] = {}
    for artefact in artefacts:
        try:
            data_sets = {key: prints for key, prints in folds.items() if _reads(artefact, prints)}
            names = _rankers_named(artefact)
            sources = {key for prints in data_sets.values() for key in _sources(artefact, prints)}
        except STRANGE:  # the library shows it as damaged, and the others all the same
            data_sets, names, sources = {}, set(), set()
        direct = {rankers[text] for text in names & rankers.keys()}
        direct |= {by_text[text] for text in names & by_text.keys()}
        needs[artefact.key] = (set(data_sets) | direct | (sources & keys)) - {artefact.key}
    return needs


def _rankers_named(artefact: Artefact) -> set[str]:
    """The rankers that an artefact names: whole digests, or keys as printed."""
    if artefact.key.kind == "study":
        pairs = [pair for pair in artefact.recipe.get("rankers", ()) if not isinstance(pair, str)]
        digests = {str(pair[1]) for pair in pairs if pair[0] != INITIAL}
        return digests | trials_of(artefact).rankers
    return {str(text) for text in artefact.facts.get("members", ())}


def trials_of(artefact: Artefact) -> Trials:
    """Facts of the trials of a stored study; empty if they cannot be read."""
    times = artefact.path / TIMES
    try:
        frame = plain_json.read_json(artefact.path / "trials.json", MOST_TRIALS)
        columns = {name: [row[at] for row in frame["data"]]
                   for at, name in enumerate(frame["columns"])}  # fmt: skip
        if times.exists():
            columns |= plain_json.read_json(times, MOST_TRIALS)["trials"]
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return Trials(frozenset(), None)
    texts = [text for name in TRAINED for text in columns.get(name, ())]
    keys = {key for text in texts for key in str(text or "").split()}
    seconds = [value for value in columns.get("seconds", ()) if isinstance(value, int | float)]
    return Trials(frozenset(keys), float(sum(seconds)) if seconds else None)


def _reads(artefact: Artefact, prints: tuple[str, ...]) -> bool:
    """True if its source is the data set with these fingerprints."""
    kind, parts = artefact.key.kind, {"ranker": 2, "scores": 3}
    if not prints or kind not in {"study", *parts}:
        return False
    if kind != "study":
        return key_of(kind, artefact.recipe, prints[: parts[kind]]) == artefact.key
    known = artefact.facts.get("fingerprints", ())
    return prints[3] in known or has_lists_of(artefact, prints[3])


def _sources(artefact: Artefact, prints: tuple[str, ...]) -> set[ArtefactKey]:
    """The initial rankers, and their scores, without which these lists cannot be made again."""
    if artefact.key.kind == "scores":
        ranker_recipe = {"ranker": artefact.recipe["ranker"], "lists": ALL_DOCUMENTS}
        return {key_of("ranker", ranker_recipe, prints[:2])}
    place = artefact.facts if artefact.key.kind == "study" else artefact.recipe
    lists = place.get("lists")
    recipe = recipe_of(lists) if isinstance(lists, Mapping) else None
    if recipe is None:
        return set()
    needed = set(_list_keys(recipe, prints[:3]))
    names = tuple(map(str, artefact.facts.get("initial", ())))[len(recipe.initial) :]
    preset = str(artefact.facts.get("preset", "paper"))
    return needed | set(test_rankers(names, preset, recipe, prints).values())


@lru_cache(maxsize=256)
def _list_keys(recipe: ListRecipe, prints: tuple[str, ...]) -> frozenset[ArtefactKey]:
    fitted = sources(recipe, prints)
    return frozenset(key for source in fitted for key in (source.ranker, source.scores))


def _fingerprints(artefact: Artefact) -> tuple[str, ...]:
    """Of train, validation, test, and of the whole; none where it cannot be opened."""
    try:
        fold = mapped_file.open_fold(artefact.path)
    except DataError:
        return ()
    return (*fold.fingerprints, fold.fingerprint)
