"""Multi-head attention between the documents of a list, and the block around it.

Pang et al., SIGIR 2020, Eq. 3 to 5. Tensors are [lists, docs, …]; mask True = a real document.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from shuffleproof.core.models.attend import attend_projected
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.dense import (
    added_norm,
    dense_added_norm,
    dense_and_input,
    dense_parts,
)


class MultiHeadAttention(nn.Module):
    """concat of softmax(Q Wq (K Wk)ᵀ / scale) V Wv over the heads (Pang et al., Eq. 3 and 4).

    Keys and values come from the same vectors. The three projections are one matrix, Wq first.
    """

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.relu = config.projection_activation == "relu"
        # Eq. 3 divides by √E; released code by √(E/h), as Vaswani et al. (2017)
        self.scale = 1 / math.sqrt(width if config.scale == "width" else config.head_width)
        # Eq. 4 has no output projection: heads are concatenated, and that is all
        self.weight = nn.Parameter(torch.empty(3 * width, width))
        self.bias = nn.Parameter(torch.zeros(3 * width)) if config.projection_bias else None
        # One by one: the fan-out of the joint matrix would be three times too large
        for projection in self.weight.detach().view(3, width, width):
            nn.init.xavier_uniform_(projection)

    def forward(
        self,
        queries: Float[Tensor, "#lists queries width"],
        keys: Float[Tensor, "lists keys width"],
        mask: Bool[Tensor, "lists keys"] | None = None,
        record: list[Tensor] | None = None,
    ) -> Float[Tensor, "lists queries width"]:
        """The values of the real key vectors, weighted for each query vector.

        Args:
            queries: the query vectors; the same object as `keys` for self-attention; given
                once ([1, queries, width]) where they are the same for every list.
            keys: the vectors that become keys and values.
            mask: True = a real key; None = all are.
            record: where given, the weights [lists, heads, queries, keys] are appended to it.
        """
        return self.with_queries(queries, keys, mask, record)[0]

    def with_queries(
        self,
        queries: Float[Tensor, "#lists queries width"],
        keys: Float[Tensor, "lists keys width"],
        mask: Bool[Tensor, "lists keys"] | None = None,
        record: list[Tensor] | None = None,
    ) -> tuple[Float[Tensor, "lists queries width"], Float[Tensor, "#lists queries width"]]:
        """The same and the queries, to be read elsewhere: see `dense_and_input`."""
        # Self-attention makes Q, K and V in one product; IMSAB needs Q of other vectors
        alike = queries is keys
        inputs, width = [queries] if alike else [queries, keys], self.weight.shape[1]
        (projected, *rest), (queries, *_) = dense_parts(
            inputs, [3 * width] if alike else [width, 2 * width], self.weight, self.bias,
            relu=self.relu,
        )  # fmt: skip
        projected_keys = rest[0] if rest else None
        attended = attend_projected(projected, projected_keys, mask, self.heads, self.scale, record)
        return attended, queries


class FeedForward(nn.Module):
    """LayerNorm(x + rFF(x)): two row-wise layers with relu between, a residual and a norm."""

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.feed_forward)
        self.outer = nn.Linear(config.feed_forward, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)

    def forward(self, x: Float[Tensor, "lists rows width"]) -> Float[Tensor, "lists rows width"]:
        """The rows transformed one by one."""
        hidden, x = dense_and_input(x, self.inner.weight, self.inner.bias, relu=True)
        return dense_added_norm(hidden, x, self.outer, self.norm)


class AttentionBlock(nn.Module):
    """MAB(Q, K, K): B = LayerNorm(Q + Multihead(Q, K, K)), then LayerNorm(B + rFF(B)) (Eq. 5)."""

    def __init__(self, config: SetRankConfig, *, feed_forward: bool = True) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.feed_forward = FeedForward(config) if feed_forward else None

    def forward(
        self,
        queries: Float[Tensor, "#lists queries width"],
        keys: Float[Tensor, "lists keys width"],
        mask: Bool[Tensor, "lists keys"] | None = None,
        record: list[Tensor] | None = None,
    ) -> Float[Tensor, "lists queries width"]:
        """The queries, each enriched by the real keys; arguments as in `MultiHeadAttention`."""
        attended, queries = self.attention.with_queries(queries, keys, mask, record)
        gathered = added_norm(queries, attended, self.norm)
        return gathered if self.feed_forward is None else self.feed_forward(gathered)
