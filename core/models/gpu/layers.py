"""SetRank's layers on a GPU in bf16, with their gradients written out.

A training step of SetRank moves more memory than its products need time: PyTorch's own layers read
and write every vector some twenty times a block, in float32 where a norm is. Here what lies
between two products is one kernel, vectors stay in bf16, and the weights' gradients are float32.
Used under autocast; float32 goes through PyTorch's layers, on every device.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import local
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from triton import next_power_of_2

from shuffleproof.core.models.gpu import kernels

HEAD_WIDTHS = (16, 32, 64)
KEYS, ROWS = 64, 128
"""Keys, and queries, that a program of attention has at once, at most, on the way there.

Numbers of rows, warps and registers in this file are those that were fastest on an H200.
"""

PROGRAMS = 132
"""That share the rows of a block of columns; of a norm four times as many do.

One for each multiprocessor of an H200.
"""


class _Lowered(local):
    """A thread's copies of parameters in the dtype of autocast, by the parameter's identity."""

    def __init__(self) -> None:
        self.copies: dict[int, Tensor] = {}


_LOWERED = _Lowered()


@contextmanager
def low_parameters(module: torch.nn.Module) -> Iterator[None]:
    """Within, linear layers find the parameters of a module in the dtype of autocast.

    They are copied there together, in one or two kernels instead of one for each; those that are
    lowered already stay as they are.
    """
    copies = _LOWERED.copies
    parameters: list[Tensor] = [own for own in module.parameters() if id(own) not in copies]
    low = [torch.empty_like(own, dtype=torch.get_autocast_dtype("cuda")) for own in parameters]
    if low:
        with torch.no_grad():
            torch._foreach_copy_(low, parameters)
    copies.update(zip(map(id, parameters), low, strict=True))
    try:
        yield
    finally:
        for own in parameters:
            copies.pop(id(own), None)


def linear(
    inputs: Sequence[Float[Tensor, "*_rows inputs"]],
    weight: Float[Tensor, "outputs inputs"],
    bias: Float[Tensor, " outputs"] | None,
    *,
    relu: bool,
    sizes: Sequence[int],
) -> tuple[list[Tensor], list[Tensor]]:
    """X Wᵀ + b of each input, through relu where asked, in its dtype; and the inputs.

    Other readers of an input use the returned one: its gradient is added in the product that makes
    the layer's own.

    Args:
        inputs: each is multiplied with some rows of the weight.
        weight: of all of them.
        bias: likewise.
        relu: whether products go through relu.
        sizes: rows of the weight that each input has, in turn.
    """
    if not torch.is_grad_enabled():
        _flat, _weights, products = _products(weight, bias, inputs, sizes, relu=relu)
        return _shaped(products, inputs), list(inputs)
    outputs = _Linear.apply(  # type: ignore[no-untyped-call]
        weight, bias, relu, list(sizes), *inputs
    )
    return list(outputs[: len(inputs)]), list(outputs[len(inputs) :])


def add_norm(
    x: Float[Tensor, "#lists rows width"],
    branch: Float[Tensor, "lists rows width"],
    shift: Float[Tensor, " width"] | None,
    norm: torch.nn.LayerNorm,
) -> Float[Tensor, "lists rows width"]:
    """LayerNorm(x + branch + shift); x may be given once for all lists."""
    facts = shift, norm.weight, norm.bias, norm.eps
    with torch.cuda.device_of(branch):  # type: ignore[no-untyped-call]
        if not torch.is_grad_enabled():
            return _normed_sum(x.contiguous(), branch.contiguous(), *facts)
        normed: Tensor = _AddNorm.apply(x, branch, *facts)  # type: ignore[no-untyped-call]
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
    facts = queries, keys, mask, heads, scale
    with torch.cuda.device_of(queries):  # type: ignore[no-untyped-call]
        if not torch.is_grad_enabled():
            return _attended(*facts)[0]
        attended: Tensor = _Attention.apply(*facts)  # type: ignore[no-untyped-call]
        return attended


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weight: Tensor,
        bias: Tensor | None,
        relu: bool,  # noqa: FBT001
        sizes: list[int],
        *inputs: Tensor,
    ) -> tuple[Tensor, ...]:
        flat, weights, products = _products(weight, bias, inputs, sizes, relu=relu)
        ctx.save_for_backward(*flat, *weights, *(products if relu else ()))
        ctx.relu, ctx.biased, ctx.shapes = relu, bias is not None, [x.shape for x in inputs]
        ctx.set_materialize_grads(False)
        return *_shaped(products, inputs), *(x.view_as(x) for x in inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        count = len(ctx.shapes)
        flat, weights = ctx.saved_tensors[:count], ctx.saved_tensors[count : 2 * count]
        products = ctx.saved_tensors[2 * count :] if ctx.relu else [None] * count
        of_weights, of_biases, of_inputs = [], [], []
        parts = zip(grads[:count], grads[count:], flat, weights, products, strict=True)
        for at, (of_output, of_reads, rows, weight, product) in enumerate(parts):
            of_product = rows.new_zeros(len(rows), len(weight)) if of_output is None else of_output
            of_rows, of_input = of_product.reshape(len(rows), -1), None
            if ctx.relu or ctx.biased:
                of_rows, of_bias = _before_relu(of_rows, product)
                of_biases.append(of_bias)
            if of_reads is not None:  # added in place, where it isn't read for another gradient
                sum_ = of_reads.clone() if of_reads.data_ptr() == of_rows.data_ptr() else of_reads
                of_input = sum_.reshape(rows.shape).addmm_(of_rows, weight)
            elif ctx.needs_input_grad[4 + at]:
                of_input = of_rows @ weight
            of_inputs.append(None if of_input is None else of_input.view(ctx.shapes[at]))
            of_weights.append(product_in_float32(of_rows.t(), rows))
        of_whole_bias = _side_by_side(of_biases) if ctx.biased else None
        return _side_by_side(of_weights), of_whole_bias, None, None, *of_inputs


def _products(
    weight: Tensor,
    bias: Tensor | None,
    inputs: Sequence[Tensor],
    sizes: Sequence[int],
    *,
    relu: bool,
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """The inputs' rows, the weight of each, and their products."""
    flat = [x.reshape(-1, x.shape[-1]) for x in inputs]
    weights = _rows_of(weight, sizes, flat[0].dtype)
    biases: Sequence[Tensor | None] = [None] * len(sizes)
    if bias is not None:
        biases = _rows_of(bias, sizes, flat[0].dtype)
    parts = zip(flat, weights, biases, strict=True)
    return flat, weights, [_product(*part, relu=relu) for part in parts]


def _shaped(products: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Tensor]:
    """Each product with the axes of its input."""
    pairs = zip(products, inputs, strict=True)
    return [product.view(*x.shape[:-1], -1) for product, x in pairs]


def _rows_of(parameter: Tensor, sizes: Sequence[int], dtype: torch.dtype) -> list[Tensor]:
    """Blocks of rows of a parameter, in low precision."""
    low = _LOWERED.copies.get(id(parameter))
    low = low if low is not None and low.dtype == dtype else parameter.to(dtype)
    return [low] if len(sizes) == 1 else list(torch.split(low, list(sizes)))


def _product(rows: Tensor, weight: Tensor, bias: Tensor | None, *, relu: bool) -> Tensor:
    if bias is None:
        product = rows @ weight.t()
        return product.relu_() if relu else product
    added = torch._addmm_activation if relu else torch.addmm  # noqa: SLF001
    return added(bias, rows, weight.t())


def _side_by_side(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _before_relu(grad: Tensor, product: Tensor | None) -> tuple[Tensor, Tensor]:
    """The gradient before relu, where there is one, and its sums over the rows in float32."""
    grad = grad.contiguous()
    rows, width = grad.shape
    columns, at_once = min(512, next_power_of_2(width)), 4
    programs = max(1, min(PROGRAMS, -(-rows // at_once)))
    parts = torch.empty(programs, width, device=grad.device)
    through = grad if product is None else torch.empty_like(grad)
    kernels.columns_backward[programs, -(-width // columns)](
        grad, grad if product is None else product, through, parts, rows, width,
        RELU=product is not None, ROWS=at_once, COLUMNS=columns, num_warps=2,
    )  # fmt: skip
    return through, _sum_of_rows(parts)


def _sum_of_rows(parts: Tensor) -> Tensor:
    """The sum over the first axis; in float32 on the way."""
    sums, columns = parts.new_empty(parts.shape[1:]), 16
    kernels.sum_rows[-(-sums.numel() // columns),](
        parts, sums, len(parts), sums.numel(), COLUMNS=columns,
        ROWS=min(512, next_power_of_2(len(parts))), num_warps=8,
    )  # fmt: skip
    return sums


def product_in_float32(left: Tensor, right: Tensor) -> Tensor:
    """The matrix product in float32 of factors of any type; on a GPU low ones stay as they are."""
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
        x, branch = x.contiguous(), branch.contiguous()
        ctx.save_for_backward(x, branch, shift, weight)
        ctx.epsilon = epsilon
        return _normed_sum(x, branch, shift, weight, bias, epsilon)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad: Tensor
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor, None]:
        x, branch, shift, weight = ctx.saved_tensors
        shape = _NormShape.of(x, branch, at_once=1024)
        programs = max(1, min(4 * PROGRAMS, shape.blocks))
        sums = 2 if shift is None else 3
        parts = torch.empty(programs, sums, x.shape[-1], device=x.device)
        of_sum = torch.empty_like(branch)
        kernels.add_norm_backward[(programs,)](
            x, branch, weight if shift is None else shift, weight, grad.contiguous(), of_sum,
            parts, *shape.numbers, ctx.epsilon, SHIFTED=shift is not None, num_warps=1,
            **shape.options,
        )  # fmt: skip
        of_weight, of_bias, *of_shift = _sum_of_rows(parts)
        # Given once for all lists: its gradient is the sum over them
        of_x = of_sum if x.shape == branch.shape else _sum_of_rows(of_sum)[None]
        return of_x, of_sum, of_shift[0] if of_shift else None, of_weight, of_bias, None


def _normed_sum(
    x: Tensor,
    branch: Tensor,
    shift: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    epsilon: float,
) -> Tensor:
    out, shape = torch.empty_like(branch), _NormShape.of(x, branch, at_once=4096)
    kernels.add_norm[(shape.blocks,)](
        x, branch, weight if shift is None else shift, weight, bias, out, *shape.numbers, epsilon,
        SHIFTED=shift is not None, num_warps=8, **shape.options,
    )  # fmt: skip
    return out


class _NormShape(NamedTuple):
    """Launch options of the norm's kernels.

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
        out, norms, real = _attended(queries, keys, mask, heads, scale)
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
        numbers, alongs = _numbers(query, key), torch.empty_like(norms)
        facts, grad = (query, key, value, real, out, norms, alongs), grad.contiguous()
        shape = {
            "HEADS": ctx.heads, "WIDTH": query.shape[-1] // ctx.heads, "MASKED": ctx.masked,
        }  # fmt: skip
        # More keys than one program holds: the gradient of queries needs a kernel of its own
        if numbers[1] > KEYS:
            rows = _at_once(numbers[0], ROWS)
            kernels.attend_backward_queries[len(norms), -(-numbers[0] // rows)](
                *facts, grad, of_query, ctx.scale, *numbers, of_query.stride(1), ROWS=rows,
                KEYS=KEYS // 2, num_warps=_warps(rows), num_stages=5, **shape,
            )  # fmt: skip
        options = _shape_of_backward(numbers[0], numbers[1], shape["WIDTH"])
        kernels.attend_backward[len(norms), -(-numbers[1] // options["KEYS"])](
            *facts, grad, of_query, of_key, of_value, ctx.scale, *numbers, of_query.stride(1),
            of_key.stride(1), ALL_KEYS=numbers[1] <= KEYS, ALL_ROWS=numbers[0] <= options["ROWS"],
            **options, **shape,
        )  # fmt: skip
        if len(queries) < len(out):
            of_queries = _sum_of_rows(of_queries)[None]
        return of_queries, of_keys, None, None, None


def _attended(
    queries: Tensor, keys: Tensor | None, mask: Tensor | None, heads: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Result of `attention`, the logarithm of each softmax's sum, and the mask of real keys."""
    query, key, value = _parts(queries, keys)
    lists, width = len(key), query.shape[-1]
    out = query.new_empty(lists, query.shape[1], width)
    norms = torch.empty(lists * heads, query.shape[1], device=query.device)
    real = out if mask is None else mask.contiguous().view(torch.uint8)
    numbers = _numbers(query, key)
    rows, columns = _at_once(numbers[0], ROWS), _at_once(numbers[1], KEYS)
    all_keys = numbers[1] <= columns
    kernels.attend[lists * heads, -(-numbers[0] // rows)](
        query, key, value, real, out, norms, scale, *numbers, HEADS=heads, WIDTH=width // heads,
        MASKED=mask is not None, ALL_KEYS=all_keys, ROWS=rows, KEYS=columns,
        num_warps=_warps(rows), maxnreg=None if all_keys else _registers(128, width // heads),
    )  # fmt: skip
    return out, norms, real


def _parts(queries: Tensor, keys: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, each [lists, …, width], of what has them side by side."""
    if keys is None:
        query, key, value = queries.chunk(3, -1)
    else:
        query, (key, value) = queries, keys.chunk(2, -1)
    return query, key, value


def _numbers(query: Tensor, key: Tensor) -> tuple[int, ...]:
    """Queries and keys of a list, then the strides of lists and rows of both."""
    of_list = query.stride(0) if len(query) == len(key) else 0  # given once for all lists
    return (
        query.shape[1], key.shape[1], of_list, query.stride(1), key.stride(0), key.stride(1)
    )  # fmt: skip


def _at_once(count: int, most: int) -> int:
    """Block size for `count` rows: a power of 2, large enough for matrix products."""
    return min(most, max(16, next_power_of_2(count)))


def _shape_of_backward(queries: int, keys: int, width: int) -> dict[str, Any]:
    """Launch options of `attend_backward` for heads of a width."""
    if keys <= KEYS // 2:
        return {"ROWS": 16, "KEYS": _at_once(keys, KEYS), "num_warps": 1}
    if keys <= KEYS:
        rows, columns, registers = _at_once(queries, 64), KEYS, _registers(128, width)
    elif queries <= KEYS // 2:
        rows, columns, registers = _at_once(queries, 32), KEYS, None
    else:
        rows, columns, registers = 32, 2 * KEYS, _registers(168, width)
    return {"ROWS": rows, "KEYS": columns, "num_warps": 4, "maxnreg": registers}


def _registers(most: int, width: int) -> int | None:
    """The registers that a thread may have, where heads are as narrow as was measured."""
    return most if width <= 32 else None


def _warps(rows: int) -> int:
    """Warps of an attention program with this number of queries."""
    return max(1, min(4, rows // 16))
