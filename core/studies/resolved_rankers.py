"""Properties of a named ranker that a study needs before it is trained.

Names are those of `core.studies.workbench`: a registered ranker, a combination of several, one of
the store (`name#digits`: trained with other fields, or external), a file
(`lightgbm:model.txt`) or a Python callable.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.errors import UsageError
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.combining import ShuffleOptions, SubsetOptions
from shuffleproof.core.rankers.ensemble.fit_cache import options_of
from shuffleproof.core.rankers.name import Kind, RankerName
from shuffleproof.core.rankers.outside import user_rankers
from shuffleproof.core.studies.workbench import Workbench

FROM = "from"
"""Field of a recipe with the file or function of an external ranker."""


def is_given(name: RankerName) -> bool:
    """True if a ranker is used without training: a file, a function, an object without `fit`."""
    return has_no_recipe(name) and name.kind is not Kind.STORED


def has_no_recipe(name: RankerName) -> bool:
    """True if an external ranker cannot be trained: used as given, or imported from a file."""
    return name.is_from_outside and not user_rankers.is_fitted(name)


@dataclass(frozen=True)
class ResolvedRanker:
    """Properties of a ranker that a study needs to plan its rows.

    Attributes:
        label: the text of its name.
        recipe: everything that determines it, as plain JSON.
        stochastic: True if another seed gives another ranker.
        pointwise: True if it learns from documents or not at all, so that list sizes do not matter.
        depth: of the training lists of a stored ranker; None: trained here, or pointwise.
        rankings: number of initial rankings that it reads.
        reads_order: True if it reads its documents in the order of the initial ranking.
        max_length: length of the longest list that it can score; None: any.
    """

    label: str
    recipe: Mapping[str, Any]
    stochastic: bool
    pointwise: bool
    depth: int | None = None
    rankings: int = 0
    reads_order: bool = False
    max_length: int | None = None


def resolve(name: RankerName, workbench: Workbench) -> ResolvedRanker:
    """Properties of a ranker by its name; nothing is trained.

    Raises:
        UnknownNameError: no such ranker or preset.
        ArtefactError: nothing stored has these digits.
        DataError: a file or callable that cannot be read, or does not fit the test part.
        UsageError: an invalid combination, or stored members that learnt from lists of
            different lengths.
    """
    label = str(name)
    if is_given(name):
        digest = run_to_end(workbench.identified(name)).digest
        return ResolvedRanker(
            label, {FROM: label, "digest": digest}, stochastic=False, pointwise=True
        )
    if options_of(name, workbench.store) is not None:
        return _resolved_combination(name, [resolve(part, workbench) for part in name.parts])
    if name.last_digits:
        return _resolved_stored(name, workbench)
    spec = registry.spec_of(name, workbench.preset)
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
    workbench: Workbench, name: RankerName, changes: Mapping[str, str]
) -> Generator[Progress, None, tuple[Ranker, dict[str, Any]]]:
    """Ranker of a row, trained if necessary, and its facts for a result.

    Args:
        workbench: source of the training lists.
        name: of the ranker.
        changes: fields of its recipe that differ, as text.

    Returns:
        The ranker, and `artefact` (its key; empty if it is not stored) with
        `training_seconds`.
    """
    if is_given(name):
        identified = yield from workbench.identified(name)
        return identified.ranker, {"artefact": "", "training_seconds": 0.0}
    model = yield from workbench.train(name, changes)
    seconds = float(model.artefact.facts.get("seconds", 0.0))
    return model.ranker, {"artefact": str(model.artefact.key), "training_seconds": seconds}


def _resolved_combination(name: RankerName, members: Sequence[ResolvedRanker]) -> ResolvedRanker:
    """Combination of members, trained with their first seed."""
    limits = [member.max_length for member in members if member.max_length is not None]
    depths = sorted({member.depth for member in members if member.depth is not None})
    if len(depths) > 1:
        sizes = " and ".join(map(str, depths))
        raise UsageError(
            f"{name}: its members were trained on lists of {sizes}: name members of one size"
        )
    # Both show documents in orders of their own
    is_shuffled = isinstance(name.options, ShuffleOptions | SubsetOptions)
    return ResolvedRanker(
        str(name),
        {"name": str(name), "members": [dict(member.recipe) for member in members]},
        stochastic=False,
        pointwise=all(member.pointwise for member in members),
        depth=depths[0] if depths else None,
        rankings=max(member.rankings for member in members),
        reads_order=any(member.reads_order for member in members) and not is_shuffled,
        max_length=min(limits, default=None),
    )


def _resolved_stored(name: RankerName, workbench: Workbench) -> ResolvedRanker:
    artefact = workbench.store.resolve(f"ranker-{name.last_digits}", "ranker")
    ranker = run_to_end(workbench.train(name)).ranker
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
        str(name),
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
