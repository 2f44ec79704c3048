"""Shapley values: efficiency, symmetry, additive games, and the coverage of sampled intervals."""

import numpy as np
import pytest

from shuffleproof.core.metrics.shapley import PAIRS, exact, sampled
from shuffleproof.core.seeds import generator

PLAYERS = 7


@pytest.fixture(scope="module")
def game():
    """A game with products of two and three players, whose coalitions have arbitrary values."""
    draw = generator(3, "a game")
    pairs, triples = draw.normal(size=(PLAYERS,) * 2), draw.normal(size=(PLAYERS,) * 3)

    def value(takes_part):
        part = takes_part.astype(float)
        linear = np.einsum("ci,cj,ij->c", part, part, pairs)
        return 0.5 + linear + np.einsum("ci,cj,ck,ijk->c", part, part, part, triples)

    return value


def test_exact_values_are_means_over_all_orders(game):
    from itertools import permutations

    gains = np.zeros(PLAYERS)
    orders = list(permutations(range(PLAYERS)))
    part = np.zeros((len(orders), PLAYERS), dtype=bool)
    for step in range(PLAYERS):
        before = game(part)
        joins = [order[step] for order in orders]
        part[np.arange(len(orders)), joins] = True
        np.add.at(gains, joins, game(part) - before)
    assert exact(game, PLAYERS).effects == pytest.approx(gains / len(orders), abs=1e-10)


@pytest.mark.parametrize("players", [0, 1, 2, 12])
def test_exact_values_of_an_additive_game_are_its_weights(players):
    weights = np.arange(players) + 1.0
    found = exact(lambda takes_part: takes_part @ weights, players)
    assert found.effects == pytest.approx(weights)
    assert not found.half_widths.any()


def test_values_add_up_to_the_worth_of_all_players(game):
    for found in (exact(game, PLAYERS), sampled(game, PLAYERS, generator(0))):
        assert found.effects.sum() == pytest.approx(found.whole - found.empty, abs=1e-12)
        ends = game(np.array([[False] * PLAYERS, [True] * PLAYERS]))
        assert (found.empty, found.whole) == pytest.approx(tuple(ends))


def test_equal_players_have_equal_values_and_an_idle_one_has_none():
    def value(takes_part):
        return (takes_part[:, 0] | takes_part[:, 1]) * (1.0 + takes_part[:, 2])

    found = exact(value, 4)
    assert found.effects[0] == pytest.approx(found.effects[1])
    assert found.effects[3] == 0


@pytest.mark.parametrize("pairs", [PAIRS, 2 * PAIRS])
def test_sampled_intervals_hold_the_exact_values_in_93_percent_of_seeded_runs(game, pairs):
    values, inside = exact(game, PLAYERS).effects, []
    for seed in range(200):
        found = sampled(game, PLAYERS, generator(seed, "run"), pairs)
        inside.append(np.abs(found.effects - values) <= found.half_widths)
    assert 0.93 <= np.mean(inside) < 1
