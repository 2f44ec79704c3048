"""A ranker that a study of trained rankers is asked for: what its name means before it is trained.

Names are those of `core.studies.workbench`: a registered ranker, a combination of several, one of
the store (`name#digits`: trained with other fields, or brought from outside), a file
(`scores:`, `lightgbm:`, `xgboost:`) or a Python callable.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.combining import ShuffleOptions
from shuffleproof.core.rankers.ensemble.fit_cache import options_of
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.outside import user_rankers
from shuffleproof.core.studies.workbench import Workbench

FROM = "from"
"""In a recipe: the ranker is from outside and was named by its file or function."""


def is_given(name: RankerName) -> bool:
    """Whether a ranker is asked as it is: a file, a function, an object that is not fitted."""
    is_object = name.kind is Kind.OBJECT and not user_rankers.is_fitted(str(name))
    return is_object or name.kind in {Kind.FILE, Kind.FUNCTION}


def has_no_recipe(name: RankerName) -> bool:
    """Whether a ranker from outside cannot be trained: given as it is, or brought by its file."""
    return is_given(name) or (name.is_from_outside and name.kind is not Kind.OBJECT)


@dataclass(frozen=True)
class ResolvedRanker:
    """What a study has to know of a ranker to plan its rows.

    Attributes:
        label: as it was asked for.
        recipe: what determines it, as plain JSON.
        stochastic: another seed makes another ranker of it.
        pointwise: it learns from documents or not at all: how long lists are plays no part.
        depth: of the lists that a stored one was trained on; None: trained here, or pointwise.
        rankings: how many initial rankings it reads.
        reads_order: it reads its documents in the order of the initial ranking.
        max_length: the longest list that it can score; None: any.
    """

    label: str
    recipe: Mapping[str, Any]
    stochastic: bool
    pointwise: bool
    depth: int | None = None
    rankings: int = 0
    reads_order: bool = False
    max_length: int | None = None


def resolve(label: str, workbench: Workbench) -> ResolvedRanker:
    """What a name means; nothing is trained.

    Raises:
        UnknownNameError: no such ranker or preset.
        ArtefactError: nothing stored has these digits.
        DataError: a file or callable that cannot be read, or does not fit the test part.
        UsageError: a combination that cannot be one, or whose stored members learnt from lists of
            different lengths.
    """
    name = RankerName.parse(label)
    if is_given(name):
        digest = run_to_end(workbench.identified(label)).digest
        return ResolvedRanker(
            label, {FROM: label, "digest": digest}, stochastic=False, pointwise=True
        )
    if options_of(name, workbench.store) is not None:
        return _resolved_combination(label, [resolve(str(part), workbench) for part in name.parts])
    if name.last_digits:
        return _resolved_stored(label, workbench)
    spec = registry.spec(name, workbench.preset)
    recipe = spec.recipe()
    return ResolvedRanker(
        label,
        recipe,
        stochastic="seed" in recipe or "seed" in recipe.get("training", {}),
        pointwise=spec.fits_documents,
        rankings=spec.rankings,
        reads_order=_is_fed_in_order(recipe),
        max_length=recipe["model"]["ordinals"] if spec.rankings else None,
    )


def train_row(
    workbench: Workbench, label: str, changes: Mapping[str, str]
) -> Generator[Progress, None, tuple[Ranker, dict[str, Any]]]:
    """The ranker of a row, trained if need be, and what a result notes of it.

    Args:
        workbench: its lists are trained on.
        label: as `resolve` takes it.
        changes: fields of its recipe that differ, as text.

    Returns:
        The ranker, and `artefact` (its key; empty where it is not stored) with
        `training_seconds`.
    """
    if is_given(RankerName.parse(label)):
        identified = yield from workbench.identified(label)
        return identified.ranker, {"artefact": "", "training_seconds": 0.0}
    model = yield from workbench.train(label, changes)
    seconds = float(model.artefact.facts.get("seconds", 0.0))
    return model.ranker, {"artefact": str(model.artefact.key), "training_seconds": seconds}


def _resolved_combination(label: str, members: Sequence[ResolvedRanker]) -> ResolvedRanker:
    """A combination, trained with its members' first seed."""
    limits = [member.max_length for member in members if member.max_length is not None]
    depths = sorted({member.depth for member in members if member.depth is not None})
    if len(depths) > 1:
        sizes = " and ".join(map(str, depths))
        raise UsageError(
            f"{label}: its members were trained on lists of {sizes}: name members of one size"
        )
    is_shuffled = isinstance(RankerName.parse(label).options, ShuffleOptions)
    return ResolvedRanker(
        label,
        {"name": label, "members": [dict(member.recipe) for member in members]},
        stochastic=False,
        pointwise=all(member.pointwise for member in members),
        depth=depths[0] if depths else None,
        rankings=max(member.rankings for member in members),
        reads_order=any(member.reads_order for member in members) and not is_shuffled,
        max_length=min(limits, default=None),
    )


def _resolved_stored(label: str, workbench: Workbench) -> ResolvedRanker:
    digits = RankerName.parse(label).last_digits
    artefact = workbench.store.resolve(f"ranker-{digits}", "ranker")
    ranker = run_to_end(workbench.train(label)).ranker
    members = [
        workbench.store.resolve(key, "ranker").recipe for key in artefact.facts.get("members", ())
    ]
    recipes = members or [artefact.recipe]
    lists_recipes = [
        recipe["lists"] for recipe in recipes if isinstance(recipe.get("lists"), Mapping)
    ]
    depths = [int(lists["depth"]) for lists in lists_recipes if lists["depth"]]
    models = [recipe.get("ranker", {}) for recipe in recipes]
    limits = [
        model["model"]["ordinals"] for model in models if model.get("model", {}).get("rankings")
    ]
    return ResolvedRanker(
        label,
        {"stored": str(artefact.key)},
        stochastic=False,
        pointwise=not depths,
        depth=max(depths, default=None),
        rankings=ranker.rankings,
        reads_order="order" in ranker.reads and any(map(_is_fed_in_order, models)),
        max_length=min(limits, default=None) if ranker.rankings else None,
    )


def _is_fed_in_order(recipe: Mapping[str, Any]) -> bool:
    return bool(recipe.get("model", {}).get("feed") == "shown")
