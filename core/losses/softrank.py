"""SoftRank: expected NDCG when every score carries Gaussian noise.

The rank of a document is a sum of independent coin tosses, one for every other document that may
stand above it, so its distribution grows by one document at a time. Only relevant documents have
a gain, so only their distributions are built; value and gradient come from one pass forward and
one back, in pieces of bounded memory.
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from core.losses.masked import exact
from core.losses.masked import unit_norm as normalised

PIECE = 1 << 24  # numbers kept of one piece of documents: 64 MiB of float32


def softrank(
    scores: Float[Tensor, "lists docs"],
    labels: Float[Tensor, "lists docs"],
    mask: Bool[Tensor, "lists docs"],
    deviation: float = 0.1,
    *,
    unit_norm: bool = False,
) -> Float[Tensor, " lists"]:
    """1 − E[NDCG] over the whole list, gain 2^y − 1, discount 1/log2(rank + 1).

    Document i stands above j with probability Φ((s_i − s_j) / (σ√2)); the rank distributions
    follow Taylor et al., WSDM 2008 (Ai et al., SIGIR 2018, Eq. 8). Lists without a relevant
    document are 0.

    Args:
        scores: one a document.
        labels: grades.
        mask: True = real.
        deviation: σ, the standard deviation of the noise on every score.
        unit_norm: divide the scores by their norm first (DLCM's released code).

    >>> s, y = torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])
    >>> round(softrank(s, y, y > -1).item(), 4)  # 1 − (1 + 1/log2 3) / 2
    0.1845
    """
    values = exact(scores)
    values = normalised(values, mask) if unit_norm else values.masked_fill(~mask, 0)
    gains = torch.exp2(labels.to(values.dtype).masked_fill(~mask, 0)) - 1
    owner, document = (mask & (gains > 0)).nonzero(as_tuple=True)
    above = _above(values, owner, document, deviation)
    others = mask[owner].scatter(1, document[:, None], value=False)
    places = torch.arange(scores.shape[1], dtype=values.dtype, device=values.device)
    discounts = 1 / torch.log2(places + 2)
    expected: Tensor = _ExpectedDiscount.apply(  # type: ignore[no-untyped-call]
        above.masked_fill(~others, 0), discounts
    )
    ideal = (gains.sort(-1, descending=True).values * discounts).sum(-1)
    shares = gains[owner, document] / ideal[owner] * expected
    ndcg = torch.zeros_like(ideal).index_add(0, owner, shares)
    return torch.where(ideal > 0, 1 - ndcg, 0)


def _above(values: Tensor, owner: Tensor, document: Tensor, deviation: float) -> Tensor:
    """Probability [relevant, docs] that each document of the list stands above the relevant."""
    gaps = values[owner] - values[owner, document][:, None]
    return torch.special.ndtr(gaps / (deviation * math.sqrt(2)))


class _ExpectedDiscount(torch.autograd.Function):
    """E[discount(rank)] of documents, given the probability that each other is above them."""

    @staticmethod
    def forward(ctx: Any, above: Tensor, discounts: Tensor) -> Tensor:
        docs = above.shape[1]
        rows = max(1, PIECE // max(1, docs * docs))
        expected = above.new_empty(len(above))
        gradient = torch.empty_like(above.t())
        for start in range(0, len(above), rows):
            piece = slice(start, start + rows)
            if ctx.needs_input_grad[0]:
                expected[piece], gradient[:, piece] = _with_gradient(above[piece], discounts)
            else:
                expected[piece] = _expected(above[piece], discounts)
        ctx.save_for_backward(gradient)
        return expected

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return gradient.t() * grad[:, None], None


def _with_gradient(above: Tensor, discounts: Tensor) -> tuple[Tensor, Tensor]:
    """E[discount] of some documents [documents], and its derivative by `above`, [docs, documents].

    Forward, p_i(r) is the rank distribution once documents 0 … i − 1 are in; backward, v_i(r) is
    the discount expected from rank r on while documents i … are still to come.
    """
    documents, docs = above.shape
    steps = above.t().contiguous()[:, :, None]
    ranks = above.new_zeros(docs, documents, docs)
    ranks[0, :, 0] = 1
    for step in range(docs - 1):
        before, after = ranks[step], ranks[step + 1]
        torch.mul(before, 1 - steps[step], out=after)
        after[:, 1:].addcmul_(before[:, :-1], steps[step])
    value = discounts.repeat(documents, 1)
    gradient = above.new_empty(docs, documents)
    for step in range(docs - 1, -1, -1):
        gain = value.diff(dim=1)
        torch.linalg.vecdot(ranks[step, :, :-1], gain, out=gradient[step])
        value[:, :-1].addcmul_(gain, steps[step])
    return value[:, 0], gradient


def _expected(above: Tensor, discounts: Tensor) -> Tensor:
    """E[discount] of some documents, without the derivative."""
    value = discounts.repeat(len(above), 1)
    for step in range(above.shape[1] - 1, -1, -1):
        value[:, :-1].addcmul_(value.diff(dim=1), above[:, step : step + 1])
    return value[:, 0]
