"""Shuffle-and-aggregate: an order-dependent ranker scores several shuffles of each list.

Every list is put into an order that its documents alone decide (by content, equal ones by data
set row), shown in S shuffles of it, and the S answers are made one. As the shuffles are drawn from
(seed, content), the input order is never looked at: the answer cannot depend on it. It costs S
times the scoring. Initial rankings stay with their documents: a ranker that reads ranks still does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.aggregate.voting import borda, kemeny
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import order_within
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.canonical import document_digests
from shuffleproof.core.rankers.combining import ShuffleOptions
from shuffleproof.core.rankers.ensemble.saved import OfOneRanker
from shuffleproof.core.seeds import generator


@dataclass(frozen=True, eq=False, repr=False)
class ShuffledRanker(OfOneRanker):
    """A ranker asked in many orders of its own choosing; it never sees the input order.

    Attributes:
        member: the ranker.
        options: how often, and how the answers are made one.
    """

    options: ShuffleOptions

    @property
    def passes(self) -> int:
        """Number of times the member scores every list: the cost of the defence."""
        return self.options.shuffles

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The aggregate of the member's scores under all shuffles.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than the member reads.
        """
        digests = document_digests(dataset, lists.rows)
        order = order_within(lists.offsets, digests, lists.rows)
        base = lists.shown_as(order)
        shuffles = self._shuffles(base, digests[order])
        votes = np.empty((len(shuffles), len(order)), dtype=np.float32)
        answers = _answers(self.member, dataset, [base.shown_as(shuffle) for shuffle in shuffles])
        for vote, shuffle, answer in zip(votes, shuffles, answers, strict=True):
            # Back from shuffled places to places of the canonical order
            vote[shuffle] = answer
        scores = np.empty(len(order), dtype=np.float32)
        scores[order] = self._aggregated_scores(lists.offsets, votes)
        return scores

    def _shuffles(
        self, base: CandidateLists, digests: np.ndarray
    ) -> list[Int64[np.ndarray, " candidates"]]:
        """Candidate indexes of every shuffle, drawn for each list from its documents' digests."""
        keys = np.empty((self.options.shuffles, len(base.rows)))
        for first, last in pairwise(base.offsets.tolist()):
            # Seeded by content: the same documents get the same shuffles in any input order
            content = digests[first:last].tobytes().hex()
            draws = generator(self.options.seed, "shuffled", content)
            keys[:, first:last] = draws.random((self.options.shuffles, last - first))
        return [order_within(base.offsets, shuffle_keys) for shuffle_keys in keys]

    def _aggregated_scores(
        self, offsets: Int64[np.ndarray, " bounds"], votes: Float32[np.ndarray, "voters docs"]
    ) -> Float64[np.ndarray, " docs"]:
        if self.options.aggregate == "borda":
            return borda(offsets, votes)
        if self.options.aggregate == "kemeny":
            return kemeny(offsets, votes)
        return votes.mean(axis=0, dtype=np.float64)


def _answers(
    member: Ranker, dataset: RankingDataset, variants: Sequence[CandidateLists]
) -> Sequence[Float32[np.ndarray, " candidates"]]:
    """The member's scores of several orders of the same lists, together where it knows how."""
    # Networks embed each document once for all variants
    score_variants = getattr(member, "score_variants", None)
    if score_variants is not None:
        answers: Sequence[Float32[np.ndarray, " candidates"]] = score_variants(dataset, variants)
        return answers
    return [member.score(dataset, variant) for variant in variants]
