"""Preferences between the documents of a list, and an aggregator that makes an order of them.

An aggregator that answers alike however documents are numbered is given them in an order that
their content decides, so that ties do not follow the order shown. Others are given them as they
are shown: their dependence on it is a fact to be measured.
"""

from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.aggregate.preferences import pairs_of_matrix
from shuffleproof.core.aggregate.registry import Terms, aggregate, aggregator_named
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import order_within
from shuffleproof.core.rankers.base import Input, Ranker, one_line
from shuffleproof.core.rankers.canonical import document_digests
from shuffleproof.core.rankers.combining import Pairwise
from shuffleproof.core.rankers.ensemble.saved import save
from shuffleproof.core.rankers.pairs.function import preferences_of

TOP = 10
"""Ranks that heap, tournament and sliding window put right."""


@dataclass(frozen=True, eq=False)
class PairwiseRanker:
    """A preference function and an aggregator.

    Attributes:
        member: the function, or any ranker, whose scores then give the preferences.
        options: the aggregator and its seed.
    """

    member: Ranker
    options: Pairwise

    __repr__ = one_line

    @property
    def name(self) -> str:
        """What it is made of, the preset left out."""
        return f"{self.options.prefix}:{self.member.name}"

    @property
    def reads(self) -> frozenset[Input]:
        """What the member reads, the neighbours, and the order where the aggregator follows it."""
        inputs: set[Input] = {"neighbours"} if self._is_equivariant else {"neighbours", "order"}
        return self.member.reads | inputs

    @property
    def rankings(self) -> int:
        """As many initial rankings as the member reads."""
        return self.member.rankings

    @property
    def _is_equivariant(self) -> bool:
        return aggregator_named(self.options.aggregator).equivariant

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """How many documents stand below each in the aggregator's order.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than the member reads.
        """
        order = np.arange(len(lists.rows))
        if self._is_equivariant and "order" not in self.member.reads:
            order = order_within(lists.offsets, document_digests(dataset, lists.rows), lists.rows)
        terms = Terms(seed=self.options.seed, top=TOP if self._is_cut else None)
        scores = np.empty(len(order), np.float32)
        matrices = preferences_of(self.member, dataset, lists.shown_as(order))
        for (start, end), matrix in zip(pairwise(lists.offsets.tolist()), matrices, strict=True):
            if end > start:
                aggregated = aggregate(self.options.aggregator, pairs_of_matrix(matrix), terms)
                scores[order[start:end][aggregated.order]] = np.arange(end - start)[::-1]
        return scores

    @property
    def _is_cut(self) -> bool:
        return self.options.aggregator in {"heap-top-k", "tournament-top-k", "sliding-window"}

    def save(self, directory: Path) -> None:
        """Write `ranker.json`, and the member into a folder of its own."""
        save(Pairwise.kind, (self.member,), asdict(self.options), directory)
