"""A long short-term memory over lists of real lengths, on input products made beforehand."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


class MemoryRecurrence(nn.Module):
    """The recurrent half of an LSTM: c' = f c + i g, h' = o tanh(c'), gates i, f, g, o.

    Hochreiter & Schmidhuber, Neural Computation 9, 1997, with forget gates, as in `torch.nn.LSTM`.
    The input products hold the gates' biases. Gradients are autograd's.

    Args:
        hidden: width of the state.
        backwards: from the last real position of each list to the first, or the other way.
    """

    def __init__(self, hidden: int, *, backwards: bool) -> None:
        super().__init__()
        self.backwards = backwards
        bound = hidden**-0.5
        self.weight = nn.Parameter(torch.empty(4 * hidden, hidden).uniform_(-bound, bound))

    def forward(
        self,
        products: Float[Tensor, "lists docs gates"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        _lengths: object = None,
    ) -> tuple[Float[Tensor, "lists docs hidden"], Float[Tensor, "lists hidden"]]:
        """The state at every position (0 at pads) and the state after the last step.

        Args:
            products: input products of the gates i, f, g, o.
            mask: True = real, real documents first; None = all are real.
            _lengths: as in `GatedRecurrence`; every step is masked here, so they are not read.
        """
        lists, docs, _ = products.shape
        products = products.to(self.weight.dtype)
        state = memory = products.new_zeros(lists, self.weight.shape[1])
        steps = list(products.unbind(1))
        real = [None] * docs if mask is None else list(mask[..., None].unbind(1))
        states: list[Tensor] = [state] * docs
        # Rounding of the state would add up over the steps
        with torch.autocast(products.device.type, enabled=False):
            for place in reversed(range(docs)) if self.backwards else range(docs):
                after, new_memory = self._step(steps[place], state, memory)
                now = real[place]
                if now is None:
                    state, memory = after, new_memory
                    states[place] = state
                else:
                    # Lists that have ended keep their last state
                    states[place] = torch.where(now, after, 0)
                    state, memory = (
                        torch.where(now, after, state),
                        torch.where(now, new_memory, memory),
                    )
        return torch.stack(states, 1), state

    def _step(self, product: Tensor, state: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        input_gate, forget_gate, candidate, output_gate = torch.addmm(
            product, state, self.weight.t()
        ).chunk(4, -1)
        memory = forget_gate.sigmoid() * memory + input_gate.sigmoid() * candidate.tanh()
        return output_gate.sigmoid() * memory.tanh(), memory
