"""Judged lists in an order that depends on their content alone, as gradient boosting needs it.

Documents of a list stand by a 64-bit digest of their features and label, lists by a digest of
their documents'. Rows that are alike in every bit are interchangeable, so nothing is left to the
order of the file. A recipe may ask for the order of the file instead, as other programs learn:
what that order decides is then there to be measured (the family `train-order`).
"""

import tempfile
from dataclasses import dataclass, fields, replace
from typing import Any, no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int64, UInt64

from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.data.ragged import falling_order
from shuffleproof.core.parameters import parameter
from shuffleproof.core.rankers.base import RankerSpec

CANONICAL, FILE = "canonical", "file"
LATER = {"row_order": CANONICAL}
"""A field that came after rankers had been stored, and what those were fitted with."""

LARGE, AT_ONCE = 1 << 28, 1 << 14
"""Bytes from which on a copy of training rows lies in a file, and rows copied at a time."""

HIGHEST_GRADE = 30  # of LightGBM's own gain table


@dataclass(frozen=True, eq=False)
class CanonicalLists:
    """Documents with features and labels, list after list; no empty lists.

    In canonical order, or in that of the file.
    """

    features: Float32[np.ndarray, "candidates features"]
    labels: Float32[np.ndarray, " candidates"]
    lengths: Int64[np.ndarray, " lists"]

    @classmethod
    def of(cls, judged: JudgedLists, row_order: str = CANONICAL) -> "CanonicalLists":
        """The lists' documents, gathered into canonical order, or as they come.

        Args:
            judged: the lists.
            row_order: of a recipe, see `row_order_parameter`.
        """
        dataset, lists = judged.dataset, judged.lists
        if row_order == FILE:
            filled = lists.lengths[lists.lengths > 0]
            return cls(
                gather_rows(dataset.features, lists.rows), dataset.labels[lists.rows], filled
            )
        digests = _digests(dataset.features, dataset.labels, lists.rows)
        # Equal digests are rows equal in every bit: their order changes nothing
        inside = falling_order(lists.offsets, digests)
        filled = np.flatnonzero(lists.lengths)
        # Digests of documents in canonical order, so that a list has one digest whatever its order
        of_lists = _joined_digests(digests[inside], lists.offsets)[filled]
        order = filled[np.argsort(of_lists, kind="stable")]
        rows = lists.rows[inside[ragged.elements_of(lists.offsets, order)]]
        return cls(gather_rows(dataset.features, rows), dataset.labels[rows], lists.lengths[order])


def gather_rows(
    features: Float32[np.ndarray, "docs features"], rows: Int64[np.ndarray, " candidates"]
) -> Float32[np.ndarray, "candidates features"]:
    """`features[rows]`; a large copy in a nameless file that the system may page out."""
    shape = len(rows), features.shape[1]
    if shape[0] * shape[1] * features.itemsize <= LARGE:
        return features[rows]
    # The mapping outlives the closed file, and the system frees both together
    with tempfile.TemporaryFile() as file:
        copy: np.ndarray = np.memmap(file, features.dtype, "w+", shape=shape)
    for start in range(0, len(rows), AT_ONCE):
        copy[start : start + AT_ONCE] = features[rows[start : start + AT_ONCE]]
    return np.asarray(copy)


@dataclass(frozen=True, eq=False)
class Grades:
    """Labels as the whole numbers that LightGBM ranks by, and the gain of each.

    Attributes:
        labels: the label of every grade, rising; None: labels are grades as they are.
    """

    labels: Float32[np.ndarray, " grades"] | None

    @classmethod
    def of(cls, *parts: Float32[np.ndarray, " _"]) -> "Grades":
        """The grades of all labels that occur: as they are if whole numbers from 0 to 30."""
        distinct = np.unique(np.concatenate([np.unique(labels) for labels in parts]))
        whole = bool(np.all(distinct == np.rint(distinct)))
        are_grades = whole and distinct[0] >= 0 and distinct[-1] <= HIGHEST_GRADE
        return cls(None if are_grades else distinct.astype(np.float32))

    def grade(
        self, labels: Float32[np.ndarray, " candidates"]
    ) -> Float32[np.ndarray, " candidates"]:
        """The grade of every label."""
        if self.labels is None:
            return labels
        return np.searchsorted(self.labels, labels).astype(np.float32)

    def gains(self) -> Float64[np.ndarray, " grades"] | None:
        """2^label − 1 of every grade, 0 for labels below 0; None: LightGBM's table serves.

        Above the table all gains are scaled by a power of two, which NDCG does not notice.

        >>> Grades.of(np.array([0, 0.5, 2], dtype=np.float32)).gains().round(3).tolist()
        [0.0, 0.414, 3.0]
        """
        if self.labels is None:
            return None
        labels = np.maximum(self.labels.astype(np.float64), 0)
        # 2^(y − scale) − 2^(−scale) = (2^y − 1) / 2^scale without overflow
        scale = max(float(labels.max()) - HIGHEST_GRADE, 0.0)
        return np.exp2(labels - scale) - np.exp2(-scale)


def row_order_parameter() -> Any:
    """The field of a recipe that says in which order its training rows are learnt from."""
    return parameter(
        CANONICAL,
        "order of the training rows while they are learnt from: a canonical one, which depends on "
        "their content alone, or that of the file, as other programs take them",
        choices=(CANONICAL, FILE),
    )


def in_file_order(spec: RankerSpec) -> RankerSpec:
    """The recipe with its training rows as they come; itself where no order is fixed for them."""
    recipe: Any = spec
    fixed = "row_order" in {field.name for field in fields(recipe)}
    return replace(recipe, row_order=FILE) if fixed else spec


def document_digests(
    dataset: RankingDataset, rows: Int64[np.ndarray, " candidates"]
) -> UInt64[np.ndarray, " candidates"]:
    """A 64-bit digest of each document's features alone; labels, ids and rows play no part."""
    unjudged = np.zeros(dataset.documents, dtype=np.float32)
    # A constant label, because scoring must not see judgments
    return _digests(dataset.features, unjudged, rows)


def _digests(
    features: Float32[np.ndarray, "docs features"],
    labels: Float32[np.ndarray, " docs"],
    rows: Int64[np.ndarray, " candidates"],
) -> UInt64[np.ndarray, " candidates"]:
    return _row_digests(features.view(np.uint32), labels.view(np.uint32), rows)


_START = np.uint64(0x9E3779B97F4A7C15)
_FACTOR = np.uint64(0xFF51AFD7ED558CCD)  # of MurmurHash3's 64-bit finaliser
_SHIFT = np.uint64(32)


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def _mixed_bits(digest: np.uint64, bits: np.uint64) -> np.uint64:
    # Multiply, then fold the high half down: low bits alone would mix poorly
    digest = (digest ^ bits) * _FACTOR
    return digest ^ (digest >> _SHIFT)


@compiled()
@no_type_check
def _row_digests(features: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> np.ndarray:
    digests = np.empty(len(rows), np.uint64)
    for place in range(len(rows)):
        row = rows[place]
        digest = _mixed_bits(_START, np.uint64(labels[row]))
        for column in range(features.shape[1]):
            digest = _mixed_bits(digest, np.uint64(features[row, column]))
        digests[place] = digest
    return digests


@compiled()
@no_type_check
def _joined_digests(digests: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    joined = np.empty(len(offsets) - 1, np.uint64)
    for segment in range(len(offsets) - 1):
        digest = _START
        for place in range(offsets[segment], offsets[segment + 1]):
            digest = _mixed_bits(digest, digests[place])
        joined[segment] = digest
    return joined
