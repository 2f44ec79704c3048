"""Rankers made of trained rankers: fusion of several, shuffles or pairs of one aggregated.

Their names say what they are made of: `rrf:dlcm+lambdamart@tuned`, `mean-rank:mart+ranksvm`,
`shuffled:dlcm`, `shuffled-kemeny-32:dlcm`, `pairwise-goa:pair-net`, `subset-3:setrank-imsab`. A
number is the constant k of reciprocal rank fusion, the number of shuffles, the seed of an
aggregator or the size of the subsets.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.aggregate.preferences import pairs_of_matrix
from shuffleproof.core.aggregate.registry import Terms, aggregate, aggregator_named
from shuffleproof.core.aggregate.voting import mean_ranks
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import order_within
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.base import Input, Ranker, one_line
from shuffleproof.core.rankers.canonical import document_digests
from shuffleproof.core.rankers.combining import (
    KINDS,
    Combining,
    Fusion,
    Pairwise,
    ShuffleOptions,
    SubsetOptions,
)
from shuffleproof.core.rankers.ensemble.saved import OfOneRanker, load_members, save
from shuffleproof.core.rankers.ensemble.shuffled import ShuffledRanker
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker
from shuffleproof.core.rankers.pairs.function import preferences_of

TOP = 10
"""Ranks that heap and sliding window put right."""


def combine(members: Sequence[Ranker], options: Combining) -> Ranker:
    """The ranker made of trained ones: a fusion, or one shuffled, in pairs or in sets.

    Raises:
        ParameterError: too few members for a fusion, or several where one is meant.
    """
    if isinstance(options, Fusion) and len(members) > 1:
        return FusedRanker(tuple(members), options)
    if isinstance(options, ShuffleOptions) and len(members) == 1:
        return ShuffledRanker(members[0], options)
    if isinstance(options, Pairwise) and len(members) == 1:
        return PairwiseRanker(members[0], options)
    if isinstance(options, SubsetOptions) and len(members) == 1:
        if "neighbours" not in members[0].reads or isinstance(members[0], SubsetRanker):
            raise ParameterError(
                options.kind, members[0].name, "a ranker of sets, as setrank-imsab"
            )
        return SubsetRanker(members[0], options)
    finding = f"{options.kind} of {len(members)}"
    raise ParameterError("combination", finding, "a fusion of several, or one ranker")


@dataclass(frozen=True, eq=False)
class FusedRanker:
    """Several rankers whose ranks are fused; ties of a member share the mean of their ranks.

    Attributes:
        members: the rankers.
        options: how their ranks are made one score.
    """

    members: tuple[Ranker, ...]
    options: Fusion

    __repr__ = one_line

    @property
    def name(self) -> str:
        """Name of the combination, without presets."""
        return f"{self.options.prefix}:{'+'.join(member.name for member in self.members)}"

    @property
    def reads(self) -> frozenset[Input]:
        """All that a member reads; and neighbours, which is what a rank is among."""
        return frozenset[Input]({"neighbours"}).union(*(member.reads for member in self.members))

    @property
    def rankings(self) -> int:
        """As many initial rankings as a member reads at most."""
        return max(member.rankings for member in self.members)

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The fused score of every candidate: Σ 1/(k + rank), ranks from 1, or minus the mean rank.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than a member reads.
        """
        total: Float64[np.ndarray, " candidates"] = np.zeros(len(lists.rows))
        for member in self.members:
            ranks = mean_ranks(lists.offsets, member.score(dataset, lists))
            if self.options.method == "rrf":
                # Cormack et al. (2009) count ranks from 1, ours start at 0
                total += 1.0 / (self.options.k + 1.0 + ranks)
            else:
                total -= ranks / len(self.members)
        return total.astype(np.float32)

    def save(self, directory: Path) -> None:
        """Write `ranker.json`, and every member into a folder of its own."""
        save("fusion", self.members, asdict(self.options), directory)


def load(directory: Path) -> Ranker:
    """The combination that was saved."""
    kind, members, options = load_members(directory)
    return combine(members, KINDS[kind](**options))


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseRanker(OfOneRanker):
    """A preference function, and an aggregator that makes an order of what it prefers.

    An aggregator that answers alike however documents are numbered is given them in an order that
    their content decides, so that ties do not follow the input order. Others are given them as
    they are shown: their dependence on it is a fact to be measured.

    Attributes:
        member: the function, or any ranker, whose scores then give the preferences.
        options: the aggregator and its seed.
    """

    options: Pairwise

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs of the member, the neighbours, and the order if the aggregator depends on it."""
        inputs: set[Input] = {"neighbours"} if self._is_equivariant else {"neighbours", "order"}
        return self.member.reads | inputs

    @property
    def _is_equivariant(self) -> bool:
        return aggregator_named(self.options.aggregator).equivariant

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Number of documents below each one in the aggregator's order.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than the member reads.
        """
        order = np.arange(len(lists.rows))
        # Ties of an equivariant aggregator follow the content, not the input order
        if self._is_equivariant and "order" not in self.member.reads:
            order = order_within(lists.offsets, document_digests(dataset, lists.rows), lists.rows)
        terms = Terms(seed=self.options.seed, top=TOP if self._is_cut else None)
        scores = np.empty(len(order), np.float32)
        matrices = preferences_of(self.member, dataset, lists.shown_as(order))
        for (start, end), matrix in zip(pairwise(lists.offsets.tolist()), matrices, strict=True):
            if end > start:
                aggregated = aggregate(self.options.aggregator, pairs_of_matrix(matrix), terms)
                # Scores are ranks from below: the first of the order beats all others
                scores[order[start:end][aggregated.order]] = np.arange(end - start)[::-1]
        return scores

    @property
    def _is_cut(self) -> bool:
        return self.options.aggregator in {"heap-top-k", "sliding-window"}
