"""Disturbances of preferences: exactly what they say, and nothing else."""

from math import ceil

import numpy as np
import pytest

from shuffleproof.core.aggregate import planted
from shuffleproof.core.aggregate.disturbances import DISTURBANCES, calls_at, disturbance
from shuffleproof.core.aggregate.kemeny import kemeny
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.seeds import generator

PAIRS = planted.planted_preferences().pairs(3)
BEST = kemeny(PAIRS.weights).order
CHANGING = [name for name, entry in DISTURBANCES.items() if entry.make]


def variants(name, level, draw=0, pairs=PAIRS):
    return disturbance(name).make(pairs, level, generator(draw, name), BEST)


def upper(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


def turned_pairs(found):
    """Pairs whose two directions changed places."""
    changed = upper((found.values != PAIRS.values) & ~np.isnan(PAIRS.values))
    exact = np.array_equal(
        np.where(found.values != PAIRS.values, PAIRS.values.T, PAIRS.values), found.values,
        equal_nan=True,
    )  # fmt: skip
    assert exact
    return int(changed.sum())


@pytest.mark.parametrize("name", [name for name in CHANGING if name not in {"order", "direction"}])
def test_level_0_changes_nothing_and_a_draw_is_a_draw(name):
    for variant in variants(name, 0.0):
        assert np.array_equal(variant.pairs.values, PAIRS.values, equal_nan=True)
    first, again, other = (variants(name, 0.4, draw)[0].pairs.values for draw in (1, 1, 2))
    assert np.array_equal(first, again, equal_nan=True)
    assert name == "adversarial" or not np.array_equal(first, other, equal_nan=True)


def test_noise_turns_its_share_of_pairs_round():
    counts = [turned_pairs(variants("noise", 0.3, draw)[0].pairs) for draw in range(200)]
    even = int(
        (upper(PAIRS.values) == upper(PAIRS.values.T)).sum()
    )  # turning these changes nothing
    expected = 0.3 * (PAIRS.count - even)
    assert np.mean(counts) == pytest.approx(expected, abs=4 * np.sqrt(expected / 200))


def test_missing_pairs_lose_both_directions_and_their_votes():
    (found,) = variants("missing", 0.5)
    gone = np.isnan(found.pairs.values)
    assert np.array_equal(gone, gone.T)
    assert 0.3 < upper(gone).mean() < 0.7
    assert not found.pairs.votes[gone].any()
    assert found.pairs.count == int((~upper(gone)).sum())


@pytest.mark.parametrize(("level", "triples"), [(0.3, 1), (0.5, 2), (1.0, 4)])
def test_planted_cycles_are_disjoint_circles(level, triples):
    pairs = planted.planted_preferences().pairs(2)  # twelve items
    (found,) = variants("cycles", level, pairs=pairs)
    changed = (found.pairs.values != pairs.values) & ~np.isnan(pairs.values)
    assert len(np.flatnonzero(changed.any(axis=0))) <= 3 * triples
    sure = (found.pairs.values == 1.0).astype(int)
    assert (np.diag(sure @ sure @ sure) > 0).sum() >= 3 * triples


@pytest.mark.parametrize("level", [0.02, 0.1, 0.3])
def test_the_adversary_turns_so_many_pairs_that_were_right(level):
    three = variants("adversarial", level)
    assert len(three) == 3
    place = np.argsort(BEST)
    for variant in three:
        assert turned_pairs(variant.pairs) == ceil(level * PAIRS.count)
        lost = (variant.pairs.values < PAIRS.values) & (place[:, None] < place[None, :])
        assert lost.sum() == ceil(level * PAIRS.count), "only pairs that the best order has right"


def test_one_direction_tells_both():
    (found,) = variants("direction", 1.0)
    values = found.pairs.values
    assert np.allclose(upper(values + values.T), 1.0)
    own = (values == PAIRS.values) | (values == 1.0 - PAIRS.values.T)
    assert own[np.isfinite(values)].all()


def test_another_order_shown_is_the_same_preferences():
    (found,) = variants("order", 1.0)
    assert sorted(found.items) == list(range(PAIRS.items))
    assert not np.array_equal(found.items, np.arange(PAIRS.items))
    back = np.empty_like(PAIRS.values)
    back[np.ix_(found.items, found.items)] = found.pairs.values
    assert np.array_equal(back, PAIRS.values, equal_nan=True)


def test_a_budget_is_a_share_of_the_pairs_there_are():
    assert [calls_at(level, PAIRS) for level in (0.0, 0.001, 0.5, 1.0)] == [0, 1, 60, 120]
    few = Pairs(np.full((3, 3), np.nan), np.zeros((3, 3)))
    assert calls_at(1.0, few) == 0


def test_other_names_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean noise"):
        disturbance("noize")
