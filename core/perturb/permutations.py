"""Permutations of lists: pure functions from lists to new positions.

A permutation is an index array over all candidates: entry p is the old place of the document
that is now at place p, within each list. Place 0 of a list is its best. Places are ranks or input
positions, as `ranking` decides.

Mallows' model, P(order) ∝ exp(−θ · inversions), is set by the expected Kendall τ that it leaves.
The inversions that document i (0-based) adds when inserted are independent, geometric on 0 … i. θ =
0 is the uniform draw, θ = ∞ the old order.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.data.ragged import falling_order

Arrangement = Callable[[np.ndarray, np.ndarray, float, np.random.Generator], np.ndarray]
"""(bounds, falling scores of the places, level, generator) → old place of each place."""


def transposed(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """`level` random pairs of different places, drawn with replacement, exchanged in turn.

    SetRank, Figure 3. On 40 documents 1, 2, 5, 10, 20, 40, 80 exchanges leave a Kendall τ of .93,
    .86, .71, .51, .28, .08, .01.
    """
    places = np.arange(len(scores), dtype=np.int64)
    return _transposed_places(offsets, round(level), generator, places)


def inverted(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """Exactly `level` inversions a list, or all n(n − 1)/2 where that is fewer.

    A random walk from the original order: each step swaps one pair of neighbours that are still in
    their original order, drawn uniformly, and so adds exactly one inversion.
    (Evenly among walks' steps, not among the permutations with that many inversions.)
    """
    places = np.arange(len(scores), dtype=np.int64)
    return _inverted_places(offsets, round(level), generator, places)


def shuffled(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """A share `level` of the places, drawn at random, exchange their documents at random.

    The number of places is rounded half up; level 1 is an even draw from all orders.
    """
    del scores
    return _redrawn(offsets, level, generator, backwards=False)


def turned(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """A share `level` of the places, drawn at random, hold their documents in reverse order.

    The number of places is rounded half up; level 1 turns the whole list round.
    """
    del scores
    return _redrawn(offsets, level, generator, backwards=True)


def mallows(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """An order from Mallows' model whose expected Kendall τ with the old one is `level`.

    P(order) ∝ φ^inversions (Mallows 1957), φ solved for each list length; a negative target is
    the reverse of an order drawn for the positive one. Drawn by repeated insertion (Doignon,
    Pekeč & Regenwetter 2004).
    """
    lengths = np.diff(offsets)
    # θ depends on the list length alone: one bisection a length, not a list
    solved = {length: dispersion(length, abs(level)) for length in set(lengths.tolist())}
    theta = np.array([solved[length] for length in lengths.tolist()], dtype=np.float64)
    depths = insertion_depths(
        ragged.places_of(offsets), np.repeat(theta, lengths), generator.random(len(scores))
    )
    return _inserted_places(offsets, depths, level < 0)


def noisy(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """The order of the scores plus Gaussian noise of `level` standard deviations of the list."""
    lengths = np.diff(offsets)
    filled = lengths > 0
    exact = scores.astype(np.float64)
    deviation = np.zeros(len(lengths))
    starts = offsets[:-1][filled]
    if len(starts):
        mean = np.add.reduceat(exact, starts) / lengths[filled]
        # Float64 and two passes: prior scores may be large and close together
        squares = (exact - np.repeat(mean, lengths[filled])) ** 2
        deviation[filled] = np.sqrt(np.add.reduceat(squares, starts) / lengths[filled])
    noise = generator.standard_normal(len(scores)) * np.repeat(deviation, lengths)
    return falling_order(offsets, exact + level * noise)


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _transposed_places(
    offsets: np.ndarray, exchanges: int, generator: np.random.Generator, places: np.ndarray
) -> np.ndarray:
    for segment in range(len(offsets) - 1):
        low, length = offsets[segment], offsets[segment + 1] - offsets[segment]
        if length < 2:
            continue
        for _ in range(exchanges):
            place = int(generator.random() * length)
            partner = int(generator.random() * (length - 1))
            # Skips the place itself: uniform among the others without rejection
            partner += partner >= place
            document = places[low + place]
            places[low + place] = places[low + partner]
            places[low + partner] = document
    return places


@compiled()
@no_type_check
def _inverted_places(
    offsets: np.ndarray, inversions: int, generator: np.random.Generator, places: np.ndarray
) -> np.ndarray:
    """The places after a random walk of `inversions` swaps of neighbours, in every list."""
    longest = 0
    for segment in range(len(offsets) - 1):
        longest = max(longest, offsets[segment + 1] - offsets[segment])
    # `open_` holds the left places of pairs still in order, `slot` where each is in it:
    # a uniform draw, an insertion and a removal each take constant time
    open_, slot = np.empty(longest, np.int64), np.full(longest, -1)
    for segment in range(len(offsets) - 1):
        low, length = offsets[segment], offsets[segment + 1] - offsets[segment]
        count = max(length - 1, 0)
        for place in range(count):
            open_[place] = slot[place] = place
        for _ in range(min(inversions, length * (length - 1) // 2)):
            left = open_[int(generator.random() * count)]
            document = places[low + left]
            places[low + left] = places[low + left + 1]
            places[low + left + 1] = document
            # A swap changes only its own pair and the pairs that overlap it
            for place in range(max(left - 1, 0), min(left + 2, length - 1)):
                rising = places[low + place] < places[low + place + 1]
                if rising and slot[place] < 0:
                    open_[count] = place
                    slot[place] = count
                    count += 1
                elif not rising and slot[place] >= 0:
                    # Remove by moving the last entry into the gap
                    count -= 1
                    open_[slot[place]] = open_[count]
                    slot[open_[count]] = slot[place]
                    slot[place] = -1
        # The buffer is shared by all lists
        slot[:length] = -1
    return places


def _redrawn(
    offsets: Int64[np.ndarray, " bounds"],
    share: float,
    generator: np.random.Generator,
    *,
    backwards: bool,
) -> Int64[np.ndarray, " places"]:
    """Fisher-Yates draws the places that take part; they are then redrawn or turned round."""
    lengths = np.diff(offsets)
    parts = (share * lengths + 0.5).astype(np.int64)
    # The exact number of draws: the last place of a full Fisher–Yates pass needs none
    draws = np.minimum(parts, np.maximum(lengths - 1, 0)).sum()
    draws += 0 if backwards else np.maximum(parts - 1, 0).sum()
    return _redrawn_places(offsets, parts, generator.random(draws), backwards=backwards)


def _redrawn_places(
    offsets: Int64[np.ndarray, " bounds"],
    parts: Int64[np.ndarray, " segments"],
    draws: Float64[np.ndarray, " draws"],
    *,
    backwards: bool,
) -> Int64[np.ndarray, " places"]:
    """Places that the documents come from; draws are used segment by segment."""
    lengths, lows = np.diff(offsets), offsets[:-1]
    firsts = np.minimum(parts, np.maximum(lengths - 1, 0))
    seconds = 0 * parts if backwards else np.maximum(parts - 1, 0)
    used = ragged.offsets_of(firsts + seconds)[:-1]
    order = np.arange(offsets[-1])
    # Where all places take part, there is nothing to choose
    _exchange(order, lows, lengths, (np.where(parts < lengths, firsts, 0), draws, used))
    takes_part = np.zeros(len(order), dtype=bool)
    takes_part[order[ragged.places_of(offsets) < np.repeat(parts, lengths)]] = True
    chosen, bounds = np.flatnonzero(takes_part), ragged.offsets_of(parts)
    sources = chosen.copy()
    if backwards:  # exactly the places that take part turn round
        starts, ends = (np.repeat(side, parts) for side in (bounds[:-1], bounds[1:]))
        sources = chosen[starts + ends - 1 - np.arange(len(chosen))]
    _exchange(sources, bounds[:-1], parts, (seconds, draws, used + firsts))
    places = np.arange(offsets[-1])
    places[chosen] = sources
    return places


def _exchange(
    values: np.ndarray,
    lows: np.ndarray,
    lengths: np.ndarray,
    steps: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Fisher-Yates steps in all segments at once: their numbers, the draws, and the first draws."""
    counts, draws, used = steps
    active = np.arange(len(lows))
    for place in range(int(counts.max(initial=0))):
        active = active[counts[active] > place]
        here = lows[active] + place
        there = here + (draws[used[active] + place] * (lengths[active] - place)).astype(np.int64)
        values[here], values[there] = values[there], values[here]


@compiled()
@no_type_check
def _inserted_places(offsets: np.ndarray, depths: np.ndarray, backwards: bool) -> np.ndarray:  # noqa: FBT001 (numba: positional)
    """Document i of a list is inserted `depths[i]` places above the end of those before it."""
    places = np.empty(len(depths), np.int64)
    for segment in range(len(offsets) - 1):
        low, high = offsets[segment], offsets[segment + 1]
        for place in range(low, high):
            target = place - depths[place]
            # Repeated insertion (Doignon et al. 2004): documents below the target move down
            for position in range(place, target, -1):
                places[position] = places[position - 1]
            places[target] = place
        if backwards:
            places[low:high] = places[low:high][::-1].copy()
    return places


HIGHEST = 700.0  # exp(−700) is the smallest double above 0 in effect: no inversion at all


def expected_tau(length: int, theta: float) -> float:
    """The expected Kendall τ of a list of this length with the order it was drawn around.

    >>> round(expected_tau(2, float(np.log(3))), 6)  # P(exchanged) = 1/4
    0.5
    """
    if length < 2:
        return 1.0
    sizes = np.arange(2, length + 1, dtype=np.float64)
    # τ = 1 − 4 · inversions / (n(n − 1)); expected inversions are a sum of mean depths
    return float(1 - 4 * _mean_depth(sizes, theta).sum() / (length * (length - 1)))


@lru_cache(maxsize=4096)
def dispersion(length: int, tau: float) -> float:
    """The θ at which lists of this length keep an expected Kendall τ of `tau` in [0, 1].

    >>> round(expected_tau(40, dispersion(40, 0.5)), 9)
    0.5
    """
    if length < 2 or tau >= 1:
        return HIGHEST
    low, high = 0.0, HIGHEST
    for _ in range(80):  # halves 700 to below the spacing of doubles around any answer
        middle = (low + high) / 2
        if expected_tau(length, middle) < tau:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def insertion_depths(
    places: Int64[np.ndarray, " candidates"],
    theta: Float64[np.ndarray, " candidates"],
    uniform: Float64[np.ndarray, " candidates"],
) -> Int64[np.ndarray, " candidates"]:
    """Number of documents each one passes when inserted: geometric on 0 … place, by inversion.

    Args:
        places: the document's place in its list.
        theta: dispersion of its list.
        uniform: one even draw from [0, 1) a document.

    >>> insertion_depths(np.array([0, 1, 2]), np.zeros(3), np.array([0.9, 0.9, 0.5])).tolist()
    [0, 1, 1]
    """
    sizes = places + 1.0
    steep = np.where(theta > 0, theta, 1.0)
    # P(depth = k) ∝ exp(−θk) on 0 … place; `expm1` and `log1p` stay exact for small θ
    mass = -np.expm1(-steep * sizes)
    geometric = np.floor(-np.log1p(-uniform * mass) / steep)
    # As θ → 0 the geometric becomes uniform, where the closed form is 0/0
    depths = np.where(theta * sizes > 1e-9, geometric, np.floor(uniform * sizes))
    # Rounding of the logarithm can reach one place too far
    return np.clip(depths, 0, places).astype(np.int64)


def _mean_depth(
    sizes: Float64[np.ndarray, " documents"], theta: float
) -> Float64[np.ndarray, " documents"]:
    """Mean of the geometric on 0 … size − 1; a series where its closed form cancels."""
    if theta <= 0:
        return (sizes - 1) / 2
    # `expm1` would overflow beyond
    reach = np.minimum(sizes * theta, HIGHEST)
    closed = 1 / np.expm1(theta) - sizes / np.expm1(reach)
    # Taylor series at θ = 0, where the poles 1/θ of the two terms of the closed form cancel
    series = (sizes - 1) / 2 - theta * (sizes**2 - 1) / 12
    return np.where(reach < 1e-4, series, closed)
