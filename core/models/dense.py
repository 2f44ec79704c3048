"""Dense layers in the fastest exact form that the moment allows.

Without gradients on a CPU, oneDNN's fused product is a sixth faster in float32 than the default
one and takes the activation or the residual along; everywhere else these are the usual calls.
"""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Float
from torch import Tensor

_product: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
FUSED = (torch.float32, torch.bfloat16)


def dense(
    x: Float[Tensor, "*rows inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None = None,
    *,
    relu: bool = False,
) -> Float[Tensor, "*rows outputs"]:
    """X Wᵀ + b, through relu where asked.

    >>> dense(torch.ones(1, 2), torch.tensor([[1.0, 1.0], [-1.0, -1.0]]), relu=True).tolist()
    [[2.0, 0.0]]
    """
    if _can_fuse(x, weight):
        x, weight, bias = _autocast_arguments(x, weight, bias)
        return _product(x, weight, bias, "relu" if relu else "none", [], "")
    product = F.linear(x, weight, bias)
    return product.relu_() if relu else product


def dense_added(
    x: Float[Tensor, "*rows inputs"],
    residual: Float[Tensor, "*rows outputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None,
) -> Float[Tensor, "*rows outputs"]:
    """Residual + x Wᵀ + b.

    >>> dense_added(torch.ones(1, 2), torch.ones(1, 1), torch.ones(1, 2), None).tolist()
    [[3.0]]
    """
    if _can_fuse(x, weight):
        x, weight, bias = _autocast_arguments(x, weight, bias)
        return _product.binary(x, residual.to(x.dtype), weight, bias, "add")
    return residual + F.linear(x, weight, bias)


def _can_fuse(x: Tensor, weight: Tensor) -> bool:
    return (
        _product is not None
        and x.device.type == "cpu"
        and x.dtype in FUSED
        and weight.dtype in FUSED
        and x.numel() > 0
        and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
    )


def _autocast_arguments(
    x: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """What autocast would do to a linear layer's arguments."""
    if not torch.is_autocast_enabled("cpu"):
        return x, weight, bias
    low = torch.get_autocast_dtype("cpu")
    return x.to(low), weight.to(low), None if bias is None else bias.to(low)
