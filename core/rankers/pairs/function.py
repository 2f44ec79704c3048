"""A preference function as a ranker: what it learns from, its preferences, their sums as scores.

A function of two documents need not be antisymmetric nor transitive, so its preferences may
contradict themselves; `pairwise-<aggregator>:<ranker>` makes orders of them in other ways.
"""

from abc import abstractmethod
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64
from safetensors.numpy import save_file

from shuffleproof.core.aggregate.preferences import pairs_of_matrix
from shuffleproof.core.aggregate.scores import sum_of_preferences
from shuffleproof.core.data import features
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import NORMALISATIONS, Normalisation
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.errors import DataError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Input, Ranker, RankerSpec, one_line
from shuffleproof.core.rankers.canonical import CanonicalLists, row_order_parameter
from shuffleproof.core.rankers.pairs.training_pairs import TrainingPairs
from shuffleproof.core.rankers.tabular import TabularRanker, TabularSpec

FAMILY = "pairs"
NORMALISED = "normalisation.safetensors"

Matrix = Float64[np.ndarray, "docs docs"]


@runtime_checkable
class PairFunction(Protocol):
    """Probability that each document of a list is better than each other one."""

    def probabilities(self, features: Float32[np.ndarray, "docs features"]) -> Matrix:
        """f(row, column) in [0, 1]; the diagonal means nothing."""

    def save(self, directory: Path) -> None:
        """Write what opens it again."""

    def check(self, features: int) -> None:
        """Raise ValueError if it does not fit the number of features."""


@dataclass(frozen=True, eq=False)
class PairRanker(TabularRanker):
    """A fitted preference function; as a ranker it scores by the sum of preferences.

    Attributes:
        spec: the recipe that it came from.
        function: of two documents.
        normalisation: of the features, fitted on the training part.
        feature_ids: the feature columns that it was fitted on.
    """

    spec: RankerSpec
    function: PairFunction
    normalisation: Normalisation
    feature_ids: tuple[int, ...]
    reads: ClassVar[frozenset[Input]] = frozenset({"features", "neighbours"})

    __repr__ = one_line

    def preferences(self, dataset: RankingDataset, lists: CandidateLists) -> Iterator[Matrix]:
        """f(i, j) of every two documents of each list, in the input order; NaN on the diagonal.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        self.check_columns(dataset)
        features = self.normalisation.of_documents(dataset, lists.rows)
        for start, end in pairwise(lists.offsets.tolist()):
            matrix = self.function.probabilities(features[start:end])
            # No document is preferred to itself: NaN keeps the diagonal out of every sum
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
        self.write_head(directory, FAMILY)
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
        # The logistic function by tanh: exp would overflow at large gaps
        matrix = 0.5 * (1.0 + np.tanh(0.5 * gaps))
        np.fill_diagonal(matrix, np.nan)
        yield matrix


@dataclass(frozen=True)
class PairSpec(TabularSpec):
    """Common fields of recipes of preference functions."""

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

    reads: ClassVar[frozenset[Input]] = frozenset({"features", "neighbours"})
    fits_documents: ClassVar[bool] = False

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, PairRanker]:
        """Fit on pairs of `train`; nothing is selected on `valid`.

        Args:
            train: lists to learn from.
            valid: not read.
            workspace: a directory that outlives a killed process.

        Raises:
            DataError: no list has documents of different grades.
        """
        del valid
        canonical = CanonicalLists.of(train, self.row_order)
        training_pairs = TrainingPairs.of(canonical, self.pairs, self.balanced, self.seed)
        if not len(training_pairs.better):
            finding = "no two documents of a query have different labels"
            raise DataError("train", finding, "Give training queries with several grades.")
        offsets = offsets_of(canonical.lengths)
        # Canonical lists have no query ids; the normalisation only needs their bounds
        names = tuple(map(str, range(len(canonical.lengths))))
        ids = train.dataset.feature_ids
        dataset = RankingDataset(canonical.features, canonical.labels, offsets, names, ids)
        normalisation = features.fit(self.normalisation, dataset)
        matrix = normalisation.apply(canonical.features, offsets)
        fitted = yield from self.learn(matrix, training_pairs, workspace)
        return PairRanker(self, fitted, normalisation, ids)

    @abstractmethod
    def learn(
        self,
        matrix: Float32[np.ndarray, "docs features"],
        training_pairs: TrainingPairs,
        workspace: Path | None,
    ) -> Generator[Progress, None, PairFunction]:
        """The function that these pairs of rows teach."""
