"""Elementwise part of a step of the gated recurrence, forwards and backwards.

A step is (slot of the state before, slot after, place, lists), from `Walk.steps`. `saved` is
(gates, inner, states): the input products [docs, lists, 3 · hidden], which become r, z and n; r h
(reset before) or W_n h + b (reset after) [docs, lists, hidden]; and states [docs + 1, lists,
hidden]. `back` has the gradients (grad, carried, of_inputs, of_inner). They are those of the states
[lists, docs, hidden]; of the state carried from step to step [lists, hidden]; of the input
products; and of `inner`, of one step before the product.
"""

import torch
from torch import Tensor

Step = tuple[int, int, int, int]
Buffers = tuple[Tensor, Tensor, Tensor]
Gradients = tuple[Tensor, Tensor, Tensor, Tensor]


def resets(step: Step, saved: Buffers) -> None:
    """Reset before: σ of the gates, and r h."""
    (before, _, place, active), (gates, inner, states) = step, saved
    hidden = states.shape[2]
    gate = gates[place, :active, : 2 * hidden].sigmoid_()
    torch.mul(gate[:, :hidden], states[before, :active], out=inner[place, :active])


def mixes(step: Step, saved: Buffers) -> None:
    """Reset before: n and h' = (1 − z) n + z h."""
    (before, after, place, active), (gates, _, states) = step, saved
    hidden = states.shape[2]
    keep, candidate = gates[place, :active, hidden:].chunk(2, 1)
    _tanh(candidate)
    # lerp(n, h, z) = n + z (h − n) = (1 − z) n + z h in one pass (Eq. 4, u = 1 − z)
    torch.lerp(candidate, states[before, :active], keep, out=states[after, :active])


def mixes_after(step: Step, saved: Buffers, bias: Tensor) -> None:
    """Reset after: σ of the gates, n and h'."""
    (before, after, place, active), (gates, inner, states) = step, saved
    hidden = states.shape[2]
    reset, keep = gates[place, :active, : 2 * hidden].sigmoid_().chunk(2, 1)
    candidate = gates[place, :active, 2 * hidden :]
    _tanh(candidate.addcmul_(reset, inner[place, :active].add_(bias)))
    torch.lerp(candidate, states[before, :active], keep, out=states[after, :active])


def _tanh(values: Tensor) -> None:
    """The hyperbolic tangent in place."""
    # 2σ(2x) − 1 is faster, and differs by one rounding in absolute terms
    values.mul_(2).sigmoid_().mul_(2).sub_(1)


def into_products(step: Step, saved: Buffers, back: Gradients) -> None:
    """The gradient of the state, and those before the tanh of n and the σ of z."""
    (before, _, place, active), (gates, _, states) = step, saved
    grad, carried, of_inputs, _ = back
    hidden = states.shape[2]
    keep, candidate = gates[place, :active, hidden:].chunk(2, 1)
    of_keep, of_candidate = of_inputs[place, :active, hidden:].chunk(2, 1)
    of_state = carried[:active].add_(grad[:active, place])
    # ∂n: (1 − z) ∂h, with (1 − n²) of the tanh applied last
    torch.addcmul(of_state, of_state, keep, value=-1, out=of_candidate)
    torch.sub(states[before, :active], candidate, out=of_keep)
    # ∂z: (1 − z) z (h − n) ∂h, while of_candidate still holds (1 − z) ∂h
    of_keep.mul_(of_candidate).mul_(keep)
    # ∂tanh = 1 − n²: subtract ∂n · n · n in place
    of_candidate.addcmul_(of_candidate * candidate, candidate, value=-1)


def into_resets(step: Step, saved: Buffers, back: Gradients) -> None:
    """Reset before: the gradient before the σ of r, and what goes on to the state before."""
    (_, _, place, active), (gates, inner, _) = step, saved
    _, carried, of_inputs, of_inner = back
    reset, keep, _ = gates[place, :active].chunk(3, 1)
    of_reset = of_inputs[place, :active].chunk(3, 1)[0]
    torch.mul(of_inner[:active], inner[place, :active], out=of_reset)
    of_reset.addcmul_(of_reset, reset, value=-1)
    # Two ways into the earlier state: kept by z, and through r h
    carried[:active].mul_(keep).addcmul_(of_inner[:active], reset)


def into_products_after(step: Step, saved: Buffers, back: Gradients) -> None:
    """Reset after: all gradients of the step but what its products carry on."""
    into_products(step, saved, back)
    (_, _, place, active), (gates, inner, _) = step, saved
    _, carried, of_inputs, of_inner = back
    reset, keep, _ = gates[place, :active].chunk(3, 1)
    of_reset, _, of_candidate = of_inputs[place, :active].chunk(3, 1)
    # n = tanh(x + r (W h + b)): r scales the gradient of the product
    torch.mul(of_candidate, reset, out=of_inner[place, :active])
    torch.mul(of_inner[place, :active], inner[place, :active], out=of_reset)
    of_reset.addcmul_(of_reset, reset, value=-1)
    carried[:active].mul_(keep)
