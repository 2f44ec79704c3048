"""SetRank: documents of a list scored jointly, without regard to the order they are shown in.

Pang et al., "SetRank: Learning a Permutation-Invariant Ranking Model for Information Retrieval",
SIGIR 2020, section 4. Tensors are [lists, docs, …]; mask True = a real document.
"""

import math
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from shuffleproof.core.errors import DataError, MissingRankingError
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.dense import (
    added_norm,
    dense,
    dense_added_norm,
    dense_and_input,
    dense_parts,
    in_float32,
    lacks_bfloat16,
    lowered_on_gpu,
    lowers_on_gpu,
    needed,
)


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
        if isinstance(self.input, nn.Linear):
            return dense(features, self.input.weight, self.input.bias)
        embedded: Tensor = self.input(features)
        return embedded

    def ordinals(
        self,
        ranks: Int64[Tensor, "lists docs rankings"],
        tied: Int64[Tensor, "lists docs rankings"],
        start: Int64[Tensor, " lists"] | None = None,
        known: "RankFacts | None" = None,
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
            x = torch.where(mask[..., None], x, 0)
            keys = mask | ~mask.any(-1, keepdim=True)
        every_block = self.config.ordinal_place == "every-block"
        if ordinal is not None and not every_block:
            x = x + ordinal
        with lowered_on_gpu(self.blocks, x):
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


# Logits a head from which PyTorch's fused attention wins on a CPU, scoring or training, measured:
FUSED_FROM = 96**2
FUSED_FROM_LOW = 600**2  # in bfloat16, whose fused kernels are slow there; here memory decides


def attend(
    query: Float[Tensor, "lists heads queries width"],
    key: Float[Tensor, "lists heads keys width"],
    value: Float[Tensor, "lists heads keys width"],
    mask: Bool[Tensor, "lists keys"] | None,
    scale: float,
) -> Float[Tensor, "lists heads queries width"]:
    """softmax(scale · Q Kᵀ) V over the keys that are real; the faster of the two ways.

    >>> ones = torch.ones(1, 1, 2, 3)
    >>> attend(ones, ones, ones, torch.tensor([[True, False]]), 1.0)[0, 0, 0].tolist()
    [1.0, 1.0, 1.0]
    """
    if lacks_bfloat16(query):
        return in_float32(partial(attend, mask=mask, scale=scale), query, key, value)
    if _prefers_fused(query, key):
        real = None if mask is None else mask[:, None, None, :]
        return F.scaled_dot_product_attention(query, key, value, attn_mask=real, scale=scale)
    return attention_weights(query, key, mask, scale) @ value


def attention_weights(
    query: Float[Tensor, "lists heads queries width"],
    key: Float[Tensor, "lists heads keys width"],
    mask: Bool[Tensor, "lists keys"] | None,
    scale: float,
) -> Float[Tensor, "lists heads queries keys"]:
    """softmax(scale · Q Kᵀ); exactly 0 at pads. Pang et al., SIGIR 2020, Eq. 3."""
    logits = (query * scale) @ key.transpose(-1, -2)
    if mask is not None:
        logits = logits.masked_fill(~mask[:, None, None, :], -torch.inf)
    if not logits.requires_grad and not torch.is_autocast_enabled(logits.device.type):
        return torch.softmax(logits, -1, out=logits)
    return logits.softmax(-1)


def _prefers_fused(query: Tensor, key: Tensor) -> bool:
    if query.device.type != "cpu":
        return True
    logits = query.shape[-2] * key.shape[-2]
    low = query.dtype != torch.float32 or torch.is_autocast_enabled("cpu")
    return logits >= (FUSED_FROM_LOW if low else FUSED_FROM)


class MultiHeadAttention(nn.Module):
    """concat of softmax(Q Wq (K Wk)ᵀ / scale) V Wv over the heads (Pang et al., Eq. 3 and 4).

    Keys and values come from the same vectors. The three projections are one matrix, Wq first.
    """

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.relu = config.projection_activation == "relu"
        self.scale = 1 / math.sqrt(width if config.scale == "width" else config.head_width)
        self.weight = nn.Parameter(torch.empty(3 * width, width))
        self.bias = nn.Parameter(torch.zeros(3 * width)) if config.projection_bias else None
        for projection in self.weight.detach().view(3, width, width):
            nn.init.xavier_uniform_(projection)

    def forward(
        self,
        queries: Float[Tensor, "#lists queries width"],
        keys: Float[Tensor, "lists keys width"],
        mask: Bool[Tensor, "lists keys"] | None = None,
        record: list[Tensor] | None = None,
    ) -> Float[Tensor, "lists queries width"]:
        """What each query vector gathers from the real key vectors.

        Args:
            queries: the vectors that ask; the same object as `keys` for self-attention; given
                once ([1, queries, width]) where they are the same for every list.
            keys: the vectors that answer.
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
        alike = queries is keys
        inputs, width = [queries] if alike else [queries, keys], self.weight.shape[1]
        (asked, *rest), (queries, *_) = dense_parts(
            inputs, [3 * width] if alike else [width, 2 * width], self.weight, self.bias,
            relu=self.relu,
        )  # fmt: skip
        answered = rest[0] if rest else None
        if record is None and lowers_on_gpu(asked):
            from shuffleproof.core.models import gpu_layers  # noqa: PLC0415 (Triton)

            if queries.shape[-1] // self.heads in gpu_layers.HEAD_WIDTHS:
                found = gpu_layers.attention(asked, answered, mask, self.heads, self.scale)
                return found, queries
        if answered is None:
            query, key, value = self._heads(asked, 3)
        else:
            (query,) = self._heads(asked, 1)
            query = query.expand(len(keys), -1, -1, -1)
            key, value = self._heads(answered, 2)
        if record is None:
            gathered = attend(query, key, value, mask, self.scale)
        else:
            record.append(attention_weights(query, key, mask, self.scale))
            gathered = record[-1] @ value
        return gathered.transpose(1, 2).flatten(2), queries

    def _heads(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        lists, rows, _ = projected.shape
        split = projected.view(lists, rows, parts, self.heads, -1)
        return tuple(part.transpose(1, 2) for part in split.unbind(2))


class RankFacts(NamedTuple):
    """What the host knows of a batch's ranks, so that no device is asked.

    Attributes:
        present: initial rankings that are not absent.
        ties: for each ranking, whether documents share a rank.
    """

    present: tuple[int, ...]
    ties: tuple[bool, ...]

    @classmethod
    def of(cls, ranks: Tensor, tied: Tensor) -> "RankFacts":
        """The same asked of the tensors; arguments as in `OrdinalEmbedding`."""
        present = (ranks >= 0).any(1).any(0).tolist()
        ties = (tied > 1).any(1).any(0).tolist()
        return cls(tuple(at for at, there in enumerate(present) if there), tuple(ties))


class OrdinalEmbedding(nn.Module):
    """P(rank), summed over the initial rankings (Pang et al., SIGIR 2020, sections 4.2 and 4.5)."""

    def __init__(self, config: SetRankConfig) -> None:
        super().__init__()
        self.rankings = config.rankings
        self.size = config.ordinals
        self.worst_first = config.ordinal_direction == "worst-first"
        self.by_position = config.tied_ranks == "first"
        tables = config.rankings if config.ordinal_table == "own" else 1
        drawn = torch.randn(tables, config.ordinals, config.width)
        self.tables = nn.Parameter(drawn * config.ordinal_deviation)

    def forward(
        self,
        ranks: Int64[Tensor, "lists docs rankings"],
        tied: Int64[Tensor, "lists docs rankings"],
        start: Int64[Tensor, " lists"] | None = None,
        known: RankFacts | None = None,
    ) -> Float[Tensor, "lists docs width"]:
        """The summed embedding of each document.

        Args:
            ranks: 0-based best rank of the document's tied block; 0 at pads. A ranking of −1
                everywhere is absent: it contributes nothing.
            tied: how many documents the block has, itself included; 1 at pads.
            start: what every rank of a list is moved by (relative sampling); None = 0.
            known: of ranks that the table is known to reach; None: ranks and tied are asked.

        Raises:
            MissingRankingError: fewer rankings than the config reads.
            DataError: a rank that the table does not reach; not looked for where `known`.
        """
        if ranks.shape[-1] < self.rankings:
            raise MissingRankingError("ordinal embedding", self.rankings, ranks.shape[-1])
        unknown = known is None
        known = RankFacts.of(ranks, tied) if known is None else known
        columns = [at for at in known.present if at < self.rankings]
        if not columns:
            return self.tables.new_zeros(*ranks.shape[:2], self.tables.shape[-1])
        if len(columns) < ranks.shape[-1]:  # never by a list of columns: a GPU would be waited for
            ranks, tied = (
                torch.stack([values[..., at] for at in columns], -1) for values in (ranks, tied)
            )
        if self.by_position:
            ranks, tied = ranks + _place_in_block(ranks), torch.ones_like(tied)
        if start is not None:
            ranks = ranks + start[:, None, None]
        ordinals = self.size - ranks - tied if self.worst_first else ranks
        if unknown:
            self._check(ordinals, tied)
        shares_ranks = not self.by_position and any(known.ties[at] for at in columns)
        total = self._column(ordinals[..., 0], tied[..., 0], columns[0], shares_ranks)
        for at, column in enumerate(columns[1:], start=1):
            total = total + self._column(ordinals[..., at], tied[..., at], column, shares_ranks)
        return total

    def _column(
        self,
        ordinals: Tensor,
        tied: Tensor,
        column: int,
        shares_ranks: bool,  # noqa: FBT001
    ) -> Tensor:
        table = self.tables[column % len(self.tables)]
        single = F.embedding(ordinals, table)
        if not shares_ranks:
            return single
        sums = F.pad(table.double().cumsum(0), (0, 0, 1, 0))
        block = (F.embedding(ordinals + tied, sums) - F.embedding(ordinals, sums)) / tied[..., None]
        return torch.where(tied[..., None] > 1, block.to(single.dtype), single)

    def _check(self, ordinals: Tensor, tied: Tensor) -> None:
        if ordinals.numel() == 0:
            return
        beyond = max(int((ordinals + tied).max()) - self.size, -int(ordinals.min()))
        if beyond > 0:
            raise DataError(
                "initial ranking",
                f"rank {self.size + beyond} with an ordinal table of {self.size}",
                "Cut the lists shorter, or train with a larger `ordinals` (N_max).",
            )


def _place_in_block(
    ranks: Int64[Tensor, "lists docs rankings"],
) -> Int64[Tensor, "lists docs rankings"]:
    """How many documents shown before share the rank."""
    docs = ranks.shape[1]
    shares_rank = ranks[:, :, None, :] == ranks[:, None, :, :]
    before = torch.ones(docs, docs, dtype=torch.bool, device=ranks.device).tril(-1)
    return (shares_rank & before[:, :, None]).sum(2)
