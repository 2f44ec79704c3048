"""How far the lists go along with a level: a rank, a number of documents or columns there is not.

A level beyond a list changes it as far as it goes, or not at all (nothing stands at rank 1000 of a
list of 40 to be promoted). Families whose level is a share or a strength reach all of them.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from jaxtyping import Int64

from core.data import ragged
from core.data.falling import falling_order
from core.data.lists import JudgedLists
from core.perturb.registry import entry_of

Reach = Callable[[JudgedLists], np.ndarray]


def most(judged: JudgedLists, family: str) -> Int64[np.ndarray, " lists"] | None:
    """The greatest level that each list can take; None: there is no end to it.

    Args:
        judged: the lists as they are.
        family: of perturbations; of a chain, whose links change the lists first, None.
    """
    made = REACHES.get(family)
    return None if made is None else made(judged).astype(np.int64)


def reached(judged: JudgedLists, family: str, level: int | float) -> int:
    """How many lists can take a level; those of which it asks nothing count."""
    entry, limits = entry_of(family), most(judged, family)
    if limits is None or level == entry.unchanged:
        return len(judged.lists)
    return int((limits >= level).sum())


def _lengths(judged: JudgedLists) -> np.ndarray:
    return judged.lists.lengths


def _others(judged: JudgedLists) -> np.ndarray:
    """All documents but one, and none of an empty list."""
    return np.maximum(judged.lists.lengths - 1, 0)


def _pairs(judged: JudgedLists) -> np.ndarray:
    lengths = judged.lists.lengths
    return lengths * (lengths - 1) // 2


def _columns(judged: JudgedLists) -> np.ndarray:
    return np.full(len(judged.lists), judged.dataset.features.shape[1])


def _foreign(judged: JudgedLists) -> np.ndarray:
    """Documents of the other lists; none join an empty one."""
    lengths = judged.lists.lengths
    return np.where(lengths > 0, lengths.sum() - lengths, 0)


def _lists(judged: JudgedLists) -> np.ndarray:
    return np.full(len(judged.lists), len(judged.lists))


def _ranked(judged: JudgedLists) -> tuple[np.ndarray, np.ndarray]:
    """Labels by places of the first initial ranking, and the place of each in its list."""
    lists = judged.lists
    holders = np.arange(len(lists.rows))
    if lists.rankings:
        holders = falling_order(lists.offsets, lists.prior[:, 0], lists.rows)
    return judged.dataset.labels[lists.rows[holders]], ragged.places_of(lists.offsets)


def _promotions(judged: JudgedLists) -> np.ndarray:
    """The last rank above which a document that is not relevant can be put."""
    labels, places = _ranked(judged)
    return _last(judged, np.where(labels < 1, places, 0))


def _falls(judged: JudgedLists) -> np.ndarray:
    """The places below the first of the most relevant documents; none where nothing is relevant."""
    labels, places = _ranked(judged)
    offsets, found = judged.lists.offsets, np.zeros(len(judged.lists), dtype=np.int64)
    for index, (low, high) in enumerate(pairwise(offsets.tolist())):
        if low < high and labels[low:high].max() >= 1:
            found[index] = high - low - 1 - places[low + int(labels[low:high].argmax())]
    return found


def _last(judged: JudgedLists, values: np.ndarray) -> np.ndarray:
    """The greatest value of each list; 0 for empty ones."""
    found = np.zeros(len(judged.lists), dtype=np.int64)
    np.maximum.at(found, ragged.segment_ids(judged.lists.offsets), values)
    return found


REACHES: dict[str, Reach] = {
    "adjacent-inversions": _pairs,
    "promote": _promotions,
    "demote-best": _falls,
    "blocks-shown": _lengths,
    "remove-top": _others,
    "distractors": _foreign,
    "hard-distractors": _foreign,
    "duplicates": _lengths,
    "near-duplicates": _lengths,
    "group-out": _columns,
    "unit-error": _columns,
    "column-shuffled": _columns,
    "batches": _lists,
}
"""Families whose level counts something that a list or a table may have too little of."""
