"""Start values of forms for a data set: contrasting trained rankers, else the cheapest ones.

The defaults of a form must not start hours of work. They follow from what the page shows, so that
later work does not change them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shuffleproof.app import services, training
from shuffleproof.core.answers.trained_rankers import (
    CONTRAST,
    TrainedRanker,
    contrast,
    in_order_of_arrival,
)
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import (
    FILES,
    INITIAL,
    RankerName,
    display_names,
    with_display_names,
)
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import preset_of

CONTRASTING = tuple(names[0] for names in CONTRAST)
"""A ranker that depends on the input order, and one that does not."""

MOST = 6
"""Most rankers that a form proposes."""

DIGITS = 8


@dataclass(frozen=True)
class Proposal:
    """Start values of a form.

    Attributes:
        rankers: names of rankers in jobs.
        lists: recipe of the candidate lists.
    """

    rankers: tuple[str, ...]
    lists: ListRecipe


def cheapest(name: str) -> str:
    """Name of a ranker at its cheapest preset, for a job.

    >>> cheapest("dlcm"), cheapest("random")
    ('dlcm@small', 'random')
    """
    entry = registry.entry(name)
    if not entry.learns:
        return name
    return f"{name}@{training.presets([name])[0]}"


def cheapest_lists() -> ListRecipe:
    """Lists by the default initial ranker at its cheapest preset.

    >>> cheapest_lists().initial
    ('lambdamart@small',)
    """
    (usual,) = ListRecipe().rankers
    return ListRecipe((cheapest(usual.base),)).of_today()


def imported_rankers(data: str) -> list[str]:
    """External rankers of a data set, as named in jobs, newest first."""
    return [name_in_jobs(ranker) for ranker in trained_rankers(data) if ranker.name in FILES]


def name_in_jobs(ranker: TrainedRanker) -> str:
    """Name of a ranker in jobs: its label, or its key if no preset identifies it."""
    if ranker.preset is None or RankerName.of(ranker.label).digits:
        return f"{ranker.name}#{ranker.digest[:DIGITS]}"
    return ranker.label


def trained_rankers(data: str) -> list[TrainedRanker]:
    """Rankers trained on a data set, newest first; none if it is no longer stored."""
    try:
        fitting = training.fit_size(data)
    except ShuffleproofError:
        return []
    return services.trained_rankers(data, *fitting.fingerprints[:2])


def field_texts(labels: Iterable[str]) -> Callable[[str], str]:
    """Function from ranker labels in fields to display names, also for typed labels."""
    names = display_names(labels)
    return lambda label: names.get(label) or with_display_names(label)


def texts(ranker: TrainedRanker) -> tuple[str, ...]:
    """Names of a ranker in addresses: by its key, then names of earlier versions."""
    named = f"{ranker.name}#{ranker.digest[:DIGITS]}"
    file = RankerName.of(ranker.label).path
    once = () if RankerName.of(ranker.label).digits else (ranker.name,)
    return named, ranker.label, f"{ranker.name} {file or ranker.digest[:6]}", *once


def lists_texts(recipe: ListRecipe) -> tuple[str, ...]:
    """Name of a recipe of lists in addresses."""
    return (str(key_of("lists", recipe.plain())),)


def for_training() -> tuple[str, ListRecipe]:
    """Default preset and lists of a training."""
    return next(iter(training.PRESETS)), cheapest_lists()


def for_study(data: str, shown: Artefact | None = None) -> Proposal:
    """Values of the study shown; else contrasting trained rankers; else the cheapest ones.

    If the contrasting rankers are shipped, one shipped ranker of every name is proposed.
    """
    rankers = trained_rankers(data)
    if shown is not None:
        return _proposal_of_study(shown, rankers, data)
    pair = contrast(rankers)
    if not pair:
        return Proposal(tuple(map(cheapest, CONTRASTING)), cheapest_lists())
    lists = pair[0].lists or cheapest_lists()
    chosen = _of_each(rankers, lists)[:MOST] if pair[0].is_bundled else pair
    return Proposal(tuple(name_in_jobs(ranker) for ranker in chosen), lists)


def contrasting_rankers(data: str) -> set[str]:
    """Keys of the default rankers of a page, chosen as in `for_study`."""
    rankers = trained_rankers(data)
    pair = contrast(rankers)
    chosen = _of_each(rankers, pair[0].lists) if pair and pair[0].is_bundled else pair
    return {ranker.key for ranker in chosen}


def _of_each(rankers: Sequence[TrainedRanker], lists: ListRecipe | None) -> list[TrainedRanker]:
    """First shipped ranker of every name on these lists, the contrasting names first."""
    of: dict[str, TrainedRanker] = {}
    for ranker in in_order_of_arrival(rankers):
        if ranker.is_bundled and ranker.lists in {None, lists}:
            of.setdefault(ranker.name, ranker)
    contrasting = [name for names in CONTRAST for name in names if name in of]
    return [of[name] for name in (*contrasting, *(name for name in of if name not in contrasting))]


def _proposal_of_study(study: Artefact, rankers: Sequence[TrainedRanker], data: str) -> Proposal:
    """Rankers and lists of a study, named so that a job finds the same ones."""
    of = {ranker.digest: ranker for ranker in rankers}
    preset = study.facts.get("preset")
    names = []
    for label, digest in study.recipe["rankers"]:
        if label == INITIAL:
            continue
        name = RankerName.of(label)
        if preset and preset != preset_of(data) and name.base in registry.RANKERS:
            name = registry.at(name, preset)
        names.append(name_in_jobs(of[digest]) if digest in of else str(name))
    lists = dict(study.facts.get("lists") or {"initial": study.recipe["initial"]})
    return Proposal(
        tuple(dict.fromkeys(names)), ListRecipe(**(lists | {"initial": tuple(lists["initial"])}))
    )
