"""What the size of the set does to the documents that lists of two sizes share."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.metrics.agreement import kendall_tau


def stabilities(
    home: JudgedLists,
    of_home: Float32[np.ndarray, " home"],
    other: JudgedLists,
    of_other: Float32[np.ndarray, " other"],
) -> Float32[np.ndarray, "2 lists"]:
    """What another set size does to the documents that both lists hold.

    Args:
        home: lists of the size that the ranker was trained on.
        of_home: its scores there.
        other: lists of another size, of the same queries.
        of_other: its scores there.

    Returns:
        Kendall's τ-b between the two orders of the shared documents, and the root mean square
        of the change of their centred scores, over the standard deviation of the first; NaN
        where there are fewer than two shared documents, or all of them score alike.
    """
    first, second, bounds = _shared(home, of_home, other, of_other)
    found = np.full((2, len(home.lists)), np.nan, dtype=np.float32)
    if len(first):
        found[0] = kendall_tau(bounds, first, second)
    for index, (start, stop) in enumerate(pairwise(bounds)):
        if stop - start < 2:
            found[0, index] = np.nan
            continue
        one, two = (values[start:stop].astype(np.float64) for values in (first, second))
        spread = one.std()
        if spread:
            change = (two - two.mean()) - (one - one.mean())
            found[1, index] = np.sqrt((change**2).mean()) / spread
    return found


def _shared(
    home: JudgedLists,
    of_home: Float32[np.ndarray, " home"],
    other: JudgedLists,
    of_other: Float32[np.ndarray, " other"],
) -> tuple[
    Float32[np.ndarray, " shared"], Float32[np.ndarray, " shared"], Int64[np.ndarray, " bounds"]
]:
    """The scores, here and there, of the documents that both hold, and each query's bounds."""
    place = np.full(home.dataset.documents, -1, dtype=np.int64)
    place[home.lists.rows] = np.arange(len(home.lists.rows))
    both = place[other.lists.rows] >= 0
    owners = np.repeat(np.arange(len(other.lists)), other.lists.lengths)[both]
    counts = np.bincount(owners, minlength=len(other.lists))
    bounds = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return of_home[place[other.lists.rows[both]]], of_other[both], bounds
