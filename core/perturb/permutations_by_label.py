"""New arrangements of rankings that see the labels of the places: what harms on purpose.

As in `permutations`, entry p of an arrangement is the old place of the document that now stands
at place p, and place 0 is the best. A document is relevant from label 1 on.
"""

from collections.abc import Callable
from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.compiled import compiled

JudgedArrangement = Callable[[np.ndarray, np.ndarray, float, np.random.Generator], np.ndarray]
"""(bounds, labels of the places, level, generator) → old place of each place."""


def pairs_reversed(
    offsets: Int64[np.ndarray, " bounds"],
    labels: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """`level` times a relevant document and a non-relevant one below it exchange their places.

    Each pair is drawn evenly among those that still stand the right way round; where none is
    left, every non-relevant document stands above every relevant one and nothing more happens.
    """
    places = np.arange(len(labels), dtype=np.int64)
    return _pairs_reversed(offsets, labels, round(level), generator, places)


def promoted(
    offsets: Int64[np.ndarray, " bounds"],
    labels: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """A non-relevant document from below rank `level` (1-based), drawn evenly, is put there.

    Those from that rank down to where it stood move down by one; a list without such a document
    does not change.
    """
    places = np.arange(len(labels), dtype=np.int64)
    return _promoted_places(offsets, labels, round(level) - 1, generator, places)


def demoted(
    offsets: Int64[np.ndarray, " bounds"],
    labels: Float32[np.ndarray, " places"],
    level: float,
    generator: np.random.Generator,
) -> Int64[np.ndarray, " places"]:
    """The most relevant document, the best ranked of equals, falls by `level` places.

    At most to the end of the list; lists without relevant documents do not change.
    """
    del generator
    places = np.arange(len(labels), dtype=np.int64)
    return _demoted_places(offsets, labels, round(level), places)


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _pairs_reversed(
    offsets: np.ndarray,
    labels: np.ndarray,
    exchanges: int,
    generator: np.random.Generator,
    places: np.ndarray,
) -> np.ndarray:
    """Old place of each place after the exchanges."""
    for segment in range(len(offsets) - 1):
        low, high = offsets[segment], offsets[segment + 1]
        # Pairs are counted again each time, because an exchange changes which are left
        for _ in range(exchanges):
            total, relevant = 0, 0
            for place in range(low, high):
                if labels[places[place]] >= 1:
                    relevant += 1
                else:
                    # Each relevant document above makes one reversible pair with this one
                    total += relevant
            if total == 0:
                break
            # The drawn pair number is walked to in the order in which pairs were counted
            remaining, relevant = int(generator.random() * total), 0
            for place in range(low, high):
                if labels[places[place]] >= 1:
                    relevant += 1
                elif remaining < relevant:
                    upper = low
                    # The remainder is the index of the relevant partner, counted from the top
                    while remaining > 0 or labels[places[upper]] < 1:
                        remaining -= labels[places[upper]] >= 1
                        upper += 1
                    places[place], places[upper] = places[upper], places[place]
                    break
                else:
                    remaining -= relevant
    return places


@compiled()
@no_type_check
def _promoted_places(
    offsets: np.ndarray,
    labels: np.ndarray,
    rank: int,
    generator: np.random.Generator,
    places: np.ndarray,
) -> np.ndarray:
    for segment in range(len(offsets) - 1):
        target, high = offsets[segment] + rank, offsets[segment + 1]
        below = 0
        for place in range(target + 1, high):
            below += labels[place] < 1
        if below == 0:
            continue
        # A uniform index among the non-relevant documents below the target
        remaining, source = int(generator.random() * below), target + 1
        while remaining > 0 or labels[source] >= 1:
            remaining -= labels[source] < 1
            source += 1
        for place in range(source, target, -1):
            places[place] = places[place - 1]
        places[target] = source
    return places


@compiled()
@no_type_check
def _demoted_places(
    offsets: np.ndarray, labels: np.ndarray, fall: int, places: np.ndarray
) -> np.ndarray:
    for segment in range(len(offsets) - 1):
        low, high = offsets[segment], offsets[segment + 1]
        best = low
        for place in range(low, high):
            # Strictly greater: among equal labels, the best ranked document wins
            if labels[place] > labels[best]:
                best = place
        if low == high or labels[best] < 1:
            continue
        # A fall ends at the last place of the list
        target = min(best + fall, high - 1)
        for place in range(best, target):
            places[place] = places[place + 1]
        places[target] = best
    return places
