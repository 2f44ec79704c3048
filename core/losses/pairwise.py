"""Pairwise losses: hinge, logistic (RankNet), the same under ΔNDCG (LambdaRank), fidelity (FRank).

Every loss is a pure function of (scores, labels, mask), each [lists, docs], to one value per list.
A pair is two documents of different grades in one list; lists without a pair are exactly 0.
`pair_weights` sums a list's pairs (`pairs`), averages them (`queries`) or weighs them by IR-SVM's
weights of their grades, which sum to 1 (`grades`).
"""

from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from torch import Tensor

from shuffleproof.core.losses.masked import Lists, Mask, PerList
from shuffleproof.core.losses.pairs import Part, pairwise
from shuffleproof.core.losses.weights import delta_ndcg, weights_named


def hinge(scores: Lists, labels: Lists, mask: Mask, pair_weights: str = "queries") -> PerList:
    """max(0, 1 − (s_i − s_j)) over the pairs: RankSVM's loss (Joachims, KDD 2002).

    >>> s, y = torch.tensor([[0.25, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> hinge(s, y, y >= 0).item()
    0.75
    """
    return pairwise(
        scores, labels, mask, lambda margin: F.relu(1 - margin), weights_named(pair_weights)
    )


def ranknet(
    scores: Lists,
    labels: Lists,
    mask: Mask,
    pair_weights: str = "queries",
    steepness: int | float = 1.0,
) -> PerList:
    """log(1 + exp(−σ (s_i − s_j))) over the pairs (Burges et al., ICML 2005).

    The cross entropy of P_ij = 1 / (1 + exp(−σ (s_i − s_j))) against the target 1. Pairs of equal
    grades (target 1/2 in the paper's formula) are left out, as they are in its experiments.

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        pair_weights: queries, pairs or grades.
        steepness: σ.

    >>> s, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(ranknet(s, y, y >= 0).item(), 4)  # log(1 + e^-1)
    0.3133
    """
    return pairwise(scores, labels, mask, _logistic(steepness), weights_named(pair_weights))


def lambdarank(
    scores: Lists, labels: Lists, mask: Mask, cutoff: int | None = 10, steepness: int | float = 1.0
) -> PerList:
    """RankNet's loss, every pair weighed by |ΔNDCG@cutoff| of the current ranking.

    The weights are constants, so the gradient of s_i is the sum of λ_ij = −σ |ΔZ_ij| / (1 +
    exp(σ (s_i − s_j))) over its pairs (Burges et al., NIPS 2006, exponent's sign corrected).

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        cutoff: of NDCG; None: the whole list.
        steepness: σ.

    >>> s, y = torch.tensor([[0.0, 1.0]], requires_grad=True), torch.tensor([[1.0, 0.0]])
    >>> lambdarank(s, y, y >= 0).sum().backward()
    >>> round(s.grad[0, 0].item(), 4)  # −(1 − 1/log2 3) / (1 + e^-1)
    -0.2698
    """
    weigh = partial(delta_ndcg, cutoff=cutoff)
    return pairwise(scores, labels, mask, _logistic(steepness), weigh)


def frank(
    scores: Lists,
    labels: Lists,
    mask: Mask,
    pair_weights: str = "queries",
    steepness: int | float = 1.0,
) -> PerList:
    """Fidelity loss 1 − √P_ij over the pairs (Tsai et al., SIGIR 2007).

    F = 1 − √(P̄ P) − √((1 − P̄)(1 − P)) with the target P̄ = 1 for pairs of different grades. It lies
    between 0 and 1, and its gradient nearly vanishes for badly wrong pairs.

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        pair_weights: queries, pairs or grades.
        steepness: σ of P.

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(frank(s, y, y >= 0).item(), 4)  # 1 − √½
    0.2929
    """

    def part(margin: Tensor) -> Tensor:
        # √P = exp(log P / 2); expm1 keeps 1 − √P accurate where P is near 1.
        return -torch.expm1(F.logsigmoid(steepness * margin) / 2)

    return pairwise(scores, labels, mask, part, weights_named(pair_weights))


def _logistic(steepness: int | float) -> Part:
    # log(1 + e^−x) without overflow at large negative margins
    return lambda margin: -F.logsigmoid(steepness * margin)
