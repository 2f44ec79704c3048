"""How a map of weights is laid out: re-indexed, sorted, clustered, cut into bins, zoomed into.

Maps are [rows, columns]; an order is the item at each place, from the first place to the last.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy
from jaxtyping import Float, Int64

Sorting = Literal["shown", "label", "score", "cluster"]

MOST_CELLS = 60
"""Rows and columns that a picture holds at once; more are put together, or zoomed into."""


def reindex_by_document(
    weights: Float[np.ndarray, "*heads rows columns"],
    place: Int64[np.ndarray, " docs"],
    axes: Sequence[int],
) -> Float[np.ndarray, "*heads _rows _columns"]:
    """A map by shown position, as one by document.

    Args:
        weights: by shown position along `axes`.
        place: the position at which each document is shown; −1: it is not, and NaN stands there.
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
    apart = after - before
    highest, lowest = (pick.reduce(apart, axis=None, initial=0.0) for pick in (np.fmax, np.fmin))
    return float(max(highest, -lowest))


def sorted_documents(
    by: Sorting,
    labels: Float[np.ndarray, " docs"],
    scores: Float[np.ndarray, " docs"],
    shown: Int64[np.ndarray, " docs"],
    weights: Float[np.ndarray, "docs _width"] | None = None,
) -> Int64[np.ndarray, " docs"]:
    """The document at each place of a sorted axis; ties stand as they are shown.

    Args:
        by: shown order, label (best first), score (best first), or cluster.
        labels: of the documents.
        scores: of the documents.
        shown: the document shown at each position.
        weights: what documents are clustered by, one row a document.

    >>> labels, shown = np.array([0.0, 2.0, 0.0]), np.array([2, 0, 1])
    >>> sorted_documents("label", labels, np.zeros(3), shown).tolist()
    [1, 2, 0]
    """
    if by == "cluster" and weights is not None:
        return cluster_order(weights)
    keys = {"label": -labels, "score": -scores}.get(by)
    if keys is None:
        return shown.astype(np.int64)
    return shown[np.argsort(keys[shown], kind="stable")].astype(np.int64)


def cluster_order(profiles: Float[np.ndarray, "docs _width"]) -> Int64[np.ndarray, " docs"]:
    """An order in which rows that are alike stand together.

    Leaves of average-linkage clustering by Euclidean distance (scipy); fewer than three rows stay.

    >>> cluster_order(np.array([[0.0], [9.0], [0.1], [9.1]])).tolist() in ([0, 2, 1, 3], [1, 3, 0,
    ...     2])
    True
    """
    if len(profiles) < 3:
        return np.arange(len(profiles), dtype=np.int64)
    tree = scipy.cluster.hierarchy.linkage(_distances(profiles.astype(np.float64)), "average")
    return scipy.cluster.hierarchy.leaves_list(tree).astype(np.int64)


def _distances(profiles: Float[np.ndarray, "docs _width"]) -> Float[np.ndarray, " pairs"]:
    """Euclidean distances of all pairs, as scipy's `pdist` has them; one product of matrices."""
    centred = profiles - profiles.mean(axis=0)
    products = centred @ centred.T
    squares = np.diag(products)
    upper = np.triu_indices(len(profiles), 1)
    distances: Float[np.ndarray, " pairs"] = np.sqrt(
        np.maximum(squares[:, None] + squares - 2 * products, 0.0)[upper]
    )
    return distances


def bounds(count: int, most: int = MOST_CELLS) -> Int64[np.ndarray, " bounds"]:
    """Where bins of nearly equal size begin and end; a bin an item where there is room.

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
    """The mean weight of every block of cells between these bounds; what lies outside is left out.

    NaN has no say; a block of nothing else is NaN.

    >>> bin_means(np.array([[1.0, 3.0], [5.0, 7.0]]), np.array([0, 2]), np.array([0, 1,
    ...     2])).tolist()
    [[3.0, 5.0]]
    >>> bin_means(np.array([[1.0, np.nan], [5.0, 7.0]]), np.array([0, 2]), np.array([1,
    ...     2])).tolist()
    [[7.0]]
    """
    if not weights.size:
        return np.zeros((max(len(rows) - 1, 0), max(len(columns) - 1, 0)), weights.dtype)
    inside = weights[rows[0] : rows[-1], columns[0] : columns[-1]]
    edges = rows[:-1] - rows[0], columns[:-1] - columns[0]
    sums, missing = _sums(inside, *edges), np.isnan(inside)
    if not missing.any():
        means: Float[np.ndarray, "row_bins column_bins"] = sums / np.outer(
            np.diff(rows), np.diff(columns)
        ).astype(weights.dtype)
        return means
    sums = _sums(np.where(missing, np.zeros_like(inside), inside), *edges)
    counts = _sums((~missing).astype(weights.dtype), *edges)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _sums(cells: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.add.reduceat(np.add.reduceat(cells, rows, axis=0), columns, axis=1)


def window(centre: int, count: int, most: int = MOST_CELLS) -> tuple[int, int]:
    """The places around one, at most so many, inside the axis: (first, one past the last).

    >>> window(2, 700, 60), window(350, 700, 60), window(5, 10, 60)
    ((0, 60), (320, 380), (0, 10))
    """
    width = min(count, most)
    first = min(max(centre - width // 2, 0), count - width)
    return first, first + width
