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


class Carrier:
    """Carries a ranker's scores of the base lists to their reorderings, point after point.

    The base is scored once, however many points a study has. The first `PROOFS` variants that
    really are other orders are scored too, each on its own share of the lists, so that every list
    is proven by one real permutation.

    Args:
        ranker: the ranker.
        base: the lists as they are.
    """

    def __init__(self, ranker: Ranker, base: JudgedLists) -> None:
        self.ranker, self.base = ranker, base
        self.proofs, self.deviation = 0, 0.0
        self.scores: Float32[np.ndarray, " candidates"] | None = None

    def score(self, variants: Sequence[CandidateLists]) -> Scored:
        """The scores of several reorderings or re-rankings of the base lists."""
        if self.ranker.reads & {"order", "ranks"}:
            real = scores_of_all(self.ranker, self.base, variants)
            return Scored(real, carried=False, deviation=0.0)
        if self.scores is None:
            self.scores = self.ranker.score(self.base.dataset, self.base.lists)
        carried = [self.scores[source_of(self.base.lists, variant)] for variant in variants]
        for variant, scores in zip(variants, carried, strict=True):
            if self.proofs < PROOFS and not np.array_equal(variant.rows, self.base.lists.rows):
                self._prove(variant, scores)
        if self.deviation > TOLERANCE:
            real = scores_of_all(self.ranker, self.base, variants)
            return Scored(real, carried=False, deviation=self.deviation)
        return Scored(carried, carried=True, deviation=self.deviation)

    def _prove(self, variant: CandidateLists, carried: Float32[np.ndarray, " candidates"]) -> None:
        chosen = np.arange(self.proofs, len(variant), PROOFS)
        self.proofs += 1
        expected = carried[ragged.elements_of(variant.offsets, chosen)]
        real = self.ranker.score(self.base.dataset, variant.select(chosen))
        scale = max(1.0, float(np.abs(real).max(initial=0.0)))
        worst = float(np.abs(real - expected).max(initial=0.0)) / scale
        self.deviation = max(self.deviation, worst)


def scores_of_all(
    ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]
) -> list[Float32[np.ndarray, " candidates"]]:
    """Really score every variant, in one batch where the ranker knows how."""
    together = getattr(ranker, "score_variants", None)
    if together is not None:
        return list(together(base.dataset, variants))
    return [ranker.score(base.dataset, variant) for variant in variants]
