"""A gated recurrent unit over lists of real lengths, with its gradient written out.

Input products are made beforehand for all steps at once; a step multiplies only the state, only
for the lists that reach it; the weights' gradient is one product over all steps. Padded steps are
neither computed nor read, and nothing is quadratic in the number of steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class _Walk:
    """The steps of a batch whose lists are sorted by falling length.

    Attributes:
        active: how many lists reach each position.
        backwards: from the last position of each list to the first, or the other way.
        reset_after: the reset gate acts after the state's product (cuDNN) or before it.
    """

    active: tuple[int, ...]
    backwards: bool
    reset_after: bool

    def steps(self) -> Iterator[tuple[int, int, int, int]]:
        """(slot of the state before, slot after, position, lists) of every step in turn.

        States stand in `docs + 1` slots: position p's in slot p (backwards) or p + 1, so that
        the slot before the first step holds zeros.
        """
        docs = len(self.active)
        for step in range(docs):
            place = docs - 1 - step if self.backwards else step
            if self.active[place]:
                before, after = (place + 1, place) if self.backwards else (place, place + 1)
                yield before, after, place, self.active[place]

    def clear(self, values: Tensor) -> None:
        """Set what belongs to pads to 0 in [docs, lists, …]; nothing else will be written there."""
        lists = values.shape[1]
        for place, active in enumerate(self.active):
            if active < lists:
                values[place, active:] = 0


class GatedRecurrence(nn.Module):
    """The recurrent half of a GRU: h' = (1 − z) n + z h, gates r, z, n (Ai et al., Eq. 4).

    n = tanh(x_n + W_n (r h)) where the reset acts before the product, as in Eq. 4, and
    n = tanh(x_n + r (W_n h + b)) where it acts after it, as in cuDNN and `torch.nn.GRU`. Eq. 4
    calls 1 − z its u. The input products x hold the gates' biases.

    Args:
        hidden: width of the state.
        backwards: from the last real position of each list to the first, or the other way.
        reset_after: where the reset gate acts.
    """

    def __init__(self, hidden: int, *, backwards: bool, reset_after: bool) -> None:
        super().__init__()
        self.backwards, self.reset_after = backwards, reset_after
        bound = hidden**-0.5
        self.weight = nn.Parameter(torch.empty(3 * hidden, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(hidden)) if reset_after else None

    def forward(
        self,
        products: Float[Tensor, "lists docs gates"],
        mask: Bool[Tensor, "lists docs"] | None = None,
    ) -> tuple[Float[Tensor, "lists docs hidden"], Float[Tensor, "lists hidden"]]:
        """The state at every position (0 at pads) and the state after the last step.

        Args:
            products: input products of the gates r, z, n.
            mask: True = real, real documents first; None = all are real.
        """
        lists, docs, _ = products.shape
        if mask is None:
            states = self._walked(products, (lists,) * docs)
            return states, states[:, 0 if self.backwards else -1]
        lengths = mask.sum(1)
        order = lengths.argsort(descending=True, stable=True)
        active = tuple((lengths[:, None] > torch.arange(docs, device=mask.device)).sum(0).tolist())
        sorted_already = bool((lengths[1:] <= lengths[:-1]).all())
        states = self._walked(products if sorted_already else products[order], active)
        if not sorted_already:
            states = states[order.argsort()]
        last = torch.zeros_like(lengths) if self.backwards else (lengths - 1).clamp(min=0)
        return states, states[torch.arange(lists, device=mask.device), last]

    def _walked(self, products: Tensor, active: tuple[int, ...]) -> Tensor:
        walk = _Walk(active, self.backwards, self.reset_after)
        products = products.to(self.weight.dtype)
        with torch.autocast(products.device.type, enabled=False):
            states: Tensor = _Recurrence.apply(  # type: ignore[no-untyped-call]
                products, self.weight, self.bias, walk
            )
        return states


class _Recurrence(torch.autograd.Function):
    """States [lists, docs, hidden] of a walk; buffers inside are [docs, lists, …]."""

    @staticmethod
    def forward(
        ctx: Any, products: Tensor, weight: Tensor, bias: Tensor | None, walk: _Walk
    ) -> Tensor:
        lists, docs, width = products.shape
        hidden = width // 3
        states = products.new_empty(docs + 1, lists, hidden)
        kept = docs if any(ctx.needs_input_grad) else 1
        gates = products.new_empty(kept, lists, 3 * hidden)
        inner = products.new_empty(kept, lists, hidden)
        walk.clear(states[:-1] if walk.backwards else states[1:])
        states[-1 if walk.backwards else 0] = 0
        if kept > 1:
            walk.clear(inner)
        step = _forward_after if walk.reset_after else _forward_before
        for before, after, place, active in walk.steps():
            step(
                products[:active, place],
                weight,
                bias,
                (states[before, :active], states[after, :active]),
                (gates[place % kept, :active], inner[place % kept, :active]),
            )
        ctx.save_for_backward(weight, states, gates, inner)
        ctx.walk = walk
        shown = states[:-1] if walk.backwards else states[1:]
        return shown.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        weight, states, gates, inner = ctx.saved_tensors
        walk: _Walk = ctx.walk
        docs, lists, width = gates.shape
        hidden = width // 3
        into, out = gates.new_empty(lists, docs, width), torch.empty_like(gates)
        walk.clear(into.transpose(0, 1))
        walk.clear(out)
        carried = gates.new_zeros(lists, hidden)
        step = _backward_after if walk.reset_after else _backward_before
        for before, _, place, active in reversed(list(walk.steps())):
            carried[:active] += grad[:active, place]
            step(
                weight,
                states[before, :active],
                (gates[place, :active], inner[place, :active]),
                (into[:active, place], out[place, :active], carried[:active]),
            )
        earlier = (states[1:] if walk.backwards else states[:-1]).reshape(-1, hidden)
        flat = out.view(-1, width)
        if walk.reset_after:
            return into, flat.t() @ earlier, flat[:, 2 * hidden :].sum(0), None
        of_gates = flat[:, : 2 * hidden].t() @ earlier
        of_candidate = flat[:, 2 * hidden :].t() @ inner.view(-1, hidden)
        return into, torch.cat((of_gates, of_candidate)), None, None


def _forward_after(
    products: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    states: tuple[Tensor, Tensor],
    kept: tuple[Tensor, Tensor],
) -> None:
    """One step with the reset after the product; keeps r, z, n and W_n h + b."""
    (earlier, state), (gates, inner) = states, kept
    hidden = earlier.shape[1]
    torch.mm(earlier, weight.t(), out=gates)
    inner.copy_(gates[:, 2 * hidden :])
    if bias is not None:
        inner.add_(bias)
    opened = gates[:, : 2 * hidden]
    opened.add_(products[:, : 2 * hidden]).sigmoid_()
    candidate = gates[:, 2 * hidden :]
    torch.addcmul(products[:, 2 * hidden :], opened[:, :hidden], inner, out=candidate)
    _tanh(candidate)
    torch.lerp(candidate, earlier, opened[:, hidden:], out=state)


def _forward_before(
    products: Tensor,
    weight: Tensor,
    bias: Tensor | None,  # noqa: ARG001 (both steps are called alike)
    states: tuple[Tensor, Tensor],
    kept: tuple[Tensor, Tensor],
) -> None:
    """One step with the reset before the product; keeps r, z, n and r h."""
    (earlier, state), (gates, inner) = states, kept
    hidden = earlier.shape[1]
    opened, candidate = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
    torch.addmm(products[:, : 2 * hidden], earlier, weight[: 2 * hidden].t(), out=opened)
    opened.sigmoid_()
    torch.mul(opened[:, :hidden], earlier, out=inner)
    torch.addmm(products[:, 2 * hidden :], inner, weight[2 * hidden :].t(), out=candidate)
    _tanh(candidate)
    torch.lerp(candidate, earlier, opened[:, hidden:], out=state)


def _tanh(values: Tensor) -> None:
    """The hyperbolic tangent in place, as 2σ(2x) − 1: absolute error of a rounding, much faster."""
    values.mul_(2).sigmoid_().mul_(2).sub_(1)


def _backward_after(
    weight: Tensor,
    earlier: Tensor,
    kept: tuple[Tensor, Tensor],
    grads: tuple[Tensor, Tensor, Tensor],
) -> None:
    """The step's gradients: into its input products, out of its state products, and carried."""
    (gates, inner), (into, out, carried) = kept, grads
    hidden = earlier.shape[1]
    reset, keep = gates[:, :hidden], gates[:, hidden : 2 * hidden]
    _into_candidate_and_keep(earlier, gates, into, carried)
    of_candidate = into[:, 2 * hidden :]
    torch.mul(of_candidate, inner, out=into[:, :hidden])
    into[:, :hidden].mul_(reset).mul_(1 - reset)
    out[:, : 2 * hidden] = into[:, : 2 * hidden]
    torch.mul(of_candidate, reset, out=out[:, 2 * hidden :])
    carried.mul_(keep).addmm_(out, weight)


def _backward_before(
    weight: Tensor,
    earlier: Tensor,
    kept: tuple[Tensor, Tensor],
    grads: tuple[Tensor, Tensor, Tensor],
) -> None:
    """As `_backward_after`, for the reset before the product."""
    (gates, _), (into, out, carried) = kept, grads
    hidden = earlier.shape[1]
    reset, keep = gates[:, :hidden], gates[:, hidden : 2 * hidden]
    _into_candidate_and_keep(earlier, gates, into, carried)
    of_product = into[:, 2 * hidden :] @ weight[2 * hidden :]
    torch.mul(of_product, earlier, out=into[:, :hidden])
    into[:, :hidden].mul_(reset).mul_(1 - reset)
    out.copy_(into)
    carried.mul_(keep).addcmul_(of_product, reset)
    carried.addmm_(out[:, : 2 * hidden], weight[: 2 * hidden])


def _into_candidate_and_keep(earlier: Tensor, gates: Tensor, into: Tensor, carried: Tensor) -> None:
    """Gradients before the tanh of n and the sigmoid of z; the same for both resets."""
    hidden = earlier.shape[1]
    keep, candidate = gates[:, hidden : 2 * hidden], gates[:, 2 * hidden :]
    of_keep, of_candidate = into[:, hidden : 2 * hidden], into[:, 2 * hidden :]
    closed = 1 - keep
    torch.mul(carried, closed, out=of_candidate)
    torch.sub(earlier, candidate, out=of_keep)
    of_keep.mul_(of_candidate).mul_(keep)
    of_candidate.addcmul_(of_candidate * candidate, candidate, value=-1)
