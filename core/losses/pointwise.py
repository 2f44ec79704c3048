"""Pointwise loss: regression on the grades. It teaches absolute values, not an order alone."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from shuffleproof.core.losses.masked import exact


def mse(
    scores: Float[Tensor, "lists docs"],
    labels: Float[Tensor, "lists docs"],
    mask: Bool[Tensor, "lists docs"],
) -> Float[Tensor, " lists"]:
    """The mean of (s − y)² over a list's documents; 0 without any.

    >>> s, y = torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 1.0]])
    >>> mse(s, y, y >= 0).item()
    2.5
    """
    values = exact(scores)
    errors = torch.where(mask, values - labels.to(values.dtype), 0)
    return errors.square().sum(-1) / mask.sum(-1).clamp(min=1)
