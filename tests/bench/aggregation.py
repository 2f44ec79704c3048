"""Aggregation of preferences: next to plain Python, evalica, and a time limit."""

import evalica
import numpy as np

from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.oracle import PaidPairs
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.aggregate.registry import Terms, aggregate
from shuffleproof.core.aggregate.scores import bradley_terry
from shuffleproof.core.seeds import generator
from tests.bench.row import Row, interleave


def aggregation(*, quick: bool) -> list[Row]:
    """GOA, QuickSort, Bradley–Terry and Kemeny's order of random tournaments."""
    items = 200 if quick else 1_000
    pairs = tournament(items)
    rows = pairs.values.tolist()
    start = Terms().task(PaidPairs.all_of(pairs.weights), None).random_order(0).tolist()
    assert aggregate("goa", pairs).order.tolist() == goa(rows)
    assert aggregate("quicksort", pairs).order.tolist() == quicksort(rows, start)
    potential, plain = interleave(lambda: aggregate("goa", pairs), lambda: goa(rows), repeats=3)
    # One order takes less than a millisecond.
    sorted_, recursive = interleave(
        lambda: [aggregate("quicksort", pairs) for _ in range(20)],
        lambda: [quicksort(rows, start) for _ in range(20)],
        repeats=3,
    )
    large = tournament(100).weights
    (searched,) = interleave(lambda: kemeny(large), repeats=3)
    return [
        Row(f"GOA, n={items}", potential, plain, "plain Python", 40.0),
        Row(f"QuickSort, n={items}, 20 orders", sorted_, recursive, "plain Python", 10.0),
        strengths(50 if quick else 200),
        Row("Kemeny, n=100, search and bound", searched, 2.0, "limit", 1.0),
    ]


def strengths(items: int) -> Row:
    """Bradley–Terry strengths of a full table of wins, next to evalica's Newman iteration."""
    wins = generator(0, "bench", "wins").integers(1, 9, (items, items)).astype(float)
    np.fill_diagonal(wins, 0)
    left, right = (side.tolist() for side in np.nonzero(wins))
    weights = wins[left, right].tolist()
    winners = [evalica.Winner.X] * len(left)

    def theirs() -> np.ndarray:
        found = evalica.newman(left, right, winners, weights=weights, tolerance=1e-12, limit=1000)
        return np.log(found.scores.sort_index().to_numpy())

    difference = bradley_terry(wins, prior=0.0) - theirs()
    np.testing.assert_allclose(difference, difference.mean(), atol=1e-5)
    ours, peer = interleave(lambda: bradley_terry(wins, prior=0.0), theirs)
    return Row(f"Bradley–Terry, n={items}", ours, peer, "evalica.newman", None)


def tournament(items: int) -> Pairs:
    """A preference between every two items, drawn evenly."""
    upper = np.triu(generator(7, "bench", "preferences", items).random((items, items)), 1)
    values = upper + np.tril(1 - upper.T, -1)
    np.fill_diagonal(values, np.nan)
    return Pairs(values, np.ones((items, items)))


def goa(rows: list[list[float]]) -> list[int]:
    """The greedy order by definition: take the item of largest potential, update the others."""
    left, order = list(range(len(rows))), []
    potential = [sum(rows[i][j] - rows[j][i] for j in left if i != j) for i in left]
    while left:
        best = max(left, key=lambda i: potential[i])
        left.remove(best)
        order.append(best)
        for i in left:
            potential[i] += rows[best][i] - rows[i][best]
    return order


def quicksort(rows: list[list[float]], items: list[int]) -> list[int]:
    """QuickSort with the first item as the pivot."""
    if len(items) < 2:
        return items
    pivot = items[0]
    before, after = [], []
    for i in items[1:]:
        (before if rows[i][pivot] > rows[pivot][i] else after).append(i)
    return [*quicksort(rows, before), pivot, *quicksort(rows, after)]
