"""Ordinal embeddings: where the initial rankings put a document, as a vector.

Tied documents share the mean embedding of the ranks that their block occupies, which depends on
nothing but the ranking; or, to show what breaks invariance, they take ranks by shown position.
"""

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Float, Int64
from torch import Tensor, nn

from shuffleproof.core.errors import DataError, MissingRankingError
from shuffleproof.core.models.config import SetRankConfig


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
    ) -> Float[Tensor, "lists docs width"]:
        """The summed embedding of each document.

        Args:
            ranks: 0-based best rank of the document's tied block; 0 at pads. A ranking of −1
                everywhere is absent: it contributes nothing.
            tied: how many documents the block has, itself included; 1 at pads.
            start: what every rank of a list is moved by (relative sampling); None = 0.

        Raises:
            MissingRankingError: fewer rankings than the config reads.
            DataError: a rank that the table does not reach.
        """
        if ranks.shape[-1] < self.rankings:
            raise MissingRankingError("ordinal embedding", self.rankings, ranks.shape[-1])
        columns = [at for at in range(self.rankings) if bool((ranks[..., at] >= 0).any())]
        if not columns:
            return self.tables.new_zeros(*ranks.shape[:2], self.tables.shape[-1])
        ranks, tied = ranks[..., columns], tied[..., columns]
        if self.by_position:
            ranks, tied = ranks + _place_in_block(ranks), torch.ones_like(tied)
        if start is not None:
            ranks = ranks + start[:, None, None]
        first = self.size - ranks - tied if self.worst_first else ranks
        self._check(first, tied)
        shares_ranks = bool((tied > 1).any())
        total = self._column(first[..., 0], tied[..., 0], columns[0], shares_ranks)
        for at, column in enumerate(columns[1:], start=1):
            total = total + self._column(first[..., at], tied[..., at], column, shares_ranks)
        return total

    def _column(
        self,
        first: Tensor,
        tied: Tensor,
        column: int,
        shares_ranks: bool,  # noqa: FBT001
    ) -> Tensor:
        table = self.tables[column % len(self.tables)]
        single = F.embedding(first, table)
        if not shares_ranks:
            return single
        sums = F.pad(table.double().cumsum(0), (0, 0, 1, 0))
        block = (F.embedding(first + tied, sums) - F.embedding(first, sums)) / tied[..., None]
        return torch.where(tied[..., None] > 1, block.to(single.dtype), single)

    def _check(self, first: Tensor, tied: Tensor) -> None:
        if first.numel() == 0:
            return
        beyond = max(int((first + tied).max()) - self.size, -int(first.min()))
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
    same = ranks[:, :, None, :] == ranks[:, None, :, :]
    before = torch.ones(docs, docs, dtype=torch.bool, device=ranks.device).tril(-1)
    return (same & before[:, :, None]).sum(2)
