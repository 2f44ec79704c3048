"""RankBoost, and FRank as its authors fitted it: threshold rankers, one a round.

Documents are put into canonical order before anything is summed, so the order of the file changes
nothing. A round's choice of the threshold looks at every document and feature once.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32, Float64, Int64
from safetensors.numpy import load_file, save_file

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, mean_of
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import RankerSpec, one_line
from shuffleproof.core.rankers.boosting.bins import MOST_BINS, BinnedDocuments, comparable
from shuffleproof.core.rankers.boosting.rounds import (
    ChosenStump,
    exponential_round,
    fidelity_round,
    graded_lists,
)
from shuffleproof.core.rankers.canonical import CanonicalLists, row_order_parameter
from shuffleproof.core.rankers.tabular import (
    TabularRanker,
    TabularSpec,
    read_head,
    refuse_no_documents,
    spec_of,
)

NDCG = Measure.parse("NDCG@10")

FAMILY = "boosting"
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

    def of_first_rounds(self, rounds: int) -> "Stumps":
        """Stumps of the first rounds."""
        return Stumps(self.columns[:rounds], self.thresholds[:rounds], self.factors[:rounds])

    @cached_property
    def tables(self) -> Mapping[int, tuple[Float32[np.ndarray, " _"], Float64[np.ndarray, " _"]]]:
        """By column: its thresholds, rising, and what a document above the first 0, 1, … gains."""
        gains_by_column = {}
        for column in np.unique(self.columns).tolist():
            indexes = np.flatnonzero(self.columns == column)
            # Sorted with cumulated factors, a score is one binary search a column
            indexes = indexes[np.argsort(self.thresholds[indexes], kind="stable")]
            gains = np.concatenate([[0.0], np.cumsum(self.factors[indexes])])
            gains_by_column[column] = (self.thresholds[indexes], gains)
        return gains_by_column


@dataclass(frozen=True, eq=False)
class BoostedRanker(TabularRanker):
    """Fitted threshold rankers; a score depends on the document's features alone.

    Attributes:
        spec: the recipe that they came from.
        stumps: what was fitted, the best round last.
        feature_ids: the feature columns that it was fitted on.
    """

    spec: RankerSpec
    stumps: Stumps
    feature_ids: tuple[int, ...]
    __repr__ = one_line

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Sum of the stumps' scores for the candidates.

        Raises:
            ShapeError: the data set's features are not those of the fit.
        """
        self.check_columns(dataset)
        scores = np.zeros(len(lists.rows))
        for column, (thresholds, gains) in self.stumps.tables.items():
            values = comparable(dataset.features[lists.rows, column])
            # side="left" counts the thresholds strictly below the value, as in the fit
            scores += gains[np.searchsorted(thresholds, values, side="left")]
        return scores.astype(np.float32)

    def save(self, directory: Path) -> None:
        """Write `ranker.json` and `stumps.safetensors`."""
        self.write_head(directory, FAMILY)
        arrays = {name: np.ascontiguousarray(array) for name, array in vars(self.stumps).items()
                  if isinstance(array, np.ndarray)}  # fmt: skip
        save_file(arrays, directory / STUMPS)


@dataclass(frozen=True)
class RankBoostSpec(TabularSpec):
    """The recipe of RankBoost (Freund, Iyer, Schapire & Singer 2003), thresholds on features."""

    rounds: int = parameter(1000, "greatest number of threshold rankers", low=1)
    bins: int = parameter(
        256, "quantile bins of a feature, at most", low=2, high=MOST_BINS, search=(16, 256)
    )
    pair_weights: str = parameter(
        "pairs",
        "what weighs alike at first: all pairs, or all queries (each shares out to its pairs)",
        choices=("pairs", "queries"),
    )
    learning_rate: float = parameter(
        1.0, "share of each round's factor that is added", low=1e-3, high=1, search=(0.05, 1.0)
    )
    patience: int | None = parameter(
        None, "rounds without a better validation NDCG@10 before the fit stops; none: never", low=1
    )
    row_order: str = row_order_parameter()

    name: ClassVar[str] = "rankboost"
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},  # SetRank, section 5: 1000 rounds; FRank names no number
        "released": {},  # no such ranker was released
        # The same as paper: settings that gain on four data sets lose on the fifth, which was left
        # out of the choice.
        "tuned": {},
        "small": {"rounds": 100},
    }

    def round(self, learning: "BoostingFit") -> ChosenStump | None:
        """The next threshold ranker and its factor; None: nothing is left to learn."""
        return exponential_round(learning.lists, learning.documents, learning.scores)

    def fit(
        self, train: JudgedLists, valid: JudgedLists, workspace: Path | None = None
    ) -> Generator[Progress, None, BoostedRanker]:
        """Fit on `train`, one report a round; with patience, keep the rounds best on `valid`.

        Args:
            train: lists to learn from.
            valid: lists to stop on; not read without patience.
            workspace: not used, a killed fit starts again.

        Raises:
            DataError: no documents to learn from.
        """
        del workspace
        refuse_no_documents(train)
        learning = BoostingFit.start(self, train)
        stopping = self.patience is not None and len(valid.lists.rows) > 0
        watched = _Watched(valid) if stopping else None
        while len(learning.stumps) < self.rounds:
            choice = self.round(learning)
            if choice is None:
                break
            stump = learning.add(choice, self.learning_rate)
            values = {"loss": choice.loss}
            if watched is not None:
                values["valid"] = watched.after(stump)
            yield Progress(len(learning.stumps), self.rounds, "rounds", values)
            if watched is not None and watched.waited >= (self.patience or 0):
                break
            if choice.last:
                break
        fitted_stumps = learning.learnt_stumps()
        stumps = fitted_stumps if watched is None else fitted_stumps.of_first_rounds(watched.best)
        return BoostedRanker(self, stumps, train.dataset.feature_ids)


@dataclass(frozen=True)
class FRankAdditiveSpec(RankBoostSpec):
    """The recipe of FRank (Tsai et al., SIGIR 2007): the fidelity loss, stage by stage.

    Each feature gives its threshold of the steepest slope; the strongest of these are tried with
    their closed-form factor, and the one with the least loss wins. The original tries all.
    """

    rounds: int = parameter(500, "greatest number of threshold rankers", low=1)
    pair_weights: str = parameter(
        "queries",
        "what weighs alike: all pairs, or all queries (each shares out to its pairs)",
        choices=("pairs", "queries"),
    )
    tried: int = parameter(10, "threshold rankers whose loss is compared in a round", low=1)

    name: ClassVar[str] = "frank-additive"

    def round(self, learning: "BoostingFit") -> ChosenStump | None:
        """The next threshold ranker and its factor; None: none lowers the loss."""
        return fidelity_round(learning.lists, learning.documents, learning.scores, self.tried)


KINDS = {kind.name: kind for kind in (RankBoostSpec, FRankAdditiveSpec)}
spec = spec_of(KINDS)


def load(directory: Path) -> BoostedRanker:
    """The ranker that `save` wrote."""
    ranker_spec, feature_ids, _ = read_head(directory, KINDS)
    return BoostedRanker(ranker_spec, Stumps(**load_file(directory / STUMPS)), feature_ids)


@dataclass
class BoostingFit:
    """A fit under way.

    Attributes:
        lists: the training documents' lists, grades and pair weights.
        documents: their features in bins.
        scores: of the threshold rankers so far.
        stumps: (column, threshold, factor) of every round so far.
    """

    lists: Any
    documents: BinnedDocuments
    scores: Float64[np.ndarray, " docs"]
    stumps: list[tuple[int, float, float]] = field(default_factory=list)

    @classmethod
    def start(cls, spec: RankBoostSpec, train: JudgedLists) -> "BoostingFit":
        """Nothing learnt yet; documents in canonical order, or in that of the recipe."""
        canonical = CanonicalLists.of(train, spec.row_order)
        lists = graded_lists(
            canonical.labels, canonical.lengths, by_query=spec.pair_weights == "queries"
        )
        documents = BinnedDocuments.of(canonical.features, spec.bins)
        return cls(lists, documents, np.zeros(len(canonical.labels)))

    def add(self, chosen: ChosenStump, share: float) -> tuple[int, float, float]:
        """Take a threshold ranker in with a share of its factor.

        Returns:
            Its column, its threshold and the factor that it has now.
        """
        # Shrinkage (Friedman 2001); 1 is the original algorithm
        factor = share * chosen.factor
        self.scores = self.scores + factor * self.documents.above(chosen.column, chosen.split)
        threshold = float(self.documents.thresholds[chosen.column][chosen.split])
        self.stumps.append((chosen.column, threshold, factor))
        return self.stumps[-1]

    def learnt_stumps(self) -> Stumps:
        """The learnt stumps."""
        columns = np.array([stump[0] for stump in self.stumps], dtype=np.int64)
        thresholds = np.array([stump[1] for stump in self.stumps], dtype=np.float32)
        factors = np.array([stump[2] for stump in self.stumps], dtype=np.float64)
        return Stumps(columns, thresholds, factors)


class _Watched:
    """The validation NDCG@10 round by round.

    Args:
        valid: the lists that it is measured on.

    Attributes:
        best: the number of rounds with the highest value so far.
        waited: rounds since then.
    """

    def __init__(self, valid: JudgedLists) -> None:
        self._valid = valid
        rows = valid.dataset.features[valid.lists.rows]
        self._columns: Float32[np.ndarray, "features candidates"] = np.ascontiguousarray(rows.T)
        self._scores = np.zeros(len(valid.lists.rows))
        self._highest, self._done = -np.inf, 0
        self.best = 0

    @property
    def waited(self) -> int:
        """Rounds since the best one."""
        return self._done - self.best

    def after(self, stump: tuple[int, float, float]) -> float:
        """The value with one more threshold ranker."""
        column, threshold, factor = stump
        # Compared in float32, as scoring does: a double threshold would split otherwise
        self._scores += factor * (comparable(self._columns[column]) > np.float32(threshold))
        scores = self._scores.astype(np.float32)
        values = evaluate([NDCG], self._valid.dataset, self._valid.lists, scores)
        value, self._done = mean_of(NDCG, values[0]), self._done + 1
        # Strictly greater: of equal rounds, keep the smallest model
        if value > self._highest:
            self._highest, self.best = value, self._done
        return value
