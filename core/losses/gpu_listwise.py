"""The attention-rank loss of a list and its gradient in one Triton kernel.

With small batches a GPU waits for launches as long as for arithmetic, and this loss was a third of
the launches. Float32; the kernel writes the gradient, and nothing else is saved for backward.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

LOW = tl.constexpr(-1.7e38)
"""Logit of absent documents: half of float32's lowest number, as in `masked.py`."""


@no_type_check
@triton.jit
def _log_one_less(part: tl.tensor) -> tl.tensor:
    """log(1 − part), accurate also for parts far below a rounding error of 1."""
    # Kahan's log1p: the division cancels the rounding error of 1 − part.
    rest = 1 - part
    return tl.where(rest == 1, -part, -part * tl.log(rest) / tl.where(rest == 1, 1, rest - 1))


@no_type_check
@triton.jit
def _mass(logits: tl.tensor, there: tl.tensor) -> tuple[tl.tensor, tl.tensor]:
    """Log-sum-exp, and the share of each exponential in the sum (softmax)."""
    peak = tl.max(tl.where(there, logits, LOW), 0)
    masses = tl.exp(tl.where(there, logits - peak, LOW))
    total = tl.sum(masses, 0)
    some = total > 0
    return peak + tl.log(tl.where(some, total, 1.0)), masses / tl.where(some, total, 1.0)


@no_type_check
@triton.jit
def _losses(  # noqa: PLR0913, PLR0917 (a kernel's arrays)
    scores: tl.tensor, labels: tl.tensor, mask: tl.tensor, losses: tl.tensor, gradient: tl.tensor,
    docs: tl.tensor, count: tl.constexpr,
) -> None:  # fmt: skip
    """−Σ t log a + (1 − t) log(1 − a) of a list, with a = softmax(scores) and t from the labels.

    log(1 − a) of the top document comes from the sum over the others, as in `listwise.py`.
    """
    place = tl.arange(0, count)
    at = tl.program_id(0) * docs + place
    real = place < docs
    real = real & (tl.load(mask + at, mask=real, other=0) != 0)
    logits = tl.load(scores + at, mask=real, other=0.0)
    grades = tl.load(labels + at, mask=real, other=0.0).to(tl.float32)
    _log_relevant, target = _mass(grades, real & (grades > 0))
    log_all, attention = _mass(logits, real)
    highest = tl.argmax(tl.where(real, logits, LOW), 0)
    top, others = place == highest, real & (place != highest)
    log_others, other_shares = _mass(logits, others)
    complement = tl.where(top, log_others - log_all, _log_one_less(tl.where(top, 0.0, attention)))
    terms = target * (logits - log_all) + (1 - target) * complement
    learnable = tl.where(tl.sum(others.to(tl.int32), 0) > 0, tl.sum(target, 0), 0.0) > 0
    loss = tl.where(learnable, -tl.sum(tl.where(real, terms, 0.0), 0), 0.0)
    tl.store(losses + tl.program_id(0), loss)
    # Gradient: a − t from the first term. The second term adds (1 − t) a / (1 − a) for all others,
    # minus a times their sum. The top document's 1 − a is the others' share (no cancellation).
    odds = tl.where(others, (1 - target) * attention / (1 - tl.where(top, 0.0, attention)), 0.0)
    of_top = tl.sum(tl.where(top, (1 - target) * attention, 0.0), 0)
    slope = attention - target + odds - attention * tl.sum(odds, 0)
    slope += of_top * tl.where(top, 1.0, -other_shares)
    tl.store(gradient + at, tl.where(real, tl.where(learnable, slope, 0.0), 0.0), mask=place < docs)


class AttentionRank(torch.autograd.Function):
    """`listwise.attention_rank` of float32 scores [lists, docs], one loss per list."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        """Losses [lists]; the kernel computes their gradient too."""
        lists, docs = scores.shape
        scores = scores.contiguous()
        labels, mask = (part.expand_as(scores).contiguous() for part in (labels, mask))
        losses, gradient = scores.new_empty(lists), torch.empty_like(scores)
        size = triton.next_power_of_2(docs)
        with torch.cuda.device_of(scores):  # type: ignore[no-untyped-call]
            _losses[(lists,)](
                scores, labels, mask.view(torch.uint8), losses, gradient, docs, count=size,
                num_warps=max(1, min(8, size // 128)),
            )  # fmt: skip
        ctx.save_for_backward(gradient)
        return losses

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_losses: Tensor) -> tuple[Tensor, None, None]:
        """Gradient by the scores [lists, docs]."""
        (gradient,) = ctx.saved_tensors
        return gradient * of_losses[:, None], None, None
