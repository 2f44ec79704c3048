"""Numbers of every head and induced point of one list: what a whole-set study keeps of it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.attention.kinds import KINDS, AttentionRecord

MEASURES = ("entropy", "neighbours", "relevant", "chance", "redundancy", "received", "dead")
"""Entropy in nats and its exponential, mass on relevant documents and that of equal weights,
overlap with the most similar head of the block, mass that an induced point receives, and the
share of a head's points (or of a point's heads) in which next to nothing is received."""

POINT = "point"
"""The kind of a row that is an induced point and not a head."""

DEAD_BELOW = 0.1
"""A point is dead in a head that gives it less than this times its fair share of the mass."""

Row = tuple[str, int, int]
"""Kind of map (or POINT), block, head (or point); from 0."""


@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of one list.

    Attributes:
        rows: heads first, then points.
        values: one row each, columns as MEASURES; NaN where a number means nothing.
    """

    rows: tuple[Row, ...]
    values: Float64[np.ndarray, "rows measures"]


def summary(
    record: AttentionRecord, labels: Float32[np.ndarray, " docs"], below: int | float = DEAD_BELOW
) -> Summary:
    """Every head of every map that is a distribution, then every induced point.

    Args:
        record: the list's weights by document.
        labels: of the documents; a list without relevant ones has no relevant mass.
        below: a point that gets less than this times its fair share is dead.
    """
    rows: list[Row] = []
    values = []
    for kind in record.kinds:
        if KINDS[kind].distribution:
            for block in range(record.blocks(kind)):
                weights = record.block(kind, block)
                rows += [(kind, block, head) for head in range(len(weights))]
                values.append(_head_measures(kind, weights, labels, below))
    for block in range(record.blocks("spread") if "spread" in record.weights else 0):
        mass = measures.attention_received(record.block("spread", block))
        rows += [(POINT, block, point) for point in range(mass.shape[-1])]
        values.append(_point_measures(mass, below))
    return Summary(tuple(rows), np.concatenate(values))


def _head_measures(
    kind: str,
    weights: Float32[np.ndarray, "heads rows columns"],
    labels: Float32[np.ndarray, " docs"],
    below: float,
) -> Float64[np.ndarray, "heads measures"]:
    values = np.full((len(weights), len(MEASURES)), np.nan)
    entropy = measures.entropy(weights)
    values[:, 0] = entropy.mean(axis=-1)
    values[:, 1] = np.exp(entropy).mean(axis=-1)
    chance = measures.relevant_chance(labels)
    if KINDS[kind].columns == "documents" and chance > 0:
        values[:, 2] = measures.relevant_mass(weights, labels).mean(axis=-1)
        values[:, 3] = chance
    values[:, 4] = measures.redundancy(weights)
    if kind == "spread":
        values[:, 6] = measures.dead(measures.attention_received(weights), below).mean(axis=-1)
    return values


def _point_measures(
    mass: Float32[np.ndarray, "heads points"], below: float
) -> Float64[np.ndarray, "points measures"]:
    values = np.full((mass.shape[-1], len(MEASURES)), np.nan)
    values[:, 5] = mass.mean(axis=0)
    values[:, 6] = measures.dead(mass, below).mean(axis=0)
    return values
