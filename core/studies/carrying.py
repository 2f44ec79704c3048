"""Scores carried over: what a ranker cannot see cannot change its scores.

A ranker that reads neither the order shown nor the prior ranks is scored once and its scores are
carried to every reordering of the same candidates. That is a theorem about exact arithmetic and a
claim about the code, so a few reorderings are really scored and compared before it is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from core.data import ragged
from core.data.lists import CandidateLists, JudgedLists
from core.rankers.base import Ranker

PROOFS = 3
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Scored:
    """Scores of several variants of the same lists.

    Attributes:
        scores: one array a variant, in that variant's order shown.
        carried: whether the scores were carried over from one scoring.
        deviation: largest deviation seen between carried and real scores (0 when not carried).
    """

    scores: list[Float32[np.ndarray, " candidates"]]
    carried: bool
    deviation: float


def source_of(base: CandidateLists, variant: CandidateLists) -> Int64[np.ndarray, " candidates"]:
    """For each candidate of a variant, the index of the same document in the base lists.

    Both hold the same documents list by list, in any order.
    """
    order = ragged.order_within(base.offsets, base.rows)
    place = ragged.order_within(variant.offsets, variant.rows)
    source = np.empty(len(order), dtype=np.int64)
    source[place] = order
    return source


def score_variants(ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]) -> Scored:
    """Score the same candidates under several orders and rankings, carrying over what may be.

    Args:
        ranker: the ranker.
        base: the lists as they are.
        variants: reorderings or re-rankings of `base.lists`.
    """
    if ranker.reads & {"order", "ranks"}:
        return Scored(scores_of_all(ranker, base, variants), carried=False, deviation=0.0)
    scores = ranker.score(base.dataset, base.lists)
    carried = [scores[source_of(base.lists, variant)] for variant in variants]
    proofs = range(0, len(variants), max(1, len(variants) // PROOFS))[:PROOFS]
    deviation = 0.0
    for index in proofs:
        real = ranker.score(base.dataset, variants[index])
        scale = max(1.0, float(np.abs(real).max(initial=0.0)))
        worst = float(np.abs(real - carried[index]).max(initial=0.0)) / scale
        deviation = max(deviation, worst)
    if deviation > TOLERANCE:
        return Scored(scores_of_all(ranker, base, variants), carried=False, deviation=deviation)
    return Scored(carried, carried=True, deviation=deviation)


def scores_of_all(
    ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]
) -> list[Float32[np.ndarray, " candidates"]]:
    """Really score every variant, in one batch where the ranker knows how."""
    together = getattr(ranker, "score_variants", None)
    if together is not None:
        return list(together(base.dataset, variants))
    return [ranker.score(base.dataset, variant) for variant in variants]
