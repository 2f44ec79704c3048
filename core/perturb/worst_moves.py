"""Steps of a search over orders, tried for all lists together: which there are, what they make."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Int64, UInt64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.seeds import mix_bits

NONE = -1


@dataclass(frozen=True, eq=False)
class Moves:
    """Exchanges of two places of a list; those of shorter lists come first.

    Attributes:
        left: the upper place.
        right: the lower one.
    """

    left: Int64[np.ndarray, " moves"]
    right: Int64[np.ndarray, " moves"]


def moves_of(unit: str, length: int) -> Moves:
    """All steps of lists up to a length: neighbours (`inversions`) or any pair (`exchanges`).

    >>> moves = moves_of("exchanges", 3)
    >>> list(zip(moves.left.tolist(), moves.right.tolist()))
    [(0, 1), (0, 2), (1, 2)]
    """
    if unit == "inversions":
        left = np.arange(max(length - 1, 0), dtype=np.int64)
        return Moves(left, left + 1)
    # Lower triangle: moves with a smaller right place come first, so those of a
    # shorter list are a prefix
    right, left = np.tril_indices(length, -1)
    return Moves(left.astype(np.int64), right.astype(np.int64))


def usable_moves(  # noqa: PLR0913, PLR0917 (the state of a search)
    states: np.ndarray,
    alive: np.ndarray,
    tried: np.ndarray,
    moves: Moves,
    offsets: np.ndarray,
    unit: str,
) -> Bool[np.ndarray, "states moves lists"]:
    """Mask of usable steps: inside the list, and for inversions not yet inverted."""
    inside = moves.right[tried] < np.diff(offsets)
    usable: Bool[np.ndarray, "states moves lists"] = alive[:, None] & inside
    if unit == "inversions":
        last = max(states.shape[1] - 1, 0)
        left, right = (
            states[:, np.minimum(offsets[:-1] + side[tried], last)]
            for side in (moves.left, moves.right)
        )
        # Only pairs still in original order: each step then adds exactly one inversion
        usable &= left < right
    return usable


def repeated_orders(seen: list[set[bytes]], keys: np.ndarray) -> Bool[np.ndarray, " lists"]:
    """Mask of the lists that repeat an order of an earlier round; notes this round's orders."""
    # The states of the beam together are the state of the search
    now = [column.tobytes() for column in keys.T]
    repeats = np.array([key in earlier for key, earlier in zip(now, seen, strict=True)], dtype=bool)
    for key, earlier in zip(now, seen, strict=True):
        earlier.add(key)
    return repeats


def apply_swaps(
    states: Int64[np.ndarray, "states places"],
    tried: Int64[np.ndarray, "moves lists"],
    usable: Bool[np.ndarray, "states moves lists"],
    moves: Moves,
    offsets: Int64[np.ndarray, " bounds"],
) -> Int64[np.ndarray, "orders places"]:
    """Every state after every candidate step; lists without that step stay as they are."""
    # Row = state × moves + move, the layout of `usable` flattened
    orders = np.repeat(states, len(tried), axis=0)
    state, candidate, index = np.nonzero(usable)
    move = tried[candidate, index]
    row = state * len(tried) + candidate
    at, to = offsets[index] + moves.left[move], offsets[index] + moves.right[move]
    orders[row, at], orders[row, to] = states[state, to], states[state, at]
    return orders


def hashes(
    orders: Int64[np.ndarray, "orders places"], offsets: Int64[np.ndarray, " bounds"]
) -> UInt64[np.ndarray, "orders lists"]:
    """64 bits that tell the orders of each list apart: sums of one random number a placing."""
    count = orders.shape[1]
    place = np.arange(count, dtype=np.uint64) * np.uint64(count + 1)
    # A sum of mixed (place, document) numbers: one list can be cut out by prefix sums.
    # Equal orders have equal sums; others collide with probability of about 2⁻⁶⁴
    mixed = mix_bits(orders.astype(np.uint64) + place)
    sums = np.zeros((len(orders), count + 1), dtype=np.uint64)
    np.cumsum(mixed, axis=1, out=sums[:, 1:])
    return np.diff(sums[:, offsets], axis=1)


def inversions(
    orders: Int64[np.ndarray, "orders places"], offsets: Int64[np.ndarray, " bounds"]
) -> Int64[np.ndarray, "orders lists"]:
    """Pairs of each list that stand the other way round: the Kendall distance of each order.

    >>> inversions(np.array([[2, 1, 0, 3, 4]]), np.array([0, 3, 5])).tolist()
    [[3, 0]]
    """
    return _inversions(orders, offsets)


def exchanges(
    orders: Int64[np.ndarray, "orders places"], offsets: Int64[np.ndarray, " bounds"]
) -> Int64[np.ndarray, "orders lists"]:
    """The least number of exchanges that make each order: places less cycles, list by list.

    >>> exchanges(np.array([[2, 1, 0, 4, 3]]), np.array([0, 3, 5])).tolist()
    [[1, 1]]
    """
    counts = np.empty((len(orders), len(offsets) - 1), dtype=np.int64)
    for index, order in enumerate(orders):
        smallest = _cycle_of(order)
        # Cayley distance = places − cycles; every cycle has one smallest place
        heads = smallest == np.arange(len(order))
        cycles = np.bincount(ragged.segment_ids(offsets)[heads], minlength=len(offsets) - 1)
        counts[index] = np.diff(offsets) - cycles
    return counts


@compiled()
@no_type_check
def _inversions(orders: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    counts = np.zeros((len(orders), len(offsets) - 1), np.int64)
    for index in range(len(orders)):
        for segment in range(len(offsets) - 1):
            for right in range(offsets[segment], offsets[segment + 1]):
                for left in range(offsets[segment], right):
                    counts[index, segment] += orders[index, left] > orders[index, right]
    return counts


@compiled()
@no_type_check
def _cycle_of(order: np.ndarray) -> np.ndarray:
    """The smallest place of the cycle that each place lies on."""
    smallest = np.full(len(order), -1)
    for start in range(len(order)):
        place = start
        # Starts rise, so the first visit of a cycle is from its smallest place
        while smallest[place] < 0:
            smallest[place] = start
            place = order[place]
    return smallest
