"""Perturbations of the labels: rankers that learn from them are trained again.

They are for the training part: features, documents and candidate lists stay, and a ranker is
tested on the labels as they are. Grades are the distinct labels of the data set.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.errors import ParameterError, ShapeError
from shuffleproof.core.numerals import number
from shuffleproof.core.perturb.base import Change, NeedsData
from shuffleproof.core.perturb.sets import best_first

LABELS: frozenset[Change] = frozenset({"labels"})
NOISE_CLICKS = 0.1
"""Chance of a click on an examined document of grade 0; 1 on one of the highest grade."""

Labels = Float32[np.ndarray, " docs"]
Relabelling = Callable[[JudgedLists, float, np.random.Generator], np.ndarray]
"""(judged lists, level, generator) → new labels of all documents."""


@dataclass(frozen=True)
class LabelPerturbation(NeedsData):
    """Gives documents other labels.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit; 0 leaves the labels as they are.
        relabel: the new labels.
    """

    family: str
    level: float
    relabel: Relabelling = field(repr=False)
    changes: frozenset[Change] = LABELS

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The same lists over a data set with other labels."""
        if self.level == 0:
            return judged
        labels = self.relabel(judged, self.level, generator).astype(np.float32)
        return replace(judged, dataset=replace(judged.dataset, labels=labels, fingerprint=""))


def flips_by(matrix: Float64[np.ndarray, "grades grades"]) -> Relabelling:
    """Labels redrawn by a confusion matrix: row = the grade as judged, column = as read.

    Args:
        matrix: chances; every row sums to 1. At level λ a label is redrawn with probability λ.

    Raises:
        ShapeError: on use, where the data set has another number of grades.
    """

    def relabel(judged: JudgedLists, level: float, generator: np.random.Generator) -> Labels:
        """Labels [docs] of which a share `level` is drawn from the matrix's row of their grade."""
        grades, at = np.unique(judged.dataset.labels, return_inverse=True)
        if matrix.shape != (len(grades), len(grades)):
            raise ShapeError("flip matrix", f"{matrix.shape}", f"{len(grades)} grades, squared")
        redrawn = generator.random(len(at)) < level
        # Inverse transform sampling: count the thresholds of the grade's row that are passed
        reached = np.cumsum(matrix, axis=1)[at] <= generator.random(len(at))[:, None]
        # Rounding can leave a row sum just below 1; the last grade takes the rest
        new_grades = np.minimum(reached.sum(axis=1), len(grades) - 1)
        return grades[np.where(redrawn, new_grades, at)]

    return relabel


def matrix_of(text: str) -> Float64[np.ndarray, "grades grades"]:
    """A confusion matrix from text: rows parted by `/`, their chances by `_`.

    Raises:
        ParameterError: no numbers from 0 to 1, not a square, or a row that does not sum to 1.

    >>> matrix_of("0.9_0.1/0.2_0.8").tolist()
    [[0.9, 0.1], [0.2, 0.8]]
    """
    shape = "a square as 0.9_0.1/0.2_0.8: a row a grade as judged, chances that sum to 1"
    try:
        rows = [[number(chance) for chance in row.split("_")] for row in text.split("/")]
    except ValueError:
        raise ParameterError("label-flips matrix", text, shape) from None
    if {len(row) for row in rows} != {len(rows)}:
        raise ParameterError("label-flips matrix", text, shape)
    matrix = np.array(rows)
    sums = np.isclose(matrix.sum(axis=1), 1.0)
    if not (np.isfinite(matrix).all() and sums.all() and matrix.min() >= 0):
        raise ParameterError("label-flips matrix", text, shape)
    return matrix


def neighbours_confused(
    judged: JudgedLists, level: float, generator: np.random.Generator
) -> Labels:
    """A label flips with probability `level`, to the next grade up or down with even chances.

    The lowest and the highest grade have one neighbour only; a single grade stays.
    """
    count = len(np.unique(judged.dataset.labels))
    # Rows normalised: the lowest and the highest grade move to their one neighbour
    matrix = np.eye(count, k=1) + np.eye(count, k=-1)
    matrix = matrix / matrix.sum(axis=1, keepdims=True) if count > 1 else np.ones((count, count))
    return flips_by(matrix)(judged, level, generator)


def uniform_noise(judged: JudgedLists, level: float, generator: np.random.Generator) -> Labels:
    """A share `level` of the labels, rounded half up, is redrawn evenly from the grades."""
    labels = np.array(judged.dataset.labels)
    grades = np.unique(labels)
    redrawn = _random_share(np.arange(len(labels)), level, generator)
    if len(redrawn):
        labels[redrawn] = grades[generator.integers(0, len(grades), len(redrawn))]
    return labels


def censored(judged: JudgedLists, level: float, generator: np.random.Generator) -> Labels:
    """A share `level` of the relevant documents, rounded half up, counts as not relevant."""
    labels = np.array(judged.dataset.labels)
    labels[_random_share(np.flatnonzero(labels > 0), level, generator)] = 0
    return labels


def position_clicks(judged: JudgedLists, level: float, generator: np.random.Generator) -> Labels:
    """Grades from the clicks of `level` sessions under the position-based model.

    A document at rank r (1-based, initial ranking) is examined with probability 1/r and, when
    examined, clicked as its grade attracts (Chuklin, Markov & de Rijke 2015). Its new grade is
    its share of clicks times the highest grade, rounded; what is not among the candidates was
    never shown and gets 0.
    """
    sessions = round(level)
    # P(click) = P(examined) · P(attracted), with P(examined) = 1/rank
    chance = _attraction(judged) / (best_first(judged.lists) + 1)
    return _from_clicks(judged, generator.binomial(sessions, chance) / sessions)


def cascade_clicks(judged: JudgedLists, level: float, generator: np.random.Generator) -> Labels:
    """Grades from the clicks of `level` sessions under the cascade model.

    A user goes down the initial ranking, clicks as a document's grade attracts, and leaves after
    the first click (Craswell et al. 2008). Grades from clicks as in `position_clicks`.
    """
    lists, sessions = judged.lists, round(level)
    order = falling_order(lists.offsets, -best_first(lists).astype(np.float64))
    attraction = _attraction(judged)[order]
    clicks = np.zeros(len(order))
    going: Int64[np.ndarray, " lists"] = np.full(len(lists), sessions)
    for place in range(int(lists.lengths.max(initial=0))):
        active = np.flatnonzero(lists.lengths > place)
        at = lists.offsets[active] + place
        # One binomial draw handles all sessions that are still on this list
        clicked = generator.binomial(going[active], attraction[at])
        clicks[order[at]] = clicked
        # The cascade model ends a session at its first click
        going[active] -= clicked
    return _from_clicks(judged, clicks / sessions)


def _attraction(judged: JudgedLists) -> Float64[np.ndarray, " candidates"]:
    """Chance of a click when examined: 0.1 + 0.9 (2^y − 1)/(2^highest − 1)."""
    labels = np.maximum(judged.dataset.labels.astype(np.float64), 0.0)
    # `initial` avoids 0/0 where all labels are 0
    highest = np.exp2(labels.max(initial=1.0)) - 1
    gain = (np.exp2(labels[judged.lists.rows]) - 1) / highest
    return NOISE_CLICKS + (1 - NOISE_CLICKS) * gain


def _from_clicks(judged: JudgedLists, share: Float64[np.ndarray, " candidates"]) -> Labels:
    highest = float(judged.dataset.labels.max(initial=0.0))
    labels = np.zeros(judged.dataset.documents, dtype=np.float32)
    # Rounded half up: `np.rint` would round halves to even grades
    labels[judged.lists.rows] = np.floor(share * highest + 0.5)
    return labels


def _random_share(
    places: Int64[np.ndarray, " places"], share: float, generator: np.random.Generator
) -> Int64[np.ndarray, " drawn"]:
    """Uniform random sample of a share of these."""
    return generator.permutation(places)[: int(share * len(places) + 0.5)]
