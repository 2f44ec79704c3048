"""Aggregators of preferences beside the same definitions in plain Python, and their ceilings."""

from collections.abc import Callable
from functools import partial

import numpy as np

from shuffleproof.core.aggregate.consistency import triads
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.oracle import PaidPairs
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.aggregate.registry import Terms, aggregate
from shuffleproof.core.bench.result import BenchRow, comparison_row, interleave
from shuffleproof.core.seeds import generator

Rows = list[list[float]]
BATCH = 20
"""Orders timed at once, both ours and the peer's, where one takes less than a millisecond."""


def preferences(quick: bool = False) -> list[BenchRow]:  # noqa: FBT001, FBT002 (every job's form)
    """GOA, Gain, SOP and QuickSort of 1,000 items (200 when quick); triads and Kemeny's order."""
    items = 200 if quick else 1_000
    pairs = _tournament(items)
    rows = pairs.values.tolist()
    start = Terms().task(PaidPairs.all_of(pairs.weights), None).random_order(0).tolist()
    plain: dict[str, tuple[Callable[[], list[int]], float, int]] = {
        "goa": (lambda: _goa(rows), 40.0, 1),
        "gain": (lambda: _gain(rows), 40.0, 1),
        "sop": (lambda: _sop(rows), 40.0, 1),
        "quicksort": (lambda: _quicksort(rows, start), 10.0, BATCH),
    }
    bench_rows = []
    for name, (peer, floor, times) in plain.items():
        if aggregate(name, pairs).order.tolist() != peer():
            message = f"{name} differs from its definition"
            raise AssertionError(message)
        order = partial(_repeated, partial(aggregate, name, pairs), times)
        ours, theirs = interleave(order, partial(_repeated, peer, times), repeats=3)
        job = f"{name} n = {items}" + (f", {times} orders" if times > 1 else "")
        floor_here = None if quick else floor
        bench_rows.append(comparison_row(job, (ours, theirs), "plain Python", floor_here))
    small, large = _tournament(15), _tournament(100)
    beaten = np.nan_to_num(pairs.values) > 0.5
    holes = beaten.copy()
    holes[0, 1] = holes[1, 0] = False
    ceilings: dict[str, tuple[Callable[[], object], float]] = {
        f"cyclic triads n = {items}": (lambda: triads(beaten), 0.02),
        f"cyclic triads n = {items}, a pair missing": (lambda: triads(holes), 0.02),
        "kemeny n = 15, exact": (lambda: kemeny(small.weights), 0.05),
        "kemeny n = 100, search and bound": (lambda: kemeny(large.weights), 2.0),
    }
    for job, (work, ceiling) in ceilings.items():
        (seconds,) = interleave(work, repeats=5)
        bench_rows.append(
            comparison_row(job, (seconds, ceiling), "our ceiling", None if quick else 1.0)
        )
    return bench_rows


def _repeated(work: Callable[[], object], times: int) -> None:
    for _ in range(times):
        work()


def _tournament(items: int) -> Pairs:
    upper = np.triu(generator(7, "bench", "preferences", items).random((items, items)), 1)
    values = upper + np.tril(1 - upper.T, -1)
    np.fill_diagonal(values, np.nan)
    return Pairs(values, np.ones((items, items)))


def _gains(rows: Rows) -> list[float]:
    places = range(len(rows))
    return [sum(rows[i][j] - rows[j][i] for j in places if i != j) for i in places]


def _gain(rows: Rows) -> list[int]:
    points = _gains(rows)
    return sorted(range(len(rows)), key=lambda i: -points[i])


def _goa(rows: Rows) -> list[int]:
    potential, left, order = _gains(rows), list(range(len(rows))), []
    while left:
        best = max(left, key=lambda i: potential[i])
        left.remove(best)
        order.append(best)
        for i in left:
            potential[i] += rows[best][i] - rows[i][best]
    return order


def _sop(rows: Rows) -> list[int]:
    places = range(len(rows))
    points = [sum(rows[i][j] / (rows[i][j] + rows[j][i]) for j in places if i != j) for i in places]
    return sorted(places, key=lambda i: -points[i])


def _quicksort(rows: Rows, items: list[int]) -> list[int]:
    if len(items) < 2:
        return items
    pivot = items[0]
    before: list[int] = []
    after: list[int] = []
    for i in items[1:]:
        (before if rows[i][pivot] > rows[pivot][i] else after).append(i)
    return [*_quicksort(rows, before), pivot, *_quicksort(rows, after)]


JOBS: dict[str, Callable[[bool], list[BenchRow]]] = {"preferences": preferences}
