"""The recipes of preference functions: which pairs they learn from, and how."""

import json
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32
from safetensors.numpy import load_file

from shuffleproof.core.data import features
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import NORMALISATIONS, Normalisation
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.errors import DataError, UnknownNameError
from shuffleproof.core.parameters import check, parameter, recipe_values, with_changes
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input
from shuffleproof.core.rankers.canonical import LATER, CanonicalLists, row_order_parameter
from shuffleproof.core.rankers.pairs import net, trees
from shuffleproof.core.rankers.pairs.function import (
    FILE,
    NORMALISED,
    CalibrationBin,
    PairFunction,
    PairRanker,
    calibration,
)
from shuffleproof.core.rankers.pairs.training_pairs import TrainingPairs


@dataclass(frozen=True)
class PairSpec(ABC):
    """What recipes of preference functions share."""

    pairs: int | None = parameter(
        200, "pairs of unequal grades drawn from a query; none: all of them", low=1, high=10**6
    )
    balanced: bool = parameter(
        True,  # noqa: FBT003
        "each two grades of a query weigh alike, however many documents have them",
    )
    normalisation: str = parameter(
        "z-score", "normalisation of the features, fitted on train", choices=tuple(NORMALISATIONS)
    )
    seed: int = parameter(
        0, "seed of the pairs that are drawn and of first weights", low=0, high=2**31 - 1
    )
    row_order: str = row_order_parameter()

    name: ClassVar[str] = ""
    reads: ClassVar[frozenset[Input]] = frozenset({"features", "neighbours"})
    rankings: ClassVar[int] = 0
    fits_documents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the parameters."""
        check(self)

    @classmethod
    def preset(cls, preset: str = "paper", **changes: Any) -> "PairSpec":
        """A preset's recipe with fields replaced.

        Raises:
            UnknownNameError: no such preset.
            ParameterError: a value that a field does not take.
        """
        presets = PRESETS[cls.name]
        if preset not in presets:
            raise UnknownNameError(f"preset of {cls.name}", preset, presets)
        return cls(**{**presets[preset], **changes})

    def recipe(self) -> dict[str, Any]:
        """Everything that determines the result, as plain JSON; see `canonical.LATER`."""
        return {"name": self.name, **recipe_values(self, LATER)}

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, PairRanker]:
        """Fit on pairs of `train`; the calibration is that of the pairs of `valid`.

        Args:
            train: lists to learn from.
            valid: lists that the calibration is measured on; nothing is selected on them.
            workspace: a directory that outlives a killed process.

        Raises:
            DataError: no list has documents of different grades.
        """
        canonical = CanonicalLists.of(train, self.row_order)
        training_pairs = TrainingPairs.of(canonical, self.pairs, self.balanced, self.seed)
        if not len(training_pairs.better):
            finding = "no two documents of a query have different labels"
            raise DataError("train", finding, "Give training queries with several grades.")
        offsets = offsets_of(canonical.lengths)
        names = tuple(map(str, range(len(canonical.lengths))))
        ids = train.dataset.feature_ids
        dataset = RankingDataset(canonical.features, canonical.labels, offsets, names, ids)
        normalisation = features.fit(self.normalisation, dataset)
        matrix = normalisation.apply(canonical.features, offsets)
        fitted = yield from self.learnt(matrix, training_pairs, workspace)
        ranker = PairRanker(self, fitted, normalisation, ids)
        return replace(ranker, calibration=calibration(ranker, valid))

    @abstractmethod
    def learnt(
        self,
        matrix: Float32[np.ndarray, "docs features"],
        training_pairs: TrainingPairs,
        workspace: Path | None,
    ) -> Generator[Progress, None, PairFunction]:
        """The function that these pairs of rows teach."""


@dataclass(frozen=True)
class PairNetSpec(PairSpec):
    """The recipe of a small net on two documents side by side."""

    hidden: int = parameter(
        64, "units of the first layer; the second has half", low=2, high=4096, search=(16, 256)
    )
    epochs: int = parameter(20, "passes over the pairs", low=1, high=10_000)
    batch_pairs: int = parameter(256, "pairs of a step", low=1, high=10**6)
    learning_rate: float = parameter(
        1e-3, "step size of Adam", low=1e-7, high=1, search=(1e-4, 1e-2)
    )
    decay: float = parameter(1e-4, "L2 penalty of all weights", low=0, high=10)

    name: ClassVar[str] = "pair-net"

    def learnt(
        self,
        matrix: Float32[np.ndarray, "docs features"],
        training_pairs: TrainingPairs,
        workspace: Path | None,
    ) -> Generator[Progress, None, PairFunction]:
        """The net after the last epoch; a killed fit goes on from its last whole epoch."""
        fitting = net.NetFit.begun(self, matrix, workspace)
        for loss in fitting.epochs(matrix, training_pairs):
            yield Progress(fitting.done, self.epochs, "epochs", {"loss": loss})
        return fitting.net


@dataclass(frozen=True)
class PairTreesSpec(PairSpec):
    """The recipe of boosted trees on [x, z, x − z], as LightGBM fits them."""

    normalisation: str = parameter(
        "none", "normalisation of the features, fitted on train", choices=tuple(NORMALISATIONS)
    )
    trees: int = parameter(300, "number of trees", low=1, search=(50, 1000))
    leaves: int = parameter(31, "leaves of a tree", low=2, high=131072, search=(4, 128))
    learning_rate: float = parameter(
        0.1, "shrinkage of every tree", low=1e-6, high=1, search=(0.01, 0.3)
    )
    leaf_pairs: int = parameter(
        20, "least number of pairs in a leaf", low=1, high=2**31 - 1, search=(5, 200)
    )

    name: ClassVar[str] = "pair-trees"

    def learnt(
        self,
        matrix: Float32[np.ndarray, "docs features"],
        training_pairs: TrainingPairs,
        workspace: Path | None,
    ) -> Generator[Progress, None, PairFunction]:
        """The trees; a killed fit starts anew."""
        del workspace
        booster = trees.new_booster(self, matrix, training_pairs)
        for grown in range(1, self.trees + 1):
            exhausted = booster.update()
            yield Progress(grown, self.trees, "trees", {})
            if exhausted:
                break
        return trees.PairTrees(trees.text_of(booster))


KINDS: Mapping[str, type[PairSpec]] = {kind.name: kind for kind in (PairNetSpec, PairTreesSpec)}

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "pair-net": {
        "paper": {},  # no paper has it: defaults of ours
        "released": {},
        "tuned": {"pairs": 1000, "epochs": 40},  # more of both; not selected by measurement
        "small": {"pairs": 50, "hidden": 32, "epochs": 10},
    },
    "pair-trees": {
        "paper": {},
        "released": {},
        "tuned": {"pairs": 1000, "trees": 500, "learning_rate": 0.05},
        "small": {"pairs": 50, "trees": 60, "leaves": 8},
    },
}


def spec(name: str, preset: str = "paper", **changes: Any) -> PairSpec:
    """The recipe of `pair-net` or `pair-trees`: a preset with fields replaced.

    Args:
        name: the ranker.
        preset: a key of its PRESETS.
        changes: values by field name; text is read as the field's type demands.
    """
    recipe: PairSpec = with_changes(KINDS[name].preset(preset), changes)
    return recipe


def load(directory: Path) -> PairRanker:
    """The ranker that `PairRanker.save` wrote."""
    saved = json.loads((directory / FILE).read_text(encoding="utf-8"))
    fields = dict(saved["recipe"])
    ranker_spec = KINDS[fields.pop("name")](**fields)
    normalisation = Normalisation.from_arrays(
        ranker_spec.normalisation, load_file(directory / NORMALISED)
    )
    opened = net.PairNet if isinstance(ranker_spec, PairNetSpec) else trees.PairTrees
    return PairRanker(
        ranker_spec,
        opened.load(directory),
        normalisation,
        tuple(saved["feature_ids"]),
        tuple(CalibrationBin(**tenth) for tenth in saved["calibration"]),
    )
