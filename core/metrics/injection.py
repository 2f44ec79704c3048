"""Certificates of subset scores: documents that stay in the top K whatever is added to the list.

A list has n documents. The score of a document is its mean share over the sets of m documents that
hold it. Shares are in [0, 1], add up to at most 1 in a set, and depend on the set alone. A spammer
adds r documents of any content. `docs/certificates.md` has the proofs.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from jaxtyping import Float64, Int64

Scores = Float64[np.ndarray, " docs"]
Shares = Float64[np.ndarray, "sets size"]
Members = Int64[np.ndarray, "sets size"]

ROUNDING = 1e-4
"""Margin of an exact score: float32 scores of a set change by less in another batch."""

CONFIDENCE = 0.95
"""Confidence of all bounds of a list together, if its sets are drawn."""


def clean_share(documents: int, injected: int, size: int) -> float:
    """Share of a document's sets without an injected document.

    >>> round(clean_share(40, 1, 3), 3)
    0.95
    """
    return comb(documents - 1, size - 1) / comb(documents + injected - 1, size - 1)


def dirty_sets(documents: int, injected: int, size: int, rivals: tuple[int, int]) -> float:
    """Number of sets with an injected document that also hold a rival, in units of clean sets.

    A set gives at most 1 to its documents, so this is the most that the rivals can gain together.

    Args:
        documents: of the list.
        injected: number of added documents.
        size: documents of a set.
        rivals: numbers of rivals among the documents of the list, and among the added ones.

    >>> dirty_sets(40, 1, 2, (3, 0)) == 3 / 39
    True
    """
    own, added = rivals
    every = comb(documents + injected, size) - comb(documents, size)
    others = comb(documents + injected - own - added, size) - comb(documents - own, size)
    return (every - others) / comb(documents - 1, size - 1)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the scores of a list, which hold together.

    Attributes:
        low: lower bounds.
        high: upper bounds.
        size: documents of a set.
    """

    low: Scores
    high: Scores
    size: int

    @classmethod
    def exact(cls, scores: Scores, size: int) -> "Bounds":
        """Bounds of scores over all sets: their rounding."""
        return cls(scores - ROUNDING, scores + ROUNDING, size)

    @classmethod
    def of_sample(cls, scores: Scores, size: int, rounds: int) -> "Bounds":
        """Bounds of scores that are means over `rounds` independent sets of each document.

        Hoeffding (JASA 1963, theorem 1): a mean p of values in [0, 1] is at least q > p with
        chance at most exp(−R · KL(q, p)). Bonferroni over two sides and all documents.

        >>> Bounds.of_sample(np.array([0.5]), 5, 1000).low.round(3).tolist()
        [0.457]
        """
        limit = np.log(2 * max(len(scores), 1) / (1 - CONFIDENCE)) / rounds
        sides = [_farthest(scores, np.full(len(scores), end), limit) for end in (0.0, 1.0)]
        return cls(sides[0] - ROUNDING, sides[1] + ROUNDING, size)

    def is_certified(self, place: int, injected: int, kept: int) -> bool:
        """True if a document stays in the top `kept` whatever `injected` documents are added.

        Ties count against the document. The bound is exact: some set function of shares in [0, 1]
        attains it.

        >>> [Bounds.exact(np.linspace(1, 0, 20), 2).is_certified(0, 1, kept) for kept in (1, 2, 3)]
        [False, False, True]
        """
        documents, score = len(self.low), float(self.low[place])
        if documents + injected <= kept:
            return True
        if documents < self.size:
            return False
        # The nearest rivals are the easiest to raise
        deficits = np.sort(score - np.delete(self.high, place))
        return all(
            documents - 1 < kept - added
            or self._is_short(deficits[: kept - added], score, (injected, added))
            for added in range(min(injected, kept) + 1)
        )

    def _is_short(self, deficits: Scores, score: float, added: tuple[int, int]) -> bool:
        """True if the injected sets cannot raise these rivals and some added ones to a score.

        They can exactly if no group of rivals lacks more than the sets that meet it can give
        (Gale, 1957). Groups of those that lack most decide. An added document lacks all.
        """
        documents, (injected, rivals) = len(self.low), added
        totals = np.append(0.0, np.cumsum(deficits[::-1]))
        return any(
            total + new * score > dirty_sets(documents, injected, self.size, (own, new))
            for own, total in enumerate(totals)
            for new in range(rivals + 1)
        )


def _farthest(means: Scores, ends: Scores, limit: float) -> Scores:
    """Values between the means and the ends whose divergence KL(mean, value) is `limit`."""
    near, far = means.astype(np.float64), ends.copy()
    for _ in range(50):
        middle = (near + far) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = (
                np.where(one > 0, one * np.log(one / other), 0.0)
                for one, other in ((means, middle), (1 - means, 1 - middle))
            )
            inside = sum(parts) <= limit
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return far


def stays(scores: Scores, place: int, kept: int) -> bool:
    """True if fewer than `kept` other documents reach a document's score; ties count against it."""
    return bool((scores >= scores[place] - ROUNDING).sum() <= kept)


@dataclass(frozen=True, eq=False)
class AllSets:
    """Shares of all sets of 2 or 3 documents of a list of more documents.

    Attributes:
        members: places of each set's documents.
        shares: their shares.
        doubled: share of document d in the set of d and two copies of e, at [d, e]; of sets of 2
            it is that in the set of d and e.
    """

    members: Members
    shares: Shares
    doubled: Float64[np.ndarray, "docs docs"]

    @property
    def _totals(self) -> tuple[Scores, Float64[np.ndarray, "docs docs"]]:
        """Sum of a document's shares, and at [d, e] the sum over the sets of both d and e."""
        documents, size = len(self.doubled), self.members.shape[1]
        pairs = np.zeros((documents, documents))
        for own in range(size):
            for other in range(size):
                if own != other:
                    places = self.members[:, own], self.members[:, other]
                    np.add.at(pairs, places, self.shares[:, own])
        # A set counts once for each of its other documents
        return pairs.sum(axis=1) / (size - 1), pairs

    def without(self) -> Float64[np.ndarray, "removed docs"]:
        """Scores after the removal of each document; its own is −1."""
        totals, pairs = self._totals
        documents, size = len(totals), self.members.shape[1]
        scores = (totals - pairs.T) / comb(documents - 2, size - 1)
        np.fill_diagonal(scores, -1.0)
        return scores

    def duplicated(self) -> Float64[np.ndarray, "doubled docs"]:
        """Scores after the duplication of each document; its copy has the score of the original."""
        totals, pairs = self._totals
        documents, size = len(totals), self.members.shape[1]
        sets = comb(documents, size - 1)
        if size == 2:
            scores, own = totals + self.doubled.T, totals + 0.5
        else:
            scores = totals + pairs.T + self.doubled.T
            # In the set of a document, its copy and another one, both share the rest alike
            own = totals + ((1 - self.doubled) / 2).sum(axis=0) - 0.5 * (1 - np.diag(self.doubled))
            np.fill_diagonal(scores, 0.0)
        np.fill_diagonal(scores, own)
        return np.asarray(scores / sets)
