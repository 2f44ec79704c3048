"""Pointwise loss: regression on the grades. It teaches absolute values, not an order alone."""

import torch

from shuffleproof.core.losses.masked import Lists, Mask, PerList, exact


def mse(scores: Lists, labels: Lists, mask: Mask) -> PerList:
    """The mean of (s − y)² over a list's documents; 0 without any.

    >>> s, y = torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 1.0]])
    >>> mse(s, y, y >= 0).item()
    2.5
    """
    values = exact(scores)
    errors = torch.where(mask, values - labels.to(values.dtype), 0)
    return errors.square().sum(-1) / mask.sum(-1).clamp(min=1)
