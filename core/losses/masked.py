"""Masking for all losses: padding that is never read and never produces a NaN."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Lists = Float[Tensor, "lists docs"]
"""One number per document of every list: scores, grades."""

Mask = Bool[Tensor, "lists docs"]
"""True for documents, False for padding."""

PerList = Float[Tensor, " lists"]
"""One loss per list."""


def exact(scores: Lists) -> Lists:
    """Scores in a type for losses: float64 stays, all others become float32."""
    return scores if scores.dtype == torch.float64 else scores.float()


def without_pads(values: Lists, mask: Mask) -> Lists:
    """Logits with half of the type's lowest value at pads: weight 0 in any softmax, never NaN."""
    # Half: a difference of two of them stays finite, and −∞ minus −∞ would be NaN
    return values.masked_fill(~mask, torch.finfo(values.dtype).min / 2)


def grades_differ(grades: Lists, mask: Mask) -> Bool[Tensor, " lists"]:
    """True for lists whose real documents have two different grades; else all orders are equal.

    >>> grades_differ(torch.tensor([[1.0, 1.0], [1.0, 0.0]]), torch.ones(2, 2).bool()).tolist()
    [False, True]
    """
    highest = without_pads(grades, mask).amax(-1, keepdim=True)
    return (mask & (grades != highest)).any(-1)


def attention_of_labels(labels: Lists, mask: Mask, temper: float = 1.0) -> Lists:
    """Best attention a^y: τ(y) = exp(temper · y) where y > 0, else 0, normalised over the list.

    All zeros in a list without relevant documents (Pang et al., SIGIR 2020, section 4.5).

    >>> a = attention_of_labels(torch.tensor([[1.0, 0.0, 1.0]]), torch.ones(1, 3).bool())
    >>> a.tolist()
    [[0.5, 0.0, 0.5]]
    """
    relevant = mask & (labels > 0)
    return torch.where(relevant, without_pads(labels * temper, relevant).softmax(-1), 0)


def unit_norm(scores: Lists, mask: Mask) -> Lists:
    """Scores divided by the Euclidean norm of their list, as in DLCM's released code."""
    real = scores.masked_fill(~mask, 0)
    # Clamped before the root, whose gradient at 0 is infinite
    return real * real.square().sum(-1, keepdim=True).clamp(min=1e-12).rsqrt()
