"""Candidate lists of a fold: initial rankers fitted, all documents scored, lists cut and ranked.

A ranker scores its own training queries too well. So by default the scores of training queries
are cross-fitted: K models, each fitted without one part of the queries, score that part;
`in-sample` is the papers' way. Validation and test queries are scored by the model fitted on all
training queries.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int64
from safetensors import safe_open
from safetensors.numpy import save_file

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, MissingRankingError, ParameterError, UsageError
from shuffleproof.core.execution import tasks
from shuffleproof.core.parameters import check, parameter
from shuffleproof.core.progress import Progress, with_words
from shuffleproof.core.rankers import preset_digests, registry, univariate
from shuffleproof.core.rankers.base import Input, Ranker, RankerSpec
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, CachedRanker, fit_or_load
from shuffleproof.core.rankers.name import INITIAL as INITIAL  # noqa: PLC0414 (asked for here)
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.seeds import derived_seed
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, key_of
from shuffleproof.core.words import counted

INITIAL_DIGEST = key_of("ranker", {"ranker": INITIAL}).digest


@dataclass(frozen=True)
class InitialRanker:
    """The initial ranking as a ranker: its scores are the prior scores of the first column."""

    name: str = INITIAL
    reads: frozenset[Input] = frozenset({"ranks"})
    rankings: int = 1

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The prior score of every candidate; the features are not read."""
        del dataset
        if not lists.rankings:
            raise MissingRankingError(self.name, 1, 0)
        return lists.prior[:, 0]

    def save(self, directory: Path) -> None:
        """Nothing is fitted, so nothing is written."""


SCORES = "scores.safetensors"
PARTS = ("train", "valid", "test")

ScoresByPart = Mapping[str, Float32[np.ndarray, " docs"]]
"""Scores of all documents of train, valid and test."""


def lists_digest(recipe: Mapping[str, Any], fingerprint: str) -> str:
    """Digest of a fold's candidate lists, for the plans of studies.

    Args:
        recipe: as `ListRecipe` has it, in plain values.
        fingerprint: of the fold.
    """
    # Left out where it is not set, as in `ListRecipe.plain`
    fields = {name: value for name, value in recipe.items() if (name, value) != ("queries", None)}
    return key_of("lists", fields, (fingerprint,)).digest


@dataclass(frozen=True)
class ListRecipe:
    """Recipe of a fold's candidate lists.

    Attributes:
        initial: initial rankers, `name` or `name@preset`; the first one cuts and orders the lists,
            each gives a column of prior scores and ranks.
        queries: number of test queries to study, from the first; None: all.
    """

    initial: tuple[str, ...] = ("lambdamart@paper",)
    depth: int | None = parameter(
        40, "documents kept by the first initial ranking; none: all", low=1, unit="documents"
    )
    scores: str = parameter(
        "cross-fitted",
        "how training queries are scored by rankers that are fitted",
        choices=("cross-fitted", "in-sample"),
    )
    folds: int = parameter(5, "parts of the training queries when cross-fitting", low=2)
    seed: int = parameter(0, "seed of the parts, and of random initial rankings")
    queries: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        check(self)
        if not self.rankers:
            raise ParameterError("initial", self.initial, "at least one ranker")
        if self.queries is not None and (not isinstance(self.queries, int) or self.queries < 1):
            raise ParameterError("queries", self.queries, "a whole number from 1 on, or none")

    @cached_property
    def rankers(self) -> tuple[RankerName, ...]:
        """The initial rankers by their parsed names."""
        return tuple(map(RankerName.parse, self.initial))

    def learning_fields(self) -> dict[str, Any]:
        """Fields that determine the training lists, as plain values."""
        return {name: value for name, value in asdict(self).items() if name != "queries"}

    def plain(self) -> dict[str, Any]:
        """Fields that determine all lists; without `queries` if all are studied."""
        return self.learning_fields() | ({} if self.queries is None else {"queries": self.queries})

    def for_fold(self, fold: Fold) -> "ListRecipe":
        """The same lists, all queries named as such where a fold has no more of them."""
        is_subset = self.queries is not None and self.queries < fold.test.queries
        return self if is_subset else replace(self, queries=None)

    def of_today(self) -> "ListRecipe":
        """The same lists by what the names of their initial rankers mean today.

        Raises:
            UnknownNameError: no such ranker or preset.
        """
        names = map(preset_digests.with_digest, self.rankers)
        return replace(self, initial=tuple(map(str, names)))


@dataclass(frozen=True)
class PreparedFold:
    """The candidate lists of the three parts, one column of ranks an initial ranker.

    Attributes:
        train: lists to learn from.
        valid: lists to select on.
        test: lists to study.
        fitted: the initial rankers that were not there before and were fitted for these lists.
    """

    train: JudgedLists
    valid: JudgedLists
    test: JudgedLists
    fitted: frozenset[ArtefactKey] = frozenset()


def prepare(
    fold: Fold, recipe: ListRecipe, store: Store
) -> Generator[Progress, None, PreparedFold]:
    """Make a fold's candidate lists; store fitted rankers and their scores.

    Args:
        fold: train, validation and test.
        recipe: initial rankers, depth, and how training queries are scored.
        store: store of models and scores, which are made once.

    Raises:
        UnknownNameError: no such ranker.
        UsageError: a ranker that itself reads an initial ranking or the input order.
        DataError: too few training queries to cross-fit.
    """
    columns, parts, fitted = [], {}, set()
    for name in recipe.rankers:
        spec = initial_spec(name, recipe.seed)
        scores, key = yield from _scores(spec, fold, recipe, store)
        columns.append(scores)
        fitted |= set() if key is None else {key}
    for part in PARTS:
        dataset: RankingDataset = getattr(fold, part)
        prior = np.stack([column[part] for column in columns], axis=1)
        lists = CandidateLists.ranked_by(dataset, prior, depth=recipe.depth)
        if part == "test" and recipe.queries is not None:
            lists = lists.select(np.arange(min(recipe.queries, len(lists))))
        parts[part] = JudgedLists(dataset, lists)
    return PreparedFold(**parts, fitted=frozenset(fitted))


def initial_spec(name: RankerName, seed: int = 0) -> RankerSpec:
    """The recipe of an initial ranker.

    Raises:
        UnknownNameError: no such ranker or preset.
        UsageError: it reads an initial ranking or the input order, which are not there yet; or
            the preset was another recipe when lists were made under this name.
    """
    spec = registry.spec_of(name)
    preset_digests.check(name, spec)
    if spec.rankings or spec.reads & {"ranks", "order"}:
        raise UsageError(
            f"{name} reads an initial ranking or the input order, so it cannot be the initial one; "
            "name a ranker of single documents, such as lambdamart or feature:1"
        )
    is_drawn = spec.name == univariate.RandomRanker.name
    return univariate.spec(spec.name, seed=seed) if is_drawn else spec


def scores_key(spec: RankerSpec, recipe: ListRecipe, fingerprints: Sequence[str]) -> ArtefactKey:
    """Key of the scores of a fitted initial ranker.

    Args:
        spec: its recipe.
        recipe: how the lists are made.
        fingerprints: of the training, validation and test part.
    """
    return key_of("scores", _scores_recipe(spec, recipe), fingerprints)


def _scores_recipe(spec: RankerSpec, recipe: ListRecipe) -> dict[str, Any]:
    scores_recipe: dict[str, Any] = {"ranker": spec.recipe(), "scores": recipe.scores}
    if recipe.scores == "cross-fitted":
        scores_recipe |= {"folds": recipe.folds, "seed": recipe.seed}
    return scores_recipe


def part_of_query(
    query_ids: tuple[str, ...], folds: int, seed: int
) -> Int64[np.ndarray, " queries"]:
    """The cross-fitting part of every query: even parts, by the queries' ids and the seed alone.

    >>> np.bincount(part_of_query(("a", "b", "c", "d", "e"), 2, 0)).tolist()
    [3, 2]
    """
    # By query id: a query stays in its part whatever other queries the file has
    draws = np.array([derived_seed(seed, "part", query) for query in query_ids], dtype=np.int64)
    parts = np.empty(len(draws), dtype=np.int64)
    # Dealt out in turn over a random order: sizes differ by at most one
    parts[np.argsort(draws, kind="stable")] = np.arange(len(draws)) % folds
    return parts


def _scores(
    spec: RankerSpec, fold: Fold, recipe: ListRecipe, store: Store
) -> Generator[Progress, None, tuple[ScoresByPart, ArtefactKey | None]]:
    """One initial ranker's scores of all documents, by part, and its key if it was fitted here."""
    if isinstance(spec, univariate.UnivariateSpec):
        return {part: _scores_of_all(spec.ranker, getattr(fold, part)) for part in PARTS}, None
    scores_recipe, fitted = _scores_recipe(spec, recipe), None
    key = scores_key(spec, recipe, fold.fingerprints)
    with store.found_or_locked(key) as cached:
        artefact = cached
        if artefact is None:
            scores, fitted = yield from _fitted_scores(spec, fold, recipe, store)
            artefact = store.add(key, scores_recipe, lambda directory: _save(scores, directory))
    # Read back from the store, so first and later runs use the same bytes
    with safe_open(artefact.path / SCORES, framework="numpy") as stored:
        return {part: stored.get_tensor(part) for part in PARTS}, fitted


def fit_on_documents(
    spec: RankerSpec, fold: Fold, store: Store
) -> Generator[Progress, None, CachedRanker]:
    """Fit a ranker of single documents on all of them, or find it; lists play no part."""
    train, valid = _all_documents(fold.train), _all_documents(fold.valid)
    return (yield from fit_or_load(spec, train, valid, ALL_DOCUMENTS, store))


def _fitted_scores(
    spec: RankerSpec, fold: Fold, recipe: ListRecipe, store: Store
) -> Generator[Progress, None, tuple[ScoresByPart, ArtefactKey | None]]:
    parts: list[int | None] = [None]  # None: of all training queries
    if recipe.scores == "cross-fitted":
        parts += range(_cross_fits(spec, fold, recipe))
    fits = partial(_fit_without, spec, fold, recipe, store)
    trained, *crossed = yield from tasks.values_of(fits, parts)
    ranker, fitted = trained.ranker, None if trained.cached else trained.artefact.key
    scores = {part: _scores_of_all(ranker, getattr(fold, part)) for part in ("valid", "test")}
    if not crossed:
        return scores | {"train": _scores_of_all(ranker, fold.train)}, fitted
    of_query = part_of_query(fold.train.query_ids, len(crossed), recipe.seed)
    everything = CandidateLists.all_documents(fold.train)
    train = np.empty(fold.train.documents, dtype=np.float32)
    for part, other in enumerate(crossed):
        held_out = everything.select(np.flatnonzero(of_query == part))
        # Each model scores the queries that it has not seen
        train[held_out.rows] = other.ranker.score(fold.train, held_out)
    return scores | {"train": train}, fitted


def _cross_fits(spec: RankerSpec, fold: Fold, recipe: ListRecipe) -> int:
    """The number of parts of cross-fitting."""
    folds = min(recipe.folds, fold.train.queries)
    if folds < 2:
        raise DataError(
            f"initial ranking by {spec.name}",
            f"the lists are made from its cross-fitted scores, which takes two training queries or "
            f"more; here {'is' if fold.train.queries == 1 else 'are'} "
            f"{counted(fold.train.queries, 'query')}",
            "Take --scores in-sample, or --initial feature:1 or another that is not fitted.",
        )
    return folds


def _fit_without(
    spec: RankerSpec, fold: Fold, recipe: ListRecipe, store: Store, part: int | None
) -> Generator[Progress, None, CachedRanker]:
    """The ranker fitted on all training queries but those of a part of cross-fitting, or on all."""
    if part is None:
        return (yield from with_words(fit_on_documents(spec, fold, store), f"of {spec.name}"))
    folds = _cross_fits(spec, fold, recipe)
    others = np.flatnonzero(part_of_query(fold.train.query_ids, folds, recipe.seed) != part)
    lists = CandidateLists.all_documents(fold.train).select(others)
    fitting = fit_or_load(
        spec, JudgedLists(fold.train, lists), _all_documents(fold.valid),
        {"without part": part, "of": folds, "seed": recipe.seed}, store,
    )  # fmt: skip
    return (yield from with_words(fitting, f"of {spec.name}, part {part + 1} of {folds}"))


def _all_documents(dataset: RankingDataset) -> JudgedLists:
    return JudgedLists(dataset, CandidateLists.all_documents(dataset))


def _scores_of_all(ranker: Ranker, dataset: RankingDataset) -> Float32[np.ndarray, " docs"]:
    return ranker.score(dataset, CandidateLists.all_documents(dataset))


def _save(scores: ScoresByPart, directory: Path) -> None:
    save_file({part: np.ascontiguousarray(scores[part]) for part in PARTS}, directory / SCORES)
