"""Rankers of a store that were fitted on a data set; reads only manifests."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.experiment.list_sources import has_lists_of, recipe_of
from shuffleproof.core.rankers import named_presets, registry
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import FILES, remember_file_name
from shuffleproof.core.store.arrival import Arrival, arrival
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import canonical_json, key_of
from shuffleproof.core.store.manifest import Artefact

CONTRAST = (
    ("dlcm", "dlcm-without-init"),
    ("setrank-imsab-init", "setrank-msab-init", "setrank-imsab", "setrank-msab"),
)
"""Who follows the input order and who does not, the most telling first."""


@dataclass(frozen=True)
class TrainedRanker:
    """A fitted ranker of the store.

    Attributes:
        key: its artefact key as printed.
        digest: the whole digest, as studies name it.
        name: the registry's name.
        label: what commands take too: the name, with its preset where a name alone means another,
            of a file with its own; with digits of the key where another was called so before.
        preset: the preset that its recipe is; None: its settings are of their own.
        lists: how the lists that it was fitted on were made; None: on all documents.
        valid: its quality on the validation part, by measure.
        created: when it was stored.
        arrived: what rankers are sorted by as they came, the shipped ones first.
    """

    key: str
    digest: str
    name: str
    label: str
    preset: str | None
    lists: ListRecipe | None
    valid: Mapping[str, float]
    created: str
    arrived: Arrival = (True, "", "")

    @property
    def is_bundled(self) -> bool:
        """True if it is bundled."""
        return not self.arrived[0]


def trained_on(
    store: Store, train: str, valid: str, usual: str | None = None
) -> list[TrainedRanker]:
    """The rankers fitted on a data set's training part, newest first, by their keys alone.

    A ranker's key is the digest of its recipe and of the two parts that it saw: those that
    come out as filed were fitted on these parts. Models fitted for cross-fitting are left out, and
    the trials of searches; the result of a search has the name of its preset.

    Args:
        store: of the rankers.
        train: fingerprint of the training part.
        valid: that of the validation part.
        usual: the preset that a name alone means on this data set, which labels leave out; none:
            labels name no preset.
    """
    searched = named_presets.searched_rankers(store)
    trials = {key for key, (_, trial) in searched.items() if trial is not None}
    by_arrival = sorted(
        (
            (arrival(store, artefact), artefact)
            for artefact in store.artefacts("ranker")
            if str(artefact.key) not in trials
            and _is_complete(artefact.recipe)
            and key_of("ranker", artefact.recipe, (train, valid)) == artefact.key
        ),
        key=itemgetter(0),
    )
    labels: set[str] = set()
    rankers = [
        _ranker(artefact, arrived, labels, usual, searched.get(str(artefact.key), ("", None))[0])
        for arrived, artefact in by_arrival
    ]
    return sorted(rankers, key=attrgetter("created", "key"), reverse=True)


def _ranker(
    artefact: Artefact, arrived: Arrival, labels: set[str], usual: str | None, tuned: str
) -> TrainedRanker:
    """A stored ranker; the first of a name takes it, so that no later one changes its label.

    The result of a search has the name of its preset.
    """
    recipe = artefact.recipe
    name = str(artefact.facts.get("name") or recipe["ranker"]["name"])
    file = str(recipe["ranker"].get("file", "")) if name in FILES else ""
    if file:
        remember_file_name(artefact.key.digest, file)
    preset = _preset(name, canonical_json(recipe["ranker"]))
    label = f"{name}:{file}" if file else name
    if usual and (tuned or preset not in {None, usual}):
        label = tuned or f"{name}@{preset}"
    label = f"{name}#{artefact.key.digest[:6]}" if label in labels else label
    labels.add(label)
    return TrainedRanker(
        key=str(artefact.key),
        digest=artefact.key.digest,
        name=name,
        label=label,
        preset=preset,
        lists=None if recipe["lists"] == ALL_DOCUMENTS else recipe_of(recipe["lists"]),
        valid=dict(artefact.facts.get("valid", {})),
        created=artefact.created,
        arrived=arrived,
    )


def studied_on(store: Store, fingerprint: str) -> list[Artefact]:
    """The studies of a data set under whatever name, newest first.

    A study's recipe holds the digest of its lists, its facts say how they were made: those that
    come out alike from this fold are of this fold.
    """
    studies = [
        artefact for artefact in store.artefacts("study") if has_lists_of(artefact, fingerprint)
    ]
    return sorted(studies, key=attrgetter("created"), reverse=True)


def list_recipes(rankers: list[TrainedRanker]) -> list[ListRecipe]:
    """The ways in which lists were made for these rankers, the newest first, each once."""
    return list(dict.fromkeys(ranker.lists for ranker in rankers if ranker.lists is not None))


def contrasting_pair(rankers: Sequence[TrainedRanker]) -> list[TrainedRanker]:
    """Up to two rankers that show the difference best: one fed in the input order, one SetRank."""
    fitting = (
        [ranker for name in names for ranker in rankers if ranker.name == name]
        for names in CONTRAST
    )
    return [matching[0] for matching in fitting if matching]


def in_order_of_arrival(rankers: Iterable[TrainedRanker]) -> list[TrainedRanker]:
    """Rankers in the order in which they came, the shipped ones first."""
    return sorted(rankers, key=attrgetter("arrived"))


def contrast(rankers: Sequence[TrainedRanker]) -> list[TrainedRanker]:
    """One ranker fed in the input order beside one SetRank on the same lists; else none.

    No ranker that is stored later changes it: it uses the two most telling shipped ones, else the
    two by which lists had both kinds first.
    """
    by_arrival = in_order_of_arrival(rankers)
    for pool in ([ranker for ranker in by_arrival if ranker.is_bundled], by_arrival):
        pairs = [_first_of_both(pool, recipe) for recipe in list_recipes(pool)]
        complete_pairs = [pair for pair in pairs if len(pair) == len(CONTRAST)]
        if complete_pairs:
            return min(complete_pairs, key=lambda pair: max(ranker.arrived for ranker in pair))
    return []


def _first_of_both(came: Sequence[TrainedRanker], recipe: ListRecipe) -> list[TrainedRanker]:
    of_lists = [ranker for ranker in came if ranker.lists == recipe]
    if all(ranker.is_bundled for ranker in of_lists):
        return contrasting_pair(of_lists)
    fitting = ([ranker for ranker in of_lists if ranker.name in names] for names in CONTRAST)
    return [matching[0] for matching in fitting if matching]


def _is_complete(recipe: Mapping[str, Any]) -> bool:
    """True for a complete ranker on lists that this version can make."""
    lists = recipe.get("lists")
    return lists == ALL_DOCUMENTS or (isinstance(lists, Mapping) and recipe_of(lists) is not None)


@lru_cache(maxsize=1024)
def _preset(name: str, written: str) -> str | None:
    """The preset whose recipe this is, as the store would write it; none from outside."""
    try:
        presets = () if name in FILES else registry.entry(name).presets
    except UnknownNameError:  # of another version
        return None
    for preset in presets:
        if canonical_json(registry.spec(name, preset).recipe()) == written:
            return preset
    return None
