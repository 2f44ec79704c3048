"""One round of boosting: which threshold ranker comes next, and with which factor.

Weights of pairs are gathered by document; no pair is ever stored. RankBoost's weight of a pair is a
product, D(i, j) ∝ exp(Hⱼ) · exp(−Hᵢ) for a better i and a worse j, so a document needs one sum a
grade, and a round is linear in documents. FRank's fidelity loss does not factorise: its sums go
over the pairs, list by list.
"""

from dataclasses import dataclass
from math import atanh
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.rankers.boosting.bins import BinnedDocuments
from shuffleproof.core.rankers.linear.weights import grade_counts, grades_of, pairs_of

SPREAD = 300.0
"""Scores are clipped to ± this around the middle of their list: beyond it weights are 0."""


@dataclass(frozen=True, eq=False)
class GradedLists:
    """Documents with grades, list after list, and what a pair of each list weighs.

    Attributes:
        offsets: documents of list q are `offsets[q] … offsets[q + 1] − 1`; no list is empty.
        grades: 0, 1, 2, … of every document, higher is better.
        weights: of every pair of unequal grades of a list.
        levels: the number of grades.
    """

    offsets: Int64[np.ndarray, " bounds"]
    grades: Int64[np.ndarray, " docs"]
    weights: Float64[np.ndarray, " lists"]
    levels: int

    def exponential(
        self, scores: Float64[np.ndarray, " docs"]
    ) -> tuple[Float64[np.ndarray, " docs"], float]:
        """RankBoost's Σ D(d, worse) − Σ D(better, d) of every document, and Σ D over all pairs.

        D(i, j) = weight · exp(sⱼ − sᵢ), not normalised.

        >>> lists = GradedLists(np.array([0, 2]), np.array([1, 0]), np.ones(1), 2)
        >>> potentials, total = lists.exponential(np.zeros(2))
        >>> potentials.tolist(), total
        ([1.0, -1.0], 1.0)
        """
        growing, falling = self._exponentials(scores)
        return _exponential(
            self.offsets, self.grades, (growing, falling), self.weights, self.levels
        )

    def fidelity(
        self, scores: Float64[np.ndarray, " docs"]
    ) -> tuple[Float64[np.ndarray, " docs"], float]:
        """Minus the fidelity loss's gradient by document, and the loss itself.

        A pair's loss is 1 − √p with p = 1/(1 + exp(sⱼ − sᵢ)), its slope −½ √p (1 − p).

        >>> lists = GradedLists(np.array([0, 2]), np.array([1, 0]), np.ones(1), 2)
        >>> slopes, loss = lists.fidelity(np.zeros(2))
        >>> slopes.round(4).tolist(), round(loss, 4)  # 0.5 · √0.5 · 0.5, 1 − √0.5
        ([0.1768, -0.1768], 0.2929)
        """
        exponentials = self._exponentials(scores)
        return _fidelity(self.offsets, self.grades, exponentials, self.weights)

    def agreement(
        self, scores: Float64[np.ndarray, " docs"], above: Bool[np.ndarray, "docs candidates"]
    ) -> Float64[np.ndarray, "2 candidates"]:
        """The fidelity slope of the pairs that candidates order rightly, and wrongly.

        Args:
            scores: of the documents so far.
            above: what each candidate says of every document.
        """
        exponentials = self._exponentials(scores)
        return _agreement((self.offsets, self.grades), exponentials, self.weights, above)

    def fidelity_after(
        self,
        scores: Float64[np.ndarray, " docs"],
        above: Bool[np.ndarray, "docs candidates"],
        factors: Float64[np.ndarray, " candidates"],
    ) -> Float64[np.ndarray, " candidates"]:
        """The fidelity loss of scores + factor · candidate, for every candidate."""
        exponentials = self._exponentials(scores)
        lists = (self.offsets, self.grades)
        return _fidelity_after(lists, exponentials, self.weights, above, np.exp(-factors))

    def _exponentials(
        self, scores: Float64[np.ndarray, " docs"]
    ) -> tuple[Float64[np.ndarray, " docs"], Float64[np.ndarray, " docs"]]:
        """exp(s) and exp(−s), s around the middle of each list, which pairs do not notice."""
        starts = self.offsets[:-1]
        # Only differences in a list count: centring keeps both exponentials in range
        middles = np.minimum.reduceat(scores, starts) + np.maximum.reduceat(scores, starts)
        centred = scores - np.repeat(0.5 * middles, np.diff(self.offsets))
        growing = np.exp(np.clip(centred, -SPREAD, SPREAD))
        return growing, 1.0 / growing


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _exponential(
    offsets: np.ndarray, grades: np.ndarray, scored: tuple, weights: np.ndarray, levels: int
) -> tuple[np.ndarray, float]:
    growing, falling = scored
    potentials, total = np.empty(len(growing)), 0.0
    worse, better = np.empty(levels + 1), np.empty(levels + 1)
    for index in range(len(weights)):
        worse[:], better[:] = 0.0, 0.0
        for doc in range(offsets[index], offsets[index + 1]):
            # Shifted by one, so that the cumulated entry g holds the grades below g
            worse[grades[doc] + 1] += growing[doc]
            better[grades[doc]] += falling[doc]
        for grade in range(levels):
            total += weights[index] * better[grade] * worse[grade]
            worse[grade + 1] += worse[grade]  # now of all grades below the index
        for grade in range(levels - 1, -1, -1):
            better[grade] += better[grade + 1]  # now of this grade and above
        for doc in range(offsets[index], offsets[index + 1]):
            # D factorises, exp(−Hᵢ) · exp(Hⱼ): one product replaces a sum over partners
            right = falling[doc] * worse[grades[doc]]
            potentials[doc] = weights[index] * (right - growing[doc] * better[grades[doc] + 1])
    return potentials, total


@compiled()
@no_type_check
def _fidelity(
    offsets: np.ndarray, grades: np.ndarray, scored: tuple, weights: np.ndarray
) -> tuple[np.ndarray, float]:
    growing, falling = scored
    slopes, total = np.zeros(len(growing)), 0.0
    for index in range(len(weights)):
        for i in range(offsets[index], offsets[index + 1]):
            for j in range(offsets[index], offsets[index + 1]):
                if grades[i] > grades[j]:
                    # P(i above j) = 1/(1 + exp(sⱼ − sᵢ)) from exponentials made once a document
                    right = 1.0 / (1.0 + growing[j] * falling[i])
                    # −dF/ds of FRank, Tsai et al. (2007), for pairs whose target is 1: F = 1 − √P
                    slope = 0.5 * weights[index] * np.sqrt(right) * (1.0 - right)
                    total += weights[index] * (1.0 - np.sqrt(right))
                    slopes[i] += slope
                    slopes[j] -= slope
    return slopes, total


@compiled()
@no_type_check
def _agreement(lists: tuple, scored: tuple, weights: np.ndarray, above: np.ndarray) -> np.ndarray:
    offsets, grades = lists
    growing, falling = scored
    sums = np.zeros((2, above.shape[1]))
    for index in range(len(weights)):
        for i in range(offsets[index], offsets[index + 1]):
            for j in range(offsets[index], offsets[index + 1]):
                if grades[i] > grades[j]:
                    right = 1.0 / (1.0 + growing[j] * falling[i])
                    slope = 0.5 * weights[index] * np.sqrt(right) * (1.0 - right)
                    for candidate in range(above.shape[1]):
                        # A stump that says the same of both documents does not move the pair
                        if above[i, candidate] != above[j, candidate]:
                            sums[0 if above[i, candidate] else 1, candidate] += slope
    return sums


@compiled()
@no_type_check
def _fidelity_after(
    lists: tuple, scored: tuple, weights: np.ndarray, above: np.ndarray, shrunk: np.ndarray
) -> np.ndarray:
    offsets, grades = lists
    growing, falling = scored
    losses = np.zeros(above.shape[1])
    for index in range(len(weights)):
        for i in range(offsets[index], offsets[index + 1]):
            for j in range(offsets[index], offsets[index + 1]):
                if grades[i] > grades[j]:
                    odds = growing[j] * falling[i]
                    unchanged = 1.0 - np.sqrt(1.0 / (1.0 + odds))
                    for candidate in range(above.shape[1]):
                        loss = unchanged
                        if above[i, candidate] and not above[j, candidate]:
                            # A stump that raises i alone multiplies exp(sⱼ − sᵢ) by exp(−factor)
                            loss = 1.0 - np.sqrt(1.0 / (1.0 + odds * shrunk[candidate]))
                        elif above[j, candidate] and not above[i, candidate]:
                            loss = 1.0 - np.sqrt(1.0 / (1.0 + odds / shrunk[candidate]))
                        losses[candidate] += weights[index] * loss
    return losses


CLIP = 1.0 - 1e-6
"""|r| is held below 1, where a threshold ranker orders every pair rightly."""

HALVINGS = 20


@dataclass(frozen=True)
class ChosenStump:
    """The threshold ranker of a round.

    Attributes:
        column: the feature column.
        split: the number of its threshold.
        factor: what documents above it gain; negative where less of the feature is better.
        loss: of the ensemble before (RankBoost: mean weight of a pair) or after it (fidelity).
        last: it orders every pair rightly, nothing is left to learn.
    """

    column: int
    split: int
    factor: float
    loss: float
    last: bool = False


def graded_lists(
    labels: Float32[np.ndarray, " docs"], lengths: Int64[np.ndarray, " lists"], *, by_query: bool
) -> GradedLists:
    """The lists with weights that sum to 1 over all pairs.

    Args:
        labels: any numbers; higher is better.
        lengths: of the lists; none is 0.
        by_query: every query with pairs weighs alike; else every pair does.

    Raises:
        DataError: more than 1 024 different labels.
    """
    grades, levels = grades_of(labels)
    offsets = offsets_of(lengths)
    pairs = pairs_of(grade_counts(grades, offsets, len(levels)))
    weights = np.divide(1.0, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    if not by_query:
        weights = np.ones(len(pairs))
    total = float((weights * pairs).sum())
    # Weights sum to 1, so Σ D is the mean loss at scores of 0
    return GradedLists(offsets, grades, weights / max(total, 1.0), len(levels))


def exponential_round(
    lists: GradedLists, documents: BinnedDocuments, scores: Float64[np.ndarray, " docs"]
) -> ChosenStump | None:
    """RankBoost's next threshold ranker: the largest |r|, with factor ½ ln((1 + r)/(1 − r)).

    Args:
        lists: grades and pair weights.
        documents: their features.
        scores: of the documents so far.
    """
    potentials, total = lists.exponential(scores)
    splits, sums = documents.strongest(potentials)
    column = int(np.argmax(np.abs(sums))) if len(sums) else -1
    # Stop where no threshold tells anything or the exponentials underflowed
    if column < 0 or total <= 0.0 or abs(sums[column]) <= (1.0 - CLIP) ** 2 * total:
        return None
    share = float(sums[column]) / total
    # atanh r = ½ ln((1 + r)/(1 − r)), the minimum of the bound on Z (Freund et al. 2003)
    factor = atanh(min(max(share, -CLIP), CLIP))
    return ChosenStump(column, int(splits[column]), factor, total, last=abs(share) >= CLIP)


def fidelity_round(
    lists: GradedLists,
    documents: BinnedDocuments,
    scores: Float64[np.ndarray, " docs"],
    tried: int,
) -> ChosenStump | None:
    """FRank's next threshold ranker: of the steepest ones that which leaves the least loss.

    Its factor is ½ ln(Σ W / Σ W), W being the slope of a pair's loss, over the pairs that it
    orders rightly and wrongly (Tsai et al. 2007); halved while the loss would not fall.

    Args:
        lists: grades and pair weights.
        documents: their features.
        scores: of the documents so far.
        tried: threshold rankers whose loss is compared, one a feature.
    """
    slopes, loss = lists.fidelity(scores)
    splits, sums = documents.strongest(slopes)
    columns = np.argsort(-np.abs(sums), kind="stable")[:tried]
    columns = columns[sums[columns] != 0.0]
    if not len(columns):
        return None
    above = np.stack(
        [documents.above(column, int(splits[column])) for column in columns.tolist()], axis=1
    )
    right, wrong = lists.agreement(scores, above)
    shares = (right - wrong) / np.maximum(right + wrong, np.finfo(np.float64).tiny)
    # ½ ln(W₊/W₋) = atanh((W₊ − W₋)/(W₊ + W₋)), finite also where one sum is 0
    factors = np.arctanh(np.clip(shares, -CLIP, CLIP))
    best = int(np.argmin(lists.fidelity_after(scores, above, factors)))
    for halving in range(HALVINGS):
        # Fidelity is not convex: the closed-form factor may overshoot and raise the loss
        factor = factors[best : best + 1] * 0.5**halving
        new_loss = float(lists.fidelity_after(scores, above[:, best : best + 1], factor)[0])
        if new_loss < loss:
            return ChosenStump(
                int(columns[best]), int(splits[columns[best]]), float(factor[0]), new_loss
            )
    return None
