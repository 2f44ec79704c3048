"""How far a ranker moves a measure's mean when nothing is changed: the gate's noise floor.

The lists as they are are scored again, and the scores are moved within what arithmetic may do to
them (`core.experiment.score_floor`): another processor, or another order of summation, may break a
near tie the other way. What has equal scores keeps them equal.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator

REPEATS, SHAKES = 4, 4


def floor(
    ranker: Ranker, base: JudgedLists, measures: Sequence[Measure]
) -> tuple[bool, list[float]]:
    """Whether a ranker gives the same scores again, and its noise in each measure.

    Args:
        ranker: anything that scores.
        base: the lists as they are.
        measures: whose means are watched.

    Returns:
        Steady or not; by measure the largest distance of the mean from that of the first scores.
    """
    first = ranker.score(base.dataset, base.lists)
    again = [ranker.score(base.dataset, base.lists) for _ in range(REPEATS)]
    steady = all(score_floor.same_within_floor(base.lists.offsets, first, one) for one in again)
    moved = [*again, *(_shaken(base, first, draw) for draw in range(SHAKES))]
    means = _means(measures, base, first)
    noise = np.max([np.abs(_means(measures, base, one) - means) for one in moved], axis=0)
    return steady, np.nan_to_num(noise).tolist()


def _means(
    measures: Sequence[Measure], base: JudgedLists, scores: np.ndarray
) -> Float64[np.ndarray, " measures"]:
    values = evaluate(list(measures), base.dataset, base.lists, scores).astype(np.float64)
    counted = np.maximum(np.count_nonzero(~np.isnan(values), axis=1), 1)
    return np.nansum(values, axis=1) / counted


def _shaken(base: JudgedLists, scores: np.ndarray, draw: int) -> Float32[np.ndarray, " candidates"]:
    """The scores within the floor of each, ties kept."""
    owner = ragged.segment_ids(base.lists.offsets)
    pairs = np.stack([owner, scores.astype(np.float64)], axis=1)
    _, same = np.unique(pairs, axis=0, return_inverse=True)
    doubt = score_floor.of_scores(base.lists.offsets, scores).doubt
    chance = generator(draw, "gate noise").uniform(-1.0, 1.0, len(scores))
    return (scores + doubt * chance[same.reshape(-1)]).astype(np.float32)
