"""Weights of pairs: equal in RankSVM; in IR-SVM by grades and by the query's number of pairs.

IR-SVM (Cao et al., SIGIR 2006) weighs a pair of grades by the expected loss of NDCG@k when two
documents of these grades swap places in the ideal list. It weighs a query by the largest number of
pairs of any query over its own.
"""

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.data.ragged import offsets_of, segment_ids
from shuffleproof.core.errors import DataError
from shuffleproof.core.rankers.linear.pairs import PairedLists

MOST_GRADES = 1024


def plain(
    labels: Float32[np.ndarray, " docs"], lengths: Int64[np.ndarray, " lists"], cost: int | float
) -> PairedLists:
    """RankSVM's pairs: `cost` each.

    Args:
        labels: of the documents, list after list; any numbers.
        lengths: documents of every list.
        cost: C of one pair.

    Raises:
        DataError: more than 1 024 different labels.
    """
    grades, levels = grades_of(labels)
    shape = (len(levels), len(levels))
    weights = np.full(len(lengths), float(cost))
    return PairedLists(offsets_of(lengths), grades, np.ones(shape), weights)


def by_exchange(
    labels: Float32[np.ndarray, " docs"],
    lengths: Int64[np.ndarray, " lists"],
    cost: int | float,
    cutoff: int,
) -> PairedLists:
    """IR-SVM's pairs: `cost` times the weights of their grades and of their query.

    Raises:
        DataError: more than 1 024 different labels.
    """
    grades, levels = grades_of(labels)
    offsets = offsets_of(lengths)
    counts = grade_counts(grades, offsets, len(levels))
    pairs = pairs_of(counts)
    largest = pairs.max(initial=0.0)
    # μ_q = max pairs / pairs(q) (Cao et al. 2006): every query weighs alike
    of_list = np.divide(largest, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    weights = exchange_losses(counts, levels, cutoff)
    pair_counts = np.tril(counts.T @ counts, -1)  # pairs of documents by (better, worse) grade
    mean = float((weights * pair_counts).sum()) / max(float(pair_counts.sum()), 1.0)
    # Mean weight 1 over all pairs, so that C means the same as in RankSVM
    weights = weights / mean if mean > 0 else np.ones_like(weights)
    return PairedLists(offsets, grades, weights, float(cost) * of_list)


def grades_of(
    labels: Float32[np.ndarray, " docs"],
) -> tuple[Int64[np.ndarray, " docs"], Float64[np.ndarray, " grades"]]:
    """The grade of every document, and the label of every grade, rising.

    Raises:
        DataError: more than 1 024 different labels.

    >>> grades_of(np.array([0.5, 2, 0.5], np.float32))
    (array([0, 1, 0]), array([0.5, 2. ]))
    """
    levels, grades = np.unique(labels, return_inverse=True)
    if len(levels) > MOST_GRADES:
        finding = f"{len(levels)} different labels; pairs support at most {MOST_GRADES}"
        raise DataError("train", finding, "Round the labels to grades.")
    return grades.astype(np.int64), levels.astype(np.float64)


def grade_counts(
    grades: Int64[np.ndarray, " docs"], offsets: Int64[np.ndarray, " bounds"], levels: int
) -> Float64[np.ndarray, "lists grades"]:
    """Number of documents per grade in every list."""
    cells = segment_ids(offsets) * levels + grades
    lists = len(offsets) - 1
    return np.bincount(cells, minlength=lists * levels).reshape(lists, levels).astype(np.float64)


def pairs_of(counts: Float64[np.ndarray, "lists grades"]) -> Float64[np.ndarray, " lists"]:
    """Pairs of documents of unequal grades in every list.

    >>> pairs_of(np.array([[2.0, 1.0, 1.0]])).tolist()  # all six but that of the first two
    [5.0]
    """
    # (n² − Σ n_g²)/2: all pairs less those within a grade
    return (np.square(counts.sum(axis=1)) - np.square(counts).sum(axis=1)) / 2.0


def exchange_losses(
    counts: Float64[np.ndarray, "lists grades"], levels: Float64[np.ndarray, " grades"], cutoff: int
) -> Float64[np.ndarray, "grades grades"]:
    """The mean loss of NDCG@cutoff when two documents change places in the ideal list.

    The mean is over all places of a document of the row's grade and one of the column's (lower)
    grade, then over the lists that hold both grades and a relevant document. Exact: by the mean
    discount of each grade's block, (Gᵃ − Gᵇ)(D̄ᵃ − D̄ᵇ)/IDCG.

    Args:
        counts: documents of each grade, by list.
        levels: the label of every grade, rising.
        cutoff: k.

    >>> exchange_losses(np.array([[1.0, 1.0]]), np.array([0.0, 1.0]), 1).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    highest = max(float(levels.max(initial=0.0)), 0.0)
    # Scaled by 2^−highest, which cancels in the ratio and cannot overflow
    gains = np.exp2(np.maximum(levels, 0.0) - highest) - np.exp2(-highest)
    longest = int(counts.sum(axis=1).max(initial=0.0))
    discounts = 1.0 / np.log2(np.arange(2.0, longest + 2.0))
    discounts[cutoff:] = 0.0
    summed = np.concatenate([[0.0], np.cumsum(discounts)])
    ends = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1].astype(np.int64)  # better and equal ones
    blocks = summed[ends] - summed[ends - counts.astype(np.int64)]
    ideal = blocks @ gains
    # The order of documents of one grade is arbitrary, so the mean over their block is exact
    means = blocks / np.maximum(counts, 1.0)
    losses = np.zeros((len(levels), len(levels)))
    for better in range(len(levels)):
        for worse in range(better):
            has_both = (counts[:, better] > 0) & (counts[:, worse] > 0) & (ideal > 0)
            if has_both.any():
                drops = (means[has_both, better] - means[has_both, worse]) / ideal[has_both]
                losses[better, worse] = (gains[better] - gains[worse]) * float(drops.mean())
    return losses
