"""Numbers of every attention head of one list."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64

from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.attention.kinds import KINDS, AttentionRecord

MEASURES = ("entropy", "neighbours", "relevant", "chance")
"""Entropy in nats and its exponential, mass on relevant documents and that of equal weights."""

Row = tuple[str, int, int]
"""Kind of map, block, head; from 0."""


@dataclass(frozen=True, eq=False)
class Summary:
    """The numbers of one list.

    Attributes:
        rows: the heads.
        values: one row each, columns as MEASURES; NaN where a number means nothing.
    """

    rows: tuple[Row, ...]
    values: Float64[np.ndarray, "rows measures"]


def summary(record: AttentionRecord, labels: Float32[np.ndarray, " docs"]) -> Summary:
    """Every head of every map that is a distribution.

    Args:
        record: the list's weights by document.
        labels: of the documents; a list without relevant ones has no relevant mass.
    """
    rows: list[Row] = []
    values = []
    for kind in record.kinds:
        if KINDS[kind].distribution:
            for block in range(record.blocks(kind)):
                weights = record.block(kind, block)
                rows += [(kind, block, head) for head in range(len(weights))]
                values.append(_head_measures(kind, weights, labels))
    return Summary(tuple(rows), np.concatenate(values))


def _head_measures(
    kind: str,
    weights: Float32[np.ndarray, "heads rows columns"],
    labels: Float32[np.ndarray, " docs"],
) -> Float64[np.ndarray, "heads measures"]:
    values = np.full((len(weights), len(MEASURES)), np.nan)
    entropy = measures.entropy(weights)
    values[:, 0] = entropy.mean(axis=-1)
    # Exponential row by row: the effective number of columns that a row looks at
    values[:, 1] = np.exp(entropy).mean(axis=-1)
    chance = measures.relevant_chance(labels)
    if KINDS[kind].columns == "documents" and chance > 0:
        values[:, 2] = measures.relevant_mass(weights, labels).mean(axis=-1)
        values[:, 3] = chance
    return values
