"""Retrievers under noisy queries: the same split, fit and network, only the query's text differs.

What a retriever fits to judgments it fits to the queries of the other fold as they are; nobody is
trained on noise. Every seed splits the queries anew, is that of what is learnt, and draws noise.
"""

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.effectiveness import measure_queries
from shuffleproof.core.retrieval.query_noise import noisy
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.studies.cells import Cell, Compute
from shuffleproof.core.studies.kinds.query_noise.question import QueryNoise
from shuffleproof.core.studies.listless.collection_study import (
    DEPTH,
    FoldRetriever,
    JudgedQueries,
    RetrieverPlan,
    retrievers_by_fold,
)
from shuffleproof.core.studies.study import CellResult, Trial

CLEAN = "none"
"""The kind of a trial whose queries are as they are."""

TEXTS = ("changed", "empty", "matched")
"""Of a query beside its measures: whether its text changed, whether the collection knows none of
its words, and how many documents were found (of at most `DEPTH`)."""


@dataclass(frozen=True, kw_only=True)
class Plan(RetrieverPlan):
    """The study's full description.

    Attributes:
        noise: kinds.
        levels: of each kind.
    """

    beside: ClassVar[tuple[str, ...]] = TEXTS
    kind: str = field(default=QueryNoise.kind, init=False)
    noise: tuple[str, ...]
    levels: tuple[float, ...]

    def cells(self) -> tuple[Cell, ...]:
        """All cells in the order of work: a retriever of a seed, undisturbed first.

        >>> plan = Plan(
        ...     collection="", analysis="", seeds=2, queries=None, measures=("AP",), stored=("AP",),
        ...     retrievers=("ql",), networks=("",), noise=("drop",), levels=(0.5,),
        ... )
        >>> [(cell.row.family, cell.row.level, cell.row.draw) for cell in plan.cells()]
        [('none', 0.0, 0), ('drop', 0.5, 0), ('none', 0.0, 1), ('drop', 0.5, 1)]
        """
        points = [(CLEAN, 0.0), *((kind, level) for kind in self.noise for level in self.levels)]
        return tuple(
            Cell(
                Trial(name, kind, level, seed),
                0,
                self.digest_of(retriever=name, network=network, noise=kind, level=level, seed=seed),
            )
            for seed in range(self.seeds)
            for name, network in zip(self.retrievers, self.networks, strict=True)
            for kind, level in points
        )

    def worker(self, indexed: IndexedCollection, judged: JudgedQueries) -> Compute:
        """Searches every query under a noise, by retrievers that are fitted to the other fold."""
        measures, collection = self.parsed_measures, indexed.collection
        last: dict[tuple[str, int], list[FoldRetriever]] = {}

        def fitted(name: str, seed: int) -> list[FoldRetriever]:
            """Both folds with their retrievers; the last ones stay for their next noise."""
            if (name, seed) not in last:
                last.clear()
                build = retriever_entry(name).build
                by_fold = retrievers_by_fold(indexed, build, judged.places, seed)
                last[name, seed] = list(by_fold)
            return last[name, seed]

        def compute(cell: Cell) -> Generator[Progress, None, CellResult]:
            row = cell.row
            yield from retriever_entry(row.ranker).learning(replace(indexed, seed=row.draw))
            values = np.full((len(self.stored), len(judged.ids)), np.nan, np.float32)
            for members, retriever in fitted(row.ranker, row.draw):
                queries = [judged.places[at] for at in members.tolist()]
                plain = [" ".join(collection.queries[place].split()) for place in queries]
                texts = plain
                if row.family != CLEAN:
                    texts = [noisy(text, row.family, row.level, row.draw) for text in plain]
                ranked = retriever.search(texts, DEPTH)
                values[: len(measures), members] = measure_queries(
                    collection, queries, ranked, measures
                )
                values[len(measures) :, members] = [
                    [new != old for new, old in zip(texts, plain, strict=True)],
                    indexed.tokens.encode(texts).lengths == 0,
                    np.diff(ranked.offsets),
                ]
            return judged.size, {"values": values}

        return compute
