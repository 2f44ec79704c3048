"""Retrievers of a text collection, by two-fold cross-validation over its judged queries.

What a retriever fits to judgments (the μ of query likelihood) it fits to the queries of one fold
and is measured on the other's; every seed splits the queries anew. Each query is searched by
itself and timed, after one that warms up; how many documents match is counted apart.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, Int64

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.effectiveness import measure_queries
from shuffleproof.core.retrieval.registry import (
    IndexedCollection,
    InvertedRetriever,
    RankedDocuments,
    Retriever,
    retriever_entry,
)
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.collection_study import (
    DEPTH,
    CollectionPlan,
    JudgedQueries,
    folds,
    work_cells,
)
from shuffleproof.core.studies.kinds.retrieval.question import Retrieval
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import CellResult, Trial

COSTS = (
    "milliseconds", "matched", "postings", "nonzeros", "largest", "nonzeros_document", "empty",
)  # fmt: skip
"""Of a query beside its measures: time, documents that match, postings read, dimensions asked; and
of the index, alike for every query: its largest document frequency, dimensions of a document, and
the share of documents without any."""


FREQUENCIES = "frequencies"
"""Of an inverted index, beside its values: `frequency_curve` of its document frequencies."""
POINTS = 48

TERMS = "document_terms"
"""Of an inverted index, beside its values: `spread_of_terms` of its documents."""
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True)
class Plan(CollectionPlan):
    """The study's full description.

    Attributes:
        retrievers: their names.
        networks: digest of what each of them learns at seed 0; empty where it learns nothing.
    """

    kind: str = field(default=Retrieval.kind, init=False)
    retrievers: tuple[str, ...]
    networks: tuple[str, ...]

    def cells(self) -> tuple[Cell, ...]:
        """All cells in the order of work: every retriever on the first split, then the others.

        >>> plan = Plan(
        ...     collection="", analysis="", seeds=2, queries=None, measures=("AP",), stored=("AP",),
        ...     retrievers=("ql", "bm25"), networks=("", ""),
        ... )
        >>> [(cell.row.ranker, cell.row.draw) for cell in plan.cells()]
        [('ql', 0), ('bm25', 0), ('ql', 1), ('bm25', 1)]
        """
        return tuple(
            Cell(
                Trial(name, self.kind, 0.0, seed),
                0,
                self.digest_of(retriever=name, network=network, seed=seed),
            )
            for seed in range(self.seeds)
            for name, network in zip(self.retrievers, self.networks, strict=True)
        )

    def assemble(
        self, found: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """The rows that are there, with what tells the index of each retriever at seed 0."""
        result = super().assemble(found, query_ids, facts)
        at_first_seed = {
            cell.row.ranker: found[cell.digest][1]
            for cell in self.cells()
            if cell.row.draw == 0 and cell.digest in found
        }
        spreads = {
            name: {
                ranker: arrays[name].tolist()
                for ranker, arrays in at_first_seed.items()
                if name in arrays
            }
            for name in (FREQUENCIES, TERMS)
        }
        index_facts = {name: by_ranker for name, by_ranker in spreads.items() if by_ranker}
        return (
            replace(result, facts={**result.facts, **index_facts})
            if result and index_facts
            else result
        )


def run(
    indexed: IndexedCollection, asked: Retrieval, data: str
) -> Generator[Progress, None, Artefact]:
    """Search every query by every retriever, fitted to the other fold.

    Args:
        indexed: the collection.
        asked: the question.
        data: what the collection is called.

    Raises:
        DataError: fewer than two queries are judged.
    """
    judged = JudgedQueries.of(indexed, data, asked.queries)
    places, plan = judged.places, Plan.of_question(asked, indexed, COSTS)

    def compute(cell: Cell) -> Generator[Progress, None, CellResult]:
        values = np.full((len(plan.stored), len(places)), np.nan, np.float32)
        half, seed, entry = (
            folds(len(places), cell.row.draw),
            cell.row.draw,
            retriever_entry(cell.row.ranker),
        )
        yield from entry.learning(replace(indexed, seed=seed))
        for fold in (0, 1):
            tested, fitted = np.flatnonzero(half == fold), np.flatnonzero(half != fold)
            training = tuple(places[at] for at in fitted.tolist())
            yield Progress(fold, 2, "folds")
            retriever = entry.build(replace(indexed, training=training, seed=seed))
            queries = [places[at] for at in tested.tolist()]
            values[:, tested] = measure_folds(indexed, retriever, queries, plan.parsed_measures)
        arrays = {"values": values}
        if isinstance(retriever, InvertedRetriever):
            arrays[FREQUENCIES] = frequency_curve(retriever.frequencies)
            arrays[TERMS] = spread_of_terms(retriever.document_terms)
        return judged.size, arrays

    return (yield from work_cells(plan, judged, indexed.store, compute))


def frequency_curve(
    frequencies: Int32[np.ndarray, " dimensions"] | Int64[np.ndarray, " dimensions"],
) -> Float32[np.ndarray, "2 points"]:
    """Ranks of dimensions, from the commonest, at even steps of their logarithm, and frequencies.

    >>> frequency_curve(np.array([1, 0, 5, 3])).tolist()
    [[1.0, 2.0, 3.0], [5.0, 3.0, 1.0]]
    """
    falling = np.sort(frequencies[frequencies > 0])[::-1]
    ranks = np.unique(np.geomspace(1, max(1, len(falling)), POINTS).round().astype(np.int64))
    ranks = ranks[ranks <= len(falling)]
    return np.stack([ranks, falling[ranks - 1]]).astype(np.float32)


def spread_of_terms(terms: np.ndarray) -> Float32[np.ndarray, " numbers"]:
    """Mean, standard deviation and QUANTILES of how many dimensions texts have.

    >>> spread_of_terms(np.array([0.0, 2.0, 4.0])).tolist()
    [2.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    """
    deviation = terms.std(ddof=1) if len(terms) > 1 else np.nan
    return np.array([terms.mean(), deviation, *np.quantile(terms, QUANTILES)], np.float32)


def measure_folds(
    indexed: IndexedCollection,
    retriever: Retriever,
    queries: Sequence[int],
    measures: Sequence[Measure],
) -> Float32[np.ndarray, "stored queries"]:
    """Measures and COSTS of queries that the retriever was not fitted to."""
    collection = indexed.collection
    texts = [collection.queries[place] for place in queries]
    retriever.search(texts[:1], DEPTH)
    rankings, costs = [], np.full((len(COSTS), len(queries)), np.nan)
    for at, text in enumerate(texts):
        start = time.perf_counter()
        ranked = retriever.search([text], DEPTH)
        costs[0, at] = 1000 * (time.perf_counter() - start)
        rankings.append(ranked.of(0))
        costs[1, at] = len(retriever.search([text], len(collection)).documents)
    if isinstance(retriever, InvertedRetriever):
        frequencies: Any = retriever.frequencies
        query_dimensions = retriever.dimensions(texts)
        costs[2] = [
            int(frequencies[dimensions].sum(dtype=np.int64)) for dimensions in query_dimensions
        ]
        costs[3] = [len(np.unique(dimensions)) for dimensions in query_dimensions]
        costs[4] = frequencies.max(initial=0)
        costs[5] = frequencies.sum(dtype=np.int64) / len(collection)
        costs[6] = (retriever.document_terms == 0).mean()
    return np.concatenate(
        [
            measure_queries(collection, queries, RankedDocuments.of_queries(rankings), measures),
            costs.astype(np.float32),
        ]
    )
