"""Subset smoothing: a document's score is its mean over sets of M documents of the list.

A set ranker scores sets of M documents. In each set a document gets its share of the softmax of
the scores, e^(z/T) / Σ e^(z/T). A low temperature T spreads the means most. The shares of a set are
in [0, 1], add up to 1 and depend on the documents of the set alone. So a document that is added to
the list changes only the sets that hold it (`core.metrics.injection`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float32, Float64, Int64, UInt64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import order_within
from shuffleproof.core.rankers.canonical import document_digests
from shuffleproof.core.rankers.combining import SubsetOptions
from shuffleproof.core.rankers.ensemble.saved import OfOneRanker
from shuffleproof.core.seeds import generator

AT_ONCE = 1 << 18
"""Documents of sets that the member scores at once, which bounds memory."""

Members = Int64[np.ndarray, "sets size"]
Shares = Float64[np.ndarray, "sets size"]


@dataclass(frozen=True, eq=False)
class ScoredSets:
    """Sets of one list and the shares of their documents.

    Attributes:
        members: places of the documents in the list.
        shares: score of each document in its set.
        counted: 1 for a share that counts, 0 for a document that only fills a set.
    """

    members: Members
    shares: Shares
    counted: Shares

    def means(self, documents: int) -> Float64[np.ndarray, " docs"]:
        """Mean share of every document of the list."""
        places, weights = self.members.ravel(), self.counted.ravel()
        total = np.bincount(places, weights * self.shares.ravel(), documents)
        return total / np.maximum(np.bincount(places, weights, documents), 1)


@dataclass(frozen=True, eq=False, repr=False)
class SubsetRanker(OfOneRanker):
    """A set ranker that sees M documents at a time.

    Attributes:
        member: the ranker.
        options: size of the sets, and number and seed of the drawn ones.
    """

    options: SubsetOptions

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """Mean share of every document over the sets that hold it.

        Raises:
            MissingRankingError: the lists carry fewer initial rankings than the member reads.
        """
        scores = np.empty(len(lists.rows), dtype=np.float32)
        for start, scored in zip(lists.offsets, self.sets(dataset, lists), strict=False):
            length = 1 + scored.members.max(initial=-1)
            scores[start : start + length] = scored.means(length)
        return scores

    def sets(self, dataset: RankingDataset, lists: CandidateLists) -> Iterator[ScoredSets]:
        """Scored sets of every list: all sets of 2 and 3, drawn sets of more documents.

        A list of fewer than M documents is a set of its own.
        """
        digests = document_digests(dataset, lists.rows)
        order = order_within(lists.offsets, digests, lists.rows)
        for start, end in pairwise(lists.offsets.tolist()):
            # Drawn from the documents' content: the input order plays no part
            content = digests[order[start:end]].tobytes().hex()
            draws = generator(self.options.seed, self.options.kind, content)
            rounds = None if self.options.is_exact else self.options.rounds
            members, counted = sets_of(end - start, self.options.size, rounds, draws)
            places = order[start:end][members] if end > start else members
            yield ScoredSets(places - start, self._shares(dataset, lists, places, digests), counted)

    def shares(self, dataset: RankingDataset, lists: CandidateLists, members: Members) -> Shares:
        """Shares of the documents of some sets, by their candidate indexes.

        Documents of a set are shown in an order that their content decides; ranks count the set
        alone.
        """
        return self._shares(dataset, lists, members, document_digests(dataset, lists.rows))

    def _shares(
        self,
        dataset: RankingDataset,
        lists: CandidateLists,
        members: Members,
        digests: UInt64[np.ndarray, " candidates"],
    ) -> Shares:
        shares = np.empty(members.shape)
        most = max(1, AT_ONCE // max(members.shape[1], 1))
        for first in range(0, len(members), most):
            part = members[first : first + most]
            inside = np.argsort(digests[part], axis=1, kind="stable")
            shown = lists.subsets(np.take_along_axis(part, inside, axis=1))
            scores = self.member.score(dataset, shown).reshape(part.shape)
            np.put_along_axis(
                shares[first : first + most],
                inside,
                softmax_shares(scores, self.options.temperature),
                axis=1,
            )
        return shares


def softmax_shares(scores: Float32[np.ndarray, "sets size"], temperature: float) -> Shares:
    """Softmax of the scores of every set.

    >>> softmax_shares(np.zeros((1, 4), np.float32), 0.5).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    scaled = (scores - scores.max(axis=1, keepdims=True)) / np.float64(temperature)
    powers = np.exp(scaled)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def sets_of(
    documents: int, size: int, rounds: int | None, draws: np.random.Generator
) -> tuple[Members, Shares]:
    """Sets of places of a list, and which of their shares count.

    Without `rounds`, or if one set holds all documents, these are all sets. Each round cuts a
    random order of the list into sets, and the last set is filled with the first documents, whose
    shares do not count again. So every document counts once a round, in a set that is uniform among
    those that hold it; rounds are independent.
    """
    if rounds is None or documents <= size:
        members = _all_sets(documents, min(size, documents))
        return members, np.ones(members.shape)
    orders = draws.permuted(np.tile(np.arange(documents), (rounds, 1)), axis=1)
    width = -(-documents // size) * size
    filled = np.concatenate([orders, orders[:, : width - documents]], axis=1)
    counted = np.broadcast_to(np.arange(width) < documents, filled.shape)
    return filled.reshape(-1, size), counted.reshape(-1, size).astype(np.float64)


@lru_cache(maxsize=16)
def _all_sets(documents: int, size: int) -> Members:
    return np.array(list(combinations(range(documents), size)), dtype=np.int64).reshape(-1, size)
