"""Comparisons of two rankings with ties, list by list, behind `agreement`.

A ranking of a list has two integers per document: the best rank of its tied block (0, 1, 1, 3)
and the size of the block.
"""

from typing import no_type_check

import numpy as np

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data.ragged import blocks_of, same_length

# `no_type_check`: jaxtyping's import hook wraps what it checks; numba takes no wrapped function.

FEW = 2_000_000
"""Pairs that NumPy compares sooner than Numba is loaded."""

# Rows of the i64[4, documents] that describe two rankings to the kernels.
FIRST, FIRST_SIZE, SECOND, SECOND_SIZE = range(4)


def tied_ranks(
    offsets: np.ndarray, order: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Best rank in the list, and size, of every element's tied block.

    Args:
        offsets: bounds of the lists.
        order: elements by falling score within each list.
        scores: one per element.
    """
    starts = blocks_of(offsets, scores, order)
    # Elements of a block have one place: that of the block in all lists together
    places = np.repeat(offsets[:-1], np.diff(offsets)) + starts
    return starts, np.bincount(places, minlength=1)[places]


@no_type_check
@compiled()
def correlations(offsets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """τ-b of every list."""
    taus = np.ones(len(offsets) - 1)
    for index in range(len(taus)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        signed, ordered, other_ordered = 0, 0, 0  # `ordered`: pairs without a tie in each ranking
        for i in range(inside.shape[1]):
            for j in range(i):
                first = inside[FIRST, i] - inside[FIRST, j]
                second = inside[SECOND, i] - inside[SECOND, j]
                signed += (first * second > 0) - (first * second < 0)
                ordered += first != 0
                other_ordered += second != 0
        if inside.shape[1] > 1:
            # As floats: the product of two pair counts may exceed 64 bits
            untied = np.sqrt(float(ordered) * float(other_ordered))
            taus[index] = signed / untied if untied > 0 else np.nan
    return taus


def plain_correlations(offsets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """τ-b of every list, by NumPy alone."""
    taus = np.ones(len(offsets) - 1)
    for places in same_length(offsets):
        elements = np.arange(offsets[-1]).reshape(-1, places) if isinstance(places, int) else places
        # Float32 counts these pairs exactly
        first, second = (
            np.sign(chosen[:, :, None] - chosen[:, None, :]).reshape(len(elements), -1)
            for chosen in ranks[[FIRST, SECOND]].astype(np.float32)[:, elements]
        )
        signed, ordered, other_ordered = (
            np.einsum("ij,ij->i", one, other).astype(np.float64)
            for one, other in ((first, second), (first, first), (second, second))
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            found = signed / np.sqrt(ordered * other_ordered)
        taus[np.searchsorted(offsets, elements[:, 0], "right") - 1] = found
    return taus


@no_type_check
@compiled()
def _common_counts(ranks: np.ndarray, depths: int) -> np.ndarray:
    """Expected number of documents in both rankings' first d places, d = 0 … depths.

    A document of a block of n from place s is among the first d with probability (d − s)/n, clipped
    to [0, 1]; from the end of both its blocks on it is in both with probability 1.
    """
    common, sure = np.zeros(depths + 1), np.zeros(depths + 2)
    for i in range(ranks.shape[1]):
        a, m, b, n = ranks[0, i], ranks[1, i], ranks[2, i], ranks[3, i]
        end = max(a + m, b + n)
        # Ties of both rankings are broken independently: probabilities multiply
        for depth in range(max(a, b) + 1, min(end, depths + 1)):
            common[depth] += min((depth - a) / m, 1.0) * min((depth - b) / n, 1.0)
        # From `end` on it is 1 at every depth: counted once, cumulated below
        sure[min(end, depths + 1)] += 1.0
    return common + np.cumsum(sure)[: depths + 1]


@no_type_check
@compiled()
def overlaps(offsets: np.ndarray, ranks: np.ndarray, depth: int) -> np.ndarray:
    """Expected share of the first `depth` documents in both rankings, for every list."""
    shares = np.ones(len(offsets) - 1)
    for index in range(len(shares)):
        inside = ranks[:, offsets[index] : offsets[index + 1]]
        reached = min(depth, inside.shape[1])
        if reached > 0:
            shares[index] = _common_counts(inside, reached)[reached] / reached
    return shares
