"""Scores of a list with added documents, and the attack that looks for harmful ones.

The attack adds one document after the other. In each step it tries documents of other queries,
random feature vectors within the range of each feature, and, for networks, steps along the gradient
from the best of them. It keeps the document that pushes most of the top k out of the top K, or
comes nearest to it.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.metrics.injection import clean_share
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.ensemble.subset import SubsetRanker, sets_of
from shuffleproof.core.rankers.neural.recipes import NeuralSpec

Vectors = Float32[np.ndarray, "added features"]
Scores = Float64[np.ndarray, "tries docs"]

SEARCH_ROUNDS = 20
"""Drawn sets of a document while the attack searches; the result is scored by the ranker itself."""

STEPS = (0.5, 0.25, 0.1, 0.05)
"""Lengths of the steps along the gradient, as shares of each feature's range."""


@dataclass(frozen=True, eq=False)
class ListOfOne:
    """One list of a data set, alone, to which documents can be added.

    Added documents come first in the initial rankings, the best place for an adversary.

    Attributes:
        dataset: the documents of the list, as one query.
        prior: their scores under the initial rankings.
    """

    dataset: RankingDataset
    prior: Float32[np.ndarray, "docs rankings"]

    @classmethod
    def of(cls, judged: JudgedLists, at: int) -> "ListOfOne":
        """List number `at`."""
        lists = judged.lists.select(np.array([at]))
        rows, ids = lists.rows, judged.dataset.query_ids
        dataset = RankingDataset(
            judged.dataset.features[rows].copy(), judged.dataset.labels[rows].copy(),
            np.array([0, len(rows)]), (ids[lists.queries[0]],), judged.dataset.feature_ids,
        )  # fmt: skip
        return cls(dataset, lists.prior.copy())

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.prior)

    def with_documents(
        self, vectors: Vectors, prior: Float32[np.ndarray, " rankings"] | None = None
    ) -> "ListOfOne":
        """The list with documents of these features at its end.

        Args:
            vectors: their features.
            prior: their scores under the initial rankings; None: above all others.
        """
        features = np.concatenate([self.dataset.features, vectors]).astype(np.float32)
        labels = np.append(self.dataset.labels, np.zeros(len(vectors), np.float32))
        best = self.prior.max(axis=0, initial=0.0) + 1 if prior is None else prior
        priors = np.concatenate([self.prior, np.tile(best, (len(vectors), 1))]).astype(np.float32)
        ids, bounds = self.dataset.query_ids, np.array([0, len(features)])
        dataset = RankingDataset(features, labels, bounds, ids, self.dataset.feature_ids)
        return ListOfOne(dataset, priors)

    @cached_property
    def whole(self) -> CandidateLists:
        """All documents as a list."""
        return CandidateLists.ranked_by(self.dataset, self.prior) if self.prior.size else (
            CandidateLists.all_documents(self.dataset)
        )  # fmt: skip

    def candidates(self, members: Int64[np.ndarray, "sets size"]) -> Int64[np.ndarray, "sets size"]:
        """Places of documents in the whole list, which follows the initial ranking."""
        places = np.empty(len(self), dtype=np.int64)
        places[self.whole.rows] = np.arange(len(self))
        return places[members]

    def scores(self, ranker: Ranker) -> Float64[np.ndarray, " docs"]:
        """Scores of its documents."""
        scores = np.empty(len(self))
        scores[self.whole.rows] = ranker.score(self.dataset, self.whole)
        return scores


def scores_with_each(
    ranker: Ranker, before: ListOfOne, scores: Float64[np.ndarray, " docs"], tries: Vectors
) -> Scores:
    """Scores of a list with one of some documents added, for each of them; it has the last place.

    Of a subset ranker only the sets with the added document are scored; of larger sets a sample.

    Args:
        ranker: to score with.
        before: the list without the documents.
        scores: of that list.
        tries: features of the documents.
    """
    documents, count = len(before), len(tries)
    whole = before.with_documents(tries)
    if not isinstance(ranker, SubsetRanker) or documents < ranker.options.size:
        members = np.tile(np.arange(documents + 1), (count, 1))
        members[:, -1] += np.arange(count)
        lists = whole.whole.subsets(whole.candidates(members))
        return ranker.score(whole.dataset, lists).reshape(count, -1).astype(np.float64)
    size = ranker.options.size
    rounds = None if ranker.options.is_exact else SEARCH_ROUNDS
    draws = np.random.default_rng(documents)
    others, counted = sets_of(documents, size - 1, rounds, draws)
    added = np.repeat(documents + np.arange(count), len(others))
    members = np.column_stack([np.tile(others, (count, 1)), added])
    shares = ranker.shares(whole.dataset, whole.whole, whole.candidates(members))
    shares = shares.reshape(count, len(others), size)
    # Summed by one index of try and document
    totals = np.zeros(count * documents)
    tried = documents * np.arange(count)[:, None]
    for column in range(size - 1):
        parts = shares[:, :, column] * counted[:, column]
        totals += np.bincount((tried + others[:, column]).ravel(), parts.ravel(), len(totals))
    weights = np.bincount(others.ravel(), counted.ravel(), documents)
    clean = clean_share(documents, 1, size)
    after = clean * scores + (1 - clean) * totals.reshape(count, -1) / weights
    return np.column_stack([after, shares[:, :, -1].mean(axis=1)])


def margins(
    scores: Scores, top: Int64[np.ndarray, " top"], kept: int
) -> Float64[np.ndarray, "tries top"]:
    """Distance of the top documents from the score at which they leave the top `kept`.

    In units of the range of the scores. Below 0: it has left; 1: no document can leave.

    >>> margins(np.array([[4.0, 3.0, 2.0, 0.0]]), np.array([0, 2]), 2).tolist()
    [[0.5, -0.25]]
    """
    if scores.shape[1] <= kept:
        return np.ones((len(scores), len(top)))
    falling = -np.sort(-scores, axis=1)
    last, next_one = falling[:, kept - 1 : kept], falling[:, kept : kept + 1]
    own = scores[:, top]
    spread = np.maximum(np.ptp(scores, axis=1), 1e-12)[:, None]
    return np.asarray((own - np.where(own >= last, next_one, last)) / spread)


@dataclass(frozen=True, eq=False)
class Attack:
    """Search for documents that push the top of a list down.

    Attributes:
        ranker: to attack.
        pool: features of documents of the data set, from which tries are drawn.
        kept: K.
        tries: documents tried in each step.
    """

    ranker: Ranker
    pool: Vectors
    kept: int
    tries: int

    def scores(
        self,
        start: ListOfOne,
        scores: Float64[np.ndarray, " docs"],
        top: Int64[np.ndarray, " top"],
        injected: int,
        draws: np.random.Generator,
    ) -> list[Float64[np.ndarray, " _docs"]]:
        """Scores of the list with one added document, with two, …: the most harmful ones found.

        Args:
            start: the list.
            scores: of its documents.
            top: places of the documents that should leave.
            injected: number of documents to add.
            draws: random numbers of the tries.
        """
        now, found = start, list[Float64[np.ndarray, " _docs"]]()
        for _ in range(injected):
            vector, after = self._best(now, scores, top, self._drawn(draws))
            for step in STEPS if self._has_gradient else ():
                moved = self._moved(now, vector, self._nearest(after, top), step)
                vector, after = self._best(now, scores, top, np.concatenate([vector, moved]))
            now = now.with_documents(vector)
            # Drawn sets were few in the search: the ranker itself has the last word
            scores = now.scores(self.ranker) if self._samples else after
            found.append(scores)
        return found

    @property
    def _samples(self) -> bool:
        return isinstance(self.ranker, SubsetRanker) and not self.ranker.options.is_exact

    @property
    def _has_gradient(self) -> bool:
        return isinstance(getattr(self._network, "spec", None), NeuralSpec)

    @property
    def _network(self) -> Ranker:
        return self.ranker.member if isinstance(self.ranker, SubsetRanker) else self.ranker

    def _drawn(self, draws: np.random.Generator) -> Vectors:
        """Documents of the pool, and corners of the box of all features."""
        known = self.pool[draws.integers(0, len(self.pool), self.tries - self.tries // 2)]
        low, high = self.pool.min(axis=0), self.pool.max(axis=0)
        corners = draws.random((self.tries // 2, len(low))) < draws.random((self.tries // 2, 1))
        return np.concatenate([known, np.where(corners, high, low)]).astype(np.float32)

    def _best(
        self,
        before: ListOfOne,
        scores: Float64[np.ndarray, " docs"],
        top: Int64[np.ndarray, " top"],
        tries: Vectors,
    ) -> tuple[Vectors, Float64[np.ndarray, " docs"]]:
        """The most harmful of some documents, and the scores of the list with it."""
        after = scores_with_each(self.ranker, before, scores, tries)
        left = margins(after, top, self.kept)
        nearest = np.where(left < 0, np.inf, left).min(axis=1)
        best = int(np.lexsort((nearest, -(left < 0).sum(axis=1)))[0])
        return tries[best : best + 1], after[best]

    def _nearest(self, scores: Float64[np.ndarray, " docs"], top: Int64[np.ndarray, " top"]) -> int:
        """The top document that is nearest to leaving, of those that have not left."""
        left = margins(scores[None], top, self.kept)[0]
        return int(top[np.where(left < 0, np.inf, left).argmin()])

    def _moved(self, before: ListOfOne, vector: Vectors, place: int, step: float) -> Vectors:
        """An added document moved along the gradient that lowers one document."""
        # The gradient needs PyTorch
        from shuffleproof.core.rankers.neural.attack import directions  # noqa: PLC0415

        whole = before.with_documents(vector)
        lists = whole.whole
        if isinstance(self.ranker, SubsetRanker) and len(before) >= self.ranker.options.size:
            size, draws = self.ranker.options.size, np.random.default_rng(len(before))
            others, _ = sets_of(len(before), size - 1, None if size <= 3 else 1, draws)
            members = np.column_stack([others, np.full(len(others), len(before))])
            lists = whole.whole.subsets(whole.candidates(members))
        # The loss of a list is then that of the document's share
        labels = (np.arange(len(whole)) == place).astype(np.float32)
        labelled = replace(whole.dataset, labels=labels, fingerprint="")
        away = directions(self._network, JudgedLists(labelled, lists))[-1]
        low, high = self.pool.min(axis=0), self.pool.max(axis=0)
        return np.clip(vector + step * (high - low) * away, low, high).astype(np.float32)
