"""What a changed input does to a ranker's own answer, over the documents that both lists have."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.metrics.agreement import kendall_tau, overlap
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.segments import largest_deviations
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.kinds.ranking_degradation.study import values_of
from shuffleproof.core.studies.score_reuse import ScoreCache, shared_source

OWN = ("answer-tau", "kept-top-1", "kept-top-10", "score-change")
"""Kendall's τ-b of the two answers, the expected share of the first 1 and 10 that are still
there, and the largest change of a score."""


def measured_by(measures: Sequence[Measure]) -> Callable[..., tuple[list[Any], dict[str, Any]]]:
    """The study's step: measures of every variant, then what became of the answer (OWN).

    It remembers each ranker's scores of the base lists, so make a new one for every study.
    """
    carriers: dict[tuple[int, int], ScoreCache] = {}

    def measured(
        ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and whether its scores were carried over."""
        carrier = carriers.setdefault((id(ranker), id(base)), ScoreCache(ranker, base))
        if all(variant is base for variant in variants):
            scored, facts = [carrier.scores] * len(variants), (True, 0.0)
        else:
            found = carrier.score_judged(variants)
            scored, facts = found.scores, (found.carried, found.deviation)
        values = values_of(measures, base, variants, scored)
        answers = [
            answer_changes(base, carrier.scores, variant, scores)
            for variant, scores in zip(variants, scored, strict=True)
        ]
        both = [np.concatenate(pair) for pair in zip(values, answers, strict=True)]
        return both, {"carried": facts[0], "proof_deviation": facts[1]}

    return measured


def answer_changes(
    base: JudgedLists,
    before: Float32[np.ndarray, " candidates"],
    variant: JudgedLists,
    after: Float32[np.ndarray, " others"],
) -> Float32[np.ndarray, "facts lists"]:
    """What became of the answer to each list, over the documents that both have.

    Args:
        base: the lists as they are.
        before: scores of them.
        variant: what was made of them.
        after: scores of that.

    Returns:
        One row for each of OWN; τ is NaN where an answer ties all documents of a list.
    """
    source = shared_source(base, variant)
    there = np.flatnonzero(source >= 0)
    owner = ragged.segment_ids(variant.lists.offsets)[there]
    offsets = ragged.offsets_of(np.bincount(owner, minlength=len(base.lists)))
    old, new = before[source[there]], after[there]
    found = [
        kendall_tau(offsets, old, new),
        overlap(offsets, old, new, depth=1),
        overlap(offsets, old, new, depth=10),
        largest_deviations(offsets, old, new),
    ]
    return np.stack(found).astype(np.float32)
