"""What the artefacts of a store were made from, by the digests in their recipes and facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from shuffleproof.core.data import stored
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
from shuffleproof.core.rankers.initial import ListRecipe, lists_digest
from shuffleproof.core.store import plain_json
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.list_sources import recipe_of, replacing, sources

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
    """What a study's trials say of themselves.

    Attributes:
        rankers: keys, as printed, of those that were trained for it.
        seconds: of all trials added up, training left out; several may have run side by side.
    """

    rankers: frozenset[str]
    seconds: float | None


def dependencies(
    store: Store, artefacts: Sequence[Artefact] | None = None
) -> dict[ArtefactKey, set[ArtefactKey]]:
    """What every artefact was made from, as far as it is stored; data sets need nothing.

    A study and a ranker of lists also need the initial rankers of these lists and their scores;
    the models of a cross-fitting are not needed, since the scores hold what they said.

    Args:
        store: where they are.
        artefacts: those to look at; all by default.
    """
    every = list(store.artefacts()) if artefacts is None else list(artefacts)
    folds = {one.key: _fingerprints(one) for one in every if one.key.kind == "data"}
    rankers = {one.key.digest: one.key for one in every if one.key.kind == "ranker"}
    by_text = {str(key): key for key in rankers.values()}
    keys = {one.key for one in every}
    found: dict[ArtefactKey, set[ArtefactKey]] = {}
    for one in every:
        try:
            seen = {key: prints for key, prints in folds.items() if _reads(one, prints)}
            named = _named(one)
            sources = {key for prints in seen.values() for key in _sources(one, prints)}
        except STRANGE:  # the library shows it as damaged, and the others all the same
            seen, named, sources = {}, set(), set()
        direct = {rankers[text] for text in named & rankers.keys()}
        direct |= {by_text[text] for text in named & by_text.keys()}
        found[one.key] = (set(seen) | direct | (sources & keys)) - {one.key}
    return found


def _named(one: Artefact) -> set[str]:
    """The rankers that an artefact names: whole digests, or keys as printed."""
    if one.key.kind == "study":
        pairs = [pair for pair in one.recipe.get("rankers", ()) if not isinstance(pair, str)]
        digests = {str(pair[1]) for pair in pairs if pair[0] != INITIAL}
        return digests | trials_of(one).rankers
    return {str(text) for text in one.facts.get("members", ())}


def trials_of(artefact: Artefact) -> Trials:
    """What the trials of a stored study say; nothing where they cannot be read."""
    try:
        frame = plain_json.read(artefact.path / "trials.json", MOST_TRIALS)
        columns = {name: [row[at] for row in frame["data"]]
                   for at, name in enumerate(frame["columns"])}  # fmt: skip
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return Trials(frozenset(), None)
    texts = [text for name in TRAINED for text in columns.get(name, ())]
    keys = {key for text in texts for key in str(text or "").split()}
    known = [value for value in columns.get("seconds", ()) if isinstance(value, int | float)]
    return Trials(frozenset(keys), float(sum(known)) if known else None)


def _reads(artefact: Artefact, prints: tuple[str, ...]) -> bool:
    if artefact.key.kind in {"ranker", "scores"}:
        return _made_from(artefact, prints)
    return artefact.key.kind == "study" and _studied(artefact, prints)


def _sources(artefact: Artefact, prints: tuple[str, ...]) -> set[ArtefactKey]:
    """The initial rankers, and their scores, without which these lists cannot be made again."""
    if artefact.key.kind == "scores":
        made = {"ranker": artefact.recipe["ranker"], "lists": ALL_DOCUMENTS}
        return {key_of("ranker", made, prints[:2])}
    place = artefact.facts if artefact.key.kind == "study" else artefact.recipe
    noted = place.get("lists")
    recipe = recipe_of(noted) if isinstance(noted, Mapping) else None
    if recipe is None:
        return set()
    needed = set(_list_keys(recipe, prints[:3]))
    names = tuple(map(str, artefact.facts.get("initial", ())))[len(recipe.initial) :]
    preset = str(artefact.facts.get("preset", "paper"))
    return needed | set(replacing(names, preset, recipe, prints).values())


@lru_cache(maxsize=256)
def _list_keys(recipe: ListRecipe, prints: tuple[str, ...]) -> frozenset[ArtefactKey]:
    found = sources(recipe, prints)
    return frozenset(key for source in found for key in (source.ranker, source.scores))


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
    facts: Mapping[str, Any] = artefact.facts
    if prints[3] in facts.get("fingerprints", ()):
        return True
    digest = lists_digest(facts.get("lists", {}), prints[3])
    lists = artefact.recipe.get("lists")
    return digest in lists.values() if isinstance(lists, Mapping) else digest == lists
