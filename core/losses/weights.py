"""Weights of pairs: ΔNDCG of the current ranking (LambdaRank), IR-SVM's grades and queries.

Every function takes (scores, grades, mask), each [lists, docs] with 0 at pads. It returns weights
that broadcast to the squares [lists, docs, docs] of pairs (see `core.losses.pairs`).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from shuffleproof.core.losses.masked import Lists, Mask
from shuffleproof.core.losses.pairs import PairWeighting, pair_mask


def by_query(scores: Lists, grades: Lists, mask: Mask) -> Float[Tensor, "lists #docs #docs"]:
    """1 / number of the list's pairs: all lists have equal weight.

    IR-SVM's μ without its constant factor, the largest number of pairs (Cao et al., SIGIR 2006).

    >>> ones = torch.ones(1, 3)
    >>> round(by_query(ones, torch.tensor([[2.0, 1.0, 0.0]]), ones.bool()).item(), 4)
    0.3333
    """
    pairs = pair_mask(grades, mask).sum((1, 2)).clamp(min=1)
    return pairs.to(scores.dtype).reciprocal()[:, None, None]


def by_grade(
    scores: Lists, grades: Lists, mask: Mask, cutoff: int = 10
) -> Float[Tensor, "lists docs docs"]:
    """IR-SVM's τ of a pair's grades in this list, scaled so that the list's weights sum to 1.

    τ of two grades is the mean loss of NDCG@cutoff when documents of both are exchanged in the
    ideal list. It is (gain − gain') · (mean discount of the first grade's places − that of the
    second's) / ideal DCG (Cao et al., SIGIR 2006, with an exact expectation).

    >>> ones = torch.ones(1, 3)
    >>> by_grade(ones, torch.tensor([[0.0, 1.0, 0.0]]), ones.bool())[0, 1].tolist()
    [0.5, 0.0, 0.5]
    """
    discounts = _mean_discounts(grades, torch.zeros_like(grades), mask, cutoff)
    lost = _exchange_effects(grades, discounts).masked_fill(~pair_mask(grades, mask), 0)
    # Lists without pairs have sum 0: the smallest normal number avoids 0/0
    return lost / lost.sum((1, 2), keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


def delta_ndcg(
    scores: Lists, grades: Lists, mask: Mask, cutoff: int | None = None
) -> Float[Tensor, "lists docs docs"]:
    """|ΔNDCG@cutoff|: effect of exchanging two documents in the ranking by scores.

    Documents of equal score are ranked worst first; equal grades among them share their mean
    discount, so that the input order plays no part.

    Args:
        scores: one per document.
        grades: gain 2^y − 1; negative grades count as 0, as in the measures.
        mask: True = real.
        cutoff: discounts are 0 from this 0-based rank on; None: never.

    >>> s, y = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    >>> round(delta_ndcg(s, y, y >= 0)[0, 1, 0].item(), 4)  # 1 − 1/log2 3
    0.3691
    """
    # Worst first among ties: a constant scorer still gets a gradient
    discounts = _mean_discounts(scores, -grades, mask, cutoff)
    gains = _gains(grades.masked_fill(~mask, 0))
    by_rank = discount(scores, cutoff)
    ideal = (gains.sort(-1, descending=True).values * by_rank).sum(-1)
    tiny = torch.finfo(scores.dtype).tiny
    return _exchange_effects(grades, discounts).abs() / ideal.clamp(min=tiny)[:, None, None]


def discount(like: Lists, cutoff: int | None = None) -> Float[Tensor, " docs"]:
    """1 / log2(rank + 2) of every 0-based rank, 0 from the cutoff on."""
    ranks = torch.arange(like.shape[1], dtype=like.dtype, device=like.device)
    discounts = 1 / torch.log2(ranks + 2)
    return discounts if cutoff is None else discounts.masked_fill(ranks >= cutoff, 0)


def weights_named(name: str) -> PairWeighting:
    """Weights by name in recipes: queries, pairs (each weighs 1) or grades."""
    weights: dict[str, PairWeighting] = {
        "queries": by_query,
        "pairs": lambda scores, *_: scores.new_ones(len(scores), 1, 1),
        "grades": by_grade,
    }
    return weights[name]


def _gains(grades: Tensor) -> Tensor:
    """2^y − 1, and 0 for negative grades, as in the measures."""
    return torch.exp2(grades.clamp(min=0)) - 1


def _exchange_effects(grades: Tensor, discounts: Tensor) -> Tensor:
    gains = _gains(grades)
    gained = gains[:, :, None] - gains[:, None, :]
    # Δ of exchanging i and j: (G_i − G_j)(D_i − D_j), before division by ideal DCG
    return gained * (discounts[:, :, None] - discounts[:, None, :])


def _mean_discounts(
    scores: Tensor, tie_breakers: Tensor, mask: Tensor, cutoff: int | None
) -> Tensor:
    """Discounts of the ranking by falling `scores`, then `tie_breakers`; ties share their mean.

    `scores` of pads may have any value: pads are ranked behind all real documents.
    """
    scores, tie_breakers = scores.masked_fill(~mask, -torch.inf), tie_breakers.masked_fill(~mask, 0)
    level = scores[:, :, None] == scores[:, None, :]
    # Counting documents above gives ranks without a sort that would break ties by place
    above = (scores[:, None, :] > scores[:, :, None]) | (
        level & (tie_breakers[:, None, :] > tie_breakers[:, :, None])
    )
    # Mean discount of the tied places start … start + tied − 1, by prefix sums
    start = above.sum(-1)
    tied = (level & (tie_breakers[:, None, :] == tie_breakers[:, :, None])).sum(-1)
    sums = discount(scores, cutoff).cumsum(-1)
    sums = torch.cat((sums.new_zeros(1), sums))
    return (sums[start + tied] - sums[start]) / tied
