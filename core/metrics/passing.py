"""Order changes of documents that exceed rounding.

Two float32 scorings of the same list differ in their last bits. A document counts as moved only if
it changed places with a document whose score differs by more than both rounding errors.
"""

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Int64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.metrics import segments
from shuffleproof.core.metrics.pairs import tied_ranks
from shuffleproof.core.metrics.segments import Bounds, Elements, Floors, PerSegment


def documents_passed(
    offsets: Bounds,
    before: Elements,
    after: Elements,
    floor: Floors,
    kinds: Int64[np.ndarray, " elements"] | None = None,
) -> Bool[np.ndarray, " elements"]:
    """True for documents that changed places with one further away than the floors of both.

    Args:
        offsets: bounds of the lists.
        before: scores before, one per document.
        after: scores after, of the same documents in the same order.
        floor: rounding error of each score; two scores that differ by at most the sum of their
            floors are a tie.
        kinds: documents of equal kind in a list are identical, and cannot pass each other.

    >>> swapped, quarter = np.array([1.0, 2.0, 9.0]), np.full(3, 0.25)
    >>> documents_passed(np.array([0, 3]), np.array([2.0, 1.0, 9.0]), swapped, quarter).tolist()
    [True, True, False]
    """
    identities = np.arange(len(before)) if kinds is None else kinds
    old, new = before.astype(np.float64), after.astype(np.float64)
    # Without a rise in the old order, no two documents changed places
    then = new[segments.falling_order(offsets, old)]
    rises = np.append(then[1:] > then[:-1], values=False)[: len(then)]
    rises[offsets[1:][offsets[1:] > offsets[:-1]] - 1] = False
    changed = np.flatnonzero(segments.maxima(offsets, rises) > 0)
    passed = np.zeros(len(old), dtype=bool)
    if len(changed):
        chosen = ragged.elements_of(offsets, changed)
        bounds = ragged.offsets_of(np.diff(offsets)[changed])
        passed[chosen] = _passed_documents(
            bounds, old[chosen], new[chosen], floor[chosen], identities[chosen]
        )
    return passed


def pairs_within(offsets: Bounds, scores: Elements, floor: Floors) -> PerSegment:
    """Share of each list's pairs of unequal scores that differ by at most the sum of their floors.

    1 if all scores of two or more documents are equal. NaN for lists of fewer than two documents.

    >>> narrow = np.full(3, 0.1)
    >>> pairs_within(np.array([0, 3]), np.array([1.0, 1.1, 2.0]), narrow).round(3).tolist()
    [0.333]
    """
    lengths, scores = np.diff(offsets), scores.astype(np.float64)
    order, owner = segments.falling_order(offsets, scores), ragged.segment_ids(offsets)
    _, sizes = tied_ranks(offsets, order, scores)
    ordered, floors = scores[order], floor[order].astype(np.float64)
    last, least = offsets[1:][owner], 2.0 * segments.maxima(offsets, floor)[owner]
    near, first = np.zeros(len(lengths)), np.arange(len(order))
    for distance in range(1, int(lengths.max(initial=0))):
        first = first[first + distance < last[first]]
        at = first + distance
        with np.errstate(invalid="ignore"):  # two infinities are equal, and their gap is no number
            gap = ordered[first] - ordered[at]
        is_near = (gap <= floors[first] + floors[at]) & (ordered[first] != ordered[at])
        near += np.bincount(owner[first[is_near]], minlength=len(near))
        # Gaps grow with the distance: beyond the largest floor none is near any more
        first = first[~(gap > least[first])]
        if not len(first):
            break
    # Each of a block's n documents has n - 1 equals, and each pair is counted twice
    unequal = (lengths * (lengths - 1) - segments.sums(offsets, sizes - 1)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(unequal > 0, near / unequal, 1.0)
    return np.where(lengths > 1, shares, np.nan)


def smallest_gap(offsets: Bounds, scores: Elements) -> PerSegment:
    """Smallest positive difference of two scores in each list; infinite if there is none."""
    ordered = scores[segments.falling_order(offsets, scores)].astype(np.float64)
    gaps = np.full(len(ordered), np.inf)
    unequal = np.flatnonzero(ordered[:-1] > ordered[1:])  # not equal infinities (∞ − ∞ = NaN)
    gaps[unequal] = ordered[unequal] - ordered[unequal + 1]
    # gaps between neighbouring lists do not count
    gaps[offsets[1:][offsets[1:] > offsets[:-1]] - 1] = np.inf
    # Minimum by the maximum of negatives; an empty list gives +∞
    return -segments.maxima(offsets, -gaps)


@no_type_check  # jaxtyping's import hook wraps what it checks, and numba takes no wrapped function
@compiled()
def _passed_documents(
    offsets: np.ndarray,
    before: np.ndarray,
    after: np.ndarray,
    floor: np.ndarray,
    kinds: np.ndarray,
) -> np.ndarray:
    passed = np.zeros(len(before), dtype=np.bool_)
    for segment in range(len(offsets) - 1):
        start, stop = offsets[segment], offsets[segment + 1]
        for i in range(start, stop):
            for j in range(start, stop):
                gap, new_gap = before[i] - before[j], after[i] - after[j]
                # Same sign or a tie: the two did not change places
                if gap * new_gap >= 0 or kinds[i] == kinds[j]:
                    continue
                least = floor[i] + floor[j]
                # Both gaps must exceed the errors: one alone can come from rounding
                if abs(gap) > least and abs(new_gap) > least:
                    passed[i] = True
                    break
    return passed
