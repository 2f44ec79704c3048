"""Orders that chance practically never draws: of the list as it is shown, and of its own answer.

They are counted apart from random orders, which alone a bound on a share of orders is about.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64, Real

from shuffleproof.core.data import ragged
from shuffleproof.core.data.argsort_descending import falling_order
from shuffleproof.core.data.lists import CandidateLists

REVERSED, ROTATED, BACK, SWAPPED = "reversed", "rotated by one", "rotated back", "first two swapped"
FALLING, RISING, ROWS = "best first", "best last", "as in the data set"

NAMES = (REVERSED, ROTATED, BACK, SWAPPED, FALLING, RISING, ROWS)
"""`best` is by the ranker's own scores of the list as it is."""


def systematic(
    lists: CandidateLists, scores: Real[np.ndarray, " candidates"]
) -> dict[str, Int64[np.ndarray, " candidates"]]:
    """The candidate at each place, for every order of NAMES that is not the list as it is.

    >>> found = systematic(_lists([7, 5, 6]), np.array([0.2, 0.9, 0.5]))
    >>> found["reversed"].tolist(), found["first two swapped"].tolist(), found["best last"].tolist()
    ([2, 1, 0], [1, 0, 2], [0, 2, 1])
    """
    lengths, places = lists.lengths, ragged.places_of(lists.offsets)
    starts, length = np.repeat(lists.offsets[:-1], lengths), np.repeat(lengths, lengths)
    exchanged = np.where((places < 2) & (length > 1), 1 - places, places)
    orders = {
        REVERSED: starts + length - 1 - places,
        ROTATED: starts + (places + 1) % length,
        BACK: starts + (places - 1) % length,
        SWAPPED: starts + exchanged,
        FALLING: falling_order(lists.offsets, scores, lists.rows),
        RISING: ragged.order_within(lists.offsets, scores),
        ROWS: ragged.order_within(lists.offsets, lists.rows),
    }
    return {name: order for name, order in orders.items() if (order != starts + places).any()}


def summarised(
    lists: CandidateLists,
    shown: Sequence[tuple[str, CandidateLists]],
    values: Sequence[Float64[np.ndarray, "measures lists"]],
    measures: Sequence[str],
) -> dict[str, Any]:
    """What systematic orders did, as plain values.

    Args:
        lists: as they are.
        shown: name and lists of each order.
        values: of each order, a row a measure.
        measures: their names.

    Returns:
        By name, how many lists an order changed (`shown`) and in how many of those the answer
        (`changed`); the lists in which any did (`moved`), those in which it may have (`doubtful`),
        and those in which a score changed at all (`stirred`).
    """
    row = {name: at for at, name in enumerate(measures)}
    moved, doubtful, stirred = (np.zeros(len(lists), dtype=bool) for _ in range(3))
    orders: dict[str, dict[str, int]] = {}
    for (name, variant), block in zip(shown, values, strict=True):
        other = variant.rows != lists.rows
        own = np.array(
            [other[low:high].any() for low, high in zip(*_bounds(lists), strict=True)], dtype=bool
        )
        changed = (block[row["documents-moved"]] > 0) | (block[row["deviation-over-floor"]] > 1)
        changed &= own
        moved |= changed
        doubtful |= (block[row["documents-in-doubt"]] > 0) & own
        stirred |= (block[row["score-deviation"]] > 0) & own
        orders[name] = {"shown": int(own.sum()), "changed": int(changed.sum())}
    return {
        "orders": orders,
        "moved": np.flatnonzero(moved).tolist(),
        "doubtful": np.flatnonzero(doubtful & ~moved).tolist(),
        "stirred": np.flatnonzero(stirred).tolist(),
    }


def joined(found: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, Any]:
    """Several summaries as one: the lists of all behind one another.

    Args:
        found: each summary, and of how many lists it is.
    """
    orders: dict[str, dict[str, int]] = {}
    together: dict[str, Any] = {"orders": orders, "moved": [], "doubtful": [], "stirred": []}
    start = 0
    for one, lists in found:
        for name, counts in one["orders"].items():
            own = orders.setdefault(name, {"shown": 0, "changed": 0})
            for what, count in counts.items():
                own[what] += count
        for name in ("moved", "doubtful", "stirred"):
            together[name] += [start + at for at in one[name]]
        start += lists
    return together


def _bounds(lists: CandidateLists) -> tuple[Any, Any]:
    return lists.offsets[:-1].tolist(), lists.offsets[1:].tolist()


def _lists(rows: list[int]) -> CandidateLists:
    """One list of these rows."""
    return CandidateLists(
        np.array([0, len(rows)]),
        np.array([0]),
        np.array(rows),
        np.zeros((len(rows), 0), dtype=np.int32),
        np.zeros((len(rows), 0), dtype=np.float32),
    )
