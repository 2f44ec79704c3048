"""Rankers made of trained rankers: fusion of several, and shuffle-and-aggregate around one.

Their names say what they are made of: `rrf:dlcm+lambdamart@tuned`, `mean-rank:mart+ranksvm`,
`shuffled:dlcm`, `shuffled-kemeny-32:dlcm`, `pairwise-goa:pair-net`. A number is the constant k of
reciprocal rank fusion, the number of shuffles or the seed of an aggregator.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.aggregate.voting import mean_ranks
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import ParameterError
from shuffleproof.core.rankers.base import Input, Ranker, one_line
from shuffleproof.core.rankers.combining import KINDS, Combining, Fusion, Pairwise, ShuffleOptions
from shuffleproof.core.rankers.ensemble.pairwise import PairwiseRanker
from shuffleproof.core.rankers.ensemble.saved import load_members, save
from shuffleproof.core.rankers.ensemble.shuffled import ShuffledRanker


def combine(members: Sequence[Ranker], options: Combining) -> Ranker:
    """The ranker made of trained ones: a fusion, one of them shuffled, or its pairs aggregated.

    Raises:
        ParameterError: too few members for a fusion, or several where one is meant.
    """
    if isinstance(options, Fusion) and len(members) > 1:
        return FusedRanker(tuple(members), options)
    if isinstance(options, ShuffleOptions) and len(members) == 1:
        return ShuffledRanker(members[0], options)
    if isinstance(options, Pairwise) and len(members) == 1:
        return PairwiseRanker(members[0], options)
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
        """What it is made of, presets left out."""
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
