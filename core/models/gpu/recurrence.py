"""Gated recurrence on a GPU: one or two kernels per step beside the matrix products.

The arithmetic is that of `recurrence.py`. Products have the type of the input products (float32 or,
under autocast, bf16) and sum in float32. The running state and the gradient carried from step to
step stay in float32. With long memory, bf16 states then differ by 3.5e-3 from those of float64, as
much as rounding the inputs alone; with a bf16 state, by 5.9e-3. Nothing waits for the device, so
that CUDA graphs can record it.

A kernel's rows are lists. Those from `active` on are pads: they are read as zeros, which give 0.
"""

from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from shuffleproof.core.models.gpu.layers import product_in_float32
from shuffleproof.core.models.recurrence import Walk

BLOCK = 512
"""Most units that one program of a kernel computes; a program has one list."""


class FusedRecurrence(torch.autograd.Function):
    """States [lists, docs, hidden] of a walk; products are computed in the input products' type.

    Kept for the way back: the states, and `kept` [docs, lists, 4 · hidden] = r, z, n and `inner`,
    which is r h (reset before) or W_n h + b (reset after).
    """

    @staticmethod
    def forward(
        ctx: Any, products: Tensor, weight: Tensor, bias: Tensor | None, walk: Walk
    ) -> Tensor:
        """The states [lists, docs, hidden] of products [lists, docs, 3 · hidden]; pads are 0."""
        lists, docs, width = products.shape
        hidden = width // 3
        products = _by_rows(products)
        low = weight.to(products.dtype)
        of_gates, of_candidate = low[: 2 * hidden].t(), low[2 * hidden :].t()
        kept = products.new_empty(docs, lists, 4 * hidden)
        states = products.new_empty(docs + 1, lists, hidden)
        states[-1 if walk.backwards else 0] = 0
        # Float32 beside the bf16 copy in `states`: rounding would add up over the steps
        running = torch.zeros(lists, hidden, dtype=torch.float32, device=products.device)
        product = products.new_empty(lists, width)
        by_gates, by_candidate = product[:, : 2 * hidden], product[:, 2 * hidden :]
        grid, block = _launch(lists, hidden)
        with torch.cuda.device_of(products):  # type: ignore[no-untyped-call]
            for before, after, place, active in walk.steps():
                here = products[:, place], products.stride(0), product, running
                sizes = active, hidden, block
                if walk.reset_after:
                    torch.mm(states[before, :active], low.t(), out=product[:active])
                else:
                    torch.mm(states[before, :active], of_gates, out=by_gates[:active])
                    _gates[grid](*here, kept[place], *sizes)
                    inner = kept[place, :active, 3 * hidden :]
                    torch.mm(inner, of_candidate, out=by_candidate[:active])
                _mix[grid](*here, bias, kept[place], states[after], *sizes, walk.reset_after)
        ctx.save_for_backward(low, states, kept)
        ctx.walk = walk
        outputs = states[:-1] if walk.backwards else states[1:]
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        """The gradients of products, weight and bias, from that of the states.

        `through` [docs, lists, 3 · hidden] holds those of what a step multiplies the state by.
        """
        low, states, kept = ctx.saved_tensors
        walk: Walk = ctx.walk
        docs, lists, width = kept.shape
        hidden = width // 4
        grad = _by_rows(grad)
        through = kept.new_empty(docs, lists, 3 * hidden)
        into = kept.new_empty(lists, docs, 3 * hidden)
        carried = torch.zeros(lists, hidden, dtype=torch.float32, device=kept.device)
        # Zeros: the last step of the walk has no product of a later one
        product, of_inner = kept.new_zeros(lists, hidden), kept.new_empty(lists, hidden)
        grid, block = _launch(lists, hidden)
        for before, _, place, active in reversed(list(walk.steps())):
            of_step, inputs = through[place], (into[:, place], into.stride(0))
            sizes = active, hidden, block
            _into_products[grid](
                grad[:, place], grad.stride(0), carried, product, kept[place], states[before],
                of_step, *inputs, *sizes, walk.reset_after,
            )  # fmt: skip
            if walk.reset_after:
                torch.mm(of_step[:active], low, out=product[:active])
                continue
            torch.mm(of_step[:active, 2 * hidden :], low[2 * hidden :], out=of_inner[:active])
            _into_reset[grid](of_inner, carried, kept[place], of_step, *inputs, *sizes)
            torch.mm(of_step[:active, : 2 * hidden], low[: 2 * hidden], out=product[:active])
        rows = through.view(-1, 3 * hidden)
        earlier = (states[1:] if walk.backwards else states[:-1]).view(-1, hidden)
        if walk.reset_after:
            of_bias = through[..., 2 * hidden :].sum((0, 1), dtype=torch.float32)
            return into, product_in_float32(rows.t(), earlier), of_bias, None
        inner = kept.view(-1, width)[:, 3 * hidden :]
        of_gates = product_in_float32(rows[:, : 2 * hidden].t(), earlier)
        of_candidate = product_in_float32(rows[:, 2 * hidden :].t(), inner)
        return into, torch.cat((of_gates, of_candidate)), None, None


def _by_rows(values: Tensor) -> Tensor:
    """The values with numbers of a row beside each other."""
    return values if values.stride(-1) == 1 else values.contiguous()


def _launch(lists: int, hidden: int) -> tuple[tuple[int, int], int]:
    """The grid of programs, and the units of each."""
    block = min(BLOCK, triton.next_power_of_2(hidden))
    return (lists, triton.cdiv(hidden, block)), block


@no_type_check
@triton.jit
def _units(active: tl.tensor, hidden: tl.tensor, block: tl.constexpr) -> tuple[tl.tensor, ...]:
    """This program's list and units, which units there are, and which of those are real."""
    row = tl.program_id(0).to(tl.int64)
    unit = tl.program_id(1) * block + tl.arange(0, block)
    return row, unit, unit < hidden, unit < tl.where(row < active, hidden, 0)


@no_type_check
@triton.jit
def _sigmoid(values: tl.tensor) -> tl.tensor:
    return 1 / (1 + tl.exp(-values))


@no_type_check
@triton.jit
def _load(pointer: tl.tensor, where: tl.tensor, real: tl.tensor) -> tl.tensor:
    return tl.load(pointer + where, mask=real, other=0).to(tl.float32)


@no_type_check
@triton.jit
def _gate(inputs: tl.tensor, product: tl.tensor, where: tl.tensor, real: tl.tensor) -> tl.tensor:
    return _sigmoid(_load(inputs, where, real) + _load(product, where, real))


@no_type_check
@triton.jit(do_not_specialize=["active"])
def _gates(  # noqa: PLR0913, PLR0917 (a kernel's arrays)
    inputs: tl.tensor, stride: tl.tensor, product: tl.tensor, running: tl.tensor, kept: tl.tensor,
    active: tl.tensor, hidden: tl.tensor, block: tl.constexpr,
) -> None:  # fmt: skip
    """Reset before: r, z = σ(x + W h) and inner = r h."""
    row, unit, inside, real = _units(active, hidden, block)
    inputs, product = inputs + row * stride, product + row * 3 * hidden
    kept = kept + row * 4 * hidden
    reset = _gate(inputs, product, unit, real)
    keep = _gate(inputs, product, hidden + unit, real)
    inner = reset * _load(running, row * hidden + unit, real)
    tl.store(kept + unit, reset, mask=inside)
    tl.store(kept + hidden + unit, keep, mask=inside)
    tl.store(kept + 3 * hidden + unit, inner, mask=inside)


@no_type_check
@triton.jit(do_not_specialize=["active"])
def _mix(  # noqa: PLR0913, PLR0917 (a kernel's arrays)
    inputs: tl.tensor, stride: tl.tensor, product: tl.tensor, running: tl.tensor,
    bias: tl.tensor, kept: tl.tensor, state: tl.tensor,
    active: tl.tensor, hidden: tl.tensor, block: tl.constexpr, after: tl.constexpr,
) -> None:  # fmt: skip
    """N and h' = (1 − z) n + z h; with the reset after the product r, z and inner before."""
    row, unit, inside, real = _units(active, hidden, block)
    inputs, product = inputs + row * stride, product + row * 3 * hidden
    kept = kept + row * 4 * hidden
    added = _load(product, 2 * hidden + unit, real)
    if after:
        reset = _gate(inputs, product, unit, real)
        keep = _gate(inputs, product, hidden + unit, real)
        inner = added + _load(bias, unit, real)
        added = reset * inner
        tl.store(kept + unit, reset, mask=inside)
        tl.store(kept + hidden + unit, keep, mask=inside)
        tl.store(kept + 3 * hidden + unit, inner, mask=inside)
    else:
        keep = _load(kept, hidden + unit, real)
    candidate = 2 * _sigmoid(2 * (_load(inputs, 2 * hidden + unit, real) + added)) - 1
    earlier = _load(running, row * hidden + unit, real)
    mixed = candidate + keep * (earlier - candidate)
    tl.store(kept + 2 * hidden + unit, candidate, mask=inside)
    tl.store(running + row * hidden + unit, mixed, mask=inside)
    tl.store(state + row * hidden + unit, mixed, mask=inside)


@no_type_check
@triton.jit(do_not_specialize=["active"])
def _into_products(  # noqa: PLR0913, PLR0917 (a kernel's arrays)
    grad: tl.tensor, grad_stride: tl.tensor, carried: tl.tensor, product: tl.tensor,
    kept: tl.tensor, earlier: tl.tensor, through: tl.tensor, into: tl.tensor,
    into_stride: tl.tensor,
    active: tl.tensor, hidden: tl.tensor, block: tl.constexpr, after: tl.constexpr,
) -> None:  # fmt: skip
    """The state's gradient summed, those before the tanh of n and the σ of z and, after, of r."""
    row, unit, inside, real = _units(active, hidden, block)
    here = row * hidden + unit
    kept, through = kept + row * 4 * hidden, through + row * 3 * hidden
    into = into + row * into_stride
    of_state = _load(carried, here, real) + _load(product, here, real)
    of_state += _load(grad, row * grad_stride + unit, real)
    keep, candidate = _load(kept, hidden + unit, real), _load(kept, 2 * hidden + unit, real)
    of_mixed = of_state * (1 - keep)
    of_candidate = of_mixed * (1 - candidate * candidate)
    of_keep = of_mixed * keep * (_load(earlier, here, real) - candidate)
    of_product = of_candidate
    if after:
        reset = _load(kept, unit, real)
        of_product = of_candidate * reset
        of_reset = of_product * _load(kept, 3 * hidden + unit, real) * (1 - reset)
        of_state *= keep
        tl.store(through + unit, of_reset, mask=inside)
        tl.store(into + unit, of_reset, mask=inside)
    tl.store(carried + here, of_state, mask=inside)
    tl.store(through + hidden + unit, of_keep, mask=inside)
    tl.store(into + hidden + unit, of_keep, mask=inside)
    tl.store(through + 2 * hidden + unit, of_product, mask=inside)
    tl.store(into + 2 * hidden + unit, of_candidate, mask=inside)


@no_type_check
@triton.jit(do_not_specialize=["active"])
def _into_reset(  # noqa: PLR0913, PLR0917 (a kernel's arrays)
    of_inner: tl.tensor, carried: tl.tensor, kept: tl.tensor, through: tl.tensor,
    into: tl.tensor, into_stride: tl.tensor,
    active: tl.tensor, hidden: tl.tensor, block: tl.constexpr,
) -> None:  # fmt: skip
    """Reset before: the gradient before the σ of r, and what goes on to the state before."""
    row, unit, inside, real = _units(active, hidden, block)
    here = row * hidden + unit
    kept = kept + row * 4 * hidden
    of_product = _load(of_inner, here, real)
    reset, keep = _load(kept, unit, real), _load(kept, hidden + unit, real)
    of_reset = of_product * _load(kept, 3 * hidden + unit, real) * (1 - reset)
    of_state = _load(carried, here, real) * keep + of_product * reset
    tl.store(carried + here, of_state, mask=inside)
    tl.store(through + row * 3 * hidden + unit, of_reset, mask=inside)
    tl.store(into + row * into_stride + unit, of_reset, mask=inside)
