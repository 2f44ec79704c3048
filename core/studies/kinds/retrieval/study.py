"""Retrievers of a text collection, by two-fold cross-validation over its judged queries.

Parameters fitted to judgments (the μ of query likelihood) are fitted on one fold of the queries and
measured on the other; every seed has its own split. Each query is searched alone and timed, after
a warm-up query; the number of matching documents is counted separately.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float32, Int32, Int64

from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.registry import (
    IndexedCollection,
    InvertedRetriever,
    retriever_entry,
)
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.retrieval.question import Retrieval
from shuffleproof.core.studies.listless.collection_study import (
    COSTS,
    JudgedQueries,
    RetrieverPlan,
    measure_folds,
    retrievers_by_fold,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import CellResult, Trial

FREQUENCIES = "frequencies"
"""Fact of an inverted index: `frequency_curve` of its document frequencies."""
POINTS = 48

BEFORE_PRUNING = "gates_before_pruning"
"""Fact of a learnt index: the numbers of its sparsity checks before pruning."""

TERMS = "document_terms"
"""Fact of an inverted index: `spread_of_terms` of its documents."""
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True)
class Plan(RetrieverPlan):
    """Full description of the study."""

    further_values: ClassVar[tuple[str, ...]] = COSTS
    kind: str = field(default=Retrieval.kind, init=False)

    def cells(self) -> tuple[Cell, ...]:
        """Cells in order of work: every retriever on the first split, then on the others.

        >>> plan = Plan(
        ...     collection="", analysis="", seeds=2, queries=None, measures=("AP",), stored=("AP",),
        ...     retrievers=("ql", "bm25"), networks=("", ""),
        ... )
        >>> [(cell.row.ranker, cell.row.draw) for cell in plan.cells()]
        [('ql', 0), ('bm25', 0), ('ql', 1), ('bm25', 1)]
        """
        return tuple(
            self.cell(Trial(name, self.kind, 0.0, seed), retriever=name, network=network, seed=seed)
            for seed in range(self.seeds)
            for name, network in zip(self.retrievers, self.networks, strict=True)
        )

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """Result of the finished rows, with facts of each retriever's index at seed 0."""
        result = super().assemble(finished, query_ids, facts)
        at_first_seed = {
            cell.row.ranker: finished[cell.digest][1]
            for cell in self.cells()
            if cell.row.draw == 0 and cell.digest in finished
        }
        index_facts: dict[str, dict[str, Any]] = {}
        for ranker, arrays in at_first_seed.items():
            for name in arrays.keys() & {FREQUENCIES, TERMS, BEFORE_PRUNING}:
                index_facts.setdefault(name, {})[ranker] = arrays[name].tolist()
        return result and replace(result, facts={**result.facts, **index_facts})

    def compute(
        self, indexed: IndexedCollection, judged: JudgedQueries, cell: Cell
    ) -> Generator[Progress, None, CellResult]:
        """Search every query by a retriever fitted to the other fold."""
        places, seed, entry = judged.places, cell.row.draw, retriever_entry(cell.row.ranker)
        yield from entry.learning(replace(indexed, seed=seed))
        values = np.full((len(self.stored), len(places)), np.nan, np.float32)
        by_fold = retrievers_by_fold(indexed, entry, places, seed)
        for fold, (tested, retriever) in enumerate(by_fold):
            yield Progress(fold, 2, "folds")
            queries = [places[at] for at in tested.tolist()]
            values[:, tested] = measure_folds(indexed, retriever, queries, self.parsed_measures)
        arrays = {"values": values}
        before = getattr(retriever, "facts", {}).get(BEFORE_PRUNING)
        if before:
            arrays[BEFORE_PRUNING] = np.array([*before.values()], np.float32)
        if isinstance(retriever, InvertedRetriever):
            arrays[FREQUENCIES] = frequency_curve(retriever.frequencies)
            arrays[TERMS] = spread_of_terms(retriever.document_terms)
        return judged.size, arrays


def frequency_curve(
    frequencies: Int32[np.ndarray, " dimensions"] | Int64[np.ndarray, " dimensions"],
) -> Float32[np.ndarray, "2 points"]:
    """Ranks of dimensions, most frequent first, in even logarithmic steps, and frequencies.

    >>> frequency_curve(np.array([1, 0, 5, 3])).tolist()
    [[1.0, 2.0, 3.0], [5.0, 3.0, 1.0]]
    """
    falling = np.sort(frequencies[frequencies > 0])[::-1]
    # Even steps of the logarithm, since the curve is drawn on a logarithmic axis
    ranks = np.unique(np.geomspace(1, max(1, len(falling)), POINTS).round().astype(np.int64))
    ranks = ranks[ranks <= len(falling)]
    return np.stack([ranks, falling[ranks - 1]]).astype(np.float32)


def spread_of_terms(terms: np.ndarray) -> Float32[np.ndarray, " numbers"]:
    """Mean, standard deviation and QUANTILES of the number of dimensions of texts.

    >>> spread_of_terms(np.array([0.0, 2.0, 4.0])).tolist()
    [2.0, 2.0, 0.0, 1.0, 2.0, 3.0, 4.0]
    """
    deviation = terms.std(ddof=1) if len(terms) > 1 else np.nan
    return np.array([terms.mean(), deviation, *np.quantile(terms, QUANTILES)], np.float32)
