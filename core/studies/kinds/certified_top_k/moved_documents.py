"""Least move of one document's features with which it enters the top k: certificate and attack.

A move is the largest change of a feature, in standard deviations of that feature over the training
documents. Features that are constant there do not move, and the other documents stay as they are.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.features import fit
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.boosting.box_search import BoxSearch, Leaves
from shuffleproof.core.rankers.linear.box_bounds import DenseLayers
from shuffleproof.core.studies.kinds.certified_top_k.changed_lists import ListOfOne

Row = Float64[np.ndarray, " features"]
Rows = Float64[np.ndarray, "tries features"]

FARTHEST = 10.0
"""Largest move that is looked at; a result of this size means that or more."""

RAYS = 16
"""Documents on the way to another one that are scored at once."""

ROUNDS = 12
"""Gradient steps of the attack on a network."""

HALVINGS = 26
"""Steps to the largest certified move."""


def units(dataset: RankingDataset) -> Row:
    """Standard deviation of each feature; 0 for one that does not vary."""
    _, unit = fit("z-score", dataset).table
    return np.where(np.isfinite(unit), unit, 0.0)


def bounds_of(ranker: Ranker, feature_ids: tuple[int, ...]) -> DenseLayers | Leaves | None:
    """Parts of a ranker that bound its score over a box; None: it has no certificate."""
    return DenseLayers.of(ranker, feature_ids) or Leaves.of(ranker)


@dataclass(frozen=True, eq=False)
class MovedDocument:
    """A document of a list that may move.

    Attributes:
        ranker: of features.
        alone: it scores documents one by one.
        unit: of each feature.
        k: of the top.
        start: the list.
        scores: of its documents.
        place: of the document.
    """

    ranker: Ranker
    alone: bool
    unit: Row
    k: int
    start: ListOfOne
    scores: Float64[np.ndarray, " docs"]
    place: int

    @property
    def _document(self) -> Float32[np.ndarray, " features"]:
        return self.start.dataset.features[self.place]

    @property
    def _last(self) -> float:
        """Score of the last of the top, if the document is not in the list."""
        return float(np.sort(np.delete(self.scores, self.place))[-self.k])

    def radii(self, bounds: DenseLayers | Leaves | None, parts: int) -> tuple[float, float]:
        """Certified and attacked move; not a number where there is none.

        No smaller move than the first takes the document to the top k, and a move of the second
        does. A document that ties with the last of the top is in it.

        Args:
            bounds: from `bounds_of`.
            parts: most parts of the space that the search over trees splits.
        """
        if not np.isfinite(self._document).all():
            return np.nan, np.nan
        if self.scores[self.place] >= self._last:
            return 0.0, 0.0
        if "features" not in self.ranker.reads:
            return FARTHEST, FARTHEST
        if not isinstance(bounds, Leaves):
            return self._certified(bounds) if bounds else np.nan, self._attacked()
        search = BoxSearch(bounds, self._document, self.unit, self._last, FARTHEST)
        certified = search.run(parts)
        # The ranker itself has the last word
        enters = search.found is None or self._margins(search.found[None])[0] >= 0
        return certified, search.move if enters else self._attacked()

    def _certified(self, layers: DenseLayers) -> float:
        """Largest move found whose box the bound of the score keeps below the last of the top."""
        sure, step, last = 0.0, FARTHEST, self._last
        for _ in range(HALVINGS):
            reach = min(sure + step, FARTHEST) * self.unit
            if layers.upper(self._document - reach, self._document + reach) < last:
                sure = min(sure + step, FARTHEST)
            step /= 2
        return sure

    def _attacked(self) -> float:
        """Least move found that takes the document to the top; FARTHEST if none was.

        Along the gradient of a network, or the differences of other rankers' scores. Then, for
        networks, steps along the gradient at the document found, within a smaller move.
        """
        origin, share = self._document.astype(np.float64), 0.9
        best, now = self._nearest(origin + FARTHEST * self.unit * self._direction(origin))
        for _ in range(ROUNDS if hasattr(self.ranker, "network") else 0):
            reach = share * best * self.unit
            now = np.clip(now, origin - reach, origin + reach)
            steps = np.outer([2.0, 0.5, 0.1], reach) * self._direction(now)
            tries = np.clip(now + steps, origin - reach, origin + reach)
            margins = self._margins(tries)
            now = tries[margins.argmax()]
            if margins.max() >= 0:
                nearer, now = self._nearest(now)
                best = min(best, nearer)
            else:
                share = share**0.5
        return best

    def _nearest(self, far: Row) -> tuple[float, Row]:
        """The least move on the way to a document that enters, and the document there."""
        origin = self._document.astype(np.float64)
        low, high, best, found = 0.0, 1.0, FARTHEST, far
        for level in range(4):
            # First by factors, then evenly between two of them
            shares = np.linspace(low, high, RAYS) if level else np.geomspace(1e-3, 1, RAYS)
            tries = origin + shares[:, None] * (far - origin)
            enters = np.flatnonzero(self._margins(tries) >= 0)
            if not len(enters):
                break
            first = int(enters[0])
            low, high = shares[first - 1] if first else 0.0, shares[first]
            found = tries[first]
            # The move of the document as the ranker reads it, in float32
            away, moves = np.abs(found.astype(np.float32) - origin), self.unit > 0
            best = min(best, float((away[moves] / self.unit[moves]).max(initial=0.0)))
        return best, found

    def _margins(self, vectors: Rows) -> Float64[np.ndarray, " tries"]:
        """Distance of the moved document's score from the last of the top; from 0 on it enters."""
        dataset, lists = self._lists(vectors, alone=self.alone)
        scores = self.ranker.score(dataset, lists).reshape(len(vectors), -1).astype(np.float64)
        if self.alone:
            return scores[:, 0] - self._last
        others = np.sort(np.delete(scores, self.place, axis=1), axis=1)
        return np.asarray(scores[:, self.place] - others[:, -self.k])

    def _lists(self, vectors: Rows, *, alone: bool) -> tuple[RankingDataset, CandidateLists]:
        """Lists with each moved document in place of the original, or of that document alone.

        The moved documents are the last ones of the data set, with the original's initial ranks.
        """
        prior = self.start.prior[self.place]
        whole = self.start.with_documents(vectors.astype(np.float32), prior)
        added = len(self.start) + np.arange(len(vectors))
        members = np.tile(np.arange(len(self.start)), (len(added), 1))
        members[:, self.place] = added
        members = added[:, None] if alone else members
        return whole.dataset, whole.whole.subsets(whole.candidates(members))

    def _direction(self, vector: Row) -> Row:
        """Sign of the change of each feature that raises the document."""
        if not hasattr(self.ranker, "network"):
            steps = np.diag(self.unit)
            up, down = np.split(self._margins(np.concatenate([vector + steps, vector - steps])), 2)
            return np.sign(up - down)
        # The gradient needs PyTorch
        from shuffleproof.core.rankers.neural.attack import directions  # noqa: PLC0415

        dataset, lists = self._lists(vector[None], alone=False)
        labels = np.zeros(dataset.documents, dtype=np.float32)
        labels[-1] = 1
        labelled = replace(dataset, labels=labels, fingerprint="")
        # The loss of a list is that of the document's share
        return -directions(self.ranker, JudgedLists(labelled, lists))[-1].astype(np.float64)
