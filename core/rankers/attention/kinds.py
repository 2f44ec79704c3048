"""The maps that a ranker can show of one list, and the record that holds them; no torch here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.models.config import DLCMConfig, SetRankConfig
from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.neural.recipes import FIXED, NeuralSpec

Axis = Literal["documents", "points", "units", "heads"]


@dataclass(frozen=True)
class MapKind:
    """One kind of map.

    Attributes:
        name: what addresses and recipes call it.
        words: what pages call it.
        rows: what its rows are.
        columns: what its columns are.
        summary: what a cell says, one sentence.
        distribution: rows are weights that say where something looks or comes from.
    """

    name: str
    words: str
    rows: Axis
    columns: Axis
    summary: str
    distribution: bool = True

    @property
    def document_axes(self) -> tuple[int, ...]:
        """The axes along which documents stand, for `order.reindex_by_document`."""
        return tuple(
            axis
            for axis, contents in ((-2, self.rows), (-1, self.columns))
            if contents == "documents"
        )


_KINDS = (
    MapKind(
        "documents", "documents → documents", "documents", "documents",
        "How much the row's document takes from the column's (MSAB, Eq. 6).",
    ),
    MapKind(
        "through", "documents → points → documents", "documents", "documents",
        "How much the row's document takes from the column's by way of the induced points: the "
        "product of an IMSAB's two steps, head by head.",
    ),
    MapKind(
        "gather", "points ← documents", "points", "documents",
        "How much an induced point takes from a document (IMSAB's first step, Eq. 7).",
    ),
    MapKind(
        "spread", "documents ← points", "documents", "points",
        "How much a document takes from an induced point (IMSAB's second step, Eq. 7).",
    ),
    MapKind(
        "rollout", "rollout over all blocks", "documents", "documents",
        "How much of the column's document is in the row's after all blocks, residual connections "
        "and attention weighing alike (Abnar & Zuidema, 2020).",
    ),
    MapKind(
        "paths", "gate paths", "documents", "documents",
        "How much of what the column's document wrote is left in the state at the row's document: "
        "what its gate let in times what every later gate kept, mean over the units.",
    ),
    MapKind(
        "update", "update gates", "documents", "units",
        "How much of the unit a document overwrites (1 − z; an LSTM's input gate).",
        distribution=False,
    ),
    MapKind(
        "reset", "reset gates", "documents", "units",
        "How much of the earlier state the unit sees when a document is read (r).",
        distribution=False,
    ),
    MapKind(
        "forget", "forget gates", "documents", "units",
        "How much of the unit's memory an LSTM keeps when a document is read (f).",
        distribution=False,
    ),
    MapKind(
        "phi", "parts of the score φ", "documents", "heads",
        "What each hidden unit of the local ranking function adds to the document's score; a row "
        "sums to the score.",
        distribution=False,
    ),
)  # fmt: skip

KINDS: dict[str, MapKind] = {kind.name: kind for kind in _KINDS}


def attends(ranker: str) -> bool:
    """True if a ranker of this registry name has weights to show.

    >>> attends("setrank-msab"), attends("dlcm"), attends("lambdamart"), attends("gsf")
    (True, True, False, False)
    """
    if ranker not in FIXED:
        return False
    return isinstance(NeuralSpec.preset(ranker).model, SetRankConfig | DLCMConfig)


@dataclass(frozen=True, eq=False)
class AttentionRecord:
    """All weights of one list under one input order.

    Attributes:
        weights: by kind, one array [heads, rows, columns] a block; documents by shown position,
            or by document after `by_document`.
        scores: one a document.
    """

    weights: Mapping[str, tuple[Float32[np.ndarray, "_heads _rows _columns"], ...]]
    scores: Float32[np.ndarray, " docs"]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The maps that there are; the first tells most."""
        names = set(self.weights)
        if "spread" in names:
            names |= {"through", "rollout"}
        if "documents" in names:
            names.add("rollout")
        return tuple(name for name in KINDS if name in names)

    def blocks(self, kind: str) -> int:
        """Number of blocks of a kind (directions of a recurrence); 1 for a rollout."""
        if kind == "rollout":
            return 1
        return len(self._weights_of("spread" if kind == "through" else kind))

    def heads(self, kind: str) -> int:
        """Number of heads in a block of this kind."""
        if kind == "rollout":
            return 1
        return len(self._weights_of("spread" if kind == "through" else kind)[0])

    def block(self, kind: str, block: int) -> Float32[np.ndarray, "heads rows columns"]:
        """A block's weights, head by head.

        Raises:
            UnknownNameError: the ranker has no such map.
        """
        if kind == "rollout":
            return self._rollout[None]
        if kind == "through":
            return measures.through(
                self._weights_of("spread")[block], self._weights_of("gather")[block]
            )
        return self._weights_of(kind)[block]

    def map_of(
        self, kind: str, block: int = 0, head: int | None = None
    ) -> Float32[np.ndarray, "rows columns"]:
        """One map: of a head, or the mean over the heads of a block.

        Raises:
            UnknownNameError: the ranker has no such map.
        """
        if kind == "through" and head is None:
            return measures.through_all(
                self._weights_of("spread")[block], self._weights_of("gather")[block]
            )
        maps = self.block(kind, block)
        weights: Float32[np.ndarray, "rows columns"] = (
            maps.mean(axis=0) if head is None else maps[head]
        )
        return weights

    def network_maps(
        self,
    ) -> Iterator[tuple[str, int, Float32[np.ndarray, "_heads _rows _columns"]]]:
        """(kind, block, weights) of everything that the network itself computed."""
        for kind, blocks in self.weights.items():
            for block, weights in enumerate(blocks):
                yield kind, block, weights

    @cached_property
    def _rollout(self) -> Float32[np.ndarray, "docs docs"]:
        kind = "through" if "spread" in self.weights else "documents"
        means = [self.map_of(kind, block) for block in range(self.blocks(kind))]
        return measures.rollout(means)

    def _weights_of(self, kind: str) -> tuple[Float32[np.ndarray, "_heads _rows _columns"], ...]:
        if kind not in self.weights:
            raise UnknownNameError("map of this ranker", kind, self.kinds)
        return self.weights[kind]
