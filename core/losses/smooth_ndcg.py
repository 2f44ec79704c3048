"""Smooth NDCG: ApproxNDCG by approximate ranks, NeuralNDCG by a relaxed sort.

Both are 1 − NDCG of the whole list, gain 2^y − 1, discount 1/log2(rank + 1), and approach the true
measure at low temperatures. Lists whose documents share one grade are 0: every ranking of them is
ideal. Sinkhorn's scaling makes the relaxed sort doubly stochastic. Its explicit gradient saves only
two vectors of factors per round.
"""

from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from shuffleproof.core.losses.masked import Lists, Mask, PerList, exact, grades_differ
from shuffleproof.core.losses.pairs import in_pieces
from shuffleproof.core.losses.weights import discount


def approx_ndcg(
    scores: Lists, labels: Lists, mask: Mask, temperature: int | float = 0.1
) -> PerList:
    """1 − NDCG at the ranks 1 + Σ_j≠i sigmoid((s_j − s_i) / T) (Qin, Liu & Li, IR 13, 2010).

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        temperature: T.

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(approx_ndcg(s, y, y >= 0).item(), 4)  # 1 − 1/log2 2.5
    0.2435
    """
    return _losses_of_lists(partial(_approximate_loss, temperature), scores, labels, mask)


def neural_ndcg(
    scores: Lists, labels: Lists, mask: Mask, temperature: int | float = 0.1
) -> PerList:
    """1 − NDCG of gains sorted by NeuralSort, its matrix scaled to be doubly stochastic.

    Row i of the matrix is softmax_j(((n + 1 − 2i) s_j − Σ_k |s_j − s_k|) / T) (Grover et al., ICLR
    2019). Sinkhorn's scaling prevents counting a gain twice (Pobrotyn & Białobrzeski, 2021).

    Args:
        scores: one per document.
        labels: grades.
        mask: True = real.
        temperature: T.

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(neural_ndcg(s, y, y >= 0).item(), 4)  # 1 − (1 + 1/log2 3) / 2
    0.1845
    """
    return _losses_of_lists(partial(_soft_sort_loss, temperature), scores, labels, mask)


def relaxed_sort(
    values: Lists, mask: Mask, temperature: int | float
) -> Float[Tensor, "lists ranks docs"]:
    """NeuralSort: share of each document at each rank; rows and columns of pads are 0.

    Every row sums to 1; at a low temperature it is the permutation that sorts by falling value.

    >>> values = torch.tensor([[1.0, 3.0]])
    >>> relaxed_sort(values, values > 0, 0.01)[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    real_pairs = mask[:, :, None] & mask[:, None, :]
    # A_s 1 of Grover et al. (2019): sums of absolute differences
    distances = (values[:, :, None] - values[:, None, :]).abs().masked_fill(~real_pairs, 0).sum(-1)
    ranks = torch.arange(1, values.shape[1] + 1, dtype=values.dtype, device=values.device)
    slopes = mask.sum(-1, keepdim=True) + 1 - 2 * ranks
    logits = (slopes[:, :, None] * values[:, None, :] - distances[:, None, :]) / temperature
    low = torch.finfo(logits.dtype).min / 2
    rows = logits.masked_fill(~mask[:, None, :], low).softmax(-1)
    return torch.where(_filled_ranks(mask)[:, :, None] & mask[:, None, :], rows, 0)


def _losses_of_lists(
    function: partial[Tensor], scores: Tensor, labels: Tensor, mask: Tensor
) -> PerList:
    values = exact(scores).masked_fill(~mask, 0)
    grades = labels.to(values.dtype).masked_fill(~mask, 0)
    losses = in_pieces(function, values, grades, mask)
    return torch.where(grades_differ(grades, mask), losses, 0)


def _approximate_loss(
    temperature: int | float, values: Tensor, grades: Tensor, mask: Tensor
) -> Tensor:
    above = torch.sigmoid((values[:, None, :] - values[:, :, None]) / temperature)
    itself = torch.eye(values.shape[1], dtype=torch.bool, device=values.device)
    ranks = above.masked_fill(itself | ~mask[:, None, :], 0).sum(-1)
    gains, ideal = _gains(grades)
    # `ranks` are 0-based, so 1/log2(ranks + 2) is the discount of the 1-based rank.
    return 1 - (gains / torch.log2(ranks + 2)).sum(-1) / ideal


def _soft_sort_loss(
    temperature: int | float, values: Tensor, grades: Tensor, mask: Tensor
) -> Tensor:
    rows = relaxed_sort(values, mask, temperature)
    matrix = doubly_stochastic(rows, _filled_ranks(mask), mask)
    gains, ideal = _gains(grades)
    gained = torch.einsum("lrd,ld->lr", matrix, gains)
    return 1 - (gained * discount(values)).sum(-1) / ideal


def _gains(grades: Tensor) -> tuple[Tensor, Tensor]:
    """Gains [lists, docs] and ideal DCG [lists]; 1 for a list without gain."""
    gains = torch.exp2(grades.clamp(min=0)) - 1
    ideal = (gains.sort(-1, descending=True).values * discount(grades)).sum(-1)
    return gains, ideal.masked_fill(ideal <= 0, 1)


def _filled_ranks(mask: Tensor) -> Tensor:
    """True at ranks [lists, docs] below the number of the list's documents."""
    ranks = torch.arange(mask.shape[1], device=mask.device)
    return ranks < mask.sum(-1, keepdim=True)


ROUNDS = 50
"""Rounds of Sinkhorn's scaling: the most that NeuralNDCG's authors use."""


def doubly_stochastic(
    matrix: Float[Tensor, "lists ranks docs"], filled: Bool[Tensor, "lists ranks"], mask: Mask
) -> Float[Tensor, "lists ranks docs"]:
    """Rows and columns scaled until both sum to 1 (Sinkhorn, 1964); differentiable once.

    Args:
        matrix: 0 in unfilled rows and masked columns; all others have a positive sum.
        filled: rows that count.
        mask: columns that count; their number equals that of the rows.

    >>> both = torch.ones(1, 2).bool()
    >>> doubly_stochastic(torch.tensor([[[3.0, 3.0], [1.0, 1.0]]]), both, both)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    scaled: Tensor = _Scaling.apply(matrix, filled, mask)  # type: ignore[no-untyped-call]
    return scaled


class _Scaling(torch.autograd.Function):
    """Round t: c_t = 1 / (Mᵀ r_t-1), r_t = 1 / (M c_t); the result is r M c of the last round."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, filled: Tensor, mask: Tensor) -> Tensor:
        """Scaled matrices [lists, docs, docs]; saves two vectors per round for backward."""
        lists, docs = mask.shape
        rows = matrix.new_zeros(ROUNDS + 1, lists, docs)
        columns = matrix.new_zeros(ROUNDS, lists, docs)
        transposed = matrix.transpose(1, 2).contiguous()
        rows[0] = filled
        for at in range(ROUNDS):
            columns[at] = _inverse(_product(rows[at], matrix), mask)
            rows[at + 1] = _inverse(_product(columns[at], transposed), filled)
        ctx.save_for_backward(matrix, rows, columns)
        return rows[-1, :, :, None] * matrix * columns[-1, :, None, :]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """Gradient by the matrices, round by round from the last."""
        matrix, rows, columns = ctx.saved_tensors
        transposed = matrix.transpose(1, 2).contiguous()
        by_sums, by_totals = torch.empty_like(columns), torch.empty_like(columns)
        weighted = grad * matrix
        of_row = (weighted * columns[-1, :, None]).sum(2)
        of_column = (weighted * rows[-1, :, :, None]).sum(1)
        for at in reversed(range(ROUNDS)):  # ∂(1/u) = −(1/u)² ∂u, with u = M c, then u = Mᵀ r
            by_sums[at] = -rows[at + 1].square() * of_row
            of_column = of_column + _product(by_sums[at], matrix)
            by_totals[at] = -columns[at].square() * of_column
            of_row = _product(by_totals[at], transposed)
            of_column = torch.zeros_like(of_column)
        # ∂M: the direct term, and the outer products of all rounds as one batched matrix product
        direct = grad * rows[-1, :, :, None] * columns[-1, :, None, :]
        left = torch.cat((by_sums, rows[:-1])).permute(1, 2, 0)
        right = torch.cat((columns, by_totals)).transpose(0, 1)
        return torch.baddbmm(direct, left, right), None, None


def _product(vector: Tensor, matrix: Tensor) -> Tensor:
    """vᵀ M of each list; on a CPU many times faster than M v."""
    return torch.bmm(vector[:, None], matrix)[:, 0]


def _inverse(sums: Tensor, real: Tensor) -> Tensor:
    return torch.where(real, 1 / sums.masked_fill(~real, 1), 0)
