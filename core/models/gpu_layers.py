"""SetRank's layers on a GPU in bf16, with their gradients written out.

A training step of SetRank moves more memory than its products need time: PyTorch's own layers read
and write every vector some twenty times a block, in float32 where a norm is. Here what lies
between two products is one kernel, vectors stay in bf16, and the weights' gradients are float32.
Used under autocast; float32 goes through PyTorch's layers, on every device.
"""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import next_power_of_2

from shuffleproof.core.models import gpu_kernels

HEAD_WIDTHS = (16, 32, 64)
BLOCK, ALL_KEYS = 64, 256
"""Queries, and keys, that a program of attention has at once; on the way back, where no list has
more than ALL_KEYS, a program has all of a list's keys."""

PROGRAMS = 1056
"""That share the rows of a sum over all of them: some eight for each multiprocessor."""


def linear(
    x: Float[Tensor, "*rows inputs"],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None,
    *,
    relu: bool,
) -> tuple[Float[Tensor, "*rows outputs"], Float[Tensor, "*rows inputs"]]:
    """X Wᵀ + b, through relu where asked, in the dtype of x; and x.

    Whoever reads x elsewhere takes the one returned: its gradient is added by the product that
    makes the layer's own.
    """
    product: tuple[Tensor, Tensor] = _Linear.apply(  # type: ignore[no-untyped-call]
        x, weight, bias, relu
    )
    return product


def add_norm(
    x: Float[Tensor, "#lists rows width"],
    branch: Float[Tensor, "lists rows width"],
    shift: Float[Tensor, " width"] | None,
    norm: torch.nn.LayerNorm,
) -> Float[Tensor, "lists rows width"]:
    """LayerNorm(x + branch + shift); x may be given once for all lists."""
    normed: Tensor = _AddNorm.apply(  # type: ignore[no-untyped-call]
        x, branch, shift, norm.weight, norm.bias, norm.eps
    )
    return normed


def attention(
    queries: Float[Tensor, "#lists queries asked"],
    keys: Float[Tensor, "lists keys answered"] | None,
    mask: Bool[Tensor, "lists keys"] | None,
    heads: int,
    scale: float,
) -> Float[Tensor, "lists queries width"]:
    """softmax(scale · Q Kᵀ) V of all heads, side by side.

    Args:
        queries: projected queries, or, without `keys`, queries, keys and values side by side.
        keys: projected keys and values side by side.
        mask: True = a real key.
        heads: into which the width is parted.
        scale: of the logits.
    """
    found: Tensor = _Attention.apply(  # type: ignore[no-untyped-call]
        queries, keys, mask, heads, scale
    )
    return found


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        relu: bool,  # noqa: FBT001
    ) -> tuple[Tensor, Tensor]:
        rows, weight = x.reshape(-1, x.shape[-1]), weight.to(x.dtype)
        if bias is None:
            product = rows @ weight.t()
            product = product.relu_() if relu else product
        else:
            added = torch._addmm_activation if relu else torch.addmm  # noqa: SLF001
            product = added(bias.to(x.dtype), rows, weight.t())
        ctx.save_for_backward(rows, weight, product if relu else None)
        ctx.relu, ctx.biased, ctx.shape = relu, bias is not None, x.shape
        ctx.set_materialize_grads(False)
        return product.view(*x.shape[:-1], -1), x.view_as(x)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad: Tensor, elsewhere: Tensor | None
    ) -> tuple[Tensor | None, Tensor, Tensor | None, None]:
        rows, weight, product = ctx.saved_tensors
        grad, of_bias, of_x = grad.reshape(len(rows), -1), None, None
        if ctx.relu or ctx.biased:
            grad, of_bias = _before_relu(grad, product)
        if elsewhere is None:
            of_x = (grad @ weight).view(ctx.shape) if ctx.needs_input_grad[0] else None
        elif ctx.needs_input_grad[0]:  # in place: whatever else was made of it went into `grad`
            of_x = elsewhere.reshape(rows.shape).addmm_(grad, weight).view(ctx.shape)
        of_weight = _product_in_float32(grad.t(), rows)
        return of_x, of_weight, of_bias if ctx.biased else None, None


def _before_relu(grad: Tensor, product: Tensor | None) -> tuple[Tensor, Tensor]:
    """The gradient before relu, where there is one, and its sums over the rows in float32."""
    grad = grad.contiguous()
    (rows, width), columns, at_once = grad.shape, 256, 16
    programs = max(1, min(PROGRAMS // 8, -(-rows // at_once)))
    parts = torch.empty(programs, width, device=grad.device)
    through = grad if product is None else torch.empty_like(grad)
    gpu_kernels.columns_backward[programs, -(-width // columns)](
        grad, grad if product is None else product, through, parts, rows, width,
        RELU=product is not None, ROWS=at_once, COLUMNS=columns, num_warps=4,
    )  # fmt: skip
    return through, parts.sum(0)


def _product_in_float32(left: Tensor, right: Tensor) -> Tensor:
    """Of low numbers; on a GPU they are multiplied as they are."""
    if left.is_cuda and left.dtype != torch.float32:
        return torch.mm(left, right, out_dtype=torch.float32)
    return left.float() @ right.float()


class _AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        branch: Tensor,
        shift: Tensor | None,
        weight: Tensor,
        bias: Tensor,
        epsilon: float,
    ) -> Tensor:
        x, branch, out = x.contiguous(), branch.contiguous(), torch.empty_like(branch)
        shape = _NormShape.of(x, branch, at_once=4096)
        gpu_kernels.add_norm[(shape.blocks,)](
            x, branch, weight if shift is None else shift, weight, bias, out, *shape.numbers,
            epsilon, SHIFTED=shift is not None, num_warps=8, **shape.options,
        )  # fmt: skip
        ctx.save_for_backward(x, branch, shift, weight)
        ctx.epsilon = epsilon
        return out

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor, None]:
        x, branch, shift, weight = ctx.saved_tensors
        shape = _NormShape.of(x, branch, at_once=2048)
        programs = max(1, min(PROGRAMS, shape.blocks))
        sums = 2 if shift is None else 3
        parts = torch.empty(programs, sums, x.shape[-1], device=x.device)
        of_sum = torch.empty_like(branch)
        gpu_kernels.add_norm_backward[(programs,)](
            x, branch, weight if shift is None else shift, weight, grad.contiguous(), of_sum,
            parts, *shape.numbers, ctx.epsilon, SHIFTED=shift is not None, num_warps=2,
            **shape.options,
        )  # fmt: skip
        of_weight, of_bias, *of_shift = parts.sum(0)
        of_x = of_sum if x.shape == branch.shape else of_sum.sum(0, keepdim=True)
        return of_x, of_sum, of_shift[0] if of_shift else None, of_weight, of_bias, None


class _NormShape(NamedTuple):
    """How the kernels of a norm are launched.

    Attributes:
        numbers: rows, rows of x, columns.
        blocks: of rows, of which a program has one at a time.
        options: what a kernel is compiled for.
    """

    numbers: tuple[int, int, int]
    blocks: int
    options: dict[str, int]

    @classmethod
    def of(cls, x: Tensor, branch: Tensor, *, at_once: int) -> "_NormShape":
        """For such vectors, some `at_once` numbers a program."""
        width = x.shape[-1]
        rows, columns = branch.numel() // width, max(16, next_power_of_2(width))
        of_block = max(1, at_once // columns)
        numbers = rows, x.numel() // width, width
        return cls(numbers, -(-rows // of_block), {"ROWS": of_block, "COLUMNS": columns})


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor | None,
        mask: Tensor | None,
        heads: int,
        scale: float,
    ) -> Tensor:
        query, key, value = _parts(queries, keys)
        lists, width = len(key), query.shape[-1]
        out = query.new_empty(lists, query.shape[1], width)
        norms = torch.empty(lists * heads, query.shape[1], device=query.device)
        real = out if mask is None else mask.contiguous().view(torch.uint8)
        launch = _Launch.of(query, key, heads, BLOCK, masked=mask is not None)
        gpu_kernels.attend[lists * heads, launch.row_blocks](
            query, key, value, real, out, norms, scale, *launch.numbers, num_warps=4,
            **launch.options,
        )  # fmt: skip
        ctx.save_for_backward(queries, keys, real, out, norms)
        ctx.heads, ctx.scale, ctx.masked = heads, scale, mask is not None
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        queries, keys, real, out, norms = ctx.saved_tensors
        query, key, value = _parts(queries, keys)
        of_queries = queries.new_empty(len(out), *queries.shape[1:])
        of_keys = None if keys is None else torch.empty_like(keys)
        of_query, of_key, of_value = _parts(of_queries, of_keys)
        most = ALL_KEYS if key.shape[1] <= ALL_KEYS else BLOCK
        launch = _Launch.of(query, key, ctx.heads, most, masked=ctx.masked)
        facts = query, key, value, real, out, norms, grad.contiguous()
        gpu_kernels.attend_backward[len(norms), launch.key_blocks](
            *facts, of_query, of_key, of_value, ctx.scale, *launch.numbers, of_query.stride(1),
            of_key.stride(1), ALL_KEYS=launch.key_blocks == 1, num_warps=launch.warps_back,
            **launch.options,
        )  # fmt: skip
        if launch.key_blocks > 1:
            gpu_kernels.attend_backward_queries[len(norms), launch.row_blocks](
                *facts, of_query, ctx.scale, *launch.numbers, of_query.stride(1), num_warps=4,
                **launch.options,
            )  # fmt: skip
        if len(queries) < len(out):
            of_queries = of_queries.sum(0, keepdim=True)
        return of_queries, of_keys, None, None, None


def _parts(queries: Tensor, keys: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, each [lists, …, width], of what has them side by side."""
    if keys is None:
        query, key, value = queries.chunk(3, -1)
    else:
        query, (key, value) = queries, keys.chunk(2, -1)
    return query, key, value


class _Launch(NamedTuple):
    """How the kernels of attention are launched.

    Attributes:
        numbers: queries and keys of a list, then the strides of lists and rows of both.
        row_blocks: programs that share the queries of a head.
        key_blocks: programs that share its keys.
        options: what a kernel is compiled for.
    """

    numbers: tuple[int, ...]
    row_blocks: int
    key_blocks: int
    options: dict[str, Any]

    @classmethod
    def of(cls, query: Tensor, key: Tensor, heads: int, most: int, *, masked: bool) -> "_Launch":
        """For such queries, given once or for every list, and keys, `most` a program."""
        asked, keys = query.shape[1], key.shape[1]
        rows = min(BLOCK, max(16, next_power_of_2(asked)))
        columns = min(most, max(16, next_power_of_2(keys)))
        of_list = query.stride(0) if len(query) == len(key) else 0
        options = {
            "HEADS": heads, "WIDTH": query.shape[-1] // heads, "MASKED": masked,
            "ROWS": rows, "KEYS": columns,
        }  # fmt: skip
        numbers = asked, keys, of_list, query.stride(1), key.stride(0), key.stride(1)
        return cls(numbers, -(-asked // rows), -(-keys // columns), options)

    @property
    def warps_back(self) -> int:
        """Of a program that has these keys on the way back: as was fastest."""
        return 2 if self.options["KEYS"] <= BLOCK and self.key_blocks == 1 else 4
