"""Ordinal embeddings of initial rankings: Pang et al., SIGIR 2020, sections 4.2 and 4.5."""

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 (the field's name for it)
from jaxtyping import Float, Int64
from torch import Tensor, nn

from shuffleproof.core.errors import DataError, MissingRankingError
from shuffleproof.core.models.config import SetRankConfig


class RankFacts(NamedTuple):
    """Facts of a batch's ranks that the host knows, so that the device need not be synchronised.

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
            start: offset of a list's ranks (relative sampling); None = 0.
            known: facts of ranks within the table; None: they are read from ranks and tied.

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
        # As released; the one mode in which the input order changes a score
        if self.by_position:
            ranks, tied = ranks + _place_in_block(ranks), torch.ones_like(tied)
        # Relative sampling (section 4.5): ranks s … s + N − 1 instead of 0 … N − 1
        if start is not None:
            ranks = ranks + start[:, None, None]
        # Reversed, a tied block starts at the index of its worst rank
        ordinals = self.size - ranks - tied if self.worst_first else ranks
        if unknown:
            self._check(ordinals, tied)
        shares_ranks = not self.by_position and any(known.ties[at] for at in columns)
        total = self._column(ordinals[..., 0], tied[..., 0], columns[0], shares_ranks)
        for at, column in enumerate(columns[1:], start=1):
            # Several initial rankings: embeddings are summed (section 4.2)
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
        # Mean of a tied block by prefix sums; float64, because large sums are subtracted
        sums = F.pad(table.double().cumsum(0), (0, 0, 1, 0))
        block = (F.embedding(ordinals + tied, sums) - F.embedding(ordinals, sums)) / tied[..., None]
        # Untied documents take the row itself, without the rounding of prefix sums
        return torch.where(tied[..., None] > 1, block.to(single.dtype), single)

    def _check(self, ordinals: Tensor, tied: Tensor) -> None:
        if ordinals.numel() == 0:
            return
        excess = max(int((ordinals + tied).max()) - self.size, -int(ordinals.min()))
        if excess > 0:
            raise DataError(
                "initial ranking",
                f"rank {self.size + excess} with an ordinal table of {self.size}",
                "Cut the lists shorter, or train with a larger `ordinals` (N_max).",
            )


def _place_in_block(
    ranks: Int64[Tensor, "lists docs rankings"],
) -> Int64[Tensor, "lists docs rankings"]:
    """The number of documents shown before that share the rank."""
    docs = ranks.shape[1]
    shares_rank = ranks[:, :, None, :] == ranks[:, None, :, :]
    before = torch.ones(docs, docs, dtype=torch.bool, device=ranks.device).tril(-1)
    return (shares_rank & before[:, :, None]).sum(2)
