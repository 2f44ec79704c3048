"""Sources of candidate lists, and their state in the store; fits nothing.

An initial ranker that is fitted leaves itself and its scores of all documents in the store. Their
keys follow from how the lists are made and from what the fold holds. So a page can tell, before it
asks for lists, whether they can be made from what is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import registry, univariate
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, ranker_key
from shuffleproof.core.rankers.initial import (
    ListRecipe,
    PreparedFold,
    initial_spec,
    lists_digest,
    prepare,
    scores_key,
)
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact

REMEDY = (
    "Nothing is trained while a page is looked at: run the study again or train a ranker on these "
    "lists, or import an archive that holds the initial ranker's scores."
)


@dataclass(frozen=True)
class Source:
    """A fitted initial ranker, with the keys of its ranker and scores.

    Attributes:
        name: of the ranker.
        spec: its recipe.
        ranker: the model fitted on all training queries.
        parts: the models of the cross-fitting; none where training queries are scored in sample.
        scores: of all documents.
    """

    name: RankerName
    spec: RankerSpec
    ranker: ArtefactKey
    parts: tuple[ArtefactKey, ...]
    scores: ArtefactKey


def recipe_of(values: Mapping[str, Any]) -> ListRecipe | None:
    """The recipe of lists that facts or a ranker's recipe note; None where they note none.

    >>> recipe_of({"initial": ["feature:1"], "depth": 10}) == ListRecipe(("feature:1",), depth=10)
    True
    >>> recipe_of({"without part": 0}) is None
    True
    """
    if "initial" not in values:
        return None
    try:
        return ListRecipe(**(dict(values) | {"initial": tuple(values["initial"])}))
    except (ShuffleproofError, TypeError):
        return None


def has_lists_of(study: Artefact, fingerprint: str) -> bool:
    """True if a study's lists come from the fold with this fingerprint; a size study has several.

    Its recipe holds the digest of its lists, its facts say how they were made.
    """
    digest = lists_digest(study.facts.get("lists", {}), fingerprint)
    # A study of rerankers has the digest under `data`, as for recorded answers
    lists = study.recipe.get("lists", study.recipe.get("data"))
    return digest in lists.values() if isinstance(lists, Mapping) else digest == lists


def sources(recipe: ListRecipe, prints: Sequence[str], parts: int | None = None) -> list[Source]:
    """The fitted initial rankers of lists; those that are not fitted leave nothing behind.

    Args:
        recipe: of the lists.
        prints: fingerprints of the training, validation and test part.
        parts: into how many the training queries are cross-fitted; those of the recipe by default.
    """
    fitted = []
    for name in recipe.rankers:
        try:
            spec = initial_spec(name, recipe.seed)
        except ShuffleproofError:  # of another version: no key of today leads to it
            continue
        if isinstance(spec, univariate.UnivariateSpec):
            continue
        folds = (parts or recipe.folds) if recipe.scores == "cross-fitted" else 0
        without_parts = (
            {"without part": part, "of": folds, "seed": recipe.seed} for part in range(folds)
        )
        fitted.append(
            Source(
                name=name,
                spec=spec,
                ranker=ranker_key(spec, ALL_DOCUMENTS, *prints[:2]),
                parts=tuple(ranker_key(spec, lists, *prints[:2]) for lists in without_parts),
                scores=scores_key(spec, recipe, list(prints[:3])),
            )
        )
    return fitted


def test_rankers(
    names: Sequence[str], preset: str, recipe: ListRecipe, prints: Sequence[str]
) -> dict[str, ArtefactKey]:
    """Rankers that replace an initial ranking at test time, by name.

    Left out are those that are known without the store: `oracle`, `anti-oracle`, and rankers named
    by digits of their key, which is in the name.

    Args:
        names: as a study of several initial rankings has them.
        preset: of rankers named without one.
        recipe: of the lists.
        prints: fingerprints of the training, validation and test part.
    """
    keys: dict[str, ArtefactKey] = {}
    for leaf in (leaf for name in map(RankerName.of, names) for leaf in name.leaves):
        try:
            spec = registry.spec_of(leaf, preset)
        except ShuffleproofError:
            continue
        lists = ALL_DOCUMENTS if spec.fits_documents else recipe.learning_fields()
        keys[str(leaf)] = ranker_key(spec, lists, *prints[:2])
    return keys


def check_stored(data: str, fold: Fold, recipe: ListRecipe, store: Store) -> None:
    """See to it that lists can be made without fitting anything.

    Args:
        data: what the data set is called.
        fold: train, validation and test.
        recipe: of the lists.
        store: of models and scores.

    Raises:
        DataError: a fitted initial ranker and its scores are not stored.
    """
    parts = min(recipe.folds, fold.train.queries)
    for source in sources(recipe, fold.fingerprints, parts):
        fits = (source.ranker, *source.parts)
        if store.find(source.scores) is None and any(store.find(key) is None for key in fits):
            raise DataError(
                f"the lists of {data}",
                f"their initial ranker {source.name} is not stored, or not its scores",
                REMEDY,
            )


def check_replacing(
    names: Sequence[str], preset: str, recipe: ListRecipe, fold: Fold, store: Store
) -> None:
    """See to it that what replaces an initial ranking at test time needs no fitting.

    Args:
        names: as a study of several initial rankings has them.
        preset: of rankers named without one.
        recipe: of the lists.
        fold: train, validation and test.
        store: of the rankers.

    Raises:
        DataError: one of these rankers is not stored.
    """
    for name, key in test_rankers(names, preset, recipe, fold.fingerprints).items():
        if store.find(key) is None:
            finding = "the ranker that replaces it is not stored"
            raise DataError(f"the initial ranking {name}", finding, REMEDY)


def prepare_lists(data: str, fold: Fold, recipe: ListRecipe, store: Store) -> PreparedFold:
    """The candidate lists of a fold, made from what is stored.

    Args:
        data: what the data set is called.
        fold: train, validation and test.
        recipe: of the lists.
        store: of models and scores.

    Raises:
        DataError: a fitted initial ranker and its scores are not stored.
    """
    check_stored(data, fold, recipe, store)
    return run_to_end(prepare(fold, recipe, store))
