"""A ranker's scores of the same lists in several orders: random ones, systematic ones, and afresh.

Where a ranker can be had without what it may remember (`fresh`), a process or copy that has seen
nothing else is asked about one order each. Orders that chance practically never draws, of the list
as it is shown and of its own answer, are counted apart from random ones, which alone a bound on a
share of orders is about.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64, Real

from shuffleproof.core.data import ragged
from shuffleproof.core.data.argsort_descending import falling_order
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment.score_floor import numeric_scores
from shuffleproof.core.experiment.score_reuse import scores_of_all, source_of
from shuffleproof.core.rankers.base import Ranker


@runtime_checkable
class SupportsFresh(Protocol):
    """A ranker that can be had anew, without what it may remember."""

    def fresh(self, threads: int | None = None) -> Ranker:
        """The same ranker in a process of its own."""


@dataclass(frozen=True)
class ScoredOrder:
    """An order and the scores of its documents, as the lists have them.

    Attributes:
        shown: the lists in that order.
        scores: in the order of the lists as they are.
        afresh: by a process that saw nothing else.
        threads: numeric threads of that process; None: as many as usual.
    """

    shown: CandidateLists
    scores: np.ndarray
    afresh: bool = False
    threads: int | None = None


class ScoringRequest:
    """One ranker and how it is asked.

    Args:
        ranker: anything that scores.
        base: the lists as they are.

    Attributes:
        scored: how many lists it has scored so far.
        processes: how many of its processes or copies were asked afresh.
        folders: each of them had temporary and home folders of its own.
    """

    def __init__(self, ranker: Ranker, base: JudgedLists) -> None:
        self.ranker, self.base = ranker, base
        self._maker_of_fresh = _maker_of_fresh(ranker)
        self.scored, self.processes, self.folders = 0, 0, True

    @property
    def ours(self) -> bool:
        """Whether it is one of our rankers, which run in this process and remember nothing."""
        place = type(self.ranker).__module__
        of_user = place.endswith(".user_rankers")  # a function that nobody can copy
        return (
            self._maker_of_fresh is None and place.startswith("shuffleproof.core.") and not of_user
        )

    @property
    def afresh(self) -> bool:
        """Whether it can be had without what it may remember."""
        return self._maker_of_fresh is not None

    def score_order(self, shown: CandidateLists) -> ScoredOrder:
        """The scores of one order."""
        return self._score(self.ranker, shown)

    def all_here(self, shown: Sequence[CandidateLists]) -> list[ScoredOrder]:
        """The scores of several orders, in one batch where the ranker knows how."""
        if not shown:
            return []
        all_scores = scores_of_all(self.ranker, self.base, shown)
        self.scored += len(shown) * len(self.base.lists)
        return [
            ScoredOrder(
                variant,
                as_in(self.base.lists, variant, numeric_scores(self.ranker, variant, scores)),
            )
            for variant, scores in zip(shown, all_scores, strict=True)
        ]

    def fresh(self, shown: CandidateLists, threads: int | None = None) -> ScoredOrder:
        """The scores of one order by a process or copy that has seen nothing."""
        ranker = self.another(threads)
        result = replace(self._score(ranker, shown), afresh=True, threads=threads)
        self.processes += 1
        self.folders &= getattr(ranker, "has_own_folders", False)
        return result

    def repeat(self, order: ScoredOrder) -> ScoredOrder:
        """The same question once more."""
        if order.afresh:
            return self.fresh(order.shown, order.threads)
        return self.score_order(order.shown)

    def another(self, threads: int | None = None) -> Ranker:
        """The ranker without what it may remember, where it can be had."""
        return self.ranker if self._maker_of_fresh is None else self._maker_of_fresh(threads)

    def _score(self, ranker: Ranker, shown: CandidateLists) -> ScoredOrder:
        scores = numeric_scores(ranker, shown, ranker.score(self.base.dataset, shown))
        self.scored += len(shown)
        return ScoredOrder(shown, as_in(self.base.lists, shown, scores))


def as_in(lists: CandidateLists, variant: CandidateLists, scores: np.ndarray) -> np.ndarray:
    """A variant's scores in the order of the lists."""
    placed = np.empty_like(scores)
    placed[source_of(lists, variant)] = scores
    return placed


def _maker_of_fresh(ranker: Ranker) -> Callable[[int | None], Ranker] | None:
    """How a ranker can be had without memory; None: ours, which have none, or it cannot be copied.

    What is not ours and runs in this process is copied before it scores anything.
    """
    if isinstance(ranker, SupportsFresh):
        return ranker.fresh
    if type(ranker).__module__.startswith("shuffleproof.core."):
        return None
    try:
        untouched = copy.deepcopy(ranker)
    except (TypeError, ValueError, AttributeError):  # it holds a file, a lock, a connection
        return None
    return lambda threads: copy.deepcopy(untouched)  # noqa: ARG005 (it has no process of its own)


REVERSED, ROTATED, BACK, SWAPPED = "reversed", "rotated by one", "rotated back", "first two swapped"
FALLING, RISING, ROWS = "best first", "best last", "as in the data set"

NAMES = (REVERSED, ROTATED, BACK, SWAPPED, FALLING, RISING, ROWS)
"""`best` is by the ranker's own scores of the list as it is."""


def systematic(
    lists: CandidateLists, scores: Real[np.ndarray, " candidates"]
) -> dict[str, Int64[np.ndarray, " candidates"]]:
    """The candidate at each place, for every order of NAMES that is not the list as it is.

    >>> from shuffleproof.core.studies.kinds.benchmark.query import lists_of
    >>> lists = lists_of(np.array([7, 5, 6]), np.array([0, 3]))
    >>> found = systematic(lists, np.array([0.2, 0.9, 0.5]))
    >>> found["reversed"].tolist(), found["first two swapped"].tolist(), found["best last"].tolist()
    ([2, 1, 0], [1, 0, 2], [0, 2, 1])
    """
    lengths, places = lists.lengths, ragged.places_of(lists.offsets)
    starts, length = np.repeat(lists.offsets[:-1], lengths), np.repeat(lengths, lengths)
    exchanged = np.where((places < 2) & (length > 1), 1 - places, places)
    orders = {
        REVERSED: starts + length - 1 - places,
        ROTATED: starts + (places + 1) % length,
        BACK: starts + (places - 1) % length,
        SWAPPED: starts + exchanged,
        FALLING: falling_order(lists.offsets, scores, lists.rows),
        RISING: ragged.order_within(lists.offsets, scores),
        ROWS: ragged.order_within(lists.offsets, lists.rows),
    }
    return {name: order for name, order in orders.items() if (order != starts + places).any()}
