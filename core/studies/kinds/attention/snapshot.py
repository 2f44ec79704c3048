"""One list as a ranker sees it after a change, by document of the list as it is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.perturb.base import origins, sources
from shuffleproof.core.rankers.attention import measures
from shuffleproof.core.rankers.attention.kinds import AttentionRecord
from shuffleproof.core.rankers.attention.order import binned, bounds, largest_change
from shuffleproof.core.rankers.attention.summary import Summary, summary
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.kinds.attention.list_edit import ListEdit

THUMBNAIL = 16
"""Rows and columns of a head's small picture."""


@dataclass(frozen=True, eq=False)
class Look:
    """What a ranker made of a list.

    Attributes:
        record: the weights; NaN of a document that is not there.
        ranks: under the initial ranking that it read; −1 of a document that is not there.
        labels: of the documents.
        shown: the document at each position, those that are not there last.
        came: how many documents it saw that the list as it is does not hold.
    """

    record: AttentionRecord
    ranks: Int64[np.ndarray, " docs"]
    labels: Float32[np.ndarray, " docs"]
    shown: Int64[np.ndarray, " docs"]
    came: int

    @cached_property
    def numbers(self) -> Summary:
        """Every head in numbers."""
        return summary(self.record, self.labels)

    @cached_property
    def small(self) -> list[Float32[np.ndarray, "heads rows columns"]]:
        """A picture of each head of the first kind, by block."""
        kind = self.record.kinds[0]
        if kind != "through":
            return [_small(one) for one in self.record.weights[kind]]
        spread, gather = (self.record.weights[step] for step in ("spread", "gather"))
        return [  # the mean of a product is the product of the means
            measures.through(_small(to, of_points=-1), _small(whence, of_points=-2))
            for to, whence in zip(spread, gather, strict=True)
        ]

    def changes(self, after: "Look") -> list[tuple[str, int, float]]:
        """(kind, block, largest change of a weight) of all that the ranker computed."""
        return [
            (kind, block, largest_change(left, right))
            for (kind, block, left), (_, _, right) in zip(
                self.record.each(), after.record.each(), strict=True
            )
        ]


def looked(ranker: Ranker, judged: JudgedLists, change: ListEdit) -> Look:
    """Look at one list after a change.

    Args:
        ranker: a trained SetRank or DLCM.
        judged: one list as it is.
        change: what happens to it; `Change.parse("initial")` is nothing.

    Raises:
        UsageError: the ranker has no weights to show.
    """
    from shuffleproof.core.rankers.attention.maps import by_document, recorded  # noqa: PLC0415 (torch)

    changed = change.of(judged)
    places = sources(judged.lists, changed.lists.offsets, origins(judged, changed))
    known, docs = places[places >= 0], len(judged.lists.rows)
    ranks = np.full(docs, -1, dtype=np.int64)
    ranks[known] = changed.lists.ranks[places >= 0, 0]
    return Look(
        by_document(recorded(ranker, changed), places, docs),
        ranks,
        judged.dataset.labels[judged.lists.rows],
        np.concatenate([known, np.flatnonzero(ranks < 0)]),
        len(places) - len(known),
    )


def _small(
    weights: Float32[np.ndarray, "heads rows columns"], of_points: int | None = None
) -> Float32[np.ndarray, "heads _rows _columns"]:
    """Means of cells; an axis of induced points stays as it is."""
    edges = [
        bounds(size, size if axis == of_points else THUMBNAIL)
        for axis, size in zip((-2, -1), weights.shape[1:], strict=True)
    ]
    return np.stack([binned(head, *edges) for head in weights]).astype(np.float32)
