"""Proposals of forms for a data set: trained rankers that differ most, else the cheapest ones.

A form whose button can be pressed at once must not begin hours of work by it, and what it proposes
follows from what the page shows: no later work changes it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shuffleproof.app import services, training
from shuffleproof.core.answers.trained_rankers import (
    CONTRAST,
    TrainedRanker,
    as_they_came,
    contrast,
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

TELLING = tuple(names[0] for names in CONTRAST)
"""Who follows the order shown, and who does not."""

MOST = 6
"""Rankers that are proposed for a study at once."""

DIGITS = 8


@dataclass(frozen=True)
class Proposal:
    """Start values of a form.

    Attributes:
        rankers: as a job names them.
        lists: how the candidate lists are made.
    """

    rankers: tuple[str, ...]
    lists: ListRecipe


def cheapest(name: str) -> str:
    """A ranker at the preset that takes least, as a job names it.

    >>> cheapest("dlcm"), cheapest("random")
    ('dlcm@small', 'random')
    """
    entry = registry.entry(name)
    if not entry.learns:
        return name
    return f"{name}@{training.presets([name])[0]}"


def cheapest_lists() -> ListRecipe:
    """Lists by the usual initial ranker at the preset that takes least.

    >>> cheapest_lists().initial
    ('lambdamart@small',)
    """
    usual = RankerName.parse(ListRecipe().initial[0])
    return ListRecipe((cheapest(usual.base),)).of_today()


def imported_rankers(data: str) -> list[str]:
    """The rankers that came to a data set from outside, as a job names them, newest first."""
    return [as_asked(ranker) for ranker in trained_rankers(data) if ranker.name in FILES]


def as_asked(ranker: TrainedRanker) -> str:
    """The ranker as a job names it: by its label, or by its key where no preset says it alone."""
    if ranker.preset is None or RankerName.of(ranker.label).digits:
        return f"{ranker.name}#{ranker.digest[:DIGITS]}"
    return ranker.label


def trained_rankers(data: str) -> list[TrainedRanker]:
    """The rankers trained on a data set, newest first; none where it is not stored any more."""
    try:
        fitting = training.fit_size(data)
    except ShuffleproofError:
        return []
    return services.trained_rankers(data, *fitting.fingerprints[:2])


def field_texts(labels: Iterable[str]) -> Callable[[str], str]:
    """Display texts of ranker labels in fields, also of typed ones."""
    names = display_names(labels)
    return lambda label: names.get(label) or with_display_names(label)


def texts(ranker: TrainedRanker) -> tuple[str, ...]:
    """Names of a ranker in addresses, also earlier ones: by its key."""
    named = f"{ranker.name}#{ranker.digest[:DIGITS]}"
    file = RankerName.of(ranker.label).path
    once = () if RankerName.of(ranker.label).digits else (ranker.name,)
    return named, ranker.label, f"{ranker.name} {file or ranker.digest[:6]}", *once


def lists_texts(recipe: ListRecipe) -> tuple[str, ...]:
    """Name of a recipe of lists in addresses."""
    return (str(key_of("lists", recipe.plain())),)


def for_training() -> tuple[str, ListRecipe]:
    """Preset and lists of a training that can start at once."""
    return next(iter(training.PRESETS)), cheapest_lists()


def for_study(data: str, shown: Artefact | None = None) -> Proposal:
    """The study shown once more; else what stands out of what is trained; else the cheapest.

    What stands out: the contrast of the data set; with shipped rankers one of every name.
    """
    rankers = trained_rankers(data)
    if shown is not None:
        return _again(shown, rankers, data)
    pair = contrast(rankers)
    if not pair:
        return Proposal(tuple(map(cheapest, TELLING)), cheapest_lists())
    lists = pair[0].lists or cheapest_lists()
    chosen = _of_each(rankers, lists)[:MOST] if pair[0].is_bundled else pair
    return Proposal(tuple(as_asked(ranker) for ranker in chosen), lists)


def standing_out(data: str) -> set[str]:
    """The keys of the rankers that a page shows where its address names none; see `for_study`."""
    rankers = trained_rankers(data)
    pair = contrast(rankers)
    chosen = _of_each(rankers, pair[0].lists) if pair and pair[0].is_bundled else pair
    return {ranker.key for ranker in chosen}


def _of_each(rankers: Sequence[TrainedRanker], lists: ListRecipe | None) -> list[TrainedRanker]:
    """The first shipped ranker of every name on these lists, the most telling names first."""
    of: dict[str, TrainedRanker] = {}
    for ranker in as_they_came(rankers):
        if ranker.is_bundled and ranker.lists in {None, lists}:
            of.setdefault(ranker.name, ranker)
    contrasting = [name for names in CONTRAST for name in names if name in of]
    return [of[name] for name in (*contrasting, *(name for name in of if name not in contrasting))]


def _again(study: Artefact, rankers: Sequence[TrainedRanker], data: str) -> Proposal:
    """The rankers and lists of a study, named so that a job finds the same ones."""
    of = {ranker.digest: ranker for ranker in rankers}
    preset = study.facts.get("preset")
    names = []
    for label, digest in study.recipe["rankers"]:
        if label == INITIAL:
            continue
        name = RankerName.of(label)
        if preset and preset != training.usual_preset(data) and name.base in registry.RANKERS:
            name = registry.at(name, preset)
        names.append(as_asked(of[digest]) if digest in of else str(name))
    lists = dict(study.facts.get("lists") or {"initial": study.recipe["initial"]})
    return Proposal(
        tuple(dict.fromkeys(names)), ListRecipe(**(lists | {"initial": tuple(lists["initial"])}))
    )
