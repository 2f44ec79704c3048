"""One round of boosting: which threshold ranker comes next, and with which factor."""

from dataclasses import dataclass
from math import atanh

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.rankers.boosting.bins import BinnedDocuments
from shuffleproof.core.rankers.boosting.pairs import GradedLists
from shuffleproof.core.rankers.linear.weights import grade_counts, graded, pairs_of

CLIP = 1.0 - 1e-6
"""|r| is held below 1, where a threshold ranker orders every pair rightly."""

HALVINGS = 20


@dataclass(frozen=True)
class Chosen:
    """The threshold ranker of a round.

    Attributes:
        column: the feature column.
        split: the number of its threshold.
        factor: what documents above it gain; negative where less of the feature is better.
        loss: of the ensemble before (RankBoost: mean weight of a pair) or after it (fidelity).
        last: it orders every pair rightly, nothing is left to learn.
    """

    column: int
    split: int
    factor: float
    loss: float
    last: bool = False


def graded_lists(
    labels: Float32[np.ndarray, " docs"], lengths: Int64[np.ndarray, " lists"], *, by_query: bool
) -> GradedLists:
    """The lists with weights that sum to 1 over all pairs.

    Args:
        labels: any numbers; higher is better.
        lengths: of the lists; none is 0.
        by_query: every query with pairs weighs alike; else every pair does.

    Raises:
        DataError: more than 1 024 different labels.
    """
    grades, levels = graded(labels)
    offsets = offsets_of(lengths)
    pairs = pairs_of(grade_counts(grades, offsets, len(levels)))
    weights = np.divide(1.0, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    if not by_query:
        weights = np.ones(len(pairs))
    total = float((weights * pairs).sum())
    return GradedLists(offsets, grades, weights / max(total, 1.0), len(levels))


def exponential_round(
    lists: GradedLists, documents: BinnedDocuments, scores: Float64[np.ndarray, " docs"]
) -> Chosen | None:
    """RankBoost's next threshold ranker: the largest |r|, with factor ½ ln((1 + r)/(1 − r)).

    Args:
        lists: grades and pair weights.
        documents: their features.
        scores: of the documents so far.
    """
    potentials, total = lists.exponential(scores)
    splits, sums = documents.strongest(potentials)
    column = int(np.argmax(np.abs(sums))) if len(sums) else -1
    if column < 0 or total <= 0.0 or abs(sums[column]) <= (1.0 - CLIP) ** 2 * total:
        return None
    share = float(sums[column]) / total
    factor = atanh(min(max(share, -CLIP), CLIP))
    return Chosen(column, int(splits[column]), factor, total, last=abs(share) >= CLIP)


def fidelity_round(
    lists: GradedLists,
    documents: BinnedDocuments,
    scores: Float64[np.ndarray, " docs"],
    tried: int,
) -> Chosen | None:
    """FRank's next threshold ranker: of the steepest ones that which leaves the least loss.

    Its factor is ½ ln(Σ W / Σ W), W being the slope of a pair's loss, over the pairs that it
    orders rightly and wrongly (Tsai et al. 2007); halved while the loss would not fall.

    Args:
        lists: grades and pair weights.
        documents: their features.
        scores: of the documents so far.
        tried: threshold rankers whose loss is compared, one a feature.
    """
    slopes, loss = lists.fidelity(scores)
    splits, sums = documents.strongest(slopes)
    columns = np.argsort(-np.abs(sums), kind="stable")[:tried]
    columns = columns[sums[columns] != 0.0]
    if not len(columns):
        return None
    above = np.stack([documents.above(one, int(splits[one])) for one in columns.tolist()], axis=1)
    right, wrong = lists.agreement(scores, above)
    shares = (right - wrong) / np.maximum(right + wrong, np.finfo(np.float64).tiny)
    factors = np.arctanh(np.clip(shares, -CLIP, CLIP))
    best = int(np.argmin(lists.fidelity_after(scores, above, factors)))
    for halving in range(HALVINGS):
        factor = factors[best : best + 1] * 0.5**halving
        left = float(lists.fidelity_after(scores, above[:, best : best + 1], factor)[0])
        if left < loss:
            return Chosen(int(columns[best]), int(splits[columns[best]]), float(factor[0]), left)
    return None
