"""Least move of a document with which a sum of trees reaches a score.

A move is the largest change of a feature, in units of that feature. Branch and bound: a part of the
feature space is bounded by the sum of each tree's largest leaf in it (Chen et al., NeurIPS 2019).
The part with the least bound is split where its largest leaves exclude each other.
"""

import heapq
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.boosting.fit import BoostedRanker
from shuffleproof.core.rankers.boosting.trees import LambdaMART

Row = Float32[np.ndarray, " features"]
Rows = Float32[np.ndarray, "leaves features"]
Distances = Float64[np.ndarray, " leaves"]
Columns = slice | list[int]
Part = tuple[Row, Row, Distances]
"""Part of the space between two rows, and the least move into each leaf there."""

Leaf = tuple[int, float, Row, Row]
ZERO = np.float32(1e-35)
"""Largest number that LightGBM reads as 0."""

TRIED = 24
"""Moves at which a first document is looked for."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of a sum of trees: of each its tree, its value, and the rows between which it is."""

    trees: Int64[np.ndarray, " leaves"]
    values: Float64[np.ndarray, " leaves"]
    low: Rows
    high: Rows

    @classmethod
    def of(cls, ranker: Ranker) -> "Leaves | None":
        """Leaves of boosted trees or thresholds, tree by tree; None: another ranker."""
        if isinstance(ranker, LambdaMART):
            parts = zip(*_of_trees(ranker), strict=True)
        elif isinstance(ranker, BoostedRanker):
            parts = zip(*_of_thresholds(ranker), strict=True)
        else:
            return None
        return cls(*map(np.array, parts))


def _of_trees(ranker: LambdaMART) -> Iterator[Leaf]:
    everywhere = np.full(len(ranker.feature_ids), np.inf, dtype=np.float32)
    for tree in ranker.booster.dump_model()["tree_info"]:
        nodes = [(tree["tree_structure"], -everywhere, everywhere)]
        while nodes:
            node, low, high = nodes.pop()
            if "left_child" not in node:
                yield tree["tree_index"], node["leaf_value"], low, high
                continue
            # LightGBM compares doubles: the last float32 on the left, and the next one
            feature, bound = node["split_feature"], node["threshold"]
            if abs(bound) <= float(ZERO):
                # Read as 0
                bound = -np.nextafter(ZERO, np.float32(1)) if bound < 0 else ZERO
            last = np.float32(bound)
            if float(last) > bound:
                last = np.nextafter(last, np.float32(-np.inf))
            left, right = high.copy(), low.copy()
            left[feature] = min(high[feature], last)
            right[feature] = max(low[feature], np.nextafter(last, np.float32(np.inf)))
            nodes += [(node["left_child"], low, left), (node["right_child"], right, high)]


def _of_thresholds(ranker: BoostedRanker) -> Iterator[Leaf]:
    """All thresholds of a feature as one tree: then no two leaves exclude each other."""
    everywhere = np.full(len(ranker.feature_ids), np.inf, dtype=np.float32)
    for column, (thresholds, gains) in ranker.stumps.tables.items():
        above = [-np.inf, *np.nextafter(thresholds, np.float32(np.inf))]
        for first, last, gain in zip(above, [*thresholds, np.inf], gains, strict=True):
            low, high = -everywhere, everywhere.copy()
            low[column], high[column] = first, last
            yield column, gain, low, high
    # A ranker without a threshold has a score, too
    yield len(everywhere), 0.0, -everywhere, everywhere


@dataclass(eq=False)
class BoxSearch:
    """Search for the least move of one document.

    Attributes:
        leaves: of the ranker.
        document: features, all finite.
        unit: of each feature; 0: it does not move.
        target: score to reach.
        move: the least move found that reaches it; before, the largest that counts.
        found: the document after that move; None: there is none.
    """

    leaves: Leaves
    document: Row
    unit: Float64[np.ndarray, " features"]
    target: float
    move: float
    found: Row | None = None

    def run(self, parts: int) -> float:
        """A move below which no document reaches the target; `move` is the other side.

        Args:
            parts: most parts of the space to split. If they suffice, both sides are equal.
        """
        ends = np.full(len(self.document), np.inf, dtype=np.float32)
        numbers, heap = count(), list[tuple[float, int, Part]]()
        for _ in range(2):
            # After a first document, few leaves are near enough to matter
            near = self._moves(self.leaves.low, self.leaves.high).max(axis=1) <= self.move
            self.leaves = Leaves(*(array[near] for array in vars(self.leaves).values()))
            bound, whole = self._bounded(-ends, ends, np.zeros(int(near.sum())))
            if bound >= self.move:
                return self.move
            for move in np.geomspace(max(bound, 1e-3 * self.move), self.move, TRIED):
                self._try(whole, float(move))
        heap.append((bound, next(numbers), whole))
        for _ in range(parts):
            if not heap or heap[0][0] >= self.move:
                return self.move
            bound, _, part = heapq.heappop(heap)
            self._try(part, (bound + self.move) / 2)
            self._try(part, bound)
            halves = self._halves(part, bound)
            if not halves:
                # The largest leaves have a document in common: no smaller move is enough
                return bound
            for low, high, feature in halves:
                bound_of, inside = self._bounded(low, high, part[2], [feature])
                if bound_of < self.move:
                    heapq.heappush(heap, (max(bound, bound_of), next(numbers), inside))
        return min([self.move, *(bound for bound, *_ in heap)])

    def _moves(
        self, low: Row | Rows, high: Row | Rows, at: Columns = slice(None)
    ) -> Float64[np.ndarray, "*rows features"]:
        """Move of some features between two rows; infinite if there is none."""
        own = self.document[at].astype(np.float64)
        away = np.maximum(np.maximum(low - own, own - high), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            moves = np.where(away > 0, away / self.unit[at], 0.0)
        return np.where(low > high, np.inf, moves)

    def _bounded(
        self, low: Row, high: Row, before: Distances, at: Columns = slice(None)
    ) -> tuple[float, Part]:
        """Move from which on the sum of the trees' largest leaves reaches the target.

        Args:
            low: least values of the part.
            high: its largest values.
            before: least moves into the leaves in a part that differs in some features alone.
            at: these features.
        """
        leaves = self.leaves
        first = np.maximum(leaves.low[:, at], low[at])
        last = np.minimum(leaves.high[:, at], high[at])
        distances = np.maximum(before, self._moves(first, last, at).max(axis=1))
        distances = np.maximum(distances, self._moves(low[at], high[at], at).max())
        # Rounding of the sum counts against the certificate
        slack = 1e-13 * np.abs(leaves.values).sum()
        part = low, high, distances
        moves = np.unique(distances[distances < self.move])
        index = bisect_left(
            moves, self.target, key=lambda move: float(np.float32(self._sum(part, move) + slack))
        )
        return float(moves[index]) if index < len(moves) else np.inf, part

    def _sum(self, part: Part, move: float) -> float:
        """Sum of the trees' largest leaves within a move; −∞ if a tree has none."""
        return float(self._extremes(part, move)[1].sum())

    def _extremes(self, part: Part, move: float) -> Float64[np.ndarray, "2 trees"]:
        """Least and largest leaf of each tree within a move."""
        starts = np.flatnonzero(np.diff(self.leaves.trees, prepend=-1))
        within, values = part[2] <= move, self.leaves.values
        least = np.minimum.reduceat(np.where(within, values, np.inf), starts)
        return np.stack([least, np.maximum.reduceat(np.where(within, values, -np.inf), starts)])

    def _largest(self, part: Part, move: float) -> tuple[Rows, Rows, Distances]:
        """Rows between which each tree has its largest leaf within a move, and what that gains."""
        leaves, (least, largest) = self.leaves, self._extremes(part, move)
        _, trees = np.unique(leaves.trees, return_inverse=True)
        best = np.flatnonzero((part[2] <= move) & (leaves.values == largest[trees]))
        best = best[np.unique(trees[best], return_index=True)[1]]
        low, high = np.maximum(leaves.low[best], part[0]), np.minimum(leaves.high[best], part[1])
        # A leaf that gains nothing still has to be kept
        return low, high, largest - least + 1e-9

    def _halves(self, part: Part, move: float) -> list[tuple[Row, Row, int]]:
        """Two halves of a part by a feature that most largest leaves exclude; empty: none."""
        low, high, gains = self._largest(part, move)
        choices = [
            (min(gains[low[:, at] >= bound].sum(), gains[high[:, at] < bound].sum()), at, bound)
            for at in np.flatnonzero(low.max(axis=0) > high.min(axis=0))
            for bound in np.unique(low[low[:, at] > high[:, at].min(), at])
        ]
        if not choices:
            return []
        _, column, bound = max(choices)
        feature = int(column)
        below, above = part[1].copy(), part[0].copy()
        below[feature], above[feature] = np.nextafter(bound, np.float32(-np.inf)), bound
        return [(part[0], below, feature), (above, part[1], feature)]

    def _try(self, part: Part, move: float) -> None:
        """Try the document within a move whose features allow the most gain, one by one."""
        low, high, gains = self._largest(part, move)
        first, last = low.max(axis=0), high.min(axis=0)
        tried = np.clip(self.document, first, last)
        for at in np.flatnonzero(first > last):
            ends = np.unique(np.concatenate([low[:, at], high[:, at], self.document[[at]]]))
            away = np.abs(ends - self.document[at].astype(np.float64))
            ends = ends[away <= move * self.unit[at], None]
            tried[at] = ends[np.argmax(((low[:, at] <= ends) & (ends <= high[:, at])) @ gains), 0]
        leaves, moved = self.leaves, float(self._moves(tried, tried).max())
        holds = ((leaves.low <= tried) & (tried <= leaves.high)).all(axis=1)
        if moved < self.move and np.float32(leaves.values[holds].sum()) >= self.target:
            self.move, self.found = moved, tried
