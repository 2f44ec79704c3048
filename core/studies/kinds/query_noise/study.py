"""Retrievers under noisy queries: the same split, fit and network, only the query's text differs.

What a retriever fits to judgments it fits to the queries of the other fold as they are; nobody is
trained on noise. Every seed splits the queries anew, is that of what is learnt, and draws noise.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.effectiveness import measure_queries
from shuffleproof.core.retrieval.query_noise import noisy
from shuffleproof.core.retrieval.registry import IndexedCollection, Retriever, retriever_entry
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.collection_study import (
    DEPTH,
    CollectionPlan,
    JudgedQueries,
    folds,
    work_cells,
)
from shuffleproof.core.studies.kinds.query_noise.question import QueryNoise
from shuffleproof.core.studies.study import CellResult, Trial

CLEAN = "none"
"""The kind of a trial whose queries are as they are."""

TEXTS = ("changed", "empty", "matched")
"""Of a query beside its measures: whether its text changed, whether the collection knows none of
its words, and how many documents were found (of at most `DEPTH`)."""


@dataclass(frozen=True, kw_only=True)
class Plan(CollectionPlan):
    """The study's full description.

    Attributes:
        retrievers: their names.
        networks: digest of what each of them learns at seed 0; empty where it learns nothing.
        noise: kinds.
        levels: of each kind.
    """

    kind: str = field(default=QueryNoise.kind, init=False)
    retrievers: tuple[str, ...]
    networks: tuple[str, ...]
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
            Cell(row, 0, self._digest(row, network))
            for seed in range(self.seeds)
            for name, network in zip(self.retrievers, self.networks, strict=True)
            for row in (Trial(name, kind, level, seed) for kind, level in points)
        )

    def _digest(self, row: Trial, network: str) -> str:
        return self.digest_of(
            retriever=row.ranker, network=network, noise=row.family, level=row.level, seed=row.draw
        )


def run(
    indexed: IndexedCollection, asked: QueryNoise, data: str
) -> Generator[Progress, None, Artefact]:
    """Search every query as it is and under every noise, by retrievers fitted to the other fold.

    Args:
        indexed: the collection.
        asked: the question.
        data: what the collection is called.

    Raises:
        DataError: fewer than two queries are judged.
    """
    judged = JudgedQueries.of(indexed, data, asked.queries)
    plan, fitted = Plan.of_question(asked, indexed, TEXTS), _Fitted(indexed, judged)

    def compute(cell: Cell) -> Generator[Progress, None, CellResult]:
        row = cell.row
        yield from retriever_entry(row.ranker).learning(replace(indexed, seed=row.draw))

        def asked_as(text: str) -> str:
            return text if row.family == CLEAN else noisy(text, row.family, row.level, row.draw)

        return judged.size, {"values": fitted.values(row, asked_as, plan.parsed_measures)}

    return (yield from work_cells(plan, judged, indexed.store, compute))


class _Fitted:
    """The retriever of a seed, fitted to either fold; the last one stays for its next noise."""

    def __init__(self, indexed: IndexedCollection, judged: JudgedQueries) -> None:
        self._indexed, self._judged = indexed, judged
        self._last: tuple[str, int] = ("", -1)
        self._pair: Sequence[Retriever] = ()

    def _retrievers_of(self, name: str, seed: int) -> Sequence[Retriever]:
        if self._last != (name, seed):
            half = folds(len(self._judged.ids), seed)
            training = [
                tuple(np.array(self._judged.places)[half != fold].tolist()) for fold in (0, 1)
            ]
            entry = retriever_entry(name)
            self._pair = [
                entry.build(replace(self._indexed, training=places, seed=seed))
                for places in training
            ]
            self._last = (name, seed)
        return self._pair

    def values(
        self, row: Trial, asked_as: Callable[[str], str], measures: Sequence[Measure]
    ) -> Float32[np.ndarray, "stored queries"]:
        """Measures and TEXTS of every query, asked in other words."""
        collection, half = self._indexed.collection, folds(len(self._judged.ids), row.draw)
        values = np.full((len(measures) + len(TEXTS), len(half)), np.nan, np.float32)
        for fold, retriever in enumerate(self._retrievers_of(row.ranker, row.draw)):
            members = np.flatnonzero(half == fold)
            queries = [self._judged.places[at] for at in members.tolist()]
            plain = [" ".join(collection.queries[place].split()) for place in queries]
            texts = [asked_as(text) for text in plain]
            ranked = retriever.search(texts, DEPTH)
            known_words = self._indexed.tokens.encode(texts).lengths
            values[: len(measures), members] = measure_queries(
                collection, queries, ranked, measures
            )
            values[len(measures) :, members] = [
                [new != old for new, old in zip(texts, plain, strict=True)],
                known_words == 0,
                np.diff(ranked.offsets),
            ]
        return values
