"""SetRank: documents of a list scored jointly, without regard to the order they are shown in.

Pang et al., "SetRank: Learning a Permutation-Invariant Ranking Model for Information Retrieval",
SIGIR 2020, section 4. Tensors are [lists, docs, …]; mask True = a real document.
"""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from shuffleproof.core.models.attention import AttentionBlock
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.dense import dense, needed, parameters_cast_once
from shuffleproof.core.models.ordinal import OrdinalEmbedding, RankFacts


class SetRank(nn.Module):
    """Input layer, a stack of MSAB or IMSAB blocks, one score a document (Eq. 8).

    Args:
        features: how many features a document has.
        config: the architecture.

    >>> from shuffleproof.core.models.config import SETRANK_PRESETS
    >>> model = SetRank(3, SETRANK_PRESETS["small"])
    >>> model(torch.ones(2, 5, 3), None, *[torch.zeros(2, 5, 0, dtype=torch.long)] * 2).shape
    torch.Size([2, 5])
    """

    def __init__(self, features: int, config: SetRankConfig) -> None:
        super().__init__()
        self.config = config
        self.input = input_layer(features, config)
        self.ordinal = OrdinalEmbedding(config) if config.rankings else None
        block = IMSAB if config.block == "imsab" else MSAB
        self.blocks = nn.ModuleList(block(config) for _ in range(config.depth))
        self.output = nn.Linear(config.width, 1)

    def embed(self, features: Float[Tensor, "*docs features"]) -> Float[Tensor, "*docs width"]:
        """The representation of each document by itself: what need not be computed twice."""
        # `dense` chooses the fastest exact product of the device
        if isinstance(self.input, nn.Linear):
            return dense(features, self.input.weight, self.input.bias)
        embedded: Tensor = self.input(features)
        return embedded

    def ordinals(
        self,
        ranks: Int64[Tensor, "lists docs rankings"],
        tied: Int64[Tensor, "lists docs rankings"],
        start: Int64[Tensor, " lists"] | None = None,
        known: RankFacts | None = None,
    ) -> Float[Tensor, "lists docs width"] | None:
        """The summed ordinal embeddings (see `OrdinalEmbedding`); None when none are read."""
        if self.ordinal is None:
            return None
        embedded: Tensor = self.ordinal(ranks, tied, start, known)
        return embedded

    def score(
        self,
        embedded: Float[Tensor, "lists docs width"],
        mask: Bool[Tensor, "lists docs"] | None = None,
        ordinal: Float[Tensor, "lists docs width"] | None = None,
        record: list[Tensor] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """One score a document, higher is better; 0 at pads.

        Args:
            embedded: from `embed`.
            mask: True = real; None = every document is, which is faster.
            ordinal: from `ordinals`.
            record: where given, every attention's weights [lists, heads, queries, keys] are
                appended to it: one tensor an MSAB, two an IMSAB.
        """
        x, mask = embedded, needed(mask)
        keys = mask
        if mask is not None:
            # Pads may hold NaN, which a masked weight of 0 would not remove
            x = torch.where(mask[..., None], x, 0)
            # A list of pads alone would have a softmax over nothing: NaN
            keys = mask | ~mask.any(-1, keepdim=True)
        every_block = self.config.ordinal_place == "every-block"
        if ordinal is not None and not every_block:
            # Paper: once, at the input (section 4.2); released code: before every block
            x = x + ordinal
        with parameters_cast_once(self.blocks, x):
            for block in self.blocks:
                x = block(x + ordinal if ordinal is not None and every_block else x, keys, record)
        scores = dense(x, self.output.weight, self.output.bias).squeeze(-1)
        return scores if mask is None else torch.where(mask, scores, 0)

    def forward(
        self,
        features: Float[Tensor, "lists docs features"],
        mask: Bool[Tensor, "lists docs"] | None,
        ranks: Int64[Tensor, "lists docs rankings"],
        tied: Int64[Tensor, "lists docs rankings"],
        start: Int64[Tensor, " lists"] | None = None,
    ) -> Float[Tensor, "lists docs"]:
        """Scores from features and initial ranks; arguments as in `score` and `ordinals`."""
        real = features if mask is None else torch.where(mask[..., None], features, 0)
        return self.score(self.embed(real), mask, self.ordinals(ranks, tied, start))


class GaussianKernels(nn.Module):
    """The released input net: kernels over every feature, a wide layer, a layer to the width.

    Kernel k of feature f is exp(−(x_f − μ_fk)² / 2σ²) with trainable centres μ ~ U(−1, 1); after
    the kernels: linear, relu, LayerNorm, linear, LayerNorm.
    """

    def __init__(self, features: int, config: SetRankConfig) -> None:
        super().__init__()
        # A product is cheaper than a division of docs × features × kernels numbers
        self.precision = 1 / config.kernel_width
        self.centres = nn.Parameter(torch.rand(features, config.kernels) * 2 - 1)
        self.layers = nn.Sequential(
            nn.Linear(features * config.kernels, config.kernel_layer),
            nn.ReLU(inplace=True),
            nn.LayerNorm(config.kernel_layer, eps=config.norm_epsilon),
            nn.Linear(config.kernel_layer, config.width),
            nn.LayerNorm(config.width, eps=config.norm_epsilon),
        )

    def forward(self, features: Float[Tensor, "*docs features"]) -> Float[Tensor, "*docs width"]:
        """The representation of each document."""
        distance = (features[..., None] - self.centres) * self.precision
        represented: Tensor = self.layers((-0.5 * distance.square()).exp().flatten(-2))
        return represented


def input_layer(features: int, config: SetRankConfig) -> nn.Module:
    """The input layer that a config names."""
    if config.input_layer == "gaussian-kernels":
        return GaussianKernels(features, config)
    return nn.Linear(features, config.width)


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
        # M points ask N documents, then N ask M: 2MN logits instead of N² (Eq. 7)
        centres = self.gather(self.points[None], x, mask, record)
        enriched: Tensor = self.spread(x, centres, None, record)
        return enriched
