"""Reuse of scores: a change that a ranker cannot see cannot change its scores.

A ranker that reads nothing of what a perturbation changed is scored once and its scores are carried
to every variant with the same documents. That is a theorem about exact arithmetic and a claim about
the code. So a few variants are scored and compared first, within the numeric floor of the scores
and, if needed, of float64 scores. What was changed is found by comparing, not by asking the
perturbation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment.score_floor import (
    EXACT,
    EXCUSED,
    difference,
    largest_changes,
    measure_floor,
    of_scores,
)
from shuffleproof.core.metrics import rounding, segments
from shuffleproof.core.perturb.base import origins, sources
from shuffleproof.core.rankers.base import Input, Ranker

PROOFS = 3


@dataclass(frozen=True)
class VariantScores:
    """Scores of several variants of the same lists.

    Attributes:
        scores: one array a variant, in that variant's input order.
        carried: whether the scores were carried over from one scoring.
        deviation: largest difference seen between carried and real scores.
    """

    scores: list[Float32[np.ndarray, " _"]]
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


def shared_source(base: JudgedLists, variant: JudgedLists) -> Int64[np.ndarray, " candidates"]:
    """For each candidate of a variant, the index of the same document in the base; −1: it is new.

    The variant's lists may be shorter or longer, and its data set may have grown.
    """
    return sources(base.lists, variant.lists.offsets, origins(base, variant))


def shared_scores(
    base: JudgedLists,
    before: Float32[np.ndarray, " candidates"],
    variant: JudgedLists,
    after: Float32[np.ndarray, " others"],
) -> tuple[
    Float32[np.ndarray, " shared"], Float32[np.ndarray, " shared"], Int64[np.ndarray, " bounds"]
]:
    """The scores, before and after, of the documents that both have, and each list's bounds."""
    source = shared_source(base, variant)
    shared = np.flatnonzero(source >= 0)
    owner = ragged.segment_ids(variant.lists.offsets)[shared]
    offsets = ragged.offsets_of(np.bincount(owner, minlength=len(base.lists)))
    return before[source[shared]], after[shared], offsets


def inputs_changed(
    base: JudgedLists, variant: JudgedLists, source: Int64[np.ndarray, " candidates"]
) -> frozenset[Input]:
    """Inputs that a ranker must read to see the difference between the two.

    Orders and ranks count as touched wherever the lists are other objects or the data the same;
    other features are those of other documents too, so that they touch the neighbours.

    Args:
        base: the lists as they are.
        variant: what was made of them.
        source: `shared_source` of the two.
    """
    inputs: set[Input] = set()
    same_features = variant.dataset.features is base.dataset.features
    if variant.lists is not base.lists or same_features:
        inputs |= {"order", "ranks"}
    if not same_features:
        inputs |= {"features", "neighbours"}
    if not np.array_equal(base.lists.offsets, variant.lists.offsets) or (source < 0).any():
        inputs.add("neighbours")
    return frozenset(inputs)


class ScoreCache:
    """Carries a ranker's scores of the base lists to their variants, point after point.

    The base is scored once, however many points a study has. For each kind of change, the first
    `PROOFS` variants that really differ are scored too, each on its own share of the lists. So
    every list is proven by one real variant.

    Args:
        ranker: the ranker.
        base: the lists as they are.
    """

    def __init__(self, ranker: Ranker, base: JudgedLists) -> None:
        self.ranker, self.base = ranker, base
        self._proofs: dict[frozenset[Input], int] = {}
        self._deviations: dict[frozenset[Input], float] = {}
        self._refuted: set[frozenset[Input]] = set()
        self._scores: Float32[np.ndarray, " candidates"] | None = None

    @property
    def scores(self) -> Float32[np.ndarray, " candidates"]:
        """The scores of the lists as they are."""
        if self._scores is None:
            self._scores = self.ranker.score(self.base.dataset, self.base.lists)
        return self._scores

    def score(self, variants: Sequence[CandidateLists]) -> VariantScores:
        """The scores of several reorderings or re-rankings of the base lists."""
        return self.score_judged([JudgedLists(self.base.dataset, lists) for lists in variants])

    def score_judged(self, variants: Sequence[JudgedLists]) -> VariantScores:
        """The scores of several variants of the base, whatever was changed."""
        same_data = all(variant.dataset is self.base.dataset for variant in variants)
        if same_data and self.ranker.reads & {"order", "ranks"}:  # whatever else was changed
            return VariantScores(self._really_scored(variants), carried=False, deviation=0.0)
        sources_of = [shared_source(self.base, variant) for variant in variants]
        kind = frozenset[Input]().union(
            *(inputs_changed(self.base, *pair) for pair in zip(variants, sources_of, strict=True))
        )
        if self.ranker.reads & kind or any((source < 0).any() for source in sources_of):
            return VariantScores(self._really_scored(variants), carried=False, deviation=0.0)
        carried = [self.scores[source] for source in sources_of]
        for variant, scores in zip(variants, carried, strict=True):
            if self._proofs.get(kind, 0) < PROOFS and self._differs(variant):
                self._prove(kind, variant, scores)
        deviation = self._deviations.get(kind, 0.0)
        if kind in self._refuted:
            return VariantScores(self._really_scored(variants), carried=False, deviation=deviation)
        return VariantScores(carried, carried=True, deviation=deviation)

    def _differs(self, variant: JudgedLists) -> bool:
        same_data = variant.dataset.features is self.base.dataset.features
        return not (same_data and np.array_equal(variant.lists.rows, self.base.lists.rows))

    def _really_scored(self, variants: Sequence[JudgedLists]) -> list[Float32[np.ndarray, " _"]]:
        if all(variant.dataset is self.base.dataset for variant in variants):
            return scores_of_all(self.ranker, self.base, [variant.lists for variant in variants])
        return [self.ranker.score(variant.dataset, variant.lists) for variant in variants]

    def _prove(
        self,
        kind: frozenset[Input],
        variant: JudgedLists,
        carried: Float32[np.ndarray, " candidates"],
    ) -> None:
        proofs = self._proofs.get(kind, 0)
        sample = np.arange(proofs, len(variant.lists), PROOFS)
        self._proofs[kind] = proofs + 1
        expected = carried[ragged.elements_of(variant.lists.offsets, sample)]
        lists = variant.lists.select(sample)
        real = self.ranker.score(variant.dataset, lists)
        deviation = difference(expected, real)
        doubt = of_scores(lists.offsets, real).doubt
        unsure = np.flatnonzero(segments.maxima(lists.offsets, deviation - doubt) > 0)
        if len(unsure) and getattr(self.ranker, "exact_scores", None) is not None:
            some = JudgedLists(variant.dataset, lists.select(unsure))
            inside = ragged.elements_of(lists.offsets, unsure)
            doubt[inside] = measure_floor(self.ranker, some, real[inside])[0].doubt
        beyond = np.flatnonzero(segments.maxima(lists.offsets, deviation - doubt) > 0)
        if len(beyond) and not self._is_rounding(lists, variant, beyond, deviation, sample):
            self._refuted.add(kind)
        worst = float(deviation.max(initial=0.0))
        self._deviations[kind] = max(self._deviations.get(kind, 0.0), worst)

    def _is_rounding(
        self,
        lists: CandidateLists,
        variant: JudgedLists,
        beyond: Int64[np.ndarray, " beyond"],
        deviation: Float64[np.ndarray, " candidates"],
        sample: Int64[np.ndarray, " sample"],
    ) -> bool:
        """True if float64 scores show that small changes of some of the proven lists are rounding.

        A few float32 scores are further off than twice the error that one scoring shows.
        """
        if getattr(self.ranker, "exact_scores", None) is None:
            return False
        inside = ragged.elements_of(lists.offsets, beyond)
        some, now = lists.select(beyond), self.base.lists.select(sample[beyond])
        before = self.scores[ragged.elements_of(self.base.lists.offsets, sample[beyond])]
        limit = EXCUSED * rounding.scales(now.offsets, before).spread
        if (segments.maxima(some.offsets, deviation[inside]) > limit).any():
            return False
        pair = JudgedLists(self.base.dataset, now), JudgedLists(variant.dataset, some)
        return bool((exact_changes(self.ranker, *pair) <= EXACT).all())


def exact_changes(
    ranker: Any, base: JudgedLists, variant: JudgedLists
) -> Float64[np.ndarray, " lists"]:
    """Largest change of each list's float64 scores under a variant of the same documents.

    Args:
        ranker: one that has `exact_scores`.
        base: the lists as they are.
        variant: the same documents, arranged or described otherwise.

    Returns:
        The largest change of each list, as a share of its largest score.
    """
    before = ranker.exact_scores(base.dataset, base.lists)
    after = np.empty_like(before)
    after[shared_source(base, variant)] = ranker.exact_scores(variant.dataset, variant.lists)
    return largest_changes(base.lists.offsets, before, after)


def scores_of_all(
    ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]
) -> list[Float[np.ndarray, " _"]]:
    """Really score every variant, in one batch where the ranker knows how."""
    in_one_batch = getattr(ranker, "score_variants", None)
    if in_one_batch is not None:
        return list(in_one_batch(base.dataset, variants))
    return [ranker.score(base.dataset, variant) for variant in variants]
