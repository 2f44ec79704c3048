"""The squared hinge loss over all pairs of unequal grades of a list; no pair is ever stored.

A pair (i, j) with grade i above grade j costs w · max(0, 1 − (sᵢ − sⱼ))², w being the weight of
the two grades times that of the list. Where a pair is active (sᵢ − sⱼ < 1) it adds to a graph
whose Laplacian is A and to b, the difference of a document's active pairs as the better and as
the worse one. Then loss = Σ w − 2 b·s + s·A s, gradient = 2 (A s − b), and 2 A is the generalised
Hessian (Keerthi & DeCoste 2005). Documents of a list are sorted by score once; two pointers and
one counter a grade give the sums over active partners, so that an evaluation and a Hessian-vector
product take O(n log n + n · grades).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.ragged import falling_order


@dataclass(frozen=True, eq=False)
class PairedLists:
    """Pairs of documents and their weights.

    Attributes:
        offsets: documents of list q are `offsets[q] … offsets[q + 1] − 1`.
        grades: 0, 1, 2, … of every document, higher is better.
        grade_weights: weight of a pair whose better grade is the row, worse grade the column.
        list_weights: factor of every pair of a list.
    """

    offsets: Int64[np.ndarray, " bounds"]
    grades: Int64[np.ndarray, " docs"]
    grade_weights: Float64[np.ndarray, "grades grades"]
    list_weights: Float64[np.ndarray, " lists"]

    def at(self, scores: Float64[np.ndarray, " docs"]) -> "HingePoint":
        """The loss, its gradient and its curvature where documents have these scores.

        >>> pairs = PairedLists(np.array([0, 2]), np.array([1, 0]), np.ones((2, 2)), np.ones(1))
        >>> point = pairs.at(np.array([0.25, 0.0]))  # (1 − 0.25)² and its slope
        >>> point.loss, point.gradient.tolist()
        (0.5625, [-1.5, 1.5])
        """
        # One sort serves both sweeps and all Hessian products at this point
        order = falling_order(self.offsets, scores)
        (better, of_worse), (worse, of_better) = self._partners(
            scores, order, np.stack([np.ones(len(scores)), scores])
        )
        degrees, losses, gradient = _hinge(scores, (better, of_worse), (worse, of_better))
        loss = float(losses.sum())  # no BLAS: it wakes threads
        return HingePoint(self, scores, order, degrees, loss, gradient)

    def _partners(
        self,
        scores: Float64[np.ndarray, " docs"],
        order: Int64[np.ndarray, " docs"],
        values: Float64[np.ndarray, "kinds docs"],
    ) -> tuple[Float64[np.ndarray, "kinds docs"], Float64[np.ndarray, "kinds docs"]]:
        """Weighted sums of `values` over each document's active worse, and active better ones."""
        return _active_sums(
            (self.offsets, order), (scores, values), self.grades, self._halves, self.list_weights
        )

    @cached_property
    def _halves(
        self,
    ) -> tuple[Float64[np.ndarray, "grades grades"], Float64[np.ndarray, "grades grades"]]:
        """Weights by a document's grade and its partner's: of worse, and of better partners."""
        # Strict triangles: pairs of equal grades weigh 0 and need no branch
        return np.tril(self.grade_weights, -1), np.triu(self.grade_weights.T, 1)


@dataclass(frozen=True, eq=False)
class HingePoint:
    """The loss in the neighbourhood of some scores.

    Attributes:
        pairs: whose loss it is.
        scores: one a document.
        order: documents of each list by falling score.
        degrees: the weight of each document's active pairs.
        loss: the sum over all pairs.
        gradient: of the loss, by document.
    """

    pairs: PairedLists
    scores: Float64[np.ndarray, " docs"]
    order: Int64[np.ndarray, " docs"]
    degrees: Float64[np.ndarray, " docs"]
    loss: float
    gradient: Float64[np.ndarray, " docs"]

    def curved(self, direction: Float64[np.ndarray, " docs"]) -> Float64[np.ndarray, " docs"]:
        """The generalised Hessian, by document, times a direction of scores."""
        (worse,), (better,) = self.pairs._partners(self.scores, self.order, direction[None])  # noqa: SLF001 (one idea, two classes)
        # 2 A d, with A the Laplacian of the active pairs
        return 2.0 * (self.degrees * direction - worse - better)


@compiled()
@no_type_check
def _hinge(
    scores: np.ndarray, worse: tuple[np.ndarray, np.ndarray], better: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each document's degree, share of the loss and gradient, in one pass.

    `worse` and `better` are the sums of weights, and of weighted scores, over partners.
    """
    (of_worse, sum_worse), (of_better, sum_better) = worse, better
    degrees, losses, gradient = np.empty_like(scores), np.empty_like(scores), np.empty_like(scores)
    for i in range(len(scores)):
        # Degree: diagonal of A; slope: bᵢ, active pairs as the better minus as the worse one
        degrees[i], slope = of_worse[i] + of_better[i], of_worse[i] - of_better[i]
        curvature = degrees[i] * scores[i] - sum_worse[i] - sum_better[i]
        # Σ w − 2 b·s + s·A s by document; every pair is counted once, at its better document
        losses[i] = of_worse[i] + scores[i] * (curvature - 2.0 * slope)
        gradient[i] = 2.0 * (curvature - slope)
    return degrees, losses, gradient


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _active_sums(
    lists: tuple,
    scored: tuple,
    grades: np.ndarray,
    weights: tuple,
    list_weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of values over active partners below and above in grade; see `PairedLists`.

    A document that is met adds to the sums of all grades: that costs less than to sum over grades
    wherever a document asks, and than to leave out those that get 0 of it.
    """
    offsets, order = lists
    scores, values = scored
    to_better, to_worse = weights[0].T.copy(), weights[1].T.copy()  # by grade met, grade that asks
    below, above, longest = np.empty(values.shape), np.empty(values.shape), np.diff(offsets).max()
    score, grade = np.empty(longest), np.empty(longest, np.int64)
    value, sums = np.empty((longest, len(values))), np.empty((len(values), len(to_better)))
    for index in range(len(list_weights)):
        places = order[offsets[index] : offsets[index + 1]]
        for i in range(len(places)):  # side by side
            score[i], grade[i] = scores[places[i]], grades[places[i]]
            for kind in range(len(values)):
                value[i, kind] = values[kind, places[i]]
        seen = score, value, grade, sums
        _swept(below, places, seen, to_better, (list_weights[index], 0, 1))
        _swept(above, places, seen, to_worse, (list_weights[index], len(places) - 1, -1))
    return below, above


@compiled()
@no_type_check
def _swept(
    partner_sums: np.ndarray, places: np.ndarray, seen: tuple, weights: np.ndarray, way: tuple
) -> None:
    """Sums of one list's values over partners met on the way, less than 1 beyond a document.

    Args:
        partner_sums: the sums, by kind of value and document.
        places: documents by falling score.
        seen: score, values and grade of each; room for sums by kind of value and grade.
        weights: of a partner's grade and a document's; 0 where they make no pair.
        way: the factor of the list, the first place, and 1 for down or -1 for up.
    """
    score, value, grade, sums = seen
    factor, first, step = way
    sums[:], met, left = 0.0, first, len(places)
    for number in range(len(places)):
        i = first + step * number
        # Both pointers only move forward: a sweep is linear in the list
        while left and step * (score[met] - score[i]) > -1.0:
            other = grade[met]
            for kind in range(len(sums)):
                met_value = value[met, kind]
                for own in range(len(weights)):
                    sums[kind, own] += weights[other, own] * met_value
            met, left = met + step, left - 1
        for kind in range(len(sums)):
            partner_sums[kind, places[i]] = factor * sums[kind, grade[i]]
