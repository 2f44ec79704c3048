"""Compiled comparisons of two rankings with ties, list by list, behind `agreement`.

A ranking of a list is two integers a document: the best rank of its tied block (0, 1, 1, 3) and
the size of the block. A prefix-sum tree over ranks (Fenwick 1994) makes every comparison of all
pairs O(n log n).
"""

from typing import no_type_check

import numpy as np

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.argsort_descending import rising_order

# `no_type_check`: jaxtyping's import hook wraps what it checks; numba takes no wrapped function.

# Rows of the i64[4, documents] that describe two rankings to the kernels.
FIRST, FIRST_SIZE, SECOND, SECOND_SIZE = range(4)


@no_type_check
@compiled()
def tied_ranks(
    offsets: np.ndarray, order: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best rank in its list, and the size, of every element's tied block.

    Args:
        offsets: bounds of the lists.
        order: elements by falling score within each list.
        scores: one an element.
    """
    starts = np.empty(len(order), dtype=np.int64)
    sizes = np.empty(len(order), dtype=np.int64)
    for index in range(len(offsets) - 1):
        i, stop = offsets[index], offsets[index + 1]
        while i < stop:
            block_start = i
            while i < stop and scores[order[i]] == scores[order[block_start]]:
                i += 1
            i = max(i, block_start + 1)  # a NaN equals nothing, not even itself
            for member in order[block_start:i]:
                starts[member], sizes[member] = block_start - offsets[index], i - block_start
    return starts, sizes


@no_type_check
@compiled()
def positions_by_score(
    offsets: np.ndarray, order: np.ndarray, scores: np.ndarray, ties: np.ndarray
) -> np.ndarray:
    """The position of every element in its list by falling score, equal scores by `ties`."""
    places = np.empty(len(order), dtype=np.int64)
    starts, sizes = tied_ranks(offsets, order, scores)
    for index in range(len(offsets) - 1):
        i, stop = offsets[index], offsets[index + 1]
        while i < stop:
            end = i + sizes[order[i]]
            members = order[i:end]
            inside = rising_order(ties[members])
            for j in range(len(members)):
                places[members[inside[j]]] = starts[members[0]] + j
            i = end
    return places


@no_type_check
@compiled()
def _add(tree: np.ndarray, rank: int, amount: float) -> None:
    place = rank + 1
    while place < len(tree):
        tree[place] += amount
        place += place & -place


@no_type_check
@compiled()
def _below(tree: np.ndarray, rank: int) -> float:
    """The sum of what was added at ranks < `rank`."""
    total, place = 0.0, rank
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total


@no_type_check
@compiled()
def _by_rank(starts: np.ndarray) -> np.ndarray:
    """Documents of one list by rising rank: a counting sort, ranks being places already."""
    order = np.empty(len(starts), dtype=np.int64)
    filled = np.zeros(len(starts), dtype=np.int64)
    for i in range(len(starts)):
        order[starts[i] + filled[starts[i]]] = i
        filled[starts[i]] += 1
    return order


@no_type_check
@compiled()
def _tau(ranks: np.ndarray) -> float:
    """τ-b of one list."""
    starts, other_starts, size = ranks[FIRST], ranks[SECOND], ranks.shape[1]
    ordered, other_ordered = 0.0, 0.0  # pairs that each ranking tells apart, counted twice
    for i in range(size):
        ordered += size - ranks[FIRST_SIZE, i]
        other_ordered += size - ranks[SECOND_SIZE, i]
    if ordered * other_ordered == 0.0:
        return np.nan
    signed, i = 0.0, 0
    order, counts = _by_rank(starts), np.zeros(size + 1)
    while i < size:
        end = i + ranks[FIRST_SIZE, order[i]]
        for member in order[i:end]:  # the tree holds the documents of better blocks
            past = other_starts[member] + ranks[SECOND_SIZE, member]
            signed += _below(counts, other_starts[member]) - (i - _below(counts, past))
        for member in order[i:end]:
            _add(counts, other_starts[member], 1.0)
        i = end
    return 2.0 * signed / np.sqrt(ordered * other_ordered)


@no_type_check
@compiled()
def correlations(offsets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """τ-b of every list."""
    taus = np.ones(len(offsets) - 1)
    for index in range(len(taus)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        if inside.shape[1] > 1:
            taus[index] = _tau(inside)
    return taus


@no_type_check
@compiled()
def _common_counts(ranks: np.ndarray, depths: int) -> np.ndarray:
    """The expected number of documents in both rankings' first d places, d = 0 … depths.

    A document of a block of n at start s is among the first d with probability (d − s)/n cut to
    [0, 1]; it is surely in both from the end of both its blocks on.
    """
    common, sure = np.zeros(depths + 1), np.zeros(depths + 2)
    for i in range(ranks.shape[1]):
        a, m, b, n = ranks[0, i], ranks[1, i], ranks[2, i], ranks[3, i]
        end = max(a + m, b + n)
        for depth in range(max(a, b) + 1, min(end, depths + 1)):
            common[depth] += min((depth - a) / m, 1.0) * min((depth - b) / n, 1.0)
        sure[min(end, depths + 1)] += 1.0
    return common + np.cumsum(sure)[: depths + 1]


@no_type_check
@compiled()
def overlaps(offsets: np.ndarray, ranks: np.ndarray, depth: int) -> np.ndarray:
    """The expected share of the first `depth` documents in both, of every list."""
    shares = np.ones(len(offsets) - 1)
    for index in range(len(shares)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        reached = min(depth, inside.shape[1])
        if reached > 0:
            shares[index] = _common_counts(inside, reached)[reached] / reached
    return shares
