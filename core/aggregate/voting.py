"""Rankings by several voters of the same lists: mean ranks, Borda's points, Kemeny's order.

Every voter gives a score to each document; a higher score is a vote for standing above. Documents
that a voter ties share the mean of their ranks.
"""

from itertools import pairwise
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.metrics.pairs import tied_ranks

SWEEPS = 1000


def mean_ranks(
    offsets: Int64[np.ndarray, " bounds"], scores: Float32[np.ndarray, " docs"]
) -> Float64[np.ndarray, " docs"]:
    """The 0-based rank of each document in its list by falling score, ties at their mean rank.

    Args:
        offsets: documents of list q are `offsets[q] … offsets[q + 1] − 1`.
        scores: one a document.

    >>> mean_ranks(np.array([0, 3]), np.array([1, 5, 1], np.float32)).tolist()
    [1.5, 0.0, 1.5]
    """
    starts, sizes = tied_ranks(offsets, falling_order(offsets, scores), scores)
    return starts + 0.5 * (sizes - 1)


def borda(
    offsets: Int64[np.ndarray, " bounds"], votes: Float32[np.ndarray, "voters docs"]
) -> Float64[np.ndarray, " docs"]:
    """Borda's points: how many documents of its list a document beats, on average over voters.

    A tie counts one half.

    >>> borda(np.array([0, 3]), np.array([[3, 2, 1], [3, 1, 2]], np.float32)).tolist()
    [2.0, 0.5, 0.5]
    """
    ranks = np.sum([mean_ranks(offsets, vote) for vote in votes], axis=0) / len(votes)
    return np.repeat(np.diff(offsets), np.diff(offsets)) - 1.0 - ranks  # n − 1 − mean rank


def kemeny(
    offsets: Int64[np.ndarray, " bounds"], votes: Float32[np.ndarray, "voters docs"]
) -> Float64[np.ndarray, " docs"]:
    """Minus the rank in an order that no move of one document brings closer to the votes.

    Kemeny's order disagrees with the fewest (voter, pair) judgments; finding it is NP-hard. This
    is local search from Borda's order: the document whose removal to its best place gains most is
    moved there, first to last, until nothing gains (Schalekamp & van Zuylen 2009). A list of n
    documents takes n² numbers and O(n²) time a sweep. Documents that Borda ties start in the order
    given, so give them in one that means nothing or is always the same.

    >>> kemeny(np.array([0, 3]), np.array([[3, 2, 1], [3, 2, 1], [1, 3, 2]], np.float32)).tolist()
    [0.0, -1.0, -2.0]
    """
    start = falling_order(offsets, borda(offsets, votes))
    scores = np.empty(votes.shape[1])
    for first, last in pairwise(offsets.tolist()):
        order = local_search(margins(votes[:, first:last]), start[first:last] - first)
        scores[first + order] = -np.arange(last - first)
    return scores


def margins(votes: Float32[np.ndarray, "voters docs"]) -> Float64[np.ndarray, "docs docs"]:
    """Voters with the row's document above the column's, minus those with the reverse.

    >>> margins(np.array([[1, 0], [1, 1], [0, 2]], np.float32)).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    gaps = np.zeros((votes.shape[1], votes.shape[1]))
    for vote in votes:
        above = vote[:, None] > vote
        gaps += above
        gaps -= above.T
    return gaps


@compiled()
@no_type_check
def local_search(gaps: np.ndarray, start: np.ndarray) -> np.ndarray:
    """An order that no move of one document to another place brings closer to the margins."""
    order = start.copy()
    for _ in range(SWEEPS):
        changed = False
        for document in start:
            place = np.flatnonzero(order == document)[0]
            best, target, gain = 0.0, place, 0.0
            for above in range(place - 1, -1, -1):
                gain += gaps[document, order[above]]  # one place up saves this margin
                if gain > best:
                    best, target = gain, above
            gain = 0.0
            for below in range(place + 1, len(order)):
                gain += gaps[order[below], document]  # one place down saves the reverse margin
                if gain > best:
                    best, target = gain, below
            if target < place:
                order[target + 1 : place + 1] = order[target:place].copy()
            elif target > place:
                order[place:target] = order[place + 1 : target + 1].copy()
            order[target] = document
            changed = changed or target != place
        if not changed:
            break
    return order
