"""Boosted trees on [x, z, x − z], asked in both directions; nothing makes them antisymmetric."""

import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.features import NORMALISATIONS
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.boosting.trees import MODEL, check_trees, threads
from shuffleproof.core.rankers.pairs.function import Matrix, PairFunction, PairSpec
from shuffleproof.core.rankers.pairs.training_pairs import TrainingPairs

if TYPE_CHECKING:
    from lightgbm import Booster


BLOCK = 1 << 16
"""Pairs per call."""


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
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "released": {},
        "tuned": {},  # as paper: more pairs and trees are no better on held-out queries
        "small": {"pairs": 50, "trees": 60, "leaves": 8},
    }

    def learn(
        self,
        matrix: Float32[np.ndarray, "docs features"],
        training_pairs: TrainingPairs,
        workspace: Path | None,
    ) -> Generator[Progress, None, PairFunction]:
        """Fit the trees; a killed fit starts again."""
        del workspace
        booster = new_booster(self, matrix, training_pairs)
        for grown in range(1, self.trees + 1):
            exhausted = booster.update()
            yield Progress(grown, self.trees, "trees", {})
            if exhausted:
                break
        return PairTrees(text_of(booster))


@dataclass(frozen=True)
class PairTrees:
    """Fitted trees.

    Attributes:
        text: LightGBM's own text of the model.
    """

    text: str

    def probabilities(self, features: Float32[np.ndarray, "docs features"]) -> Matrix:
        """f(row, column)."""
        docs = len(features)
        first_rows, second_rows = np.divmod(np.arange(docs * docs), max(1, docs))
        values = np.empty(docs * docs)
        # In blocks: all n² rows of three times the features may not fit into memory
        for start in range(0, len(values), BLOCK):
            rows = slice(start, start + BLOCK)
            joined = side_by_side(features[first_rows[rows]], features[second_rows[rows]])
            answers = self._booster.predict(joined, num_threads=threads(joined))
            values[rows] = np.asarray(answers)
        return values.reshape(docs, docs)

    def save(self, directory: Path) -> None:
        """Write LightGBM's `model.txt`."""
        (directory / MODEL).write_text(self.text, encoding="utf-8")

    @classmethod
    def load(cls, directory: Path) -> "PairTrees":
        """Function that `save` wrote."""
        return cls((directory / MODEL).read_text(encoding="utf-8"))

    def check(self, features: int) -> None:
        """Walk all trees.

        Raises:
            ValueError: other features, or trees that reach outside of themselves.
        """
        check_trees(self._booster, 3 * features)

    @cached_property
    def _booster(self) -> "Booster":
        from lightgbm import Booster  # noqa: PLC0415 (recipes load without it)

        return Booster(model_str=self.text)


def side_by_side(
    left: Float32[np.ndarray, "pairs features"], right: Float32[np.ndarray, "pairs features"]
) -> Float32[np.ndarray, "pairs tripled"]:
    """[x, z, x − z] of every pair."""
    # A tree splits on one column at a time, so it cannot compare x with z by itself
    return np.concatenate([left, right, left - right], axis=1)


def new_booster(
    spec: PairTreesSpec,
    features: Float32[np.ndarray, "docs features"],
    training_pairs: TrainingPairs,
) -> "Booster":
    """LightGBM before its first tree."""
    from lightgbm import Booster, Dataset  # noqa: PLC0415 (recipes load without it)

    joined = side_by_side(features[training_pairs.document], features[training_pairs.other])
    settings = {
        "objective": "binary",
        "num_leaves": spec.leaves,
        "learning_rate": spec.learning_rate,
        "min_data_in_leaf": spec.leaf_pairs,
        "seed": spec.seed,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
        "num_threads": threads(joined),
    }
    train_data = Dataset(
        joined, training_pairs.better, weight=training_pairs.weights, params=settings
    )
    return Booster(settings, train_data)


def text_of(booster: "Booster") -> str:
    """LightGBM's text of the trees, the same on every machine."""
    return re.sub(r"(?m)^\[num_threads: \d+\]$", "[num_threads: 1]", booster.model_to_string())
