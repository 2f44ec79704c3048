"""Linear layers in the fastest exact form on the device at hand, and masks.

Without gradients on a CPU with AVX-512, oneDNN's fused product is a sixth faster in float32 than
the default one, and takes the activation or the residual along. With AVX2 it is slower, and not
used. Under autocast on a GPU the layers are those of `gpu/layers.py`, elsewhere the usual calls. A
processor that has no products in bfloat16 (AVX2 alone) multiplies the rounded numbers in float32:
PyTorch's own loop takes a hundred times as long, and oneDNN's has no such form.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Bool, Float
from torch import Tensor, nn

from shuffleproof.core.execution.devices import multiplies_bf16
from shuffleproof.core.kernels.triton_here import compiles_for

_product: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
FUSES = _product is not None and torch.backends.cpu.get_cpu_capability() != "AVX2"
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
    if lacks_bfloat16(x):
        return in_float32(partial(dense, relu=relu), x, weight, bias)
    if _fused(x, weight):
        x, weight, bias = _lowered(x, weight, bias)
        return _product(x, weight, bias, "relu" if relu else "none", [], "")
    if _has_gpu_layer(x, weight):
        return dense_and_input(x, weight, bias, relu=relu)[0]
    if not relu:
        return F.linear(x, weight, bias)
    rows = F.linear(x.reshape(-1, x.shape[-1]), weight, bias)  # of lists it would be a view:
    return rows.relu_().view(*x.shape[:-1], -1)  # changed in place, its gradient is copied thrice


def dense_and_input(
    x: Float[Tensor, "*rows inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None = None,
    *,
    relu: bool = False,
) -> tuple[Float[Tensor, "*rows outputs"], Float[Tensor, "*rows inputs"]]:
    """The same and x, to be read elsewhere: on a GPU its two gradients are then added on the way.

    >>> product, x = dense_and_input(torch.ones(1, 2), torch.tensor([[1.0, 1.0]]))
    >>> product.tolist(), x.tolist()
    ([[2.0]], [[1.0, 1.0]])
    """
    (product,), (x,) = dense_parts([x], [len(weight)], weight, bias, relu=relu)
    return product, x


def dense_parts(
    inputs: Sequence[Float[Tensor, "*_rows inputs"]],
    sizes: Sequence[int],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None = None,
    *,
    relu: bool = False,
) -> tuple[list[Tensor], list[Tensor]]:
    """Products of several inputs, each with its own rows of the weight.

    >>> parts, _ = dense_parts([torch.ones(1, 1), torch.ones(1, 1)], [1, 2], torch.ones(3, 1))
    >>> [part.tolist() for part in parts]
    [[[1.0]], [[1.0, 1.0]]]
    """
    if _has_gpu_layer(inputs[0], weight):
        from shuffleproof.core.models.gpu import layers  # noqa: PLC0415 (Triton)

        return layers.linear(list(map(_low, inputs)), weight, bias, relu=relu, sizes=sizes)
    products, first = [], 0
    for x, size in zip(inputs, sizes, strict=True):
        of_rows = weight, bias
        if size < len(weight):  # a slice costs a gradient of its own
            rows = slice(first, first + size)
            of_rows = weight[rows], None if bias is None else bias[rows]
        products.append(dense(x, *of_rows, relu=relu))
        first += size
    return products, list(inputs)


def dense_added_norm(
    x: Float[Tensor, "*rows inputs"],
    residual: Float[Tensor, "*rows outputs"],
    layer: nn.Linear,
    norm: nn.LayerNorm,
) -> Float[Tensor, "*rows outputs"]:
    """LayerNorm(residual + x Wᵀ + b).

    >>> layer, norm = nn.Linear(1, 2), nn.LayerNorm(2, eps=0.0)
    >>> dense_added_norm(torch.zeros(1, 1), torch.tensor([[3.0, 1.0]]) - layer.bias, layer, norm)
    tensor([[ 1., -1.]], grad_fn=<NativeLayerNormBackward0>)
    """
    # The residual is added inside the product: one pass over memory less
    if _fused(x, layer.weight) and not lacks_bfloat16(x):
        x, weight, bias = _lowered(x, layer.weight, layer.bias)
        normed: Tensor = norm(_product.binary(x, residual.to(x.dtype), weight, bias, "add"))
        return normed
    if lowers_on_gpu(x):  # which adds the bias with the residual
        return added_norm(residual, dense(x, layer.weight), norm, layer.bias)
    return added_norm(residual, dense(x, layer.weight, layer.bias), norm)


def added_norm(
    x: Float[Tensor, "*#lists rows width"],
    branch: Float[Tensor, "*lists rows width"],
    norm: nn.LayerNorm,
    bias: Float[Tensor, " width"] | None = None,
) -> Float[Tensor, "*lists rows width"]:
    """LayerNorm(x + branch + b); x may be given once for all lists."""
    if not lowers_on_gpu(branch):
        normed: Tensor = norm(x + branch if bias is None else x + branch + bias)
        return normed
    from shuffleproof.core.models.gpu import layers  # noqa: PLC0415 (Triton, where it is used)

    return layers.add_norm(_low(x), _low(branch), bias, norm)


def lacks_bfloat16(x: Tensor) -> bool:
    """True if bfloat16 products are requested that this processor does not have.

    >>> lacks_bfloat16(torch.ones(1))
    False
    """
    low = x.dtype == torch.bfloat16 or torch.is_autocast_enabled("cpu")
    return low and x.device.type == "cpu" and not multiplies_bf16()


def in_float32(product: Callable[..., Tensor], *factors: Tensor | None) -> Tensor:
    """A bfloat16 product summed in float32: factors and result are rounded.

    >>> in_float32(torch.matmul, torch.tensor([1.001]), torch.tensor([3.0]))
    tensor(3., dtype=torch.bfloat16)
    """
    low = torch.bfloat16
    with torch.autocast("cpu", enabled=False):
        return product(*(one if one is None else one.to(low).float() for one in factors)).to(low)


def lowers_on_gpu(x: Tensor) -> bool:
    """True where the layers of such numbers are those of `gpu/layers.py`.

    >>> lowers_on_gpu(torch.ones(1))
    False
    """
    lowers = x.is_cuda and torch.is_autocast_enabled("cuda") and x.numel() > 0
    return lowers and compiles_for(x.device)


def parameters_cast_once(module: nn.Module, x: Tensor) -> AbstractContextManager[None]:
    """Context in which a module's parameters are cast once for all layers, where a GPU needs it."""
    if not lowers_on_gpu(x):
        return nullcontext()
    from shuffleproof.core.models.gpu import layers  # noqa: PLC0415 (Triton, where it is used)

    return layers.low_parameters(module)


def _low(x: Tensor) -> Tensor:
    return x.to(torch.get_autocast_dtype("cuda"))


def _has_gpu_layer(x: Tensor, weight: Tensor) -> bool:
    return lowers_on_gpu(x) and not any(side % 8 for side in weight.shape)  # as products need there


def needed(mask: Bool[Tensor, "lists docs"] | None) -> Bool[Tensor, "lists docs"] | None:
    """The mask, or None where it says nothing; a GPU is not asked, since it would have to stop.

    >>> needed(torch.tensor([[True, True]])), needed(torch.tensor([[True, False]]))
    (None, tensor([[ True, False]]))
    """
    if mask is None or (mask.device.type == "cpu" and bool(mask.all())):
        return None
    return mask


def _fused(x: Tensor, weight: Tensor) -> bool:
    return (
        FUSES
        and x.device.type == "cpu"
        and x.dtype in FUSED
        and weight.dtype in FUSED
        and x.numel() > 0
        and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
    )


def _lowered(
    x: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Arguments of a linear layer as autocast would convert them."""
    if not torch.is_autocast_enabled("cpu"):
        return x, weight, bias
    low = torch.get_autocast_dtype("cpu")
    return x.to(low), weight.to(low), None if bias is None else bias.to(low)
