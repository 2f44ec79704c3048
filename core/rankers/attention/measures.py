"""Measures of attention matrices, as pure functions of arrays.

The last two axes are those who ask (rows) and those who are looked at (columns); leading axes are
heads or anything else. Rows are distributions, or are read as such: where a row does not sum to
one (the paths of a recurrence), measures of its shape divide by its sum.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

RESIDUAL = 0.5
"""Share of a block's residual connection in a rollout (Abnar & Zuidema, ACL 2020, section 3)."""

ROUNDING = 64
"""Rows whose sum is this many machine epsilons from one are distributions already."""


def entropy(
    weights: Float[np.ndarray, "*heads rows columns"],
) -> Float[np.ndarray, "*heads rows"]:
    """Shannon entropy of every row in nats; 0 for a row that looks at one column alone.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    shares = _shares(weights)
    logs = np.log(np.maximum(shares, np.finfo(shares.dtype).tiny))  # of 0 finite, times 0
    # −Σ p log p; the absolute value turns −0.0 into 0
    return np.abs(np.einsum("...rc,...rc->...r", shares, logs))


def relevant_mass(
    weights: Float[np.ndarray, "*heads rows docs"], labels: Float[np.ndarray, " docs"]
) -> Float[np.ndarray, "*heads rows"]:
    """The share of every row's mass that lies on documents with a label above 0.

    A row that looks at all documents alike has `relevant_chance`, the value to compare with.

    >>> relevant_mass(np.array([[0.7, 0.2, 0.1]]), np.array([0.0, 2.0, 1.0])).round(6).tolist()
    [0.3]
    """
    shares = _shares(weights)
    return np.einsum("...rd,d->...r", shares, (labels > 0).astype(shares.dtype))


def relevant_chance(labels: Float[np.ndarray, " docs"]) -> float:
    """The share of relevant documents: the mass that equal weights put on them; NaN for none.

    >>> relevant_chance(np.array([0.0, 2.0, 1.0, 0.0]))
    0.5
    """
    return float((labels > 0).mean()) if len(labels) else float("nan")


def through(
    spread: Float[np.ndarray, "*heads docs points"],
    gather: Float[np.ndarray, "*heads points docs"],
) -> Float[np.ndarray, "*heads docs docs"]:
    """Documents to documents by way of the points: the product of both steps, head by head.

    Written as a sum: BLAS starts threads for each head, which take longer than these products.

    >>> spread = np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> through(spread, np.array([[0.25, 0.75], [0.75, 0.25]])).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    return np.einsum("...dp,...pe->...de", spread, gather)


def through_all(
    spread: Float[np.ndarray, "heads docs points"], gather: Float[np.ndarray, "heads points docs"]
) -> Float[np.ndarray, "docs docs"]:
    """The mean of `through` over the heads, as one product.

    >>> spread = np.array([[[1.0, 0.0], [0.5, 0.5]]] * 2)
    >>> through_all(spread, np.array([[[0.25, 0.75], [0.75, 0.25]]] * 2)).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    heads, docs, _ = spread.shape
    # Heads side by side along the points: one product sums over heads and points
    product: Float[np.ndarray, "docs docs"] = spread.transpose(1, 0, 2).reshape(
        docs, -1
    ) @ gather.reshape(-1, docs)
    return product / heads


def rollout(
    blocks: Sequence[Float[np.ndarray, "rows rows"]], residual: float = RESIDUAL
) -> Float[np.ndarray, "rows rows"]:
    """Attention rollout across blocks: the product of (1 − r) A + r I, the last block first.

    Abnar & Zuidema, "Quantifying Attention Flow in Transformers", ACL 2020, section 3, where the
    residual connection and attention weigh alike (r = ½). A is the mean over the heads.

    Args:
        blocks: the mean weights of every block, the first block first.
        residual: r.

    >>> rollout([np.array([[0.0, 1.0], [1.0, 0.0]])] * 2).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    flow, *later = (_with_residual(weights, residual) for weights in blocks)
    # Later blocks multiply from the left: rows are the last block, columns the input
    for mixed in later:
        flow = mixed @ flow
    return flow


def _with_residual(
    weights: Float[np.ndarray, "rows rows"], residual: float
) -> Float[np.ndarray, "rows rows"]:
    """(1 − r) A + r I, rows over their sums."""
    mixed = (1 - residual) * weights
    # Every (n + 1)-th element is the diagonal: adds r I without building I
    mixed.flat[:: len(mixed) + 1] += residual
    mixed /= mixed.sum(-1, keepdims=True)
    return mixed


def _shares(
    weights: Float[np.ndarray, "*heads rows columns"],
) -> Float[np.ndarray, "*heads rows columns"]:
    """Rows divided by their sums; rows of zeros and of a softmax do not change."""
    sums = weights.sum(-1, keepdims=True)
    # A second division would change the last bits of rows that sum to one already
    if (np.abs(sums - 1) < ROUNDING * np.finfo(weights.dtype).eps).all():
        return weights
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
