"""A trained preference function as a ranker: its preferences of a list, and their sums as scores.

A function of two documents need not be antisymmetric nor transitive, so its preferences may
contradict themselves; `pairwise-<aggregator>:<ranker>` makes orders of them in other ways.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64
from safetensors.numpy import save_file

from shuffleproof.core.aggregate.preferences import pairs_of_matrix
from shuffleproof.core.aggregate.scores import sum_of_preferences
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import Normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ShapeError
from shuffleproof.core.rankers.base import Input, Ranker, one_line
from shuffleproof.core.words import counted

FAMILY = "pairs"
FILE, NORMALISED = "ranker.json", "normalisation.safetensors"
BINS = 10

Matrix = Float64[np.ndarray, "docs docs"]


@runtime_checkable
class PairFunction(Protocol):
    """How likely each document of a list is better than each other one."""

    def probabilities(self, features: Float32[np.ndarray, "docs features"]) -> Matrix:
        """f(row, column) in [0, 1]; the diagonal means nothing."""

    def save(self, directory: Path) -> None:
        """Write what opens it again."""

    def check(self, features: int) -> None:
        """Raise ValueError where it is not sound for so many features."""


@dataclass(frozen=True)
class CalibrationBin:
    """Pairs that were told about the same probability.

    Attributes:
        told: the mean of what the function said.
        right: the share of them whose first document has the higher grade.
        pairs: how many there are.
    """

    told: float
    right: float
    pairs: int


@dataclass(frozen=True, eq=False)
class PairRanker:
    """A fitted preference function; as a ranker it scores by the sum of preferences.

    Attributes:
        spec: the recipe that it came from.
        function: of two documents.
        normalisation: of the features, fitted on the training part.
        feature_ids: the feature columns that it was fitted on.
        calibration: of the validation pairs of unequal grades, by what the function says of them;
            empty where there are none.
    """

    spec: Any
    function: PairFunction
    normalisation: Normalisation
    feature_ids: tuple[int, ...]
    calibration: tuple[CalibrationBin, ...] = ()
    reads: ClassVar[frozenset[Input]] = frozenset({"features", "neighbours"})
    rankings: ClassVar[int] = 0

    __repr__ = one_line

    @property
    def name(self) -> str:
        """The registry's name."""
        return str(self.spec.name)

    def preferences(self, dataset: RankingDataset, lists: CandidateLists) -> Iterator[Matrix]:
        """f(i, j) of every two documents of each list, in the order shown; NaN on the diagonal.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        if dataset.feature_ids != self.feature_ids:
            finding = f"{counted(len(dataset.feature_ids), 'feature')} with other ids"
            raise ShapeError(
                "features", finding, f"the {len(self.feature_ids)} of the training set"
            )
        features = self.normalisation.of_documents(dataset, lists.rows)
        for start, end in pairwise(lists.offsets.tolist()):
            matrix = self.function.probabilities(features[start:end])
            np.fill_diagonal(matrix, np.nan)
            yield matrix

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Σ_j f(i, j) / (f(i, j) + f(j, i)) of every candidate.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        scores = [
            sum_of_preferences(pairs_of_matrix(matrix).weights)
            for matrix in self.preferences(dataset, lists)
        ]
        return np.concatenate([np.zeros(0), *scores]).astype(np.float32)

    def save(self, directory: Path) -> None:
        """Write `ranker.json`, the normalisation and the function."""
        saved = {
            "family": FAMILY,
            "recipe": self.spec.recipe(),
            "feature_ids": list(self.feature_ids),
            "calibration": [asdict(tenth) for tenth in self.calibration],
        }
        (directory / FILE).write_text(json.dumps(saved, indent=1), encoding="utf-8")
        save_file(self.normalisation.arrays(), directory / NORMALISED)
        self.function.save(directory)

    def check(self) -> None:
        """Look the function over.

        Raises:
            ValueError: other features, or trees that reach outside of themselves.
        """
        self.function.check(len(self.feature_ids))


def preferences_of(
    ranker: Ranker, dataset: RankingDataset, lists: CandidateLists
) -> Iterator[Matrix]:
    """The preferences of any ranker: a function's own, or 1/(1 + exp(s_j − s_i)) of its scores.

    Preferences of scores are consistent: they have no cyclic triads.
    """
    if isinstance(ranker, PairRanker):
        yield from ranker.preferences(dataset, lists)
        return
    scores = ranker.score(dataset, lists).astype(np.float64)
    for start, end in pairwise(lists.offsets.tolist()):
        gaps = scores[start:end, None] - scores[None, start:end]
        matrix = 0.5 * (1.0 + np.tanh(0.5 * gaps))
        np.fill_diagonal(matrix, np.nan)
        yield matrix


def calibration(ranker: Ranker, judged: JudgedLists) -> tuple[CalibrationBin, ...]:
    """What a function says of pairs of unequal grades against how often it is right, in tenths.

    Args:
        ranker: any; of one that scores documents, the preferences of its scores.
        judged: lists with labels; every pair counts in both directions.
    """
    lists, predictions, right = judged.lists, [np.zeros(0)], [np.zeros(0, bool)]
    labels = judged.dataset.labels[lists.rows]
    for place, matrix in enumerate(preferences_of(ranker, judged.dataset, lists)):
        list_labels = labels[lists.offsets[place] : lists.offsets[place + 1]]
        unequal = list_labels[:, None] != list_labels[None, :]
        predictions.append(matrix[unequal])
        right.append((list_labels[:, None] > list_labels[None, :])[unequal])
    values, better = np.concatenate(predictions), np.concatenate(right)
    places = np.minimum((values * BINS).astype(int), BINS - 1)
    return tuple(
        CalibrationBin(
            float(values[places == tenth].mean().round(6)),
            float(better[places == tenth].mean().round(6)),
            int((places == tenth).sum()),
        )
        for tenth in range(BINS)
        if (places == tenth).any()
    )
