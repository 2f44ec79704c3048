"""Scores of the same lists in several orders: random, systematic, and by fresh processes.

If a copy of the ranker without memory can be made (`fresh`), new processes or copies score one
order each. Systematic orders (of the input order and of the ranker's own ranking) practically
never occur by chance. They are counted separately from random ones, since the bound on a share of
orders applies to random ones only.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64, Real

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.experiment.score_floor import numeric_scores
from shuffleproof.core.experiment.score_reuse import scores_of_all, source_of
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.outside import audit
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from shuffleproof.core.rankers.outside.user_rankers import UserRanker, as_returned
from shuffleproof.core.seeds import generator
from shuffleproof.core.user_code import importable_name

NOT_IMPORTABLE = "a fresh process cannot import a lambda, a closure or a function of __main__"


@runtime_checkable
class SupportsFresh(Protocol):
    """Ranker that can be created again without any memory of earlier calls."""

    def fresh(self, threads: int | None = None) -> Ranker:
        """Copy of the ranker in a new process."""


@dataclass(frozen=True)
class ScoredOrder:
    """Order and the scores of its documents.

    Attributes:
        shown: the lists in that order.
        scores: in the order of the base lists.
        afresh: True if a process that saw nothing else scored it.
        threads: numeric threads of that process; None: the default number.
    """

    shown: CandidateLists
    scores: np.ndarray
    afresh: bool = False
    threads: int | None = None


class ScoringRequest:
    """Ranker and its way to score.

    A function that another process can import scores in processes of its own. Scores keep the type
    that a function returns.

    Args:
        ranker: anything that scores.
        base: the lists in their own order.

    Attributes:
        ranker: the ranker that scores.
        no_memory: reason why memory between calls cannot be examined; else empty.
        scores_here: scores of an importable function in this process; None for other rankers.
        scored: number of lists scored so far.
        processes: number of fresh processes or copies that scored.
    """

    def __init__(self, ranker: Ranker, base: JudgedLists) -> None:
        self.base = base
        self.scores_here: np.ndarray | None = None
        self.ranker, self.no_memory = as_returned(ranker), ""
        if isinstance(ranker, UserRanker) and ranker.untouched is None:
            self._to_processes(ranker)
        self._maker_of_fresh = _maker_of_fresh(self.ranker)
        self.scored, self.processes = 0, 0
        self._places: list[Mapping[str, list[str]]] = []

    def _to_processes(self, ranker: UserRanker) -> None:
        """Move an importable function to processes of its own, if it works there."""
        name = importable_name(ranker.thing)
        if not name:
            self.no_memory = NOT_IMPORTABLE
            return
        try:
            there = as_returned(CallableRanker.from_name(name))
            there.score(self.base.dataset, self.base.lists)
        except ShuffleproofError as error:
            self.no_memory = f"it fails in a fresh process: {getattr(error, 'finding', error)}"
            return
        self.scores_here = numeric_scores(
            self.ranker, self.base.lists, self.ranker.score(self.base.dataset, self.base.lists)
        )
        self.ranker = there

    @property
    def ours(self) -> bool:
        """True for our own rankers, which run in this process and have no memory."""
        place = type(self.ranker).__module__
        of_user = place.endswith(".user_rankers")  # a function that cannot be copied
        return (
            self._maker_of_fresh is None and place.startswith("shuffleproof.core.") and not of_user
        )

    @property
    def afresh(self) -> bool:
        """True if a copy without memory can be made."""
        return self._maker_of_fresh is not None

    def score_order(self, shown: CandidateLists) -> ScoredOrder:
        """Score one order."""
        return self._score(self.ranker, shown)

    def all_here(self, shown: Sequence[CandidateLists]) -> list[ScoredOrder]:
        """Score several orders, in one batch if the ranker supports it."""
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
        """Score one order in a fresh process or copy."""
        ranker = self.another(threads)
        result = replace(self._score(ranker, shown), afresh=True, threads=threads)
        self.processes += 1
        self._places.append(getattr(ranker, "places", dict)())
        return result

    def places(self) -> dict[str, list[str]]:
        """Files, databases, hosts and programs that its processes used, if it has processes."""
        usual: Mapping[str, list[str]] = getattr(self.ranker, "places", dict)()
        return audit.join_places([*self._places, usual])

    def repeat(self, order: ScoredOrder) -> ScoredOrder:
        """Score an order once more in the same way."""
        if order.afresh:
            return self.fresh(order.shown, order.threads)
        return self.score_order(order.shown)

    def another(self, threads: int | None = None) -> Ranker:
        """Copy of the ranker without memory, if possible; else the ranker."""
        return self.ranker if self._maker_of_fresh is None else self._maker_of_fresh(threads)

    def _score(self, ranker: Ranker, shown: CandidateLists) -> ScoredOrder:
        scores = numeric_scores(ranker, shown, ranker.score(self.base.dataset, shown))
        self.scored += len(shown)
        return ScoredOrder(shown, as_in(self.base.lists, shown, scores))


def as_in(lists: CandidateLists, variant: CandidateLists, scores: np.ndarray) -> np.ndarray:
    """Scores of a variant in the order of the lists."""
    placed = np.empty_like(scores)
    placed[source_of(lists, variant)] = scores
    return placed


def _maker_of_fresh(ranker: Ranker) -> Callable[[int | None], Ranker] | None:
    """Function that creates a ranker without memory.

    None for our own rankers, which have no memory, and for rankers that cannot be copied. An
    external ranker of this process is copied before it scores anything.
    """
    if isinstance(ranker, UserRanker):
        return None if ranker.untouched is None else ranker.fresh_copy
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
NEIGHBOURS, SORTED = "1 to 3 neighbours swapped", "sorted by a feature"

NAMES = (REVERSED, ROTATED, BACK, SWAPPED, FALLING, RISING, ROWS, NEIGHBOURS, SORTED)
"""Names of the systematic orders; `best` is by the ranker's own scores of the base list."""


def systematic_orders(several: int) -> int:
    """Largest number of orders that `systematic` returns."""
    return len(NAMES) - 2 + 2 * several


Orders = list[tuple[str, Int64[np.ndarray, " candidates"]]]


def systematic(
    base: JudgedLists, scores: Real[np.ndarray, " candidates"], several: int = 0
) -> Orders:
    """Names of NAMES and the candidate at each place, for every order except the input order.

    Args:
        base: the lists in their own order.
        scores: the ranker's.
        several: orders of each list near its own, and as many sorted by features. Features take
            turns over the lists, each from its largest and from its smallest value.

    >>> from shuffleproof.core.checks.list_forms import as_judged_lists
    >>> base = as_judged_lists((np.array([[3.0], [1.0], [2.0]]), np.zeros(3), [0, 3]))
    >>> found = dict(systematic(base, np.array([0.2, 0.9, 0.5]), 1))
    >>> found["reversed"].tolist(), found["first two swapped"].tolist(), found["best last"].tolist()
    ([2, 1, 0], [1, 0, 2], [0, 2, 1])
    >>> found["sorted by a feature"].tolist()
    [0, 2, 1]
    """
    lists = base.lists
    lengths, places = lists.lengths, ragged.places_of(lists.offsets)
    starts, length = np.repeat(lists.offsets[:-1], lengths), np.repeat(lengths, lengths)
    exchanged = np.where((places < 2) & (length > 1), 1 - places, places)
    orders = [
        (REVERSED, starts + length - 1 - places),
        (ROTATED, starts + (places + 1) % length),
        (BACK, starts + (places - 1) % length),
        (SWAPPED, starts + exchanged),
        (FALLING, falling_order(lists.offsets, scores, lists.rows)),
        (RISING, ragged.order_within(lists.offsets, scores)),
        (ROWS, ragged.order_within(lists.offsets, lists.rows)),
    ]
    chance = generator(0, NEIGHBOURS)
    first = chance.integers(2**31, size=len(lists))
    orders += [
        (NEIGHBOURS, _neighbours(lists, first + turn, turn % 3, chance)) for turn in range(several)
    ]
    orders += [(SORTED, order) for order in _by_features(base, several)]
    return [(name, order) for name, order in orders if (order != starts + places).any()]


def _neighbours(
    lists: CandidateLists, place: np.ndarray, more: int, chance: np.random.Generator
) -> Int64[np.ndarray, " candidates"]:
    """Lists in which neighbours are exchanged: those at a place, and at some others by chance."""
    order = np.arange(len(lists.rows))
    long = np.flatnonzero(lists.lengths > 1)
    for drawn in (place[long], *(chance.integers(2**31, size=len(long)) for _ in range(more))):
        upper = lists.offsets[long] + drawn % (lists.lengths[long] - 1)
        order[upper], order[upper + 1] = order[upper + 1], order[upper]
    return order


def _by_features(base: JudgedLists, several: int) -> Iterator[Int64[np.ndarray, " candidates"]]:
    """Lists sorted by a feature each, documents of equal values in the order in which they are."""
    lists, width = base.lists, base.dataset.features.shape[1]
    owner = ragged.segment_ids(lists.offsets)
    for turn in range(min(several, 2 * width)):
        # Consecutive turns of one list use consecutive features; lists start at different ones
        way = (np.arange(len(lists)) * several + turn) % (2 * width)  # of each list
        values = base.dataset.features[lists.rows, way[owner] % width]
        sign = np.where(way[owner] < width, -1, 1)
        yield ragged.order_within(lists.offsets, sign * values)
