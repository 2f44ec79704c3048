"""A gated recurrent unit over lists of real lengths, with its gradient written out.

Input products are made beforehand for all steps at once; a step multiplies only the state, only
for the lists that reach it; the weights' gradient is one product over all steps. Padded steps are
neither computed nor read, and nothing is quadratic in the number of steps. On a GPU that Triton
compiles for, `gpu_recurrence.py` does the same in fewer kernels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from shuffleproof.core.models.triton_here import compiles_for


@dataclass(frozen=True)
class Walk:
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
        lengths: Int64[np.ndarray, " lists"] | None = None,
    ) -> tuple[Float[Tensor, "lists docs hidden"], Float[Tensor, "lists hidden"]]:
        """The state at every position (0 at pads) and the state after the last step.

        Args:
            products: input products of the gates r, z, n.
            mask: True = real, real documents first; None = all are real.
            lengths: the mask's on the host, where they are known; else the mask is asked.
        """
        lists, docs, _ = products.shape
        if mask is None:
            states = self._walked_states(products, (lists,) * docs)
            return states, states[:, 0 if self.backwards else -1]
        counts = mask.sum(1)
        lengths = counts.cpu().numpy() if lengths is None else lengths
        order = counts.argsort(descending=True, stable=True)
        active = tuple((lengths[:, None] > np.arange(docs)).sum(0).tolist())
        sorted_already = bool((lengths[1:] <= lengths[:-1]).all())
        states = self._walked_states(products if sorted_already else products[order], active)
        if not sorted_already:
            states = states[order.argsort()]
        last = torch.zeros_like(counts) if self.backwards else (counts - 1).clamp(min=0)
        return states, states[torch.arange(lists, device=mask.device), last]

    def _walked_states(self, products: Tensor, active: tuple[int, ...]) -> Tensor:
        walk = Walk(active, self.backwards, self.reset_after)
        device, precision = products.device, self.weight.dtype
        recurrence: type[torch.autograd.Function] = _Recurrence
        if precision == torch.float32 and compiles_for(device):
            from shuffleproof.core.models import gpu_recurrence  # noqa: PLC0415 (Triton)

            recurrence = gpu_recurrence.FusedRecurrence
            if torch.is_autocast_enabled("cuda"):
                precision = torch.get_autocast_dtype("cuda")
        with torch.autocast(device.type, enabled=False):
            states: Tensor = recurrence.apply(  # type: ignore[no-untyped-call]
                products.to(precision), self.weight, self.bias, walk
            )
        return states


class _Recurrence(torch.autograd.Function):
    """States [lists, docs, hidden] of a walk; buffers inside are [docs, lists, …] and gate by gate.

    Kept for the way back: `gates` = σ of r and z, `candidate` = n, and `inner` = r h (reset
    before) or W_n h + b (reset after).
    """

    @staticmethod
    def forward(
        ctx: Any, products: Tensor, weight: Tensor, bias: Tensor | None, walk: Walk
    ) -> Tensor:
        """The states [lists, docs, hidden] of products [lists, docs, 3 · hidden]; pads are 0."""
        lists, docs, width = products.shape
        hidden = width // 3
        by_step = products.transpose(0, 1)
        gates = by_step[..., : 2 * hidden].clone(memory_format=torch.contiguous_format)
        candidate = by_step[..., 2 * hidden :].clone(memory_format=torch.contiguous_format)
        inner = torch.empty_like(candidate)
        states = products.new_empty(docs + 1, lists, hidden)
        walk.clear(inner)
        walk.clear(states[:-1] if walk.backwards else states[1:])
        states[-1 if walk.backwards else 0] = 0
        step = _forward_after if walk.reset_after else _forward_before
        for before, after, place, active in walk.steps():
            step(
                (weight, bias),
                (states[before, :active], states[after, :active]),
                (gates[place, :active], candidate[place, :active], inner[place, :active]),
            )
        ctx.save_for_backward(weight, states, gates, candidate, inner)
        ctx.walk = walk
        outputs = states[:-1] if walk.backwards else states[1:]
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor | None, None]:
        """The gradients of products, weight and bias, from that of the states."""
        weight, states, gates, candidate, inner = ctx.saved_tensors
        walk: Walk = ctx.walk
        docs, lists, hidden = candidate.shape
        of_gates, of_candidate = torch.empty_like(gates), torch.empty_like(candidate)
        of_inner = torch.empty_like(inner) if walk.reset_after else of_candidate
        for values in (of_gates, of_candidate, of_inner):
            walk.clear(values)
        carried = candidate.new_zeros(lists, hidden)
        step = _backward_after if walk.reset_after else _backward_before
        for before, _, place, active in reversed(list(walk.steps())):
            carried[:active] += grad[:active, place]
            step(
                weight,
                states[before, :active],
                (gates[place, :active], candidate[place, :active], inner[place, :active]),
                (of_gates[place, :active], of_candidate[place, :active]),
                (of_inner[place, :active], carried[:active]),
            )
        into = candidate.new_empty(lists, docs, 3 * hidden)
        into[..., : 2 * hidden] = of_gates.transpose(0, 1)
        into[..., 2 * hidden :] = of_candidate.transpose(0, 1)
        earlier = (states[1:] if walk.backwards else states[:-1]).reshape(-1, hidden)
        multiplied = earlier if walk.reset_after else inner.view(-1, hidden)
        of_weight = torch.empty_like(weight)
        torch.mm(of_gates.view(-1, 2 * hidden).t(), earlier, out=of_weight[: 2 * hidden])
        torch.mm(of_inner.view(-1, hidden).t(), multiplied, out=of_weight[2 * hidden :])
        of_bias = of_inner.view(-1, hidden).sum(0) if walk.reset_after else None
        return into, of_weight, of_bias, None


def _forward_after(
    weights: tuple[Tensor, Tensor | None],
    states: tuple[Tensor, Tensor],
    buffers: tuple[Tensor, Tensor, Tensor],
) -> None:
    """One step with the reset after the product; `buffers` holds the input products at first."""
    (weight, bias), (earlier, state), (gates, candidate, inner) = weights, states, buffers
    hidden = earlier.shape[1]
    gates.addmm_(earlier, weight[: 2 * hidden].t()).sigmoid_()
    torch.mm(earlier, weight[2 * hidden :].t(), out=inner)
    if bias is not None:
        inner.add_(bias)
    _tanh(candidate.addcmul_(gates[:, :hidden], inner))
    torch.lerp(candidate, earlier, gates[:, hidden:], out=state)


def _forward_before(
    weights: tuple[Tensor, Tensor | None],
    states: tuple[Tensor, Tensor],
    buffers: tuple[Tensor, Tensor, Tensor],
) -> None:
    """One step with the reset before the product; `buffers` holds the input products at first."""
    (weight, _), (earlier, state), (gates, candidate, inner) = weights, states, buffers
    hidden = earlier.shape[1]
    gates.addmm_(earlier, weight[: 2 * hidden].t()).sigmoid_()
    torch.mul(gates[:, :hidden], earlier, out=inner)
    _tanh(candidate.addmm_(inner, weight[2 * hidden :].t()))
    torch.lerp(candidate, earlier, gates[:, hidden:], out=state)


def _tanh(values: Tensor) -> None:
    """The hyperbolic tangent in place, as 2σ(2x) − 1: absolute error of a rounding, faster."""
    values.mul_(2).sigmoid_().mul_(2).sub_(1)


def _backward_after(
    weight: Tensor,
    earlier: Tensor,
    buffers: tuple[Tensor, Tensor, Tensor],
    into: tuple[Tensor, Tensor],
    through: tuple[Tensor, Tensor],
) -> None:
    """The step's gradients: into its input products, through its state product, and carried."""
    (gates, candidate, inner), (of_gates, of_candidate), (of_inner, carried) = (
        buffers,
        into,
        through,
    )
    hidden = earlier.shape[1]
    reset, keep = gates[:, :hidden], gates[:, hidden:]
    _into_candidate_and_keep((earlier, keep, candidate), of_candidate, of_gates, carried)
    torch.mul(of_candidate, reset, out=of_inner)
    of_reset = of_gates[:, :hidden]
    torch.mul(of_inner, inner, out=of_reset)
    of_reset.addcmul_(of_reset, reset, value=-1)
    carried.mul_(keep).addmm_(of_gates, weight[: 2 * hidden])
    carried.addmm_(of_inner, weight[2 * hidden :])


def _backward_before(
    weight: Tensor,
    earlier: Tensor,
    buffers: tuple[Tensor, Tensor, Tensor],
    into: tuple[Tensor, Tensor],
    through: tuple[Tensor, Tensor],
) -> None:
    """As `_backward_after`, for the reset before the product."""
    (gates, candidate, inner), (of_gates, of_candidate), (_, carried) = buffers, into, through
    hidden = earlier.shape[1]
    reset, keep = gates[:, :hidden], gates[:, hidden:]
    _into_candidate_and_keep((earlier, keep, candidate), of_candidate, of_gates, carried)
    of_product = of_candidate @ weight[2 * hidden :]
    of_reset = of_gates[:, :hidden]
    torch.mul(of_product, inner, out=of_reset)
    of_reset.addcmul_(of_reset, reset, value=-1)
    carried.mul_(keep).addcmul_(of_product, reset)
    carried.addmm_(of_gates, weight[: 2 * hidden])


def _into_candidate_and_keep(
    buffers: tuple[Tensor, Tensor, Tensor], of_candidate: Tensor, of_gates: Tensor, carried: Tensor
) -> None:
    """Gradients before the tanh of n and the sigmoid of z; the same for both resets."""
    earlier, keep, candidate = buffers
    of_keep = of_gates[:, earlier.shape[1] :]
    torch.addcmul(carried, carried, keep, value=-1, out=of_candidate)
    torch.sub(earlier, candidate, out=of_keep)
    of_keep.mul_(of_candidate).mul_(keep)
    of_candidate.addcmul_(of_candidate * candidate, candidate, value=-1)
