"""Perturbations of an order: of the initial ranking, or of the input order only.

A ranking perturbation rearranges the places of a ranking, best first; ties are in data set order,
not in input order. Every place keeps its prior score, so documents get other scores of the same
multiset, and the input order follows. `TieStorm` alone changes the scores. A presentation
perturbation changes the input order and nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Int64, Shaped

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.errors import UsageError
from shuffleproof.core.perturb.base import Change, NeedsData, Perturbation, PerturbationBase
from shuffleproof.core.perturb.permutations import Arrangement
from shuffleproof.core.perturb.permutations_by_label import JudgedArrangement

RANKING: frozenset[Change] = frozenset({"ranking", "order"})

Column = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(candidate at each place, falling scores of the places) → (old place of each place, scores)."""


@dataclass(frozen=True)
class RankingPerturbation(PerturbationBase):
    """Rearranges every initial ranking of the lists, each by its own draw.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit.
        arrange: what moves where; see `permutations`.
        unchanged: the level that leaves the lists as they are.
        unties: tied prior scores are first separated by the smallest steps of float32, falling
            by data set row, so that the order that comes out is strict.
    """

    family: str
    level: float
    arrange: Arrangement = field(repr=False)
    unchanged: float = 0.0
    unties: bool = False
    changes: frozenset[Change] = RANKING

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists under the perturbed rankings, shown by the first of them.

        Raises:
            UsageError: the lists carry no initial ranking.
        """
        check_ranked(self, lists)
        if self.level == self.unchanged:
            return lists

        def column(holders: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            del holders
            if self.unties:
                scores = strictly_falling(lists.offsets, scores)
            return self.arrange(lists.offsets, scores, self.level, generator), scores

        return rearranged(lists, column)


@dataclass(frozen=True)
class JudgedRankingPerturbation(NeedsData):
    """Rearranges every initial ranking with the judgments in view; the labels stay.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit; 0 leaves the lists as they are.
        arrange: what moves where, by the labels of the places; see `permutations_by_label`.
    """

    family: str
    level: float
    arrange: JudgedArrangement = field(repr=False)
    changes: frozenset[Change] = RANKING

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The lists under the perturbed rankings, shown by the first of them.

        Raises:
            UsageError: the lists carry no initial ranking.
        """
        lists = judged.lists
        check_ranked(self, lists)
        if self.level == 0:
            return judged

        def column(holders: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            labels = judged.dataset.labels[lists.rows[holders]]
            return self.arrange(lists.offsets, labels, self.level, generator), scores

        return JudgedLists(judged.dataset, rearranged(lists, column))


@dataclass(frozen=True)
class TieStorm(PerturbationBase):
    """A run of places, drawn at random, takes the prior score of its first place.

    The run holds a share `level` of the places, rounded half up; what is tied is shown by data
    set row.
    """

    level: float
    family: str = "tie-storm"
    changes: frozenset[Change] = RANKING

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists with tied rankings, each ranking by its own draw.

        Raises:
            UsageError: the lists carry no initial ranking.
        """
        check_ranked(self, lists)
        if self.level == 0:
            return lists
        sizes = (self.level * lists.lengths + 0.5).astype(np.int64)

        def column(holders: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Holders and scores of one ranking after its storm."""
            # Uniform among all starts at which the run fits into the list
            starts = (generator.random(len(sizes)) * (lists.lengths - sizes + 1)).astype(np.int64)
            storm_start = np.repeat(lists.offsets[:-1] + starts, lists.lengths)
            place = np.arange(len(holders), dtype=np.int64)
            tied = (place >= storm_start) & (place < storm_start + np.repeat(sizes, lists.lengths))
            # The run's highest score: what is ranked below the run stays below it
            return place, scores[np.where(tied, storm_start, place)]

        return rearranged(lists, column)


def check_ranked(change: Perturbation, lists: CandidateLists) -> None:
    """Refuse lists without an initial ranking.

    Raises:
        UsageError: the lists carry none.
    """
    if not lists.rankings:
        raise UsageError(
            f"{change} changes initial rankings and these lists carry none: "
            "name initial rankers when the lists are made, or change the input order instead"
        )


def rearranged(lists: CandidateLists, column: Column) -> CandidateLists:
    """The lists with every ranking's places rearranged, shown by the first ranking."""
    prior = np.empty_like(lists.prior)
    for index in range(lists.rankings):
        # Ties by row and not by input order: the draw must not depend on what is shown
        holders = falling_order(lists.offsets, lists.prior[:, index], lists.rows)
        came_from, scores = column(holders, lists.prior[holders, index])
        # A place keeps its score and gets another document
        prior[holders[came_from], index] = scores
    return lists.reranked(prior)


def strictly_falling(
    offsets: Int64[np.ndarray, " bounds"], scores: Float32[np.ndarray, " places"]
) -> Float32[np.ndarray, " places"]:
    """Falling scores with ties separated by the smallest steps of float32.

    >>> ranks = strictly_falling(np.array([0, 3]), np.array([2, 1, 1], dtype=np.float32))
    >>> ranks[:2].tolist(), bool(ranks[2] < 1), float(np.float32(1) - ranks[2]) < 1e-7
    ([2.0, 1.0], True, True)
    """
    return _untied_scores(offsets, scores.copy())


@compiled()
@no_type_check
def _untied_scores(offsets: np.ndarray, scores: np.ndarray) -> np.ndarray:
    for segment in range(len(offsets) - 1):
        for place in range(offsets[segment] + 1, offsets[segment + 1]):
            if scores[place] >= scores[place - 1]:
                # One step down may overtake the next score, so it is tested with ≥
                scores[place] = np.nextafter(scores[place - 1], np.float32(-np.inf))
    return scores


ORDER: frozenset[Change] = frozenset({"order"})


@dataclass(frozen=True)
class PresentationPerturbation(PerturbationBase):
    """Shows the lists in another order; every document keeps its prior scores and ranks.

    Attributes:
        family: the registry's name.
        level: share of the positions that take part, or the family's own unit.
        arrange: what moves where; see `permutations`.
        unchanged: the level that leaves the lists as they are.
    """

    family: str
    level: float
    arrange: Arrangement = field(repr=False)
    unchanged: float = 0.0
    changes: frozenset[Change] = ORDER

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists in another order."""
        if self.level == self.unchanged:
            return lists
        # Arrangements of the input order never read scores
        unread = np.zeros(len(lists.rows), dtype=np.float32)
        return lists.shown_as(self.arrange(lists.offsets, unread, self.level, generator))


@dataclass(frozen=True)
class SortedPresentation(NeedsData):
    """Shows the lists sorted by something that the data set knows of each document.

    Attributes:
        family: the registry's name.
        level: 1 = rising keys first, −1 = falling ones, 0 = as they are; equal keys stay as shown.
        keys: of every candidate.
    """

    family: str
    level: float
    keys: Callable[[JudgedLists], np.ndarray] = field(repr=False)
    changes: frozenset[Change] = ORDER

    def perturb(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The lists in the order of their keys; nothing is drawn."""
        del generator
        if self.level == 0:
            return judged
        # Ids may be text, which has no negative: dense integer ranks can be reversed
        keys = np.unique(self.keys(judged), return_inverse=True)[1].astype(np.int64)
        order = ragged.order_within(judged.lists.offsets, keys * round(self.level))
        return JudgedLists(judged.dataset, judged.lists.shown_as(order))


def label_keys(judged: JudgedLists) -> Float32[np.ndarray, " candidates"]:
    """Minus the label: the most relevant document is shown first."""
    return -judged.dataset.labels[judged.lists.rows]


def id_keys(judged: JudgedLists) -> Shaped[np.ndarray, " candidates"]:
    """The document's id where the data set names them, else its row."""
    ids, rows = judged.dataset.doc_ids, judged.lists.rows
    if ids is None or not len(rows):
        return rows
    return np.array([ids[row] for row in rows.tolist()])
