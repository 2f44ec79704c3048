"""SoftRank: expected NDCG with Gaussian noise on every score (Taylor et al., WSDM 2008).

A document's rank is the number of documents above it, each with its own probability. The rank
distribution grows by one document at a time. The forward pass builds it; the backward pass carries
the expected discount. Value and gradient together cost docs² per document. Only relevant documents
have a gain. On a CPU a compiled kernel handles these alone. Elsewhere tensors handle all documents,
in pieces: the host need not know which are relevant, so it does not wait for the device.
"""

import math
from typing import Any, no_type_check

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from shuffleproof.core.compiled import compiled
from shuffleproof.core.losses.masked import Lists, Mask, PerList, exact
from shuffleproof.core.losses.masked import unit_norm as normalised


def softrank(
    scores: Lists, labels: Lists, mask: Mask, deviation: float = 0.1, *, unit_norm: bool = False
) -> PerList:
    """1 − E[NDCG] over the whole list, gain 2^y − 1, discount 1/log2(rank + 1).

    Document i is above j with probability Φ((s_i − s_j) / (σ√2)); the rank distributions
    follow Taylor et al., WSDM 2008 (Ai et al., SIGIR 2018, Eq. 8). Lists without a relevant
    document are 0.

    Args:
        scores: one per document.
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
    owner, document = documents_with_gain(mask & (gains > 0))
    gaps = values[owner] - values[owner, document][:, None]
    # The difference of two scores with noise σ each is N(gap, 2σ²)
    above = torch.special.ndtr(gaps / (deviation * math.sqrt(2)))
    other_documents = mask[owner].scatter(1, document[:, None], value=False)
    places = torch.arange(scores.shape[1], dtype=values.dtype, device=values.device)
    discounts = 1 / torch.log2(places + 2)
    expected = expected_discount(above.masked_fill(~other_documents, 0), discounts)
    ideal = (gains.sort(-1, descending=True).values * discounts).sum(-1)
    divisor = torch.where(ideal > 0, ideal, 1)
    shares = gains[owner, document] / divisor[owner] * expected
    ndcg = torch.zeros_like(ideal).index_add(0, owner, shares)
    return torch.where(ideal > 0, 1 - ndcg, 0)


def documents_with_gain(relevant: Mask) -> tuple[Tensor, Tensor]:
    """Lists and places of documents whose ranks are needed; on a GPU all, to avoid waiting for it.

    >>> documents_with_gain(torch.tensor([[False, True], [False, False]]))
    (tensor([0]), tensor([1]))
    """
    if relevant.device.type == "cpu":
        lists, places = relevant.nonzero(as_tuple=True)
        return lists, places
    return all_documents(relevant)


def all_documents(mask: Mask) -> tuple[Tensor, Tensor]:
    """Lists and places of all documents, pads included.

    >>> all_documents(torch.tensor([[True, True]]))
    (tensor([0, 0]), tensor([0, 1]))
    """
    lists, docs = mask.shape
    every = torch.arange(lists * docs, device=mask.device)
    return every // docs, every % docs


PIECE = 1 << 24  # numbers in memory per piece of documents: 64 MiB of float32


def expected_discount(
    above: Float[Tensor, "documents docs"], discounts: Float[Tensor, " docs"]
) -> Float[Tensor, " documents"]:
    """E[discount(rank)] of each document; differentiable once, by `above`.

    Args:
        above: probability that each document of its list is above it; 0 for itself and pads.
        discounts: discount of each 0-based rank.

    >>> expected_discount(torch.tensor([[0.0, 0.5]]), torch.tensor([1.0, 0.5])).tolist()
    [0.75]
    """
    expected: Tensor = _ExpectedDiscount.apply(above, discounts)  # type: ignore[no-untyped-call]
    return expected


class _ExpectedDiscount(torch.autograd.Function):
    """E[discount] of every document, with its derivative from the same pass."""

    @staticmethod
    def forward(ctx: Any, above: Tensor, discounts: Tensor) -> Tensor:
        """f32[documents], from f32[documents, docs] and f32[docs]; saves the derivative."""
        passes = by_kernel if above.device.type == "cpu" else by_tensors
        expected, gradient = passes(above, discounts)
        ctx.save_for_backward(gradient)
        return expected

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        """Gradient by `above`, f32[documents, docs]; discounts are constants."""
        (gradient,) = ctx.saved_tensors
        return gradient * grad[:, None], None


def by_kernel(
    above: Float[Tensor, "documents docs"], discounts: Float[Tensor, " docs"]
) -> tuple[Float[Tensor, " documents"], Float[Tensor, "documents docs"]]:
    """E[discount] and its derivative by `above`, document after document on the CPU."""
    expected, gradient = above.new_empty(len(above)), torch.empty_like(above)
    _kernel(
        above.detach().contiguous().numpy(),
        discounts.detach().numpy(),
        expected.numpy(),
        gradient.numpy(),
    )
    return expected, gradient


def by_tensors(
    above: Float[Tensor, "documents docs"], discounts: Float[Tensor, " docs"]
) -> tuple[Float[Tensor, " documents"], Float[Tensor, "documents docs"]]:
    """`by_kernel` for many documents together, in pieces of bounded memory, on any device."""
    docs = above.shape[1]
    expected, gradient = above.new_empty(len(above)), torch.empty_like(above.t())
    rows = max(1, PIECE // max(1, docs * docs))
    for start in range(0, len(above), rows):
        piece = slice(start, start + rows)
        expected[piece], gradient[:, piece] = _piece(above[piece], discounts)
    return expected, gradient.t()


def _piece(above: Tensor, discounts: Tensor) -> tuple[Tensor, Tensor]:
    """`_kernel` with tensors: a step handles all documents; the gradient is [docs, documents]."""
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


@no_type_check  # jaxtyping's import hook wraps what it checks; numba takes no wrapped function
@compiled(nogil=True, fastmath={"reassoc", "contract"})
def _kernel(
    above: np.ndarray, discounts: np.ndarray, expected: np.ndarray, gradient: np.ndarray
) -> None:
    """Forward: ranks[i] is the distribution after i others. Backward: value is E[discount].

    After i others a rank is at most i, so both passes are triangular.
    """
    documents, docs = above.shape
    ranks = np.zeros((docs, docs), above.dtype)
    value = np.empty(docs + 1, above.dtype)
    ranks[0, 0] = 1
    for document in range(documents):
        chances = above[document]
        for step in range(docs - 1):
            chance, before, after = chances[step], ranks[step], ranks[step + 1]
            stay = 1 - chance  # Poisson binomial: the rank rises by 1 with probability `chance`
            after[0] = before[0] * stay
            for rank in range(1, step + 1):
                after[rank] = before[rank] * stay + before[rank - 1] * chance
            after[step + 1] = before[step] * chance
        value[:docs] = discounts
        value[docs] = discounts[docs - 1]
        for step in range(docs - 1, -1, -1):
            chance, before = chances[step], ranks[step]
            total = before[0] * 0  # a zero of the arrays' type
            # value[r]: E[discount] of rank r after this step, over the steps to come
            for rank in range(step + 1):
                gain = value[rank + 1] - value[rank]
                total += before[rank] * gain
                value[rank] += gain * chance
            gradient[document, step] = total
        expected[document] = value[0]
