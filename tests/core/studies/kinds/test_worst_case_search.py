"""Worst-case search: planted swaps, exhaustive search as the oracle, budgets, certificates."""

from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np
import pytest

from shuffleproof.core.perturb import worst_case
from shuffleproof.core.perturb.search import METHODS, UNITS, Search
from shuffleproof.core.perturb.worst_case import search
from shuffleproof.core.perturb.worst_moves import (
    exchanges,
    hashes,
    inversions,
    moves_of,
    usable_moves,
)
from shuffleproof.core.progress import run_to_end

LENGTHS = (6, 0, 1, 2, 6, 5)
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
DISTANCE = {"inversions": inversions, "exchanges": exchanges}


@dataclass
class Table:
    """An objective with a random value for every order of every list: no structure to lean on."""

    seed: int = 0

    def of(self, index, order):
        if len(order) < 2:
            return 0.5
        code = 12_345 + self.seed * 1_000 + index
        for document in order.tolist():
            code = (code * 1_103_515_245 + 12_345 + 7_919 * document) % (1 << 31)
        return code / (1 << 31)

    def __call__(self, orders):
        values = np.array(
            [
                [
                    self.of(index, order[low:high] - low)
                    for index, (low, high) in enumerate(pairwise(OFFSETS))
                ]
                for order in orders
            ]
        )
        return values, values


def found(method, unit, budget, objective, offsets=OFFSETS, **more):
    wanted = Search(method=method, unit=unit, budget=budget, **more)
    return run_to_end(search(offsets, objective, wanted))


def exhausted(unit, budget, index, length, objective):
    bounds = np.array([0, length])
    listed = list(permutations(range(length)))
    every = np.array(listed, dtype=np.int64).reshape(len(listed), length)
    near = DISTANCE[unit](every, bounds)[:, 0] <= budget
    return min(objective.of(index, order) for order in every[near])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("budget", [0, 1, 2, 3])
def test_a_wide_beam_finds_what_exhaustive_search_finds(unit, budget):
    objective = Table()
    worst = found("beam", unit, budget, objective, width=800, candidates=99)
    for index, length in enumerate(LENGTHS):
        for within in range(budget + 1):
            expected = exhausted(unit, within, index, length, objective)
            assert worst.values[within, index] == expected


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_search_beats_exhaustive_search_and_budgets_are_kept(unit, method, seed):
    objective = Table(seed)
    worst = found(method, unit, 4, objective)
    distances = DISTANCE[unit](worst.orders, OFFSETS)
    for budget in range(5):
        assert np.all(distances[budget] <= budget)
        for index, length in enumerate(LENGTHS):
            low, high = OFFSETS[index], OFFSETS[index + 1]
            order = worst.orders[budget, low:high] - low
            assert sorted(order) == list(range(length))
            value = objective.of(index, order)
            assert worst.values[budget, index] == value
            assert value >= exhausted(unit, budget, index, length, objective)
    assert np.all(np.diff(worst.values, axis=0) <= 0)
    assert np.array_equal(worst.orders[0], np.arange(OFFSETS[-1]))


def test_a_step_stays_inside_its_list_and_inverts_only_what_stands_in_order():
    moves, offsets = moves_of("inversions", 3), np.array([0, 3, 5])
    states = np.array([[0, 1, 2, 3, 4], [0, 2, 1, 4, 3]])
    alive = np.array([[True, True], [True, False]])
    tried = np.array([[0, 0], [1, 1]])  # [moves, lists]
    found = usable_moves(states, alive, tried, moves, offsets, "inversions")
    assert found.tolist() == [[[True, True], [True, False]], [[True, False], [False, False]]]
    either = usable_moves(states, alive, tried, moves, offsets, "exchanges")
    assert either.tolist() == [[[True, True], [True, False]], [[True, False], [True, False]]]


@pytest.mark.parametrize(("unit", "asked"), [("exchanges", 1 + 15 + 4), ("inversions", 1 + 5 + 4)])
def test_after_the_first_step_exchanges_are_tried_among_the_candidates(unit, asked):
    def objective(orders):
        """The worse, the later the first document stands."""
        values = 1.0 - np.argmin(orders, axis=1)[:, None] / 6
        return values, values

    assert found("greedy", unit, 2, objective, np.array([0, 6]), candidates=4).evaluated == asked


@pytest.mark.parametrize("unit", UNITS)
def test_greedy_takes_the_worst_step_each_time(unit):
    weights = np.random.default_rng(0).normal(size=(20, 20))

    def objective(orders):
        values = weights[np.arange(20), orders].sum(axis=1)[:, None]
        return values, values

    offsets = np.array([0, 20], dtype=np.int64)
    worst = found("greedy", unit, 5, objective, offsets, candidates=190)
    order, moves = np.arange(20), moves_of(unit, 20)
    best = [objective(order[None])[0][0, 0]]
    for _ in range(5):
        tried = np.tile(order, (len(moves.left), 1))
        every = np.arange(len(tried))
        tried[every, moves.left], tried[every, moves.right] = order[moves.right], order[moves.left]
        values = objective(tried)[0][:, 0]
        if unit == "inversions":
            values[order[moves.left] > order[moves.right]] = np.inf
        order = tried[np.argmin(values)]
        best.append(min(best[-1], values.min()))
    assert np.allclose(worst.values[:, 0], best)


def test_only_the_first_places_take_part():
    worst = found("beam", "exchanges", 3, Table(), places=3)
    moved = worst.orders[3] != np.arange(OFFSETS[-1])
    place = np.arange(OFFSETS[-1]) - np.repeat(OFFSETS[:-1], LENGTHS)
    assert moved.any()
    assert np.all(place[moved] < 3)


def test_hashes_tell_orders_apart():
    every = np.array(list(permutations(range(6))), dtype=np.int64)
    keys = hashes(every, np.array([0, 6]))[:, 0]
    assert len(set(keys.tolist())) == 720
    twice = np.array([[0, 1, 3, 2], [0, 1, 2, 3]])
    first, second = hashes(twice, np.array([0, 2, 4])).T
    assert first[0] == first[1]
    assert second[0] != second[1]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
def test_a_search_ends_when_nothing_can_be_worse_and_finds_the_same(unit, method, monkeypatch):
    """Budgets beyond every order: the values are those of a budget that just covers them."""
    objective, rounds = Table(), []

    def counted(orders):
        rounds.append(len(orders))
        return objective(orders)

    huge = found(method, unit, 10_000, counted)
    never = lambda _, keys: np.zeros(keys.shape[1], bool)  # noqa: E731
    monkeypatch.setattr(worst_case, "repeated_orders", never)
    whole = found(method, unit, 40, objective)
    assert len(rounds) < 40  # 15 pairs of the longest list; exchanges soon come back
    last = min(len(huge.values), len(whole.values))
    np.testing.assert_array_equal(huge.values[:last], whole.values[:last])
    np.testing.assert_array_equal(huge.values[-1], whole.values[-1])
    np.testing.assert_array_equal(huge.orders[-1], whole.orders[-1])


def test_a_list_at_the_floor_is_done():
    offsets, asked = np.array([0, 30], dtype=np.int64), []

    def objective(orders):
        """0 as soon as the first document is not first."""
        asked.append(len(orders))
        values = (orders[:, 0] == 0).astype(np.float64)[:, None]
        return values, values

    wanted = Search(budget=400)
    worst = run_to_end(search(offsets, objective, wanted, floor=0.0))
    assert worst.values[[0, 1, -1], 0].tolist() == [1, 0, 0]
    assert len(asked) == 2
