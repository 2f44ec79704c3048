"""Retrievers under noisy queries: same split, fit and network, only the query's text differs.

A retriever is fitted to the unchanged queries of the other fold; no training uses noise. Every
seed determines the split of the queries, the training and the noise.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval.effectiveness import measure_queries
from shuffleproof.core.retrieval.query_noise import noisy
from shuffleproof.core.retrieval.registry import IndexedCollection, retriever_entry
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.retrieval import varied
from shuffleproof.core.studies.kinds.retrieval.question import QueryNoise
from shuffleproof.core.studies.listless.collection_study import (
    DEPTH,
    JudgedQueries,
    RetrieverPlan,
    retrievers_by_fold,
)
from shuffleproof.core.studies.listless.retrievers import names
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Headline, Section, View
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import listed, percent

CLEAN = "none"
"""Kind of a trial with unchanged queries."""

TEXTS = ("changed", "empty", "matched")
"""Further values per query: 1 if its text changed, 1 if the collection knows none of its words,
and the number of retrieved documents (at most `DEPTH`)."""


@dataclass(frozen=True, kw_only=True)
class Plan(RetrieverPlan):
    """Full description of the study.

    Attributes:
        noise: kinds.
        levels: of each kind.
    """

    further_values: ClassVar[tuple[str, ...]] = TEXTS
    kind: str = field(default=QueryNoise.kind, init=False)
    noise: tuple[str, ...]
    levels: tuple[float, ...]

    def cells(self) -> tuple[Cell, ...]:
        """Cells in order of work: each seed and retriever, without noise first."""
        points = [(CLEAN, 0.0), *((kind, level) for kind in self.noise for level in self.levels)]
        return tuple(
            self.cell(
                Trial(name, kind, level, seed),
                retriever=name,
                network=network,
                noise=kind,
                level=level,
                seed=seed,
            )
            for seed in range(self.seeds)
            for name, network in zip(self.retrievers, self.networks, strict=True)
            for kind, level in points
        )

    def compute(
        self, indexed: IndexedCollection, judged: JudgedQueries, cell: Cell
    ) -> Generator[Progress, None, CellResult]:
        """Search every query under a noise, by retrievers fitted to the other fold."""
        row, measures, collection = cell.row, self.parsed_measures, indexed.collection
        entry = retriever_entry(row.ranker)
        yield from entry.learning(replace(indexed, seed=row.draw))
        values = np.full((len(self.stored), len(judged.ids)), np.nan, np.float32)
        for tested, retriever in retrievers_by_fold(indexed, entry, judged.places, row.draw):
            queries = [judged.places[at] for at in tested.tolist()]
            # Noise joins words by single spaces, so the unchanged text is compared in that form
            plain = [" ".join(collection.queries[place].split()) for place in queries]
            texts = plain
            if row.family != CLEAN:
                texts = [noisy(text, row.family, row.level, row.draw) for text in plain]
            ranked = retriever.search(texts, DEPTH)
            values[: len(measures), tested] = measure_queries(collection, queries, ranked, measures)
            values[len(measures) :, tested] = [
                [new != old for new, old in zip(texts, plain, strict=True)],
                indexed.tokens.encode(texts).lengths == 0,
                np.diff(ranked.offsets),
            ]
        return judged.size, {"values": values}


COLUMNS = varied.columns_of(
    "Noise", "Share of words", "Change of the words of the query.",
    "Share of the query's words, as a probability; baseline: the query without noise.",
)  # fmt: skip


def headline(result: StudyResult, view: View) -> Headline:
    """Retriever that loses most, its noise, and the one that loses least."""
    frame = changes(result)
    return varied.headline(
        frame[frame["measure"] == view.measure(result)],
        lambda row: f"under {row['condition']} {percent(row['level'])}",
        "No retriever loses significantly under noise (p ≤ .05, Holm).",
    )


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Picture, conventions, table."""
    note = empty_queries(result)
    yield from varied.sections(result, changes(result), COLUMNS, view.measure(result), [note])


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {"changes": records(changes(result))}


def _points(result: StudyResult) -> list[tuple[str, float]]:
    """Kinds of noise and levels, in the requested order."""
    pairs = ((noise, level) for _, noise, level in result.points if noise != CLEAN)
    return list(dict.fromkeys(pairs))


def changes(result: StudyResult) -> pd.DataFrame:
    """Changes under every noise, as `varied.changes`."""
    return varied.changes(
        (
            (name, *point, measure),
            result.draws(name, CLEAN, 0.0, measure),
            result.draws(name, *point, measure),
        )
        for name in names(result)
        for point in _points(result)
        for measure in result.measures
    )


def empty_queries(result: StudyResult) -> str:
    """Share of queries without any word of the collection, by noise and level."""
    name = names(result)[0]
    shares = {
        f"{noise} {percent(level)}": float(np.mean(result.per_query(name, noise, level, "empty")))
        for noise, level in _points(result)
    }
    texts = [f"{percent(share, 1)} under {noise}" for noise, share in shares.items() if share]
    return f"Queries left without a known word: {listed(texts) if texts else 'none'}."
