"""Retrievers whose collection grew after they had learnt, beside the same that learnt all of it.

Both search all documents. What differs is what a retriever learnt from: the documents that were
there, or all. So the change of recall of the later documents is what being unseen costs them.
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
        """All cells in the order of work: a retriever at a share of a seed, learnt both ways."""
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
        """Learn of the documents that were there, or of all, and search all."""
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


ALL = "all"
COLUMNS = varied.columns_of(
    "Documents", "Came later", "Relevant documents that were there, came later, or all.",
    "Share of the documents that came after training; baseline: learnt with them.",
)  # fmt: skip


def headline(result: StudyResult, _view: View) -> Headline:
    """The documents that lose most at the largest share, unless an index is not sparse."""
    if dense := _dense(result):
        return retrievers.dense_headline(dense)
    frame = changes(result)
    at_largest = frame[(frame["level"] == max(_shares(result))) & (frame["condition"] != ALL)]
    return varied.headline(
        at_largest,
        lambda row: f"for {row['condition']} documents where {percent(row['level'])} came later",
        "No retriever loses recall significantly (p ≤ .05, Holm).",
    )


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """Picture, conventions, table."""
    yield from varied.sections(
        result, changes(result), COLUMNS, _recall(result), [new_words(result)]
    )


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """The command's answer in JSON."""
    return {"changes": records(changes(result))}


def _recall(result: StudyResult) -> str:
    """The name of recall.

    Not a measure of the whole list: its relevant documents are of a part of the collection.
    """
    return f"recall@{result.recipe['depth']}"


def _shares(result: StudyResult) -> list[float]:
    """The shares above 0, in the order asked for."""
    return list(dict.fromkeys(share for _, when, share in result.points if when == BEFORE))


def changes(result: StudyResult) -> pd.DataFrame:
    """Changes by learning before the later documents came, as `varied.changes`."""
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
    """The share of words of later documents that no earlier one has, by share of documents."""
    name = names(result)[0]
    shares = [
        f"{percent(known_mean(result.per_query(name, BEFORE, share, NEW_WORDS)), 1)} where "
        f"{percent(share)} came later"
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
