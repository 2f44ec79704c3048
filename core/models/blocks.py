"""SetRank's blocks: MAB, and from it MSAB and IMSAB (Pang et al., SIGIR 2020, Eq. 5 to 7)."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from shuffleproof.core.models.attention import MultiHeadAttention
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.dense import dense, dense_added


class FeedForward(nn.Module):
    """LayerNorm(x + rFF(x)): two row-wise layers with relu between, a residual and a norm."""

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.feed_forward)
        self.outer = nn.Linear(config.feed_forward, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)

    def forward(self, x: Float[Tensor, "lists rows width"]) -> Float[Tensor, "lists rows width"]:
        """The rows transformed one by one."""
        hidden = dense(x, self.inner.weight, self.inner.bias, relu=True)
        normed: Tensor = self.norm(dense_added(hidden, x, self.outer.weight, self.outer.bias))
        return normed


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
        gathered: Tensor = self.norm(queries + self.attention(queries, keys, mask, record))
        return gathered if self.feed_forward is None else self.feed_forward(gathered)


class MSAB(nn.Module):
    """Self-attention over the documents: MAB(X, X, X) (Eq. 6)."""

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        self.block = AttentionBlock(config)

    def forward(
        self,
        x: Float[Tensor, "lists docs width"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        record: list[Tensor] | None = None,
    ) -> Float[Tensor, "lists docs width"]:
        """The documents after one round of self-attention."""
        enriched: Tensor = self.block(x, x, mask, record)
        return enriched


class IMSAB(nn.Module):
    """Attention through M induced points: MAB(X, H, H) with H = MAB(I, X, X) (Eq. 7)."""

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        points = torch.randn(config.inducing_points, config.width) * config.inducing_deviation
        self.points = nn.Parameter(points)
        self.gather = AttentionBlock(config, feed_forward=config.inducing_feed_forward)
        self.spread = AttentionBlock(config)

    def forward(
        self,
        x: Float[Tensor, "lists docs width"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        record: list[Tensor] | None = None,
    ) -> Float[Tensor, "lists docs width"]:
        """The documents after one round through the induced points."""
        centres = self.gather(self.points[None], x, mask, record)
        enriched: Tensor = self.spread(x, centres, None, record)
        return enriched
