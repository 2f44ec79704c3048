"""Sinkhorn's scaling of square matrices, with its gradient written out.

Rows and columns are divided by their sums in turn. Of every round only the two vectors of factors
are kept, and what all rounds say of the matrix is one product on the way back.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

ROUNDS = 50
"""The most that NeuralNDCG's authors take."""


def doubly_stochastic(
    matrix: Float[Tensor, "lists ranks docs"],
    filled: Bool[Tensor, "lists ranks"],
    mask: Bool[Tensor, "lists docs"],
) -> Float[Tensor, "lists ranks docs"]:
    """Rows and columns scaled until both sum to 1 (Sinkhorn, 1964); differentiable once.

    Args:
        matrix: 0 in rows that are not filled and columns that are masked, above it elsewhere in
            sum.
        filled: rows that count.
        mask: columns that count; as many as there are rows.

    >>> both = torch.ones(1, 2).bool()
    >>> doubly_stochastic(torch.tensor([[[3.0, 3.0], [1.0, 1.0]]]), both, both)[0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    scaled: Tensor = _Scaling.apply(matrix, filled, mask)  # type: ignore[no-untyped-call]
    return scaled


class _Scaling(torch.autograd.Function):
    """Round t: c_t = 1 / (Mᵀ r_t-1), r_t = 1 / (M c_t); the result is r M c of the last one."""

    @staticmethod
    def forward(ctx: Any, matrix: Tensor, filled: Tensor, mask: Tensor) -> Tensor:
        """The scaled matrices [lists, docs, docs]; two vectors a round are kept for later."""
        lists, docs = mask.shape
        rows = matrix.new_zeros(ROUNDS + 1, lists, docs)
        columns = matrix.new_zeros(ROUNDS, lists, docs)
        turned = matrix.transpose(1, 2).contiguous()
        rows[0] = filled
        for at in range(ROUNDS):
            columns[at] = _inverse(_product(rows[at], matrix), mask)
            rows[at + 1] = _inverse(_product(columns[at], turned), filled)
        ctx.save_for_backward(matrix, rows, columns)
        return rows[-1, :, :, None] * matrix * columns[-1, :, None, :]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        """The gradient by the matrices, round by round from the last."""
        matrix, rows, columns = ctx.saved_tensors
        turned = matrix.transpose(1, 2).contiguous()
        by_sums, by_totals = torch.empty_like(columns), torch.empty_like(columns)
        weighted = grad * matrix
        of_row = (weighted * columns[-1, :, None]).sum(2)
        of_column = (weighted * rows[-1, :, :, None]).sum(1)
        for at in reversed(range(ROUNDS)):
            by_sums[at] = -rows[at + 1].square() * of_row
            of_column = of_column + _product(by_sums[at], matrix)
            by_totals[at] = -columns[at].square() * of_column
            of_row = _product(by_totals[at], turned)
            of_column = torch.zeros_like(of_column)
        found = grad * rows[-1, :, :, None] * columns[-1, :, None, :]
        left = torch.cat((by_sums, rows[:-1])).permute(1, 2, 0)
        right = torch.cat((columns, by_totals)).transpose(0, 1)
        return torch.baddbmm(found, left, right), None, None


def _product(vector: Tensor, matrix: Tensor) -> Tensor:
    """vᵀ M of each list: many times as fast on a CPU as M v."""
    return torch.bmm(vector[:, None], matrix)[:, 0]


def _inverse(sums: Tensor, real: Tensor) -> Tensor:
    return torch.where(real, 1 / sums.masked_fill(~real, 1), 0)
