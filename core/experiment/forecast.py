"""What a training, and the making of lists, would be: stored already, or how long it takes here.

Only manifests, offsets and recipes are read: no ranker is opened, nothing is fitted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.experiment import cost, list_sources
from shuffleproof.core.experiment.cost import Cost, Sizes, TimedTraining
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, ranker_key
from shuffleproof.core.rankers.initial import ListRecipe, initial_spec
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey


@dataclass(frozen=True, eq=False)
class FitSize:
    """A data set as far as training on it is concerned.

    Attributes:
        data: its name.
        fingerprints: of the training, validation and test part.
        train: documents of each training query.
        valid: documents of each validation query.
        features: ids of the features.
    """

    data: str
    fingerprints: tuple[str, str, str]
    train: np.ndarray
    valid: np.ndarray
    features: tuple[int, ...]

    @classmethod
    def of(cls, data: str, fold: Fold) -> "FitSize":
        """That of an opened fold."""
        return cls(
            data,
            fold.fingerprints,
            np.diff(fold.train.offsets),
            np.diff(fold.valid.offsets),
            tuple(int(feature) for feature in fold.train.feature_ids),
        )

    def sizes(self, depth: int | None) -> Sizes:
        """Of its lists, cut to so many documents; None: not cut."""
        longest = depth or int(max(self.train.max(initial=0), self.valid.max(initial=0)))
        rows = int(np.minimum(self.train, longest).sum())
        valid = int(np.minimum(self.valid, longest).sum())
        return Sizes(len(self.train), rows, valid, len(self.features))


@dataclass(frozen=True)
class PlannedTraining:
    """One ranker that somebody wants.

    Attributes:
        name: the registry's name.
        preset: its preset.
        changes: fields that differ from the preset, as text.
        key: what it is (to be) filed under.
        there: it is trained already.
        cost: what it will take, where it is not.
    """

    name: str
    preset: str
    changes: Mapping[str, str]
    key: str
    there: bool
    cost: Cost


@dataclass(frozen=True)
class Forecast:
    """What would be trained on a data set, by what is stored and what this machine has done.

    Attributes:
        data: the data set.
        store: where rankers and scores are kept.
        known: the trainings that this machine did, see `cost.timed_trainings`.
    """

    data: FitSize
    store: Store
    known: Sequence[TimedTraining]

    def plan_training(
        self, lists: ListRecipe, name: str | RankerName, preset: str, changes: Mapping[str, str]
    ) -> PlannedTraining:
        """A ranker as it would be trained: whether it is there already, and what it costs if not.

        A ranker with ordinal embeddings reads all initial rankings that the lists carry.

        Raises:
            ParameterError: a value that a field does not take.
        """
        ranker = RankerName.parse(str(name)).at(preset)
        if rankings_of(ranker.base) and len(lists.initial) > 1:
            changes = {"rankings": str(len(lists.initial)), **changes}
        return self.fit(lists, registry.spec(ranker, **changes), ranker.preset, changes)

    def fit(
        self,
        lists: ListRecipe,
        spec: RankerSpec,
        preset: str = "",
        changes: Mapping[str, str] | None = None,
    ) -> PlannedTraining:
        """The fit of a recipe on these lists."""
        key = self.key(lists, spec)
        sizes = self.data.sizes(None if spec.fits_documents else lists.depth)
        costs = cost.estimate(spec, sizes, self.known)
        stored = self.store.find(key) is not None
        return PlannedTraining(spec.name, preset, dict(changes or {}), str(key), stored, costs)

    def key(self, lists: ListRecipe, spec: RankerSpec) -> ArtefactKey:
        """What the fit of a recipe on these lists is filed under."""
        on_lists: Any = ALL_DOCUMENTS if spec.fits_documents else lists.of_today().learning_fields()
        return ranker_key(spec, on_lists, *self.data.fingerprints[:2])

    def cost_of_lists(self, lists: ListRecipe) -> Cost | None:
        """What making the lists takes; None where their scores are stored or nothing is fitted.

        Raises:
            ShuffleproofError: a ranker that cannot be the initial one.
        """
        fits: list[Cost] = []
        for source in list_sources.sources(
            lists, self.data.fingerprints, min(lists.folds, len(self.data.train))
        ):
            if self.store.find(source.scores) is None:
                costs = cost.estimate(
                    initial_spec(source.initial, lists.seed), self.data.sizes(None), self.known
                )
                stored = [
                    self.store.find(key) is not None for key in (source.ranker, *source.parts)
                ]
                fits += [costs] * stored.count(False)
        if not fits:
            return None
        low, high = cost.total_seconds(fits)
        return replace(fits[0], steps=len(fits), low=low, high=high)
