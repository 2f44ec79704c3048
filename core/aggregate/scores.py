"""Scores of items that all their preferences together give: shares, chains, strengths, parts."""

import numpy as np
from jaxtyping import Bool, Float64, Int64

from shuffleproof.core.aggregate import kernels

DAMPING = 0.05  # MC4's restart probability: the chain then has one stationary distribution
SWEEPS = 10_000
DIGITS = 9  # Scores that agree so far are tied: they come from sums whose order is no fact
Weights = Float64[np.ndarray, "items items"]
Scores = Float64[np.ndarray, " items"]


def by_falling_score(scores: Scores) -> Int64[np.ndarray, " items"]:
    """Items by falling score, ties by row."""
    return np.argsort(-scores, kind="stable")


def gain(weights: Weights) -> Scores:
    """Σ_j w(i, j) − w(j, i), each on the grid; a pair without a preference adds nothing."""
    return kernels.margins(weights).sum(axis=1).round(DIGITS)


def sum_of_preferences(weights: Weights) -> Scores:
    """Σ_j w(i, j) / (w(i, j) + w(j, i)), over the items that i was compared with."""
    return kernels.won(weights)[0].round(DIGITS)


def borda(weights: Weights) -> Scores:
    """The mean share of the votes that an item wins, over the items that it was compared with."""
    total, compared = kernels.won(weights)
    points = total / np.maximum(compared, 1)
    return np.where(compared > 0, points, -1.0).round(DIGITS)


def beats(weights: Weights) -> Bool[np.ndarray, "items items"]:
    """True if the majority prefers the row's item to the column's."""
    return kernels.margins(weights) > 0


def copeland(weights: Weights) -> Scores:
    """Items beaten less items that beat it."""
    won = beats(weights)
    return won.sum(axis=1, dtype=float) - won.sum(axis=0, dtype=float)


def mc4(weights: Weights) -> Scores:
    """The stationary share of a walk that moves to an item drawn at random where that one wins."""
    items = len(weights)
    chain = beats(weights).T / items  # MC4: from i to a j drawn at random, if a majority prefers j
    chain[np.diag_indices(items)] = 1.0 - chain.sum(axis=1)  # else it stays
    chain = (1.0 - DAMPING) * chain + DAMPING / items
    system = chain.T - np.eye(items)
    system[-1] = 1.0  # Σ p = 1 in place of a redundant equation
    return np.linalg.solve(system, np.eye(items)[-1]).round(DIGITS)


def bradley_terry(weights: Weights) -> Scores:
    """Logarithms of strengths s with P(i over j) = s_i / (s_i + s_j).

    Newman's iteration s_i ← Σ_j w_ij s_j/(s_i + s_j) / Σ_j w_ji/(s_i + s_j) (JMLR 24, 2023), of
    `weights` that are wins of the row's item. Each item is given a win and a loss against an item
    of strength 1, so that all strengths are finite.
    """
    wins = np.nan_to_num(weights)
    strengths = np.ones(len(wins))
    for _ in range(SWEEPS):
        before = strengths
        share = 1.0 / (strengths[:, None] + strengths[None, :])
        prior = 1.0 / (strengths + 1.0)  # as against an item of strength 1
        strengths = ((wins * share) @ strengths + prior) / ((wins.T * share).sum(axis=1) + prior)
        # The wins do not fix the common factor of all strengths; one Newton step towards its best
        # value saves hundreds of sweeps
        virtual = strengths / (strengths + 1.0)
        step = (0.5 - virtual).mean() / (virtual * (1.0 - virtual)).mean()
        strengths = strengths * np.exp(np.clip(step, -1.0, 1.0))
        if np.abs(np.log(strengths / before)).max() < 1e-12:
            break
    return np.log(strengths)


def components(beaten: Bool[np.ndarray, "items items"]) -> Int64[np.ndarray, " items"]:
    """The strongly connected component of each item, numbered from 0."""
    from scipy.sparse import csr_array  # noqa: PLC0415 (.2 s, and few come here)
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    _, labels = connected_components(csr_array(beaten), connection="strong")
    return labels.astype(np.int64)


def ordered_components(weights: Weights) -> list[Int64[np.ndarray, " _"]]:
    """Strongly connected components of the majority, those that beat others in front of them.

    Of several that nothing left beats, the one whose items win most on average goes first.
    """
    gaps = kernels.margins(weights)
    beaten = gaps > 0
    labels = components(beaten)
    parts = [np.flatnonzero(labels == part) for part in range(labels.max(initial=-1) + 1)]
    if len(parts) < 2:
        return parts
    members = np.eye(len(parts))[labels]
    over = (members.T @ beaten @ members > 0) & ~np.eye(len(parts), dtype=bool)
    means = [(-float(gaps[part].sum() / len(part)), int(part[0])) for part in parts]
    incoming, order = over.sum(axis=0), []  # topological order of the components
    remaining = set(range(len(parts)))
    while remaining:
        next_part = min(
            (part for part in remaining if incoming[part] == 0), key=lambda part: means[part]
        )
        remaining.remove(next_part)
        incoming = incoming - over[next_part]
        order.append(parts[next_part])
    return order


def by_components(weights: Weights) -> Int64[np.ndarray, " items"]:
    """Components in order, the items of each by the greedy order of their own."""
    parts = ordered_components(weights)
    return np.concatenate(
        [part[kernels.goa(kernels.margins(weights[np.ix_(part, part)]))] for part in parts]
    )
