"""A weighted sum of threshold rankers, as boosting fits it, and how it is kept."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32, Float64, Int64
from safetensors.numpy import load_file, save_file

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ShapeError
from shuffleproof.core.rankers.base import Input, RankerSpec, one_line
from shuffleproof.core.rankers.boosting.bins import comparable
from shuffleproof.core.words import counted

FAMILY = "boosting"
FILE = "ranker.json"
STUMPS = "stumps.safetensors"


@dataclass(frozen=True, eq=False)
class Stumps:
    """Threshold rankers in the order in which they were fitted.

    Attributes:
        columns: the feature column that each looks at.
        thresholds: what a document must exceed.
        factors: what a document above the threshold gains.
    """

    columns: Int64[np.ndarray, " rounds"]
    thresholds: Float32[np.ndarray, " rounds"]
    factors: Float64[np.ndarray, " rounds"]

    def first(self, rounds: int) -> "Stumps":
        """Those of the first so many rounds."""
        return Stumps(self.columns[:rounds], self.thresholds[:rounds], self.factors[:rounds])

    @cached_property
    def tables(self) -> Mapping[int, tuple[Float32[np.ndarray, " _"], Float64[np.ndarray, " _"]]]:
        """By column: its thresholds, rising, and what a document above the first 0, 1, … gains."""
        gains_by_column = {}
        for column in np.unique(self.columns).tolist():
            indexes = np.flatnonzero(self.columns == column)
            indexes = indexes[np.argsort(self.thresholds[indexes], kind="stable")]
            gains = np.concatenate([[0.0], np.cumsum(self.factors[indexes])])
            gains_by_column[column] = (self.thresholds[indexes], gains)
        return gains_by_column


@dataclass(frozen=True, eq=False)
class BoostedRanker:
    """Fitted threshold rankers; a score depends on the document's features alone.

    Attributes:
        spec: the recipe that they came from.
        stumps: what was fitted, the best round last.
        feature_ids: the feature columns that it was fitted on.
    """

    spec: RankerSpec
    stumps: Stumps
    feature_ids: tuple[int, ...]
    reads: ClassVar[frozenset[Input]] = frozenset({"features"})
    rankings: ClassVar[int] = 0

    __repr__ = one_line

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """What the candidates gain from all threshold rankers.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        if dataset.feature_ids != self.feature_ids:
            finding = f"{counted(len(dataset.feature_ids), 'feature')} with other ids"
            raise ShapeError(
                "features", finding, f"the {len(self.feature_ids)} of the training set"
            )
        scores = np.zeros(len(lists.rows))
        for column, (thresholds, gains) in self.stumps.tables.items():
            values = comparable(dataset.features[lists.rows, column])
            scores += gains[np.searchsorted(thresholds, values, side="left")]
        return scores.astype(np.float32)

    def save(self, directory: Path) -> None:
        """Write `ranker.json` and `stumps.safetensors`."""
        saved = {
            "family": FAMILY,
            "recipe": self.spec.recipe(),
            "feature_ids": list(self.feature_ids),
        }
        (directory / FILE).write_text(json.dumps(saved, indent=1), encoding="utf-8")
        arrays = {name: np.ascontiguousarray(array) for name, array in vars(self.stumps).items()
                  if isinstance(array, np.ndarray)}  # fmt: skip
        save_file(arrays, directory / STUMPS)


def load_stumps(directory: Path) -> tuple[dict[str, Any], Stumps, tuple[int, ...]]:
    """The recipe, the threshold rankers and the feature ids that `save` wrote."""
    saved = json.loads((directory / FILE).read_text(encoding="utf-8"))
    return saved["recipe"], Stumps(**load_file(directory / STUMPS)), tuple(saved["feature_ids"])
