"""Agreement of two rankings of the same documents, list by list.

Both rankings are scores (higher is better; pass −rank for ranks) over ragged lists and may have
ties. τ-b handles them; the overlap is its expected value over random orders of each tied block.
Lists of 0 or 1 documents agree perfectly.
"""

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.metrics import pairs, segments
from shuffleproof.core.metrics.segments import Bounds, Elements, PerSegment


def kendall_tau(offsets: Bounds, scores: Elements, other_scores: Elements) -> PerSegment:
    """Kendall's τ-b: (concordant − discordant) / √(pairs untied in one · untied in the other).

    NaN if all documents of a list (of two or more) tie in a ranking, which then orders no pair.

    >>> kendall_tau(np.array([0, 3, 4]), np.array([3, 2, 1, 9.0]), np.array([3, 1, 2, 5.0]))
    array([0.33333333, 1.        ])
    """
    ranks, lengths = _ranks(offsets, scores, other_scores), np.diff(offsets)
    taus = np.ones(len(lengths))
    # Two equal rankings agree, unless all documents tie
    differing = segments.maxima(offsets, ranks[pairs.FIRST] != ranks[pairs.SECOND]) > 0
    tied = segments.maxima(offsets, ranks[pairs.FIRST_SIZE]) == lengths
    taus[tied & (lengths > 1)] = np.nan
    if differing.any():
        bounds = ragged.offsets_of(lengths[differing])
        chosen = ranks[:, ragged.elements_of(offsets, np.flatnonzero(differing))]
        few = int((lengths[differing] ** 2).sum()) < pairs.FEW
        taus[differing] = (pairs.plain_correlations if few else pairs.correlations)(bounds, chosen)
    return taus


def overlap(
    offsets: Bounds, scores: Elements, other_scores: Elements, depth: int = 10
) -> PerSegment:
    """Share of the first `depth` documents (all of a shorter list) that both rankings have.

    Expected over independent random orders of tied blocks.

    >>> overlap(np.array([0, 3]), np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]), depth=2)
    array([0.5])
    """
    return pairs.overlaps(offsets, _ranks(offsets, scores, other_scores), depth)


def positions(
    offsets: Bounds, scores: Elements, rows: Int64[np.ndarray, " elements"] | None = None
) -> Int64[np.ndarray, " elements"]:
    """0-based position of every document in its list, by falling score, ties by `rows`.

    Args:
        offsets: bounds of the lists.
        scores: one per document.
        rows: data set row of each document; None: ties in input order.

    >>> positions(np.array([0, 3]), np.array([1.0, 1.0, 2.0]), np.array([7, 6, 5])).tolist()
    [2, 1, 0]
    """
    places = np.empty(len(scores), dtype=np.int64)
    places[ragged.falling_order(offsets, scores, rows)] = ragged.places_of(offsets)
    return places


def _ranks(
    offsets: Bounds, scores: Elements, other_scores: Elements
) -> Int64[np.ndarray, "ranks_and_sizes elements"]:
    """Best rank and size of every document's tied block, in both rankings."""
    ranks = np.empty((4, len(scores)), dtype=np.int64)
    for row, ranking_scores in ((pairs.FIRST, scores), (pairs.SECOND, other_scores)):
        order = segments.falling_order(offsets, ranking_scores)
        starts_and_sizes = pairs.tied_ranks(
            offsets, order, ranking_scores.astype(np.float64, copy=False)
        )
        ranks[row], ranks[row + 1] = starts_and_sizes
    return ranks
