"""Asking a ranker for its scores of the same lists in several orders: here, and afresh.

Where a ranker can be had without what it may remember (`fresh`), a process or copy that has seen
nothing else is asked about one order each.
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.score_floor import checked
from shuffleproof.core.studies.score_reuse import scores_of_all, source_of

Anew = Callable[[int | None], Ranker]
"""(numeric threads, or None) → the same ranker without what it may remember."""


@runtime_checkable
class Fresh(Protocol):
    """A ranker that can be had anew, without what it may remember."""

    def fresh(self, threads: int | None = None) -> Ranker:
        """The same ranker in a process of its own."""


@dataclass(frozen=True)
class Asked:
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


class Asking:
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
        """Nothing is asked yet."""
        self.ranker, self.base = ranker, base
        self._anew = _anew(ranker)
        self.scored, self.processes, self.folders = 0, 0, True

    @property
    def ours(self) -> bool:
        """Whether it is one of our rankers, which run in this process and remember nothing."""
        return self._anew is None and type(self.ranker).__module__.startswith("shuffleproof.core.")

    @property
    def afresh(self) -> bool:
        """Whether it can be had without what it may remember."""
        return self._anew is not None

    def here(self, shown: CandidateLists) -> Asked:
        """The scores of one order."""
        return self._asked(self.ranker, shown)

    def all_here(self, shown: Sequence[CandidateLists]) -> list[Asked]:
        """The scores of several orders, in one batch where the ranker knows how."""
        if not shown:
            return []
        found = scores_of_all(self.ranker, self.base, shown)
        self.scored += len(shown) * len(self.base.lists)
        return [
            Asked(one, as_in(self.base.lists, one, checked(self.ranker, one, scores)))
            for one, scores in zip(shown, found, strict=True)
        ]

    def fresh(self, shown: CandidateLists, threads: int | None = None) -> Asked:
        """The scores of one order by a process or copy that has seen nothing."""
        ranker = self.another(threads)
        asked = replace(self._asked(ranker, shown), afresh=True, threads=threads)
        self.processes += 1
        self.folders &= getattr(ranker, "has_own_folders", False)
        return asked

    def again(self, asked: Asked) -> Asked:
        """The same question once more."""
        return self.fresh(asked.shown, asked.threads) if asked.afresh else self.here(asked.shown)

    def another(self, threads: int | None = None) -> Ranker:
        """The ranker without what it may remember, where it can be had."""
        return self.ranker if self._anew is None else self._anew(threads)

    def _asked(self, ranker: Ranker, shown: CandidateLists) -> Asked:
        scores = checked(ranker, shown, ranker.score(self.base.dataset, shown))
        self.scored += len(shown)
        return Asked(shown, as_in(self.base.lists, shown, scores))


def as_in(lists: CandidateLists, variant: CandidateLists, scores: np.ndarray) -> np.ndarray:
    """A variant's scores in the order of the lists."""
    placed = np.empty_like(scores)
    placed[source_of(lists, variant)] = scores
    return placed


def _anew(ranker: Ranker) -> Anew | None:
    """How a ranker can be had without memory; None: ours, which have none, or it cannot be copied.

    What is not ours and runs in this process is copied before it scores anything.
    """
    if isinstance(ranker, Fresh):
        return ranker.fresh
    if type(ranker).__module__.startswith("shuffleproof.core."):
        return None
    try:
        untouched = copy.deepcopy(ranker)
    except (TypeError, ValueError, AttributeError):  # it holds a file, a lock, a connection
        return None
    return lambda threads: copy.deepcopy(untouched)  # noqa: ARG005 (it has no process of its own)
