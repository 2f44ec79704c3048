"""The order that hurts most within a budget: greedy or by a beam, over all lists at once.

An order is an arrangement (entry p = old place of the document at place p, over all lists). A
step is an exchange of neighbours that adds one inversion (unit `inversions`: Kendall distance),
or an exchange of any two places (unit `exchanges`: Cayley distance). Each round hands the orders
of all candidate steps of all lists to the objective together.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from shuffleproof.core.data import ragged
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.perturb.worst_moves import (
    NONE,
    apply_swaps,
    hashes,
    moves_of,
    repeated_orders,
    usable_moves,
)  # fmt: skip

Orders = Int64[np.ndarray, "orders places"]
Objective = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Orders → values and guides [orders, lists]. The search minimises the values; guides are values
without plateaus, and decide the steps."""


@dataclass(frozen=True, eq=False)
class WorstOrders:
    """The worst orders found.

    Attributes:
        values: least value of each list within a budget of 0, 1, … steps, up to the most that
            there can be: a larger budget has the last row.
        orders: the order that has it.
        evaluated: orders of one list that were handed to the objective, over all lists.
    """

    values: Float64[np.ndarray, "budgets lists"]
    orders: Int64[np.ndarray, "budgets places"]
    evaluated: int


def search(
    offsets: Int64[np.ndarray, " bounds"],
    objective: Objective,
    wanted: Search,
    floor: float = -np.inf,
) -> Generator[int, None, WorstOrders]:
    """Search the worst orders; yields the finished rounds, returns the result.

    Greedy is a beam of one.

    A list is done when nothing can be worse: its value is the floor, every pair is inverted, or its
    orders repeat those of an earlier round.

    Args:
        offsets: bounds of the lists.
        objective: what an order is worth to each list.
        wanted: method, unit and budget.
        floor: the least value there is.
    """
    lengths = np.diff(offsets)
    moves = moves_of(wanted.unit, min(int(lengths.max(initial=0)), wanted.places))
    states = np.arange(int(offsets[-1]))[None]
    alive = (lengths > 1)[None]
    rounds = most_rounds(offsets, wanted)
    best = _Best(offsets, rounds, objective(states)[0][0])
    seen_orders: list[set[bytes]] = [set() for _ in lengths]
    evaluated, width = len(lengths), 1 if wanted.method == "greedy" else wanted.width
    tried = np.tile(np.arange(len(moves.left))[:, None], (1, len(lengths)))
    for step in range(1, rounds + 1):
        usable = usable_moves(states, alive, tried, moves, offsets, wanted.unit)
        if not usable.any():
            break
        orders = apply_swaps(states, tried, usable, moves, offsets)
        values, guides = objective(orders)
        evaluated += int(usable.sum())
        flat = usable.reshape(-1, len(lengths))
        # Unusable steps are +∞, so a minimum never picks them
        values, guides = (np.where(flat, numbers, np.inf) for numbers in (values, guides))
        # O(n²) exchanges a round are too many: later rounds try the most harmful first steps
        if step == 1 and wanted.unit == "exchanges" and len(tried) > wanted.candidates:
            tried = np.argsort(guides, axis=0, kind="stable")[: wanted.candidates]
        # 64-bit keys instead of orders: comparisons cost one word a list
        keys = hashes(orders, offsets)
        picked = _best_guided(guides, keys, width)
        alive = picked != NONE
        # Finished lists (NONE = −1) take order 0, which is never recorded
        states = _gathered_orders(orders, np.maximum(picked, 0), best.owner)
        for index, order in enumerate(states):
            reached = np.take_along_axis(values, np.maximum(picked[index], 0)[None], axis=0)[0]
            best.take(step, np.where(alive[index], reached, np.inf), order)
        # At the floor (a measure of 0) nothing can be worse
        alive &= best.values[: step + 1].min(axis=0) > floor
        if wanted.unit == "exchanges":  # inversions only add up: no order comes back
            alive &= ~repeated_orders(
                seen_orders, np.take_along_axis(keys, np.maximum(picked, 0), axis=0)
            )
        yield step
    return best.within(evaluated)


class _Best:
    """The least values seen, by steps used, and the orders that have them."""

    def __init__(self, offsets: np.ndarray, budget: int, values: np.ndarray) -> None:
        self.owner = ragged.segment_ids(offsets)
        self.values = np.full((budget + 1, len(offsets) - 1), np.inf)
        self.values[0] = values
        self.orders = np.tile(np.arange(int(offsets[-1])), (budget + 1, 1))

    def take(self, steps: int, values: np.ndarray, order: np.ndarray) -> None:
        """Keep orders that are worse than all earlier ones with this number of steps."""
        better = values < self.values[steps]
        self.values[steps, better] = values[better]
        inside = better[self.owner]
        self.orders[steps, inside] = order[inside]

    def within(self, evaluated: int) -> WorstOrders:
        """The worst orders with at most, instead of exactly, each number of steps."""
        for budget in range(1, len(self.values)):
            # Fewer steps may do more harm; the curve over budgets never rises
            carried = self.values[budget - 1] <= self.values[budget]
            self.values[budget, carried] = self.values[budget - 1, carried]
            inside = np.flatnonzero(carried[self.owner])
            self.orders[budget, inside] = self.orders[budget - 1, inside]
        return WorstOrders(self.values, self.orders, evaluated)


def most_rounds(offsets: Int64[np.ndarray, " bounds"], wanted: Search) -> int:
    """The rounds of a search at most: steps, no more than there are pairs.

    >>> most_rounds(np.array([0, 3, 5]), Search(budget=10_000))
    3
    """
    if wanted.unit == "exchanges":
        return wanted.budget
    longest = int(np.diff(offsets).max(initial=0))
    # No order has more inversions than there are pairs
    pairs = longest * (longest - 1) // 2
    return min(wanted.budget, max(pairs, 1))


def _best_guided(
    guides: Float64[np.ndarray, "orders lists"],
    keys: UInt64[np.ndarray, "orders lists"],
    width: int,
) -> Int64[np.ndarray, "width lists"]:
    """For each list its best guided orders, none twice; NONE where there are fewer."""
    if width == 1:
        lowest = np.argmin(np.where(np.isfinite(guides), guides, np.inf), axis=0)
        exists = np.isfinite(np.take_along_axis(guides, lowest[None], axis=0))
        return np.where(exists, lowest[None], NONE)
    best = np.full((width, guides.shape[1]), NONE, dtype=np.int64)
    for index in range(guides.shape[1]):
        # A stable sort: equal guides keep move order, so searches repeat exactly
        order = np.argsort(guides[:, index], kind="stable")
        order = order[np.isfinite(guides[order, index])]
        _, earliest = np.unique(keys[order, index], return_index=True)
        # `np.unique` sorts by key; sorting its first indexes restores the order by guide
        distinct = order[np.sort(earliest)][:width]
        best[: len(distinct), index] = distinct
    return best[: max(1, int((best != NONE).sum(axis=0).max(initial=0)))]


def _gathered_orders(
    orders: Orders, picked: np.ndarray, owner: np.ndarray
) -> Int64[np.ndarray, "chosen places"]:
    """Orders put together list by list from those chosen."""
    if not orders.shape[1]:
        return orders[: len(picked)]
    return orders[picked[:, owner], np.arange(orders.shape[1])]
