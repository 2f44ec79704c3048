"""Trainings on a data set: stored already, or the seconds that one of the same recipe took here.

Only manifests, offsets and recipes are read: no ranker is opened, nothing is fitted.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import fsum
from statistics import mean
from typing import Any

import numpy as np

from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.execution.machine import machine
from shuffleproof.core.experiment import list_sources
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, ranker_key
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.rankers.preset_differences import from_preset, in_words
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, canonical_json
from shuffleproof.core.words import counted, duration

FEW = 2
"""Changed fields of a recipe that are named."""


@dataclass(frozen=True, eq=False)
class FitSize:
    """Size of a data set, as far as training on it is concerned.

    Attributes:
        data: its name.
        fingerprints: of the training, validation and test part.
        train: documents of each training query.
        features: ids of the features.
    """

    data: str
    fingerprints: tuple[str, str, str]
    train: np.ndarray
    features: tuple[int, ...]

    @classmethod
    def of(cls, data: str, fold: Fold) -> "FitSize":
        """Size of an opened fold."""
        return cls(
            data,
            fold.fingerprints,
            np.diff(fold.train.offsets),
            tuple(int(feature) for feature in fold.train.feature_ids),
        )


@dataclass(frozen=True)
class PlannedTraining:
    """A training that is wanted.

    Attributes:
        spec: the recipe.
        key: of the trained ranker.
        stored: it is trained already.
        seconds: it will take about; None where no training of this recipe was timed here.
        preset: of the recipe.
        changes: fields that differ from the preset, as text.
    """

    spec: RankerSpec
    key: ArtefactKey
    stored: bool
    seconds: float | None
    preset: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the ranker in the registry."""
        return self.spec.name

    @property
    def words(self) -> str:
        """Ranker, preset and changed fields; seeds are left out."""
        preset, changed = from_preset(self.spec.recipe())
        changed.pop("seed", None)
        several = f"{len(changed)} fields changed" if len(changed) > FEW else in_words(changed)
        name = f"{self.name}@{preset}" if preset else self.name
        return f"{name}, {several}" if changed and preset else name


@dataclass(frozen=True)
class TrainingPlanner:
    """Trainings on a data set, compared with what is stored.

    Attributes:
        data: the data set.
        store: of rankers and scores.
        recorded: seconds for each document by recipe, see `recorded_seconds`.
    """

    data: FitSize
    store: Store
    recorded: Mapping[str, float]

    def plan_training(
        self, lists: ListRecipe, name: RankerName, changes: Mapping[str, str]
    ) -> PlannedTraining:
        """A ranker as it would be trained; its name says its preset.

        A ranker with ordinal embeddings reads all initial rankings that the lists carry.

        Raises:
            ParameterError: a value that a field does not take.
        """
        if rankings_of(name.base) and len(lists.initial) > 1:
            changes = {"rankings": str(len(lists.initial)), **changes}
        return self.fit(lists, registry.spec_of(name, **changes), name.preset, changes)

    def fit(
        self,
        lists: ListRecipe,
        spec: RankerSpec,
        preset: str = "",
        changes: Mapping[str, str] | None = None,
    ) -> PlannedTraining:
        """The fit of a recipe on these lists."""
        on_lists: Any = ALL_DOCUMENTS if spec.fits_documents else lists.of_today().learning_fields()
        key = ranker_key(spec, on_lists, *self.data.fingerprints[:2])
        return self._planned(
            spec, key, None if spec.fits_documents else lists.depth, preset, changes or {}
        )

    def of_lists(self, lists: ListRecipe) -> Iterator[PlannedTraining]:
        """Fits of the initial rankers of lists whose scores are not stored.

        Raises:
            ShuffleproofError: a ranker that cannot be the initial one.
        """
        parts = min(lists.folds, len(self.data.train))
        for source in list_sources.sources(lists, self.data.fingerprints, parts):
            if self.store.find(source.scores) is None:
                for key in (source.ranker, *source.parts):
                    yield self._planned(source.spec, key, None, "", {})

    def _planned(
        self,
        spec: RankerSpec,
        key: ArtefactKey,
        depth: int | None,
        preset: str,
        changes: Mapping[str, str],
    ) -> PlannedTraining:
        lengths = self.data.train if depth is None else np.minimum(self.data.train, depth)
        seconds = self.recorded.get(_without_seed(spec.recipe()))
        return PlannedTraining(
            spec,
            key,
            self.store.find(key) is not None,
            None if seconds is None else seconds * int(lengths.sum()),
            preset,
            changes,
        )


def recorded_seconds(store: Store) -> dict[str, float]:
    """Mean seconds for each training document by recipe, of trainings that this machine timed.

    Rankers that come with the program are left out: their machine was busy.
    """
    times: dict[str, list[float]] = {}
    for artefact in replace(store, bundled=()).artefacts("ranker"):
        facts = artefact.facts
        if facts.get("machine") == machine() and facts.get("timed") and facts.get("rows"):
            resumed = facts["epochs"] / facts["timed"]
            seconds = facts["seconds"] * resumed / facts["rows"]
            times.setdefault(_without_seed(artefact.recipe["ranker"]), []).append(seconds)
    return {recipe: mean(seconds) for recipe, seconds in times.items()}


def _without_seed(recipe: Mapping[str, Any]) -> str:
    """The recipe of a ranker as text; seeds do not tell recipes apart."""
    values = {name: value for name, value in recipe.items() if name != "seed"}
    if "training" in values:
        values["training"] = {**values["training"], "seed": 0}
    return canonical_json(values)


def time_of(seconds: Iterable[float | None]) -> str:
    """Sum of seconds, in words; None is an unknown time.

    >>> time_of([30.0, 210.0]), time_of([None]), time_of([60.0, None])
    ('about 4 min', 'time unknown', 'more than 1 min')
    """
    every = list(seconds)
    known = [value for value in every if value is not None]
    if not known:
        return "time unknown"
    return f"{'about' if len(known) == len(every) else 'more than'} {duration(fsum(known))}"


def trainings_in_words(seconds: Iterable[float | None]) -> str:
    """Number and time of trainings.

    >>> trainings_in_words([]), trainings_in_words([30.0, 30.0])
    ('no training', '2 trainings, about 1 min')
    """
    every = list(seconds)
    return f"{counted(len(every), 'training')}, {time_of(every)}" if every else "no training"
