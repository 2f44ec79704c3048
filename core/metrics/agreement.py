"""How alike two rankings of the same documents are, list by list.

Both rankings are given as scores (higher is better; pass −rank for ranks) over ragged lists, so
both may have ties. What a tie means is said at every measure: it counts as a tie (τ-b, weighted
τ, footrule), or as a random order of its block and the value is the expected one (τ_AP, RBO,
overlap). Lists of 0 or 1 documents agree perfectly. Each list costs O(n log n); RBO a term more
for every place that two tied blocks share.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64, Real

from shuffleproof.core.metrics import pairs, segments

Scores = Real[np.ndarray, " elements"]
Bounds = Int64[np.ndarray, " bounds"]
PerList = Float64[np.ndarray, " segments"]


@dataclass(frozen=True)
class AgreementEntry:
    """What the registry knows of a measure of agreement.

    Attributes:
        name: the registry's name.
        summary: one sentence.
        source: where it is defined.
        best: the value of two equal rankings without ties.
        of: (offsets, scores, other scores) → one value a list.
    """

    name: str
    summary: str
    source: str
    best: float
    of: Callable[[Bounds, Scores, Scores], PerList]


def kendall_tau(offsets: Bounds, scores: Scores, other_scores: Scores) -> PerList:
    """Kendall's τ-b: (concordant − discordant) / √(pairs untied in one · untied in the other).

    NaN where all documents of a list (of two or more) tie in one of the rankings: no pair is
    ordered there, and neither agreement nor disagreement can be told.

    >>> kendall_tau(np.array([0, 3, 4]), np.array([3, 2, 1, 9.0]), np.array([3, 1, 2, 5.0]))
    array([0.33333333, 1.        ])
    """
    return pairs.correlations(offsets, _ranks(offsets, scores, other_scores))


def weighted_tau(offsets: Bounds, scores: Scores, other_scores: Scores) -> PerList:
    """Weighted τ with hyperbolic weights: a pair weighs 1/(rank + 1) of each of its documents.

    The mean of the two values in which the first, then the second, ranking gives the ranks (its
    ties broken by the other); ties count as in τ-b. Vigna 2015, "A weighted correlation index for
    rankings with ties"; scipy.stats.weightedtau's default.
    """
    return pairs.weighted_correlations(offsets, _ranks(offsets, scores, other_scores))


def tau_ap(offsets: Bounds, reference: Scores, estimate: Scores) -> PerList:
    """τ_AP: for each document of the estimate, the share of those above it that belong there.

    −1 … 1; disagreement at the top weighs more; not symmetric. Ties are random orders, in either
    ranking, and the value is the expected one (τ_AP,a of Urbano & Marrero 2017). Yilmaz, Aslam &
    Robertson 2008.

    >>> tau_ap(np.array([0, 3]), np.array([3.0, 2.0, 1.0]), np.array([2.0, 3.0, 1.0]))
    array([0.])
    """
    return pairs.precisions(offsets, _ranks(offsets, reference, estimate))


def overlap(offsets: Bounds, scores: Scores, other_scores: Scores, depth: int = 10) -> PerList:
    """The share of the first `depth` documents (all of a shorter list) that both rankings have.

    Expected over independent random orders of tied blocks.

    >>> overlap(np.array([0, 3]), np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]), depth=2)
    array([0.5])
    """
    return pairs.overlaps(offsets, _ranks(offsets, scores, other_scores), depth)


def rank_biased_overlap(
    offsets: Bounds, scores: Scores, other_scores: Scores, persistence: float = 0.9
) -> PerList:
    """Extrapolated rank-biased overlap, RBO_EXT, evaluated to the end of the list.

    With A_d the overlap share at depth d of a list of n and p the persistence:
    A_n pⁿ + (1 − p)/p · Σ_d A_d p^d. Equal rankings have 1. In tied blocks A_d is expected over
    independent random orders, as RBO^a of Corsi & Urbano 2024 (two equal rankings with ties thus
    stay below 1). Webber, Moffat & Zobel 2010, Eq. 30.

    Args:
        offsets: bounds of the lists.
        scores: scores of one ranking.
        other_scores: scores of the other.
        persistence: p in (0, 1), the reader's chance of going on to the next depth.
    """
    return pairs.biased_overlaps(offsets, _ranks(offsets, scores, other_scores), persistence)


def footrule(offsets: Bounds, scores: Scores, other_scores: Scores) -> PerList:
    """Spearman's footrule as a share of its largest value: Σ |rank − rank'| / ⌊n²/2⌋.

    A distance: 0 for equal rankings, 1 for reversed ones. Tied documents have the mean rank of
    their block. Diaconis & Graham 1977.

    >>> footrule(np.array([0, 3]), np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    array([1.])
    """
    starts, sizes, other_starts, other_sizes = _ranks(offsets, scores, other_scores)
    ranks, other_ranks = starts + (sizes - 1) / 2, other_starts + (other_sizes - 1) / 2
    largest = np.maximum(np.diff(offsets) ** 2 // 2, 1)
    return segments.sums(offsets, np.abs(ranks - other_ranks)) / largest


def positions(
    offsets: Bounds, scores: Scores, rows: Int64[np.ndarray, " elements"] | None = None
) -> Int64[np.ndarray, " elements"]:
    """The 0-based position of every document in its list, by falling score, ties by `rows`.

    Args:
        offsets: bounds of the lists.
        scores: one a document.
        rows: data set row of each document; without it, ties stand in the order given.

    >>> positions(np.array([0, 3]), np.array([1.0, 1.0, 2.0]), np.array([7, 6, 5])).tolist()
    [2, 1, 0]
    """
    order = segments.falling_order(offsets, scores)
    ties = np.arange(len(scores), dtype=np.int64) if rows is None else rows
    return pairs.positions_by_score(offsets, order, scores.astype(np.float64), ties)


def moved_positions(
    offsets: Bounds,
    scores: Scores,
    other_scores: Scores,
    rows: Int64[np.ndarray, " elements"] | None = None,
) -> PerList:
    """How many documents of each list stand at another position; ties as in `positions`.

    >>> moved_positions(np.array([0, 3]), np.array([3.0, 2.0, 1.0]), np.array([9.0, 1.0, 2.0]))
    array([2.])
    """
    differs = positions(offsets, scores, rows) != positions(offsets, other_scores, rows)
    return segments.sums(offsets, differs.astype(np.float64))


def _ranks(
    offsets: Bounds, scores: Scores, other_scores: Scores
) -> Int64[np.ndarray, "ranks_and_sizes elements"]:
    """Best rank and size of the tied block of every document, under each of two rankings."""
    ranks = np.empty((4, len(scores)), dtype=np.int64)
    for row, ranking_scores in ((pairs.FIRST, scores), (pairs.SECOND, other_scores)):
        order = segments.falling_order(offsets, ranking_scores)
        starts_and_sizes = pairs.tied_ranks(
            offsets, order, ranking_scores.astype(np.float64, copy=False)
        )
        ranks[row], ranks[row + 1] = starts_and_sizes
    return ranks


_ENTRIES = (
    AgreementEntry("kendall-tau", "τ-b: ordered pairs kept", "Kendall 1945", 1.0, kendall_tau),
    AgreementEntry(
        "weighted-tau",
        "τ-b in which pairs at the top weigh more, hyperbolically",
        "Vigna 2015",
        1.0,
        weighted_tau,
    ),
    AgreementEntry(
        "tau-ap",
        "τ_AP: share of the documents above each one that belong there",
        "Yilmaz, Aslam & Robertson 2008; ties: Urbano & Marrero 2017",
        1.0,
        tau_ap,
    ),
    AgreementEntry(
        "rbo",
        "extrapolated rank-biased overlap, persistence 0.9",
        "Webber, Moffat & Zobel 2010; ties: Corsi & Urbano 2024",
        1.0,
        rank_biased_overlap,
    ),
    AgreementEntry(
        "overlap",
        "share of the first 10 documents in both",
        "Fagin, Kumar & Sivakumar 2003",
        1.0,
        overlap,
    ),
    AgreementEntry(
        "footrule",
        "Spearman's footrule as a share of its largest value: a distance",
        "Diaconis & Graham 1977",
        0.0,
        footrule,
    ),
    AgreementEntry(
        "moved-positions",
        "documents that stand at another position",
        "counted",
        0.0,
        moved_positions,
    ),
)
AGREEMENTS: dict[str, AgreementEntry] = {entry.name: entry for entry in _ENTRIES}
