"""What a trained SetRank has learnt of ranks: the geometry of its ordinal embeddings.

Read from the stored weights alone, so that a page can draw it without torch.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, Float64
from safetensors import safe_open

from shuffleproof.core.errors import DataError
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.words import number

WEIGHTS, TABLES = "network.safetensors", "network/ordinal.tables"


@dataclass(frozen=True)
class OrdinalGeometry:
    """One ordinal table, rank 0 (the best) first.

    Attributes:
        similarity: cosine between the embeddings of two ranks.
        lengths: Euclidean norm of each rank's embedding.
        plane: each rank on the first two principal components.
        explained: share of the variance that each of the two explains.
    """

    similarity: Float64[np.ndarray, "ranks ranks"]
    lengths: Float64[np.ndarray, " ranks"]
    plane: Float64[np.ndarray, "ranks 2"]
    explained: tuple[float, float]


def geometries(directory: Path, ranks: int = 40) -> list[OrdinalGeometry]:
    """The geometry of every ordinal table of a stored ranker.

    Args:
        directory: of the ranker.
        ranks: how many, from the best on; ranks that training never reached are as drawn.

    Raises:
        DataError: the ranker reads no initial ranking.
    """
    with safe_open(directory / WEIGHTS, framework="np") as weights:
        if TABLES not in weights.keys():  # noqa: SIM118 (not a mapping)
            raise DataError(
                directory.name, "no ordinal embeddings", "Choose a ranker whose name ends in -init."
            )
        tables = weights.get_tensor(TABLES)
    head = json.loads((directory / "ranker.json").read_text(encoding="utf-8"))
    model = SetRankConfig(**head["recipe"]["model"])
    if model.ordinal_direction == "worst-first":
        tables = tables[:, ::-1]
    return [geometry(np.ascontiguousarray(table[:ranks])) for table in tables]


def geometry(table: Float32[np.ndarray, "ranks width"]) -> OrdinalGeometry:
    """The geometry of one table.

    >>> table = geometry(np.array([[1, 0], [0, 2], [-1, 0]], np.float32))
    >>> table.similarity[0].tolist(), table.lengths.tolist()
    ([1.0, 0.0, -1.0], [1.0, 2.0, 1.0])
    """
    wide = table.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    unit = wide / np.where(lengths == 0, 1.0, lengths)[:, None]
    centred = wide - wide.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    variance = sizes**2 / max(float((sizes**2).sum()), np.finfo(np.float64).tiny)
    plane = np.zeros((len(wide), 2))
    components = min(2, len(sizes))
    plane[:, :components] = left[:, :components] * sizes[:components]
    shares = [*map(float, variance[:2]), 0.0, 0.0]
    return OrdinalGeometry(unit @ unit.T, lengths, plane, (shares[0], shares[1]))


def words(geometry: OrdinalGeometry) -> str:
    """A table's geometry in a sentence.

    >>> words(geometry(np.array([[2.0, 0.0], [1.0, 1.0]], np.float32)))
    'Ordinal embeddings of ranks 1 to 2: neighbouring ranks have a mean cosine of 0.71, the first \
and the last one of 0.71; lengths from 1.41 to 2.00; two components hold 100 % of the variance.'
    """
    cosines, last = geometry.similarity, len(geometry.similarity)
    near = float(np.diagonal(cosines, 1).mean()) if last > 1 else 1.0
    neighbours, ends = (number(cosine, ".2f") for cosine in (near, cosines[0, -1]))
    return (
        f"Ordinal embeddings of ranks 1 to {last}: neighbouring ranks have a mean cosine of "
        f"{neighbours}, the first and the last one of {ends}; lengths from "
        f"{geometry.lengths.min():.2f} to {geometry.lengths.max():.2f}; two components hold "
        f"{100 * sum(geometry.explained):.0f} % of the variance."
    )
