"""DLCM: a recurrent network reads the list, its final state re-ranks it.

Ai et al., "Learning a Deep Listwise Context Model for Ranking Refinement", SIGIR 2018, section 4.
Tensors are [lists, docs, …], documents in the input order, real ones first; mask True = real.
"""

from typing import cast

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from shuffleproof.core.models.config import DLCMConfig
from shuffleproof.core.models.dense import dense, needed
from shuffleproof.core.models.memory import MemoryRecurrence
from shuffleproof.core.models.recurrence import GatedRecurrence, trains_on_cpu


class LocalRanking(nn.Module):
    """φ(o, s): the score of an output under the list's context (Eq. 5).

    `multiply`: v · (o · tanh(W s + b)) with W s + b in k rows, our reading of the equation, whose
    shapes leave it open; `add`: v · tanh(U o + W s + b), as the released code has it.
    """

    def __init__(self, hidden: int, config: DLCMConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.additive = config.context == "add"
        self.context = nn.Linear(hidden, config.heads * (1 if self.additive else hidden))
        self.outputs = nn.Linear(hidden, config.heads, bias=False) if self.additive else None
        self.head = nn.Linear(config.heads, 1, bias=False)

    def forward(
        self, outputs: Float[Tensor, "lists docs hidden"], state: Float[Tensor, "lists hidden"]
    ) -> Float[Tensor, "lists docs"]:
        """One score an output."""
        context = self.context(state)
        if self.outputs is not None:
            units = torch.tanh(self.outputs(outputs) + context[:, None])
        else:
            rows = torch.tanh(context).view(len(state), self.heads, -1)
            # v · (o · tanh(W s + b)), Eq. 5: one unit a row of tanh(W s + b)
            units = outputs @ rows.transpose(1, 2)
        scores: Tensor = self.head(units).squeeze(-1)
        return scores


def _recurrence(
    hidden: int,
    config: DLCMConfig,
    backwards: bool,  # noqa: FBT001 (handed on by name)
) -> nn.Module:
    if config.cell == "lstm":
        return MemoryRecurrence(hidden, backwards=backwards)
    return GatedRecurrence(hidden, backwards=backwards, reset_after=config.reset == "after")


class DLCM(nn.Module):
    """Input net, recurrent network over the shown order, local ranking function.

    Args:
        features: α, how many features a document has.
        config: the architecture.

    >>> from shuffleproof.core.models.config import DLCM_PRESETS
    >>> DLCM(3, DLCM_PRESETS["small"])(torch.ones(2, 5, 3)).shape
    torch.Size([2, 5])
    """

    def __init__(self, features: int, config: DLCMConfig) -> None:
        super().__init__()
        self.config = config
        second = config.second_layer(features)
        self.layers: nn.ModuleList = nn.ModuleList()
        if second:
            self.layers.append(nn.Linear(features, config.first_layer))
            self.layers.append(nn.Linear(config.first_layer, second))
        hidden = config.hidden_width(features)
        # From the lowest rank up, so that the best documents are the most recent inputs
        backwards = config.direction == "lowest-first"
        directions = (backwards, not backwards) if config.two_directions else (backwards,)
        self.recurrences = nn.ModuleList(_recurrence(hidden, config, way) for way in directions)
        products = config.gates * hidden * len(directions)
        # One layer for all gates: a step of the recurrence only multiplies the state
        self.products = nn.Linear(config.input_width(features), products)
        nn.init.uniform_(self.products.weight, -(hidden**-0.5), hidden**-0.5)
        nn.init.zeros_(self.products.bias)
        self.ranking = LocalRanking(hidden * len(directions), config)

    def embed(self, features: Float[Tensor, "*docs features"]) -> Float[Tensor, "*docs gates"]:
        """All that depends on a document alone: its input vector's products with the gates.

        3 · hidden numbers a document (an LSTM 4, two directions twice that): made once, gathered.
        """
        return dense(self._vectors(features), self.products.weight, self.products.bias)

    def _vectors(self, features: Tensor) -> Tensor:
        """The input vectors [..., width] of documents."""
        vectors = features
        for layer in self.layers:
            # Ai et al., section 4.1: two elu layers, concatenated with the features
            vectors = F.elu(layer(vectors))
        return torch.cat((features, vectors), -1) if self.layers else vectors

    def score(
        self,
        embedded: Float[Tensor, "lists docs gates"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        lengths: Int64[np.ndarray, " lists"] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """One score a document, higher is better; 0 at pads.

        Args:
            embedded: from `embed`, in the input order.
            mask: True = real, real documents first; None = every document is.
            lengths: of the mask, on the host, if known; else they are read from the mask.
        """
        mask = needed(mask)
        parts = embedded.chunk(len(self.recurrences), -1)
        ways = zip(self.recurrences, parts, strict=True)
        return self._ranked([walk(part, mask, lengths) for walk, part in ways], mask)

    def _ranked(self, walks: list[tuple[Tensor, Tensor]], mask: Tensor | None) -> Tensor:
        """The scores from every direction's states and last state."""
        outputs = torch.cat([states for states, _ in walks], -1)
        scores: Tensor = self.ranking(outputs, torch.cat([state for _, state in walks], -1))
        return scores if mask is None else torch.where(mask, scores, 0)

    def forward(
        self,
        features: Float[Tensor, "lists docs features"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        lengths: Int64[np.ndarray, " lists"] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """Scores from features; arguments as in `score`."""
        # Pads may hold NaN; the products read all rows
        real = features if mask is None else torch.where(mask[..., None], features, 0)
        # Training on a CPU makes the products inside the walk, where they are overwritten
        if not (self.config.cell == "gru" and trains_on_cpu(features)):
            return self.score(self.embed(real), mask, lengths)
        mask, vectors = needed(mask), self._vectors(real)
        linear = self.products.weight, self.products.bias
        parts = zip(*(values.chunk(len(self.recurrences)) for values in linear), strict=True)
        ways = zip(self.recurrences, parts, strict=True)
        walks = [
            cast("GatedRecurrence", walk).of_vectors(vectors, part, mask, lengths)
            for walk, part in ways
        ]
        return self._ranked(walks, mask)
