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
def _hyperbolic_weights(starts: np.ndarray, other_starts: np.ndarray) -> np.ndarray:
    """1/(rank + 1), the rank being by `starts` and in its ties by `other_starts`."""
    weights = np.empty(len(starts))
    by_both = rising_order(starts * len(starts) + other_starts)
    for rank in range(len(starts)):
        weights[by_both[rank]] = 1.0 / (rank + 1)
    return weights


@no_type_check
@compiled()
def _ordered_weight(starts: np.ndarray, sizes: np.ndarray, weights: np.ndarray) -> float:
    """The weight of all pairs that the ranking orders; a pair weighs the sum of its documents."""
    total = 0.0
    for i in range(len(starts)):
        total += weights[i] * (len(starts) - sizes[i])
    return total


@no_type_check
@compiled()
def _tau(ranks: np.ndarray, weights: np.ndarray) -> float:
    """Weighted τ-b of one list."""
    starts, other_starts, size = ranks[FIRST], ranks[SECOND], len(weights)
    ordered = _ordered_weight(starts, ranks[FIRST_SIZE], weights)
    ordered *= _ordered_weight(other_starts, ranks[SECOND_SIZE], weights)
    if ordered == 0.0:
        return np.nan
    signed, mass, i = 0.0, 0.0, 0
    order = _by_rank(starts)
    counts, masses = np.zeros(size + 1), np.zeros(size + 1)
    while i < size:
        end = i + ranks[FIRST_SIZE, order[i]]
        for member in order[i:end]:  # the trees hold the documents of better blocks
            rank, past = other_starts[member], other_starts[member] + ranks[SECOND_SIZE, member]
            net = _below(counts, rank) - (i - _below(counts, past))
            net_mass = _below(masses, rank) - (mass - _below(masses, past))
            signed += net * weights[member] + net_mass
        for member in order[i:end]:
            _add(counts, other_starts[member], 1.0)
            _add(masses, other_starts[member], weights[member])
            mass += weights[member]
        i = end
    return signed / np.sqrt(ordered)


@no_type_check
@compiled()
def correlations(offsets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """τ-b of every list."""
    taus = np.ones(len(offsets) - 1)
    for index in range(len(taus)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        if inside.shape[1] > 1:
            taus[index] = _tau(inside, np.full(inside.shape[1], 0.5))
    return taus


@no_type_check
@compiled()
def weighted_correlations(offsets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The mean of the two hyperbolically weighted τ of every list."""
    taus = np.ones(len(offsets) - 1)
    for index in range(len(taus)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        if inside.shape[1] > 1:
            by_first = _hyperbolic_weights(inside[FIRST], inside[SECOND])
            by_second = _hyperbolic_weights(inside[SECOND], inside[FIRST])
            taus[index] = 0.5 * (_tau(inside, by_first) + _tau(inside, by_second))
    return taus


@no_type_check
@compiled()
def precisions(offsets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Expected τ_AP of every list, the second ranking being the estimate of the first.

    A document at offset j of a block that begins at place s has s documents of better blocks and
    j block mates above it; a mate belongs there with probability one half, as does one that the
    reference ties. So a block adds Σ_j (mean of those that belong among the s + j/2) / (s + j).
    """
    taus = np.ones(len(offsets) - 1)
    for index in range(len(taus)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        true, size = inside[FIRST], inside.shape[1]
        if size < 2:
            continue
        order, tree, total, i = _by_rank(inside[SECOND]), np.zeros(size + 1), 0.0, 0
        while i < size:
            end, belong = i + inside[SECOND_SIZE, order[i]], 0.0
            for member in order[i:end]:
                better, not_worse = _below(tree, true[member]), _below(tree, true[member] + 1)
                belong += 0.5 * (better + not_worse)
            for j in range(end - i):
                if i + j > 0:
                    total += (belong / (end - i) + 0.5 * j) / (i + j)
            for member in order[i:end]:
                _add(tree, true[member], 1.0)
            i = end
        taus[index] = 2.0 * total / (size - 1) - 1.0
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


@no_type_check
@compiled()
def biased_overlaps(offsets: np.ndarray, ranks: np.ndarray, persistence: float) -> np.ndarray:
    """Extrapolated RBO of every list."""
    values = np.ones(len(offsets) - 1)
    for index in range(len(values)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        size = inside.shape[1]
        if size < 2:
            continue
        common = _common_counts(inside, size)
        total, weight = 0.0, 1.0 - persistence
        for depth in range(1, size + 1):
            total += weight * common[depth] / depth
            weight *= persistence
        values[index] = total + common[size] / size * persistence**size
    return values
