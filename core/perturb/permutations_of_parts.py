"""Arrangements of parts of a ranking and of positions shown; conventions of `permutations`."""

from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.data.ragged import falling_order

TOP = 10
"""Places that count as the top of a ranking."""


def plackett_luce(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """An order drawn from the Plackett–Luce model of the scores at temperature `level`.

    Each next document is drawn with odds exp(score / T) among those left, scores in standard
    deviations of the list. Drawn as the order of score / T + Gumbel noise (Yellott 1977).
    """
    # Gumbel-max trick: sorting by score/T + Gumbel noise draws from Plackett–Luce.
    # The noise is multiplied by T instead, so that T = 0 needs no division
    noise = generator.gumbel(size=len(scores))
    return falling_order(offsets, standardised(offsets, scores) + level * noise)


def top_transposed(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """`level` random pairs among the first ten places are exchanged in turn."""
    places = np.arange(len(scores), dtype=np.int64)
    return _transposed_between(offsets, round(level), generator, places, 0)


def tail_transposed(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """`level` random pairs among the places below the tenth are exchanged in turn."""
    places = np.arange(len(scores), dtype=np.int64)
    return _transposed_between(offsets, round(level), generator, places, TOP)


def blocks_shuffled(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """The list is cut into `level` blocks of equal size (±1), which come in a random order.

    Within a block the order stays; a list of fewer documents has as many blocks as documents.
    """
    del scores
    lengths = np.diff(offsets)
    blocks = np.minimum(round(level), lengths)
    bounds = ragged.offsets_of(blocks)
    keys = generator.random(int(bounds[-1]))
    owner, place = ragged.segment_ids(offsets), ragged.places_of(offsets)
    # Integer division keeps block sizes within one document of each other
    inside = place * blocks[owner] // np.maximum(lengths[owner], 1)
    # One random key a block; the place breaks ties, so the order in a block stays
    return ragged.order_within(offsets, keys[bounds[owner] + inside], place)


def rotated(
    offsets: Int64[np.ndarray, " bounds"],
    scores: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """The first `level` documents come last, in their order (the level modulo the length)."""
    del scores, generator
    lengths = np.repeat(np.diff(offsets), np.diff(offsets))
    place = ragged.places_of(offsets)
    turned: Int64[np.ndarray, " places"] = np.repeat(offsets[:-1], np.diff(offsets)) + (
        place + round(level)
    ) % np.maximum(lengths, 1)
    return turned


def standardised(
    offsets: Int64[np.ndarray, " bounds"], scores: Float32[np.ndarray, " places"]
) -> np.ndarray:
    """Float64 scores in standard deviations of their list; 0 in lists that have none.

    >>> standardised(np.array([0, 2, 4]), np.array([3, 1, 5, 5], np.float32)).tolist()
    [1.0, -1.0, 0.0, 0.0]
    """
    owner, lengths = ragged.segment_ids(offsets), np.maximum(np.diff(offsets), 1)
    exact = scores.astype(np.float64)
    mean = np.bincount(owner, exact, len(lengths)) / lengths
    # Centred first: E[x²] − E[x]² would cancel for scores far from 0
    centred = exact - mean[owner]
    deviation = np.sqrt(np.bincount(owner, centred**2, len(lengths)) / lengths)
    spread = deviation > 1e-12 * np.abs(mean)  # below it is what summing equal scores leaves
    return centred / np.where(spread, deviation, np.inf)[owner]


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _transposed_between(
    offsets: np.ndarray,
    exchanges: int,
    generator: np.random.Generator,
    places: np.ndarray,
    skipped: int,
) -> np.ndarray:
    """Exchanges among the first ten places, or among those after the `skipped` first."""
    for segment in range(len(offsets) - 1):
        low, high = offsets[segment] + skipped, offsets[segment + 1]
        length = min(high - low, TOP) if skipped == 0 else high - low
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
