"""Shapley values of a game: exact for few players, sampled with intervals for more.

Shapley, *A value for n-person games*, 1953. Pairs of opposite orders: Mitchell, Cooper, Frank &
Holmes, JMLR 23, 2022.
"""

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np
import scipy.special
from jaxtyping import Bool, Float64

EXACT = 12
"""Most players whose 2ⁿ coalitions are all valued."""

PAIRS = 16
"""Pairs of orders of sampled values; fewer give intervals that are too short."""

Game = Callable[[Bool[np.ndarray, "coalitions players"]], Float64[np.ndarray, " coalitions"]]
"""Value of each coalition; True: the player takes part."""


class ShapleyValues(NamedTuple):
    """Values of players, which add up to `whole − empty`, and half of their 95 % intervals."""

    effects: Float64[np.ndarray, " players"]
    half_widths: Float64[np.ndarray, " players"]
    empty: float
    whole: float


def exact(game: Game, players: int) -> ShapleyValues:
    """Values from all 2ⁿ coalitions.

    >>> exact(lambda takes_part: takes_part[:, 0] * takes_part[:, 1] + 4.0 * takes_part[:, 2],
    ...       players=3).effects.tolist()
    [0.5, 0.5, 4.0]
    """
    coalitions = np.arange(2**players)
    takes_part = (coalitions[:, None] >> np.arange(players) & 1).astype(bool)
    worth, sizes = game(takes_part), takes_part.sum(axis=1)
    # Weight of a coalition of s others: s! (n − s − 1)! / n!
    weights = np.array([1 / (players * comb(players - 1, size)) for size in range(players)])
    effects = np.zeros(players)
    for player in range(players):
        without = coalitions[~takes_part[:, player]]
        gains = worth[without | 1 << player] - worth[without]
        effects[player] = weights[sizes[without]] @ gains
    return ShapleyValues(effects, np.zeros(players), float(worth[0]), float(worth[-1]))


def sampled(
    game: Game, players: int, generator: np.random.Generator, pairs: int = PAIRS
) -> ShapleyValues:
    """Mean gains over random orders in which the players join, each also reversed.

    The gains of one order add up to `whole − empty`, and so do the values. An interval is that of
    Student's t over the pairs of opposite orders.
    """
    drawn = generator.permuted(np.tile(np.arange(players), (pairs, 1)), axis=1)
    place = np.argsort(np.concatenate([drawn, drawn[:, ::-1]]), axis=1)
    # Coalition k of an order: its first k players
    first = place[:, None, :] < np.arange(1, players)[:, None]
    ends = np.repeat([[False], [True]], players, axis=1)
    empty, whole, *inner = game(np.concatenate([ends, first.reshape(-1, players)]))
    steps = np.reshape(inner, (len(place), players - 1))
    gains = np.diff(steps, axis=1, prepend=empty, append=whole)
    of_player = np.take_along_axis(gains, place, axis=1)
    of_pair = (of_player[:pairs] + of_player[pairs:]) / 2
    error = of_pair.std(axis=0, ddof=1) / np.sqrt(pairs)
    half_widths = scipy.special.stdtrit(pairs - 1.0, 0.975) * error
    return ShapleyValues(of_pair.mean(axis=0), half_widths, float(empty), float(whole))
