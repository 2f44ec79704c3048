"""Features in quantile bins, and the threshold of each that correlates most with given weights.

A threshold ranker says 1 where a feature is above a threshold, else 0; thresholds are values that
occur, so the fit and the scoring compare alike. The weighted sum over the documents above every
threshold of a feature is one pass over its documents: a histogram, summed from above.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64, UInt8

from shuffleproof.core.compiled import compiled

MOST_BINS = 256


@dataclass(frozen=True, eq=False)
class BinnedDocuments:
    """The bin of every document in every feature.

    Attributes:
        bins: the number of the feature's thresholds below the document's value.
        thresholds: rising, of each feature; as many as there are bins but one.
    """

    bins: UInt8[np.ndarray, "features docs"]
    thresholds: tuple[Float32[np.ndarray, " _"], ...]

    @classmethod
    def of(cls, features: Float32[np.ndarray, "docs features"], bins: int) -> "BinnedDocuments":
        """Bins of about as many documents each; a missing value (NaN) is below everything.

        Args:
            features: one row a document.
            bins: maximum per feature, up to 256.
        """
        places = np.empty((features.shape[1], len(features)), dtype=np.uint8)
        thresholds = []
        for column in range(features.shape[1]):
            values = comparable(features[:, column])
            edges = thresholds_of(values, bins)
            # side="left": a value equal to a threshold is not above it
            places[column] = np.searchsorted(edges, values, side="left")
            thresholds.append(edges)
        return cls(places, tuple(thresholds))

    def above(self, feature: int, split: int) -> Bool[np.ndarray, " docs"]:
        """Mask of the documents above threshold number `split` of a feature."""
        return self.bins[feature] > split

    def strongest(
        self, weights: Float64[np.ndarray, " docs"]
    ) -> tuple[Int64[np.ndarray, " features"], Float64[np.ndarray, " features"]]:
        """Of every feature the threshold with the largest |sum of weights above it|, and the sum.

        >>> documents = BinnedDocuments.of(np.array([[1], [5], [7]], np.float32), 8)
        >>> documents.strongest(np.array([1.0, -3.0, 2.0]))  # above 1: −1, above 5: 2
        (array([1]), array([2.]))
        """
        splits = np.array([len(edges) for edges in self.thresholds], dtype=np.int64)
        return _strongest_splits(self.bins, splits, weights)


def comparable(values: Float32[np.ndarray, " docs"]) -> Float32[np.ndarray, " docs"]:
    """The values with −∞ for what is missing (NaN)."""
    return np.where(np.isnan(values), np.float32(-np.inf), values)


def thresholds_of(
    values: Float32[np.ndarray, " docs"], bins: int
) -> Float32[np.ndarray, " splits"]:
    """Thresholds of at most `bins` bins in rising order, each the largest value of its bin.

    >>> thresholds_of(np.array([3, 1, 1, 2], np.float32), 8).tolist()
    [1.0, 2.0]
    """
    distinct = np.unique(values)
    if len(distinct) > bins:
        # Quantiles of documents, not of values: each bin holds about as many documents
        ends = np.arange(1, bins) * len(values) // bins - 1
        return np.setdiff1d(np.sort(values)[ends], distinct[-1:])
    # Nothing lies above the highest value, so it is no threshold
    return distinct[:-1]


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _strongest_splits(
    bins: np.ndarray, splits: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    best = np.zeros(len(splits), np.int64)
    strengths = np.zeros(len(splits))
    docs, whole = bins.shape[1], bins.shape[1] // 4 * 4
    sums = np.empty((4, MOST_BINS))  # four, lest a run of one bin waits for each addition
    for feature in range(len(splits)):
        row = bins[feature]
        sums[:] = 0.0
        for doc in range(0, whole, 4):
            sums[0, row[doc]] += weights[doc]
            sums[1, row[doc + 1]] += weights[doc + 1]
            sums[2, row[doc + 2]] += weights[doc + 2]
            sums[3, row[doc + 3]] += weights[doc + 3]
        for doc in range(whole, docs):
            sums[0, row[doc]] += weights[doc]
        total = 0.0
        # From the highest threshold down: the sum above each is a running total
        for split in range(splits[feature] - 1, -1, -1):
            upper = split + 1
            total += (sums[0, upper] + sums[1, upper]) + (sums[2, upper] + sums[3, upper])
            # |sum|: a factor may be negative; ≥: of equal sums the lowest threshold
            if abs(total) >= abs(strengths[feature]):
                best[feature], strengths[feature] = split, total
    return best, strengths
