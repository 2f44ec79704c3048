"""Kemeny's order: the one that contradicts the preferences least, with a bound.

An order pays w(j, i) for each pair that it puts i above j in. Strongly connected components of the
majority are ordered one after the other. Up to 20 items are solved exactly over all subsets, larger
ones by local search. Their lower bound is the cost of 3-cycles that share no part of a margin. The
order is exact if it pays no more than the bound.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.aggregate import kernels, scores
from shuffleproof.core.aggregate.voting import local_search
from shuffleproof.core.compiled import compiled
from shuffleproof.core.seeds import generator

SUBSETS = 20

PACKINGS = 10  # Orders of removing cycles; the best bound counts
NEAR = 1e-6


@dataclass(frozen=True)
class Kemeny:
    """An order with what it pays.

    Attributes:
        order: items, the best first.
        cost: Σ w(j, i) over the pairs that it puts i above j in.
        bound: no order pays less.
        exact: whether none does.
    """

    order: Int64[np.ndarray, " items"]
    cost: float
    bound: float
    exact: bool


def kemeny(weights: Float64[np.ndarray, "items items"]) -> Kemeny:
    """The best order found, and the least that any order pays.

    Args:
        weights: w(i, j) ≥ 0 of i above j; NaN without a preference, which costs nothing.
    """
    gaps = kernels.margins(weights)
    # Every order pays the smaller weight of each pair: margins alone are left to save
    least = float(np.nan_to_num(np.minimum(weights, weights.T)).sum()) / 2
    orders, extra, paid, exact = [], 0.0, 0.0, True
    # no majority leads back to an earlier component, so each is ordered alone
    for part in scores.ordered_components(weights):
        inner = gaps[np.ix_(part, part)]
        order = best_order(inner)
        cost = _cost_of(inner, order)
        bound = cost if len(part) <= SUBSETS else _bound(inner)
        orders.append(part[order])
        extra, paid = extra + bound, paid + cost
        exact &= bound >= cost - NEAR
    whole = np.concatenate(orders) if orders else np.zeros(0, np.int64)
    return Kemeny(whole, least + paid, least + extra, exact)


def best_order(gaps: Float64[np.ndarray, "items items"]) -> Int64[np.ndarray, " items"]:
    """The best order found of items that are one component; exact for up to SUBSETS items.

    Args:
        gaps: margins w(i, j) − w(j, i).
    """
    items = len(gaps)
    if items < 3:
        return np.arange(items)
    if items <= SUBSETS:
        return np.asarray(_by_subsets(np.maximum(-gaps, 0.0)))
    start = kernels.goa(gaps)
    return min(
        (local_search(gaps, permutation) for permutation in (start, start[::-1].copy())),
        key=lambda order: _cost_of(gaps, order),
    )


def _bound(gaps: np.ndarray) -> float:
    """Least cost of any order above the least of each pair."""
    draws = (generator(0, "kemeny", draw).permutation(len(gaps)) for draw in range(PACKINGS))
    return max(
        float(_cycle_packing(np.maximum(gaps[np.ix_(permutation, permutation)], 0.0)))
        for permutation in draws
    )


def _cost_of(gaps: np.ndarray, order: np.ndarray) -> float:
    """Margins that an order goes against."""
    ordered = gaps[np.ix_(order, order)]
    return float(np.maximum(-np.triu(ordered, 1), 0.0).sum())


@compiled()
@no_type_check
def _by_subsets(costs: np.ndarray) -> np.ndarray:  # noqa: C901 (one loop that Numba compiles)
    """The cheapest order, by the cheapest order of every subset in front: O(2ⁿ n)."""
    items = len(costs)
    count = 1 << items
    best, last = np.full(count, np.inf), np.zeros(count, np.int8)
    best[0] = 0.0  # best[S]: the least that an order of the items S in front pays
    # cost of an item behind each half of the subsets, from which that of a whole subset is added
    low = items // 2
    halves = (1 << low, 1 << (items - low))
    behind_low, behind_high = np.zeros((items, halves[0])), np.zeros((items, halves[1]))
    for item in range(items):
        for subset in range(1, halves[0]):
            bit = 0
            while not (subset >> bit) & 1:
                bit += 1
            behind_low[item, subset] = behind_low[item, subset & (subset - 1)] + costs[bit, item]
        for subset in range(1, halves[1]):
            bit = 0
            while not (subset >> bit) & 1:
                bit += 1
            cost_of_rest = behind_high[item, subset & (subset - 1)]
            behind_high[item, subset] = cost_of_rest + costs[low + bit, item]
    for subset in range(count):
        cost_so_far = best[subset]
        for item in range(items):
            if (subset >> item) & 1:
                continue
            # `item` behind all of S
            paid = cost_so_far + behind_low[item, subset & (halves[0] - 1)]
            paid += behind_high[item, subset >> low]
            whole = subset | (1 << item)
            if paid < best[whole]:
                best[whole], last[whole] = paid, item
    order, subset = np.empty(items, np.int64), count - 1
    for place in range(items - 1, -1, -1):
        order[place] = last[subset]
        subset ^= 1 << order[place]
    return order


@compiled()
@no_type_check
def _cycle_packing(wins: np.ndarray) -> float:
    """Cost of 3-cycles that share no part of a margin: each costs its least margin."""
    remaining, total = wins.copy(), 0.0
    items = len(remaining)
    for i in range(items):
        for j in range(items):
            for k in range(items):
                # an order breaks one of the three
                least = min(remaining[i, j], remaining[j, k], remaining[k, i])
                if least > 0.0:
                    remaining[i, j] -= least
                    remaining[j, k] -= least
                    remaining[k, i] -= least
                    total += least
    return total
