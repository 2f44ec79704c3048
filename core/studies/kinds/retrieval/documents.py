"""Retrievers of a collection that grew after training, compared with training on all documents.

Both retrievers search all documents. They differ in their training documents: the earlier ones, or
all. The change of recall of the later documents is therefore the cost of being unseen in training.
Nothing is fitted to judgments.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from jaxtyping import Float32

from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.collection import Collection
from shuffleproof.core.retrieval.growth import Growth as Grown
from shuffleproof.core.retrieval.growth import Places, later_documents
from shuffleproof.core.retrieval.registry import IndexedCollection, Retriever, retriever_entry
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.retrieval import varied
from shuffleproof.core.studies.kinds.retrieval.question import Growth
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import (
    COSTS,
    JudgedQueries,
    RetrieverPlan,
    measure_folds,
)
from shuffleproof.core.studies.listless.retrievers import names
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Headline, Section, View
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import percent

WITH, BEFORE = "with them", "before"
"""Training of a retriever: on all documents, or before the later ones were added."""

SEEN, UNSEEN, NEW_WORDS = "seen", "unseen", "new words"
"""Further values per query: recall of the relevant earlier documents, and of the later ones; and,
equal for all queries, the share of words of later documents that no earlier document has."""


@dataclass(frozen=True, kw_only=True)
class Plan(RetrieverPlan):
    """Full description of the study.

    Attributes:
        withheld: shares of the documents that are added later.
        depth: of recall.
    """

    further_values: ClassVar[tuple[str, ...]] = (*COSTS, SEEN, UNSEEN, NEW_WORDS)
    kind: str = field(default=Growth.kind, init=False)
    withheld: tuple[float, ...]
    depth: int

    def cells(self) -> tuple[Cell, ...]:
        """Cells in order of work: per seed and share, each retriever with both trainings."""
        return tuple(
            self.cell(
                row,
                retriever=name,
                network=network,
                learnt=row.family,
                share=share,
                seed=seed,
                depth=self.depth,
            )
            for seed in range(self.seeds)
            for share in self.withheld
            for name, network in zip(self.retrievers, self.networks, strict=True)
            for row in (Trial(name, when, share, seed) for when in (WITH, BEFORE))
            if share or row.family == WITH
        )

    def compute(
        self, indexed: IndexedCollection, judged: JudgedQueries, cell: Cell
    ) -> Generator[Progress, None, CellResult]:
        """Train on the earlier documents, or on all, and search all."""
        row, collection = cell.row, indexed.collection
        entry, seeded = retriever_entry(row.ranker), replace(indexed, seed=row.draw)
        late, unknown = later_documents(len(collection), row.level, row.draw), 0.0
        if row.family == WITH:
            yield from entry.learning(seeded)
            retriever = entry.build(seeded)
        else:
            grown = Grown.of(seeded, row.level)
            yield from entry.learning(grown.before)
            retriever, unknown = grown.retriever(entry), grown.unknown
        values = [
            measure_folds(indexed, retriever, judged.places, self.parsed_measures),
            recall_by_group(collection, retriever, judged.places, late, self.depth),
            np.full((1, len(judged.ids)), unknown, np.float32),
        ]
        return judged.size, {"values": np.concatenate(values)}


def recall_by_group(
    collection: Collection, retriever: Retriever, queries: Sequence[int], late: Places, depth: int
) -> Float32[np.ndarray, "2 queries"]:
    """Recall of the relevant earlier documents, and of the later ones, per query.

    Args:
        collection: all documents.
        retriever: an index of all documents.
        queries: their indices.
        late: indices of the documents that were added later.
        depth: number of documents to retrieve.

    Returns:
        Two rows; NaN if a query has no such document.
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


ALL = "all"
COLUMNS = varied.columns_of(
    "Documents", "Came later", "Relevant documents: known in training, added later, or all.",
    "Share of documents added after training; baseline: trained with them.",
)  # fmt: skip


def headline(result: StudyResult, _view: View) -> Headline:
    """Documents with the largest loss at the largest share, unless an index is not sparse."""
    if dense := _dense(result):
        return retrievers.dense_headline(dense)
    frame = changes(result)
    at_largest = frame[(frame["level"] == max(_shares(result))) & (frame["condition"] != ALL)]
    return varied.headline(
        at_largest,
        lambda row: f"for {row['condition']} documents with {percent(row['level'])} added later",
        "No retriever loses recall significantly (p ≤ .05, Holm).",
    )


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """Picture, conventions, table."""
    yield from varied.sections(
        result, changes(result), COLUMNS, _recall(result), [new_words(result)]
    )


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {"changes": records(changes(result))}


def _recall(result: StudyResult) -> str:
    """Name of recall.

    It is not a measure of the whole list, since it counts only part of the relevant documents.
    """
    return f"recall@{result.recipe['depth']}"


def _shares(result: StudyResult) -> list[float]:
    """Shares above 0, in the requested order."""
    return list(dict.fromkeys(share for _, when, share in result.points if when == BEFORE))


def changes(result: StudyResult) -> pd.DataFrame:
    """Changes by training before the later documents were added, as `varied.changes`."""
    recall = _recall(result)
    stored = [(recall, SEEN, SEEN), (recall, UNSEEN, UNSEEN)]
    stored += [(measure, ALL, measure) for measure in result.measures]
    return varied.changes(
        (
            (name, documents, share, measure),
            result.draws(name, WITH, share, values),
            result.draws(name, BEFORE, share, values),
        )
        for name, share in product(names(result), _shares(result))
        for measure, documents, values in stored
    )


def new_words(result: StudyResult) -> str:
    """Share of words of later documents that no earlier one has, by share of documents."""
    name = names(result)[0]
    shares = [
        f"{percent(known_mean(result.per_query(name, BEFORE, share, NEW_WORDS)), 1)} with "
        f"{percent(share)} added later"
        for share in _shares(result)
    ]
    return f"Words of later documents that no earlier document has: {', '.join(shares)}."


def _dense(result: StudyResult) -> list[str]:
    """Learnt retrievers whose grown index fails a sparsity check."""
    failing = [
        name
        for name, share in product(names(result), _shares(result))
        if retrievers.is_sparse(name)
        and retrievers.gates_of(result, name, BEFORE, share)["dense_in_disguise"]
    ]
    return list(dict.fromkeys(failing))
