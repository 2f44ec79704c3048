"""What studies of retrievers share: the judged queries of a collection, and their two folds."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.errors import DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.cells import CellPlan, Compute, by_cells
from shuffleproof.core.words import counted

DEPTH = 1000
"""Documents that a retriever is asked for."""


@dataclass(frozen=True)
class JudgedQueries:
    """The queries that a study of retrievers measures.

    Attributes:
        places: in the collection.
        ids: of the queries.
        facts: of the result: data, queries, documents, and of how many queries.
    """

    places: tuple[int, ...]
    ids: tuple[str, ...]
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, indexed: IndexedCollection, data: str, most: int | None) -> "JudgedQueries":
        """The first judged queries of a collection.

        Args:
            indexed: the collection.
            data: what it is called.
            most: how many at most; None: all.

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


def work_cells(
    plan: CellPlan, judged: JudgedQueries, store: Store, compute: Compute
) -> Generator[Progress, None, Artefact]:
    """Work the cells of a study of retrievers; returns the stored result.

    Args:
        plan: the study's full description.
        judged: the queries.
        store: where cells and result are kept.
        compute: the facts and values of a cell.
    """
    cells = by_cells(plan, store.records, judged.ids, compute)
    return (yield from engine.run(store, plan, judged.ids, lambda: dict(judged.facts), cells))


def folds(queries: int, seed: int) -> Int64[np.ndarray, " queries"]:
    """The fold, 0 or 1, of every query under a seed; both are of one size, or differ by one."""
    half = np.arange(queries, dtype=np.int64) % 2
    return generator(seed, "retrieval", "folds").permutation(half)
