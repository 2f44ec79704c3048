"""Perturbations of the set: documents leave the lists, and the order of the others stays.

The first initial ranking (ties by data set row) or chance decides what is removed; lists without
one use the input position. At least one document stays in a list that has any.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int32, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.perturb.base import Change, PerturbationBase

SET: frozenset[Change] = frozenset({"set"})

Selection = Callable[[CandidateLists, float, np.random.Generator], np.ndarray]
"""(lists, level, generator) → which candidates stay."""


@dataclass(frozen=True)
class SetPerturbation(PerturbationBase):
    """Takes documents out of the lists; those that stay keep prior scores and order.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit; 0 leaves the lists as they are.
        select: which candidates stay.
    """

    family: str
    level: float
    select: Selection = field(repr=False)
    changes: frozenset[Change] = SET

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """Smaller lists, with ranks recounted among the remaining documents."""
        if self.level == 0:
            return lists
        return restrict(lists, self.select(lists, self.level, generator))


def restrict(lists: CandidateLists, mask: Bool[np.ndarray, " candidates"]) -> CandidateLists:
    """The lists of the kept candidates alone.

    >>> prior = np.array([[3], [2], [1]], np.float32)
    >>> lists = CandidateLists(np.array([0, 3]), np.array([0]), np.array([7, 8, 9]),
    ...                        np.array([[0], [1], [2]], np.int32), prior)
    >>> smaller = restrict(lists, np.array([True, False, True]))
    >>> smaller.rows.tolist(), smaller.ranks.ravel().tolist()
    ([7, 9], [0, 1])
    """
    counts = np.bincount(ragged.segment_ids(lists.offsets)[mask], minlength=len(lists))
    return assemble(lists.queries, counts, lists.rows[mask], lists.prior[mask])


def assemble(
    queries: Int64[np.ndarray, " lists"],
    lengths: Int64[np.ndarray, " lists"],
    rows: Int64[np.ndarray, " candidates"],
    prior: np.ndarray,
) -> CandidateLists:
    """Lists from their parts, ranks counted from the prior scores."""
    offsets = ragged.offsets_of(lengths)
    ranks: Int32[np.ndarray, "candidates rankings"] = np.empty(prior.shape, dtype=np.int32)
    for column in range(prior.shape[1]):
        # Counted again: a ranker reads ranks among the documents that it is shown
        ranks[:, column] = ragged.competition_ranks(offsets, prior[:, column])
    return CandidateLists(offsets, queries, rows, ranks, prior)


def best_first(lists: CandidateLists) -> Int64[np.ndarray, " candidates"]:
    """The 0-based place of every candidate in the first initial ranking, or as shown."""
    if not lists.rankings:
        return ragged.places_of(lists.offsets)
    place = np.empty(len(lists.rows), dtype=np.int64)
    order = falling_order(lists.offsets, lists.prior[:, 0], lists.rows)
    place[order] = ragged.places_of(lists.offsets)
    return place


def by_chance(
    lists: CandidateLists, generator: np.random.Generator
) -> Int64[np.ndarray, " candidates"]:
    """A random 0-based place for every candidate; the input order has no say in it."""
    keys = np.empty(len(lists.rows))
    # Draws are assigned by row, so that the input order has no say
    keys[ragged.order_within(lists.offsets, lists.rows)] = generator.random(len(lists.rows))
    place = np.empty(len(lists.rows), dtype=np.int64)
    place[ragged.order_within(lists.offsets, keys)] = ragged.places_of(lists.offsets)
    return place


def cut(
    lists: CandidateLists, level: float, generator: np.random.Generator
) -> Bool[np.ndarray, " candidates"]:
    """All but the last share `level` of each list, rounded half up."""
    del generator
    return best_first(lists) < _staying_counts(lists, level)


def sampled(
    lists: CandidateLists, level: float, generator: np.random.Generator
) -> Bool[np.ndarray, " candidates"]:
    """All but a random share `level` of each list, rounded half up."""
    return by_chance(lists, generator) < _staying_counts(lists, level)


def without_top(
    lists: CandidateLists, level: float, generator: np.random.Generator
) -> Bool[np.ndarray, " candidates"]:
    """All but the `level` first of each list."""
    del generator
    leaving = np.minimum(round(level), np.maximum(lists.lengths - 1, 0))
    return best_first(lists) >= np.repeat(leaving, lists.lengths)


def single(
    lists: CandidateLists, level: float, generator: np.random.Generator
) -> Bool[np.ndarray, " candidates"]:
    """One document of each list, drawn evenly."""
    del level
    return by_chance(lists, generator) == 0


def _staying_counts(lists: CandidateLists, share: float) -> Int64[np.ndarray, " candidates"]:
    leaving = (share * lists.lengths + 0.5).astype(np.int64)
    # At least one document stays in every list that is not empty
    staying = np.maximum(lists.lengths - leaving, np.minimum(lists.lengths, 1))
    return np.repeat(staying, lists.lengths)
