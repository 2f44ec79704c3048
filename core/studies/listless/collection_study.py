"""Shared parts of studies of retrievers: plans, judged queries and two-fold splits."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.errors import DataError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.effectiveness import measure_queries
from shuffleproof.core.retrieval.registry import (
    IndexedCollection,
    InvertedRetriever,
    RankedDocuments,
    Retriever,
    RetrieverEntry,
    retriever_entry,
)
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.words import counted

DEPTH = 1000
"""Number of documents to retrieve per query."""

COSTS = (
    "milliseconds", "matched", "postings", "nonzeros", "largest", "nonzeros_document", "empty",
)  # fmt: skip
"""Costs per query: time, matching documents, postings read, query dimensions; and, equal for all
queries of an index: its largest document frequency, dimensions per document, and the share of
documents without any."""

JUDGED_MEASURES = ("Bpref", "Judged")
"""Measures that distinguish unjudged documents from those judged not relevant."""

AnyPlan = TypeVar("AnyPlan", bound="CollectionPlan")


@dataclass(frozen=True, kw_only=True)
class CollectionPlan(CellPlan):
    """Common fields of plans for studies of a text collection.

    Attributes:
        kind: name of the study in the registry.
        collection: digest of the collection.
        analysis: conversion of its texts to terms.
        seeds: number of seeds of draws and of training.
        queries: number of judged queries, from the first; None: all.
        measures: as text.
        stored: values stored for every query.
        unjudged: those of the measures that distinguish unjudged documents from those judged not
            relevant. The first stored studies did not distinguish them; their keys lack this field.
    """

    further_values: ClassVar[tuple[str, ...]]
    """Values stored for every query after the measures."""

    kind: str = field(default="", init=False)
    collection: str
    analysis: str
    seeds: int
    queries: int | None
    measures: tuple[str, ...]
    stored: tuple[str, ...]
    unjudged: tuple[str, ...] = ()

    @classmethod
    def of_question(  # noqa: PYI019 (checked at run time, where Self means nothing)
        cls: type[AnyPlan], question: ListlessQuestion, indexed: IndexedCollection, **more: Any
    ) -> AnyPlan:
        """Plan of a question, with the question's fields of the same names.

        Args:
            question: of this kind of study.
            indexed: the collection.
            more: fields that follow from neither of them.
        """
        measures = [Measure.parse(text) for text in question.names_of("measures")]
        texts = tuple(map(str, measures))
        retrievers = question.names_of("retrievers")
        values = vars(question) | {
            "collection": indexed.collection.digest,
            "analysis": repr(indexed.collection.analysis),
            "networks": tuple(retriever_entry(name).network(indexed) for name in retrievers),
            "measures": texts,
            "stored": (*texts, *cls.further_values),
            "unjudged": tuple(str(parsed) for parsed in measures if parsed.name in JUDGED_MEASURES),
            **more,
        }
        return cls(
            **{declared.name: values[declared.name] for declared in fields(cls) if declared.init}
        )

    def compute(
        self, indexed: IndexedCollection, judged: "JudgedQueries", cell: Cell
    ) -> Generator[Progress, None, CellResult]:
        """Facts and values of a cell."""
        raise NotImplementedError

    @property
    def parsed_measures(self) -> list[Measure]:
        """Parsed measures of the plan."""
        return [Measure.parse(text) for text in self.measures]

    def cell(self, row: Trial, **facts: Any) -> Cell:
        """Cell whose key contains these facts and the common ones."""
        shared = {
            "kind": self.kind, "collection": self.collection, "analysis": self.analysis,
            "queries": self.queries, "measures": list(self.stored),
        }  # fmt: skip
        if self.unjudged:
            shared["unjudged"] = list(self.unjudged)
        return Cell(row, 0, key_of("trial", shared | facts).digest)


@dataclass(frozen=True, kw_only=True)
class RetrieverPlan(CollectionPlan):
    """Common fields of plans that compare retrievers by name.

    Attributes:
        retrievers: their names.
        networks: digest of what each of them learns at seed 0; empty if nothing.
    """

    retrievers: tuple[str, ...]
    networks: tuple[str, ...]


@dataclass(frozen=True)
class JudgedQueries:
    """Judged queries that a study of retrievers measures.

    Attributes:
        places: indices in the collection.
        ids: of the queries.
        facts: of the result: data, number of queries and documents, and of all judged queries.
    """

    places: tuple[int, ...]
    ids: tuple[str, ...]
    facts: Mapping[str, Any]

    @property
    def size(self) -> dict[str, Any]:
        """Sizes that every cell records: number of queries, and of documents searched."""
        return {"queries": len(self.ids), "set_size": float(self.facts["documents"])}

    @classmethod
    def of(cls, indexed: IndexedCollection, data: str, most: int | None) -> "JudgedQueries":
        """First judged queries of a collection.

        Args:
            indexed: the collection.
            data: name of the data.
            most: maximum number of queries; None: all.

        Raises:
            DataError: fewer than two queries have relevant documents.
        """
        collection = indexed.collection
        all_places = [
            place for place in range(len(collection.queries)) if collection.relevant(place)
        ]
        places = tuple(all_places[:most])
        if len(places) < 2:
            remedy = "Two folds need two queries with relevant documents."
            finding = f"{counted(len(places), 'query')} with relevant documents"
            raise DataError(data, finding, remedy)
        facts = {"data": data, "queries": len(places), "documents": len(collection)}
        facts |= {} if len(places) == len(all_places) else {"of_queries": len(all_places)}
        return cls(places, tuple(collection.query_ids[place] for place in places), facts)


def run(
    question: ListlessQuestion, indexed: IndexedCollection, data: str
) -> Generator[Progress, None, Artefact]:
    """Compute the cells of a study of retrievers; returns the stored result.

    Args:
        question: of a kind whose module `study` has a `Plan`.
        indexed: the collection.
        data: name of the collection.

    Raises:
        DataError: fewer than two queries are judged.
    """
    judged = JudgedQueries.of(indexed, data, vars(question)["queries"])
    plan: CollectionPlan = question.module("study").Plan.of_question(question, indexed)
    records = indexed.store.records
    work = by_cells(plan, records, judged.ids, partial(plan.compute, indexed, judged))

    def facts() -> dict[str, Any]:
        from shuffleproof.core.retrieval.gates import Gates  # noqa: PLC0415 (loads Numba)

        texts = [indexed.collection.queries[place] for place in judged.places]
        return {**judged.facts, "gates_of_words": asdict(Gates.of_words(indexed, texts))}

    return (yield from engine.run(indexed.store, plan, judged.ids, facts, work))


def measure_folds(
    indexed: IndexedCollection,
    retriever: Retriever,
    queries: Sequence[int],
    measures: Sequence[Measure],
) -> Float32[np.ndarray, "stored queries"]:
    """Measures and COSTS of queries that the retriever was not fitted to, searched one by one."""
    collection = indexed.collection
    texts = [collection.queries[place] for place in queries]
    # Warm-up: the first search loads and compiles, which no query's time should include
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


def folds(queries: int, seed: int) -> Int64[np.ndarray, " queries"]:
    """Fold (0 or 1) of every query under a seed; the sizes of the folds differ by at most one."""
    half = np.arange(queries, dtype=np.int64) % 2
    return generator(seed, "retrieval", "folds").permutation(half)


def retrievers_by_fold(
    indexed: IndexedCollection, entry: RetrieverEntry, places: Sequence[int], seed: int = 0
) -> Iterator[tuple[Int64[np.ndarray, " tested"], Retriever]]:
    """Folds of judged queries, each with the retriever fitted to the other fold.

    Args:
        indexed: the collection.
        entry: builds the retriever.
        places: indices of the judged queries in the collection.
        seed: of the split.

    Yields:
        The fold's queries, as indices into `places`, and the retriever.
    """
    half = folds(len(places), seed)
    for fold in (0, 1):
        training = tuple(places[at] for at in np.flatnonzero(half != fold).tolist())
        fitted = entry.build(replace(indexed, training=training, seed=seed))
        yield np.flatnonzero(half == fold).astype(np.int64), fitted


def cross_fitted_search(
    indexed: IndexedCollection, entry: RetrieverEntry, k: int
) -> RankedDocuments:
    """Ranked documents of every query, by the retriever of a study at seed 0.

    A judged query is searched by the retriever fitted to the other fold; a query without judgments
    by a retriever fitted to all judged queries.
    """
    collection = indexed.collection
    judged = [at for at in range(len(collection.queries)) if collection.relevant(at)]
    rankings: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    searched: list[tuple[Sequence[int], Retriever]] = []
    if len(judged) > 1:
        for tested, retriever in retrievers_by_fold(indexed, entry, judged):
            searched.append(([judged[at] for at in tested.tolist()], retriever))
    known = {query for queries, _ in searched for query in queries}
    rest = [at for at in range(len(collection.queries)) if at not in known]
    if rest:
        searched.append((rest, entry.build(replace(indexed, training=tuple(judged) or None))))
    for queries, retriever in searched:
        ranked = retriever.search([collection.queries[query] for query in queries], k)
        rankings |= {query: ranked.of(place) for place, query in enumerate(queries)}
    return RankedDocuments.of_queries([rankings[at] for at in range(len(collection.queries))])
