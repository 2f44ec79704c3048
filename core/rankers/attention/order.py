"""The layout of a map of weights: re-indexed by document, sorted, pooled into bins.

Maps are [rows, columns]; an order is the item at each place, from the first place to the last.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int64

Sorting = Literal["shown", "label", "score"]


def reindex_by_document(
    weights: Float[np.ndarray, "*heads rows columns"],
    place: Int64[np.ndarray, " docs"],
    axes: Sequence[int],
) -> Float[np.ndarray, "*heads _rows _columns"]:
    """A map by shown position, as one by document.

    Args:
        weights: by shown position along `axes`.
        place: the position at which each document is shown; −1: it is not, which gives NaN.
        axes: the axes that are documents: −2 for rows, −1 for columns.

    >>> reindex_by_document(np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([1, 0]), (-2, -1)).tolist()
    [[3.0, 2.0], [1.0, 0.0]]
    >>> reindex_by_document(np.array([[0.25, 0.75]]), np.array([1, -1, 0]), (-1,)).tolist()
    [[0.75, nan, 0.25]]
    """
    missing = np.flatnonzero(place < 0)
    for axis in axes:
        weights = np.take(weights, place, axis=axis)
        if len(missing):
            weights[(..., missing) if axis == -1 else (..., missing, slice(None))] = np.nan
    return weights


def largest_change(
    before: Float[np.ndarray, "*heads rows columns"],
    after: Float[np.ndarray, "*heads rows columns"],
) -> float:
    """The largest difference of one cell that both have (not NaN); 0 for empty maps.

    >>> largest_change(np.array([[0.1, 0.9]]), np.array([[0.4, 0.6]]))
    0.30000000000000004
    """
    change = after - before
    # `fmax` and `fmin` skip NaN; max |x| from both ends needs no copy of the array
    highest, lowest = (pick.reduce(change, axis=None, initial=0.0) for pick in (np.fmax, np.fmin))
    return float(max(highest, -lowest))


def sorted_documents(
    by: Sorting,
    labels: Float[np.ndarray, " docs"],
    scores: Float[np.ndarray, " docs"],
    shown: Int64[np.ndarray, " docs"],
) -> Int64[np.ndarray, " docs"]:
    """The document at each place of a sorted axis; ties stand as they are shown.

    Args:
        by: shown order, label (best first) or score (best first).
        labels: of the documents.
        scores: of the documents.
        shown: the document shown at each position.

    >>> labels, shown = np.array([0.0, 2.0, 0.0]), np.array([2, 0, 1])
    >>> sorted_documents("label", labels, np.zeros(3), shown).tolist()
    [1, 2, 0]
    """
    keys = {"label": -labels, "score": -scores}.get(by)
    if keys is None:
        return shown.astype(np.int64)
    # Sorting in shown order makes the stable sort break ties as shown
    return shown[np.argsort(keys[shown], kind="stable")].astype(np.int64)


def bounds(count: int, most: int) -> Int64[np.ndarray, " bounds"]:
    """Bounds of bins of nearly equal size; one item per bin where there is room.

    >>> bounds(7, 3).tolist(), bounds(2, 3).tolist()
    ([0, 2, 5, 7], [0, 1, 2])
    """
    bins = min(count, most)
    return np.round(np.linspace(0, count, bins + 1)).astype(np.int64)


def bin_means(
    weights: Float[np.ndarray, "rows columns"],
    rows: Int64[np.ndarray, " _row_bounds"],
    columns: Int64[np.ndarray, " _column_bounds"],
) -> Float[np.ndarray, "row_bins column_bins"]:
    """The mean weight of every block of cells between these bounds.

    >>> bin_means(np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([0, 2]), np.array([0, 1,
    ...     2])).tolist()
    [[3.0, 5.0]]
    """
    sums = np.add.reduceat(np.add.reduceat(weights, rows[:-1], axis=0), columns[:-1], axis=1)
    means: Float[np.ndarray, "row_bins column_bins"] = sums / np.outer(
        np.diff(rows), np.diff(columns)
    ).astype(weights.dtype)
    return means
