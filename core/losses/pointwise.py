"""Pointwise loss: regression on the grades. It fits absolute values, not only an order."""

import torch

from shuffleproof.core.losses.masked import Lists, Mask, PerList, exact


def mse(scores: Lists, labels: Lists, mask: Mask) -> PerList:
    """Mean of (s − y)² over a list's documents; 0 for an empty list.

    >>> s, y = torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 1.0]])
    >>> mse(s, y, y >= 0).item()
    2.5
    """
    values = exact(scores)
    errors = torch.where(mask, values - labels.to(values.dtype), 0)
    return errors.square().sum(-1) / mask.sum(-1).clamp(min=1)
