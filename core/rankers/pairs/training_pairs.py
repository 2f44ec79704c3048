"""Pairs of documents of unequal grades that a preference function learns from."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.rankers.canonical import CanonicalLists
from shuffleproof.core.seeds import generator


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """Pairs in both directions: row k asks whether `document[k]` is better than `other[k]`.

    Attributes:
        document: the one named first, a row of the lists' features.
        other: the one named second.
        better: 1 where the first has the higher grade, else 0.
        weights: of every pair; their mean is 1.
    """

    document: Int64[np.ndarray, " pairs"]
    other: Int64[np.ndarray, " pairs"]
    better: Float32[np.ndarray, " pairs"]
    weights: Float32[np.ndarray, " pairs"]

    @classmethod
    def of(
        cls,
        lists: CanonicalLists,
        pairs: int | None,
        balanced: bool,  # noqa: FBT001
        seed: int,
    ) -> "TrainingPairs":
        """Pairs of every list, each in both directions.

        Args:
            lists: documents with labels.
            pairs: drawn from a list that has more; None: all pairs.
            balanced: whether each two grades of a list weigh alike, however many documents have
                them; where pairs are drawn, they are drawn so.
            seed: of the drawing.

        >>> two = CanonicalLists(np.zeros((2, 1), np.float32), np.array([0, 1], np.float32),
        ...                      np.array([2]))
        >>> pairs = TrainingPairs.of(two, None, True, 0)
        >>> pairs.document.tolist(), pairs.other.tolist(), pairs.better.tolist()
        ([1, 0], [0, 1], [1.0, 0.0])
        """
        offsets, parts = offsets_of(lists.lengths), []
        for index, (start, end) in enumerate(pairwise(offsets.tolist())):
            labels = lists.labels[start:end]
            better, worse = np.nonzero(labels[:, None] > labels[None, :])
            if not len(better):
                continue
            weights = np.ones(len(better))
            if balanced:
                grades = np.stack([labels[better], labels[worse]], axis=1)
                _, kinds, counts = np.unique(
                    grades, axis=0, return_inverse=True, return_counts=True
                )
                # Each kind (grade, grade) gets the same total; the mean weight stays 1
                weights = len(better) / (len(counts) * counts[kinds.reshape(-1)])
            if pairs is not None and len(better) > pairs:
                draws = generator(seed, "pairs", index)
                indexes = draws.choice(len(better), pairs, replace=False, p=weights / weights.sum())
                # Weights went into the draw: applied again they would count twice
                better, worse, weights = better[indexes], worse[indexes], np.ones(pairs)
            parts.append((better + start, worse + start, weights))
        empty = np.zeros(0, np.int64)
        better, worse, weights = map(
            np.concatenate, zip((empty, empty, np.zeros(0)), *parts, strict=True)
        )
        return cls(
            # Both directions, because nothing in the function makes it antisymmetric
            np.concatenate([better, worse]),
            np.concatenate([worse, better]),
            np.repeat(np.array([1, 0], np.float32), len(better)),
            np.tile(weights, 2).astype(np.float32),
        )
