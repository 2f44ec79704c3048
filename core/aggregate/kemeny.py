"""Kemeny's order: the one that contradicts the preferences least, with a bound.

An order pays w(j, i) for each pair that it puts i above j in. Strongly connected components of the
majority are ordered one after the other; up to 20 items exactly over all subsets, larger
ones by local search with the least that any order pays beside: what cycles cost that share no part
of a margin, and up to 40 items with HiGHS (the extra `kemeny`) the linear programme whose 3-cycles
are forbidden where they occur. The order is exact where it pays no more than the bound, as it does
where the programme's solution is whole.
"""

from dataclasses import dataclass
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.aggregate import kernels, scores
from shuffleproof.core.aggregate.voting import local_search
from shuffleproof.core.compiled import compiled
from shuffleproof.core.seeds import generator

SUBSETS = 20
RELAXED = 40
ROUNDS = 60
ROWS = 3_000
"""Forbidden cycles that a linear programme is given at most."""
THROUGH = 2
"""Cycles through a pair that are forbidden in a round."""

PACKINGS = 10
"""Orders in which cycles are taken; the best counts."""

NEAR = 1e-6
HIGHS, CYCLES = "linear programme", "cycles that share no margin"


@dataclass(frozen=True)
class Kemeny:
    """An order with what it pays.

    Attributes:
        order: items, the best first.
        cost: Σ w(j, i) over the pairs that it puts i above j in.
        bound: no order pays less.
        exact: whether none does.
        how: what the bound comes from.
    """

    order: Int64[np.ndarray, " items"]
    cost: float
    bound: float
    exact: bool
    how: str


def has_highs() -> bool:
    """Whether `highspy` is installed."""
    from importlib.util import find_spec  # noqa: PLC0415 (who asks for a bound waits for it)

    return find_spec("highspy") is not None


def kemeny(weights: Float64[np.ndarray, "items items"], *, highs: bool | None = None) -> Kemeny:
    """The best order found, and the least that any order pays.

    Args:
        weights: w(i, j) ≥ 0 of i above j; NaN without a preference, which costs nothing.
        highs: whether to use HiGHS; None: where it is installed.
    """
    highs = has_highs() if highs is None else highs
    gaps = kernels.margins(weights)
    least = float(np.nan_to_num(np.minimum(weights, weights.T)).sum()) / 2
    orders, extra, paid, ways = [], 0.0, 0.0, set[str]()
    for part in scores.ordered_components(weights):
        order, cost, bound, how = _component(gaps[np.ix_(part, part)], highs=highs)
        orders.append(part[order])
        extra, paid = extra + bound, paid + cost
        ways |= {how} if bound < cost - NEAR else set()
    best_order = np.concatenate(orders) if orders else np.zeros(0, np.int64)
    return Kemeny(best_order, least + paid, least + extra, not ways, ", ".join(sorted(ways)))


def _component(gaps: np.ndarray, *, highs: bool) -> tuple[np.ndarray, float, float, str]:
    """Order, what it pays above the least of each pair, a bound of it and what that comes from."""
    items = len(gaps)
    if items < 3:
        return np.arange(items), 0.0, 0.0, ""
    if items <= SUBSETS:
        order = _by_subsets(np.maximum(-gaps, 0.0))
        cost = _cost_of(gaps, order)
        return order, cost, cost, ""
    start = kernels.goa(gaps)
    order = min(
        (_local_search(gaps, permutation) for permutation in (start, start[::-1])),
        key=lambda o: _cost_of(gaps, o),
    )
    cost = _cost_of(gaps, order)
    draws = (generator(0, "kemeny", draw).permutation(items) for draw in range(PACKINGS))
    packed = max(
        float(_cycle_packing(np.maximum(gaps[np.ix_(permutation, permutation)], 0.0)))
        for permutation in draws
    )
    if not highs or items > RELAXED or packed >= cost - NEAR:
        return order, cost, packed, CYCLES
    better, bound = _Programme(gaps).solved(order, cost)
    return better, _cost_of(gaps, better), max(bound, packed), HIGHS if bound > packed else CYCLES


def _cost_of(gaps: np.ndarray, order: np.ndarray) -> float:
    """Margins that an order goes against."""
    ordered = gaps[np.ix_(order, order)]
    return float(np.maximum(-np.triu(ordered, 1), 0.0).sum())


def _local_search(gaps: np.ndarray, start: np.ndarray) -> np.ndarray:
    """An order that no move of one item improves."""
    return local_search(gaps, np.ascontiguousarray(start))


@compiled()
@no_type_check
def _by_subsets(costs: np.ndarray) -> np.ndarray:  # noqa: C901 (one loop that Numba compiles)
    """The cheapest order, by the cheapest order of every subset in front: O(2ⁿ n)."""
    items = len(costs)
    count = 1 << items
    best, last = np.full(count, np.inf), np.zeros(count, np.int8)
    best[0] = 0.0
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
    """What 3-cycles cost that share no part of a margin: each pays its least margin."""
    remaining, total = wins.copy(), 0.0
    items = len(remaining)
    for i in range(items):
        for j in range(items):
            for k in range(items):
                least = min(remaining[i, j], remaining[j, k], remaining[k, i])
                if least > 0.0:
                    remaining[i, j] -= least
                    remaining[j, k] -= least
                    remaining[k, i] -= least
                    total += least
    return total


@compiled()
@no_type_check
def _violated_triples(
    above: np.ndarray, least: float, shuffled: np.ndarray, limit: int
) -> np.ndarray:
    """Triples i < j < k with x_ij + x_jk − x_ik outside [0, 1], `limit` through a pair at most."""
    items = len(above)
    triples = np.empty((limit * items * items, 3), np.int64)
    used = np.zeros((items, items), np.int64)
    count = 0
    for excess in (0.5, 0.1, least):
        for i in shuffled:
            for j in shuffled:
                if j == i:
                    continue
                for k in shuffled:
                    # each triple once: by the item of its cycle that was drawn first
                    if k in (i, j):
                        continue
                    if above[i, j] + above[j, k] + above[k, i] < 2 + excess:
                        continue
                    low, high = min(i, j, k), max(i, j, k)
                    middle = i + j + k - low - high
                    if max(used[low, middle], used[middle, high], used[low, high]) >= limit:
                        continue
                    used[low, middle] += 1
                    used[middle, high] += 1
                    used[low, high] += 1
                    triples[count] = low, middle, high
                    count += 1
    return triples[:count]


class _Programme:
    """x_ij = 1 where i < j and i stands above j: linear ordering with lazily forbidden 3-cycles."""

    def __init__(self, gaps: np.ndarray) -> None:
        import highspy  # noqa: PLC0415 (an optional extra)

        self.gaps, self.items = gaps, len(gaps)
        self.rows, self.columns = np.triu_indices(self.items, 1)
        self.number = np.zeros(gaps.shape, np.int32)
        self.number[self.rows, self.columns] = np.arange(len(self.rows))
        costs = -gaps[self.rows, self.columns]
        self.constant = float(np.maximum(-costs, 0.0).sum())
        solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        solver.setOptionValue("output_flag", False)  # noqa: FBT003 (its signature)
        solver.setOptionValue("threads", 1)
        solver.addVars(len(costs), np.zeros(len(costs)), np.ones(len(costs)))
        places = np.arange(len(costs), dtype=np.int32)
        solver.changeColsCost(len(costs), places, costs)
        self.solver = solver

    def solved(self, order: np.ndarray, cost: float) -> tuple[np.ndarray, float]:
        """The best order known and a bound of what orders pay."""
        bound, above = self._relaxation()
        if bound >= cost - NEAR:
            return order, cost
        rounded = _local_search(self.gaps, scores.by_falling_score(above.sum(axis=1)))
        if _cost_of(self.gaps, rounded) < cost:
            order, cost = rounded, _cost_of(self.gaps, rounded)
        return order, min(bound, cost)

    def _relaxation(self) -> tuple[float, np.ndarray]:
        """The linear programme's least and its solution, cycles forbidden as they occur."""
        bound, above = 0.0, np.zeros(self.gaps.shape)
        for _ in range(ROUNDS):
            bound, above = self._run()
            if self.solver.getNumRow() > ROWS or not self._add_cuts(above):
                break
        return bound, above

    def _run(self) -> tuple[float, np.ndarray]:
        self.solver.run()
        values = np.array(self.solver.getSolution().col_value)
        above = np.zeros(self.gaps.shape)
        above[self.rows, self.columns] = values
        above[self.columns, self.rows] = 1.0 - values
        return float(self.solver.getInfo().objective_function_value) + self.constant, above

    def _add_cuts(self, above: np.ndarray) -> bool:
        """Forbid the cycles that a solution holds, the worst first; False: it holds none."""
        drawn = generator(0, "kemeny", self.items).permutation(self.items)
        cycles = np.unique(_violated_triples(above, NEAR, drawn, THROUGH), axis=0)
        if not len(cycles):
            return False
        low, middle, high = cycles.T
        numbers = self.number
        places = np.stack([numbers[low, middle], numbers[middle, high], numbers[low, high]], 1)
        count = len(cycles)
        self.solver.addRows(
            count, np.zeros(count), np.ones(count), 3 * count,
            np.arange(0, 3 * count, 3, dtype=np.int32), places.reshape(-1).astype(np.int32),
            np.tile([1.0, 1.0, -1.0], count),
        )  # fmt: skip
        return True
