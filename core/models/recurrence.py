"""A gated recurrent unit over lists of real lengths, with its gradient written out.

Input products are made beforehand for all steps at once; a step multiplies only the state, only
for the lists that reach it; the weights' gradient is one product over all steps. Padded steps are
neither computed nor read, and nothing is quadratic in the number of steps. What is no product is
PyTorch's (`recurrence_steps.py`), compiled for float32 on a CPU (`recurrence_compiled.py`); on a
GPU that Triton compiles for, `gpu/recurrence.py` does it all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from shuffleproof.core.kernels.triton_here import compiles_for
from shuffleproof.core.models import recurrence_compiled, recurrence_steps
from shuffleproof.core.models.dense import dense


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

        States have `docs + 1` slots: position p's is slot p (backwards) or p + 1, so that
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
        # As `torch.nn.GRU` draws its weights
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
            lengths: of the mask, on the host, if known; else they are read from the mask.
        """
        return self._read(products, mask, lengths, None)

    def of_vectors(
        self,
        vectors: Float[Tensor, "lists docs width"],
        linear: tuple[Float[Tensor, "gates width"], Float[Tensor, " gates"]],
        mask: Bool[Tensor, "lists docs"] | None = None,
        lengths: Int64[np.ndarray, " lists"] | None = None,
    ) -> tuple[Float[Tensor, "lists docs hidden"], Float[Tensor, "lists hidden"]]:
        """As `forward`, where the input products are made here, in the order of the steps.

        They are then written over, not copied, and so are their gradients: for training on a CPU.

        Args:
            vectors: of the documents, finite at pads.
            linear: weight and bias of the input products.
            mask: as in `forward`.
            lengths: as in `forward`.
        """
        return self._read(vectors, mask, lengths, linear)

    def _read(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        lengths: Int64[np.ndarray, " lists"] | None,
        linear: tuple[Tensor, Tensor] | None,
    ) -> tuple[Tensor, Tensor]:
        lists, docs, _ = inputs.shape
        if mask is None:
            states = self._walked_states(inputs, linear, (lists,) * docs)
            return states, states[:, 0 if self.backwards else -1]
        counts = mask.sum(1)
        lengths = counts.cpu().numpy() if lengths is None else lengths
        # Sorted by length: the lists that reach a position are a prefix, without a mask
        order = counts.argsort(descending=True, stable=True)
        active = tuple((lengths[:, None] > np.arange(docs)).sum(0).tolist())
        sorted_already = bool((lengths[1:] <= lengths[:-1]).all())
        states = self._walked_states(inputs if sorted_already else inputs[order], linear, active)
        if not sorted_already:
            states = states[order.argsort()]
        # Backwards, the last step of every list is at position 0
        last = torch.zeros_like(counts) if self.backwards else (counts - 1).clamp(min=0)
        return states, states[torch.arange(lists, device=mask.device), last]

    def _walked_states(
        self, inputs: Tensor, linear: tuple[Tensor, Tensor] | None, active: tuple[int, ...]
    ) -> Tensor:
        walk = Walk(active, self.backwards, self.reset_after)
        device, precision = inputs.device, self.weight.dtype
        states: Tensor
        if linear is None and precision == torch.float32 and compiles_for(device):
            from shuffleproof.core.models.gpu.recurrence import FusedRecurrence  # noqa: PLC0415

            low = torch.is_autocast_enabled("cuda")
            inputs = inputs.to(torch.get_autocast_dtype("cuda") if low else precision)
            with torch.autocast("cuda", enabled=False):
                states = FusedRecurrence.apply(  # type: ignore[no-untyped-call]
                    inputs, self.weight, self.bias, walk
                )
            return states
        with torch.autocast(device.type, enabled=False):
            states = _Recurrence.apply(  # type: ignore[no-untyped-call]
                inputs.to(precision), *(linear or (None, None)), self.weight, self.bias, walk
            )
        return states


def trains_on_cpu(inputs: Tensor) -> bool:
    """True if training uses `of_vectors`: on a CPU, with gradients, in full precision."""
    plain = inputs.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
    return plain and torch.is_grad_enabled()


class _Recurrence(torch.autograd.Function):
    """States [lists, docs, hidden] of a walk; buffers inside are [docs, lists, …].

    Inputs are the input products, or vectors with the weight and bias of those. Kept for the way
    back: `gates` = r, z and n, and `inner` = r h (reset before) or W_n h + b (reset after).
    """

    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917 (autograd takes tensors one by one)
        ctx: Any,
        inputs: Tensor,
        input_weight: Tensor | None,
        input_bias: Tensor | None,
        weight: Tensor,
        bias: Tensor | None,
        walk: Walk,
    ) -> Tensor:
        """The states of inputs [lists, docs, …]; pads are 0."""
        lists, docs, _ = inputs.shape
        hidden = weight.shape[1]
        by_step, vectors = inputs.transpose(0, 1), None
        if input_weight is None:
            # A copy, as gates are computed in place and the inputs belong to the caller
            gates = by_step.clone(memory_format=torch.contiguous_format)
        else:
            vectors = by_step.contiguous()
            gates = dense(vectors, input_weight, input_bias)
        inner = gates.new_empty(docs, lists, hidden)
        states = gates.new_empty(docs + 1, lists, hidden)
        walk.clear(inner)
        walk.clear(states[:-1] if walk.backwards else states[1:])
        states[-1 if walk.backwards else 0] = 0
        # The same steps twice: compiled for float32 on a CPU, by PyTorch for all else
        steps, convert = _steps_of(gates)
        saved = tuple(map(convert, (gates, inner, states)))
        added = None if bias is None else convert(bias)
        of_gates, of_candidate = weight[: 2 * hidden].t(), weight[2 * hidden :].t()
        for step in walk.steps():
            before, _, place, active = step
            earlier, gate, product = (
                values[slot, :active]
                for values, slot in ((states, before), (gates, place), (inner, place))
            )
            # Only lists that reach this position: pads cost nothing
            gate[:, : 2 * hidden].addmm_(earlier, of_gates)
            if walk.reset_after:
                torch.mm(earlier, of_candidate, out=product)
                steps.mixes_after(step, saved, added)
            else:
                steps.resets(step, saved)
                gate[:, 2 * hidden :].addmm_(product, of_candidate)
                steps.mixes(step, saved)
        ctx.save_for_backward(vectors, input_weight, weight, gates, inner, states)
        ctx.walk = walk
        outputs = states[:-1] if walk.backwards else states[1:]
        return outputs.transpose(0, 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of what `forward` is given, from that of the states."""
        vectors, input_weight, weight, gates, inner, states = ctx.saved_tensors
        walk: Walk = ctx.walk
        _, lists, hidden = inner.shape
        of_inputs, carried = torch.empty_like(gates), inner.new_zeros(lists, hidden)
        walk.clear(of_inputs)
        # Reset after needs it at every step, for the weights; reset before only at one
        of_inner = torch.empty_like(inner if walk.reset_after else carried)
        if walk.reset_after:
            walk.clear(of_inner)
        steps, convert = _steps_of(gates)
        saved = tuple(map(convert, (gates, inner, states)))
        back = tuple(map(convert, (grad.contiguous(), carried, of_inputs, of_inner)))
        # Backpropagation through time: the carried gradient runs against the walk
        for step in reversed(list(walk.steps())):
            _, _, place, active = step
            of_input, of_state = of_inputs[place, :active], carried[:active]
            if walk.reset_after:
                steps.into_products_after(step, saved, back)
                of_state.addmm_(of_inner[place, :active], weight[2 * hidden :])
            else:
                steps.into_products(step, saved, back)
                torch.mm(of_input[:, 2 * hidden :], weight[2 * hidden :], out=of_inner[:active])
                steps.into_resets(step, saved, back)
            of_state.addmm_(of_input[:, : 2 * hidden], weight[: 2 * hidden])
        # Gradients of pads are 0, so they add nothing to these sums
        rows = of_inputs.view(-1, 3 * hidden)
        earlier = (states[1:] if walk.backwards else states[:-1]).view(-1, hidden)
        # One product over all steps instead of a sum of docs small ones
        of_weight = torch.empty_like(weight)
        torch.mm(rows[:, : 2 * hidden].t(), earlier, out=of_weight[: 2 * hidden])
        of_candidate, of_bias = of_weight[2 * hidden :], None
        if walk.reset_after:
            of_products = of_inner.view(-1, hidden)
            torch.mm(of_products.t(), earlier, out=of_candidate)
            of_bias = of_products.sum(0)
        else:
            torch.mm(rows[:, 2 * hidden :].t(), inner.view(-1, hidden), out=of_candidate)
        if vectors is None:
            return of_inputs.transpose(0, 1), None, None, of_weight, of_bias, None
        of_vectors = (of_inputs @ input_weight).transpose(0, 1) if ctx.needs_input_grad[0] else None
        of_linear = rows.t() @ vectors.view(len(rows), -1), rows.sum(0)
        return of_vectors, *of_linear, of_weight, of_bias, None


def _steps_of(values: Tensor) -> tuple[Any, Callable[[Tensor], Any]]:
    """The functions of a step of such values, and what makes of a tensor what they take."""
    if values.device.type == "cpu" and values.dtype == torch.float32:
        return recurrence_compiled, lambda tensor: tensor.detach().numpy()
    return recurrence_steps, Tensor.detach
