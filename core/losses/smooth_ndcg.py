"""NDCG made smooth: ApproxNDCG by approximate ranks, NeuralNDCG by a relaxed sort.

Both are 1 − NDCG of the whole list, gain 2^y − 1, discount 1/log2(rank + 1), and come as close to
the true measure as the temperature is low. Lists whose documents share one grade are 0: every
ranking of them is ideal.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from shuffleproof.core.losses.masked import exact, grades_differ
from shuffleproof.core.losses.pairs import in_pieces
from shuffleproof.core.losses.sinkhorn import doubly_stochastic
from shuffleproof.core.losses.weights import discount


def approx_ndcg(
    scores: Float[Tensor, "lists docs"],
    labels: Float[Tensor, "lists docs"],
    mask: Bool[Tensor, "lists docs"],
    temperature: int | float = 0.1,
) -> Float[Tensor, " lists"]:
    """1 − NDCG at the ranks 1 + Σ_j≠i sigmoid((s_j − s_i) / T) (Qin, Liu & Li, IR 13, 2010).

    Args:
        scores: one a document.
        labels: grades.
        mask: True = real.
        temperature: T.

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(approx_ndcg(s, y, y >= 0).item(), 4)  # 1 − 1/log2 2.5
    0.2435
    """
    return _prepared(partial(_approximate, temperature), scores, labels, mask)


def neural_ndcg(
    scores: Float[Tensor, "lists docs"],
    labels: Float[Tensor, "lists docs"],
    mask: Bool[Tensor, "lists docs"],
    temperature: int | float = 0.1,
) -> Float[Tensor, " lists"]:
    """1 − NDCG of gains sorted by NeuralSort, its matrix scaled to be doubly stochastic.

    Row i of the matrix is softmax_j(((n + 1 − 2i) s_j − Σ_k |s_j − s_k|) / T) (Grover et al., ICLR
    2019); Sinkhorn's scaling keeps gains from being counted twice (Pobrotyn & Białobrzeski, 2021).

    Args:
        scores: one a document.
        labels: grades.
        mask: True = real.
        temperature: T.

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(neural_ndcg(s, y, y >= 0).item(), 4)  # 1 − (1 + 1/log2 3) / 2
    0.1845
    """
    return _prepared(partial(_sorted_softly, temperature), scores, labels, mask)


def relaxed_sort(
    values: Float[Tensor, "lists docs"], mask: Bool[Tensor, "lists docs"], temperature: int | float
) -> Float[Tensor, "lists ranks docs"]:
    """NeuralSort: how much of each document stands at each rank; rows and columns of pads are 0.

    Every row sums to 1; at a low temperature it is the permutation that sorts by falling value.

    >>> values = torch.tensor([[1.0, 3.0]])
    >>> relaxed_sort(values, values > 0, 0.01)[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    both = mask[:, :, None] & mask[:, None, :]
    apart = (values[:, :, None] - values[:, None, :]).abs().masked_fill(~both, 0).sum(-1)
    ranks = torch.arange(1, values.shape[1] + 1, dtype=values.dtype, device=values.device)
    slopes = mask.sum(-1, keepdim=True) + 1 - 2 * ranks
    logits = (slopes[:, :, None] * values[:, None, :] - apart[:, None, :]) / temperature
    low = torch.finfo(logits.dtype).min / 2
    rows = logits.masked_fill(~mask[:, None, :], low).softmax(-1)
    return torch.where(_filled_ranks(mask)[:, :, None] & mask[:, None, :], rows, 0)


def _prepared(
    function: partial[Tensor], scores: Tensor, labels: Tensor, mask: Tensor
) -> Float[Tensor, " lists"]:
    values = exact(scores).masked_fill(~mask, 0)
    grades = labels.to(values.dtype).masked_fill(~mask, 0)
    found = in_pieces(function, values, grades, mask)
    return torch.where(grades_differ(grades, mask), found, 0)


def _approximate(temperature: int | float, values: Tensor, grades: Tensor, mask: Tensor) -> Tensor:
    above = torch.sigmoid((values[:, None, :] - values[:, :, None]) / temperature)
    itself = torch.eye(values.shape[1], dtype=torch.bool, device=values.device)
    ranks = above.masked_fill(itself | ~mask[:, None, :], 0).sum(-1)
    gains, ideal = _gains(grades)
    return 1 - (gains / torch.log2(ranks + 2)).sum(-1) / ideal


def _sorted_softly(
    temperature: int | float, values: Tensor, grades: Tensor, mask: Tensor
) -> Tensor:
    rows = relaxed_sort(values, mask, temperature)
    matrix = doubly_stochastic(rows, _filled_ranks(mask), mask)
    gains, ideal = _gains(grades)
    gained = torch.einsum("lrd,ld->lr", matrix, gains)
    return 1 - (gained * discount(values)).sum(-1) / ideal


def _gains(grades: Tensor) -> tuple[Tensor, Tensor]:
    """Gains and the ideal DCG of each list, 1 where there is nothing to gain."""
    gains = torch.exp2(grades.clamp(min=0)) - 1
    ideal = (gains.sort(-1, descending=True).values * discount(grades)).sum(-1)
    return gains, ideal.masked_fill(ideal <= 0, 1)


def _filled_ranks(mask: Tensor) -> Tensor:
    """True at the ranks [lists, docs] that a list has documents for."""
    ranks = torch.arange(mask.shape[1], device=mask.device)
    return ranks < mask.sum(-1, keepdim=True)
