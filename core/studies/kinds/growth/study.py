"""Retrievers whose collection grew after they had learnt, beside the same that learnt all of it.

Both search all documents. What differs is what a retriever learnt from: the documents that were
there, or all. So the change of recall of the later documents is what being unseen costs them.
Nothing is fitted to judgments.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.growth import Growth as Grown
from shuffleproof.core.retrieval.growth import Places, later_documents
from shuffleproof.core.retrieval.registry import IndexedCollection, Retriever, retriever_entry
from shuffleproof.core.studies.cells import Cell, Compute
from shuffleproof.core.studies.kinds.growth.question import Growth
from shuffleproof.core.studies.listless.collection_study import (
    COSTS,
    JudgedQueries,
    RetrieverPlan,
    measure_folds,
)
from shuffleproof.core.studies.study import CellResult, Trial

WITH, BEFORE = "with them", "before"
"""When a retriever learnt: of all documents, or before the later ones came."""

SEEN, UNSEEN, NEW_WORDS = "seen", "unseen", "new words"
"""Of a query beside its measures and costs: recall of the relevant documents that were there, and
of those that came later; and, alike for every query, the share of words of later documents that no
earlier one has."""


@dataclass(frozen=True, kw_only=True)
class Plan(RetrieverPlan):
    """The study's full description.

    Attributes:
        withheld: shares of the documents that come later.
        depth: of recall.
    """

    beside: ClassVar[tuple[str, ...]] = (*COSTS, SEEN, UNSEEN, NEW_WORDS)
    kind: str = field(default=Growth.kind, init=False)
    withheld: tuple[float, ...]
    depth: int

    def cells(self) -> tuple[Cell, ...]:
        """All cells in the order of work: every retriever at a share of a seed, learnt both ways.

        >>> plan = Plan(
        ...     collection="", analysis="", seeds=1, queries=None, measures=("AP",), stored=("AP",),
        ...     retrievers=("ql",), networks=("",), withheld=(0.0, 0.5), depth=9,
        ... )
        >>> [(cell.row.family, cell.row.level) for cell in plan.cells()]
        [('with them', 0.0), ('with them', 0.5), ('before', 0.5)]
        """
        return tuple(
            Cell(row, 0, self._digest(row, network))
            for seed in range(self.seeds)
            for share in self.withheld
            for name, network in zip(self.retrievers, self.networks, strict=True)
            for row in (Trial(name, when, share, seed) for when in (WITH, BEFORE))
            if share or row.family == WITH
        )

    def _digest(self, row: Trial, network: str) -> str:
        return self.digest_of(
            retriever=row.ranker, network=network, learnt=row.family, share=row.level,
            seed=row.draw, depth=self.depth,
        )  # fmt: skip

    def worker(self, indexed: IndexedCollection, judged: JudgedQueries) -> Compute:
        """Learns of the documents that were there, or of all, and searches all."""
        collection = indexed.collection
        last: dict[tuple[float, int], Grown] = {}

        def compute(cell: Cell) -> Generator[Progress, None, CellResult]:
            row = cell.row
            entry, seeded = retriever_entry(row.ranker), replace(indexed, seed=row.draw)
            late, unknown = later_documents(len(collection), row.level, row.draw), 0.0
            if row.family == WITH:
                yield from entry.learning(seeded)
                retriever = entry.build(seeded)
            else:
                point = row.level, row.draw
                if point not in last:
                    last.clear()
                    last[point] = Grown.of(seeded, row.level)
                yield from last[point].learning(entry)
                retriever, unknown = last[point].retriever(entry), last[point].unknown
            values = [
                measure_folds(indexed, retriever, judged.places, self.parsed_measures),
                recall_by_group(collection, retriever, judged.places, late, self.depth),
                np.full((1, len(judged.ids)), unknown, np.float32),
            ]
            return judged.size, {"values": np.concatenate(values)}

        return compute


def recall_by_group(
    collection: Collection, retriever: Retriever, queries: Sequence[int], late: Places, depth: int
) -> Float32[np.ndarray, "2 queries"]:
    """Of every query the recall of relevant documents that were there, and of the later ones.

    Args:
        collection: all documents.
        retriever: of all documents.
        queries: their places.
        late: places of the documents that came later.
        depth: documents that are asked for.

    Returns:
        NaN where a query has no such document.
    """
    answers = retriever.search([collection.queries[place] for place in queries], depth)
    values = np.full((2, len(queries)), np.nan, np.float32)
    for at, place in enumerate(queries):
        grades = collection.judgments(place)
        relevant = np.array([document for document, grade in grades.items() if grade > 0], np.int64)
        is_late, is_found = np.isin(relevant, late), np.isin(relevant, answers.of(at)[0])
        for row, mask in enumerate((~is_late, is_late)):
            if mask.any():
                values[row, at] = is_found[mask].mean()
    return values
