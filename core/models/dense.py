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
    if _fused(x, weight):
        activation = "relu" if relu else "none"
        return _product(x, weight, bias, activation, [], "")
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
    if _fused(x, weight) and x.dtype == residual.dtype:
        return _product.binary(x, residual, weight, bias, "add")
    return residual + F.linear(x, weight, bias)


def _fused(x: Tensor, weight: Tensor) -> bool:
    return (
        x.device.type == "cpu"
        and x.dtype == weight.dtype
        and x.dtype in {torch.float32, torch.bfloat16}
        and x.numel() > 0
        and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
        and not torch.is_autocast_enabled("cpu")
        and _product is not None
    )
