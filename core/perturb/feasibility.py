"""The greatest level that each list can take: the reach of a family of perturbations.

A level beyond it changes a list as far as it goes, or not at all (nothing stands at rank 1000 of a
list of 40 to be promoted). Families whose level is a share or a strength take `any_level`.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.perturb.permutations_of_parts import TOP

Reach = Callable[[JudgedLists], np.ndarray]
"""(judged lists as they are) → the greatest level that each can take."""


def any_level(judged: JudgedLists) -> np.ndarray:
    """No end: shares, strengths, and what can be done to any list as often as one likes."""
    return np.full(len(judged.lists), np.inf)


def documents(judged: JudgedLists) -> np.ndarray:
    """As many as the list has documents."""
    return judged.lists.lengths


def all_but_one(judged: JudgedLists) -> np.ndarray:
    """All documents but one, and none of an empty list."""
    return np.maximum(judged.lists.lengths - 1, 0)


def pairs(judged: JudgedLists) -> np.ndarray:
    """As many as the list has pairs of documents."""
    lengths = judged.lists.lengths
    return lengths * (lengths - 1) // 2


def columns(judged: JudgedLists) -> np.ndarray:
    """As many as there are features, for every list."""
    return np.full(len(judged.lists), judged.dataset.features.shape[1])


def foreign_documents(judged: JudgedLists) -> np.ndarray:
    """Documents of the other lists; none join an empty one."""
    lengths = judged.lists.lengths
    return np.where(lengths > 0, lengths.sum() - lengths, 0)


def all_lists(judged: JudgedLists) -> np.ndarray:
    """As many as there are lists, for every list."""
    return np.full(len(judged.lists), len(judged.lists))


def tail_exchanges(judged: JudgedLists) -> np.ndarray:
    """None in lists of fewer than two documents below the tenth place, else any number."""
    # Exchanges are drawn with replacement, so two documents allow any number of them
    return np.where(judged.lists.lengths >= TOP + 2, np.inf, 0)


def _labels_by_rank(judged: JudgedLists) -> tuple[np.ndarray, np.ndarray]:
    """Labels by places of the first initial ranking, and the place of each in its list."""
    lists = judged.lists
    holders = np.arange(len(lists.rows))
    if lists.rankings:
        holders = falling_order(lists.offsets, lists.prior[:, 0], lists.rows)
    return judged.dataset.labels[lists.rows[holders]], ragged.places_of(lists.offsets)


def promotions(judged: JudgedLists) -> np.ndarray:
    """The last rank above which a document that is not relevant can be put."""
    labels, places = _labels_by_rank(judged)
    return _greatest(judged, np.where(labels < 1, places, 0))


def falls(judged: JudgedLists) -> np.ndarray:
    """The places below the first of the most relevant documents; none where nothing is relevant."""
    labels, places = _labels_by_rank(judged)
    offsets, depths = judged.lists.offsets, np.zeros(len(judged.lists), dtype=np.int64)
    for index, (low, high) in enumerate(pairwise(offsets.tolist())):
        if low < high and labels[low:high].max() >= 1:
            # `argmax` gives the first of equal labels, the one that `demoted` moves
            depths[index] = high - low - 1 - places[low + int(labels[low:high].argmax())]
    return depths


def reversals(judged: JudgedLists) -> np.ndarray:
    """Pairs of a relevant document and a non-relevant one below it; far exchanges leave fewer."""
    labels, _ = _labels_by_rank(judged)
    pairs = np.zeros(len(judged.lists), dtype=np.int64)
    for index, (low, high) in enumerate(pairwise(judged.lists.offsets.tolist())):
        relevant = labels[low:high] >= 1
        # Per non-relevant document, the relevant ones above it
        pairs[index] = relevant.cumsum()[~relevant].sum()
    return pairs


def _greatest(judged: JudgedLists, values: np.ndarray) -> np.ndarray:
    """The greatest value of each list; 0 for empty ones."""
    greatest = np.zeros(len(judged.lists), dtype=np.int64)
    np.maximum.at(greatest, ragged.segment_ids(judged.lists.offsets), values)
    return greatest
