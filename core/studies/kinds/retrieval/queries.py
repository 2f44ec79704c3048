"""Retrievers under noisy queries: the same split, fit and network, only the query's text differs.

What a retriever fits to judgments it fits to the queries of the other fold as they are; nobody is
trained on noise. Every seed splits the queries anew, is that of what is learnt, and draws noise.
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
        """All cells in the order of work: a retriever of a seed, undisturbed first."""
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
        """Search every query under a noise, by retrievers that are fitted to the other fold."""
        row, measures, collection = cell.row, self.parsed_measures, indexed.collection
        entry = retriever_entry(row.ranker)
        yield from entry.learning(replace(indexed, seed=row.draw))
        values = np.full((len(self.stored), len(judged.ids)), np.nan, np.float32)
        for tested, retriever in retrievers_by_fold(indexed, entry, judged.places, row.draw):
            queries = [judged.places[at] for at in tested.tolist()]
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
    """The retriever that loses most, its noise, and the one that loses least."""
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
    """The command's answer in JSON."""
    return {"changes": records(changes(result))}


def _points(result: StudyResult) -> list[tuple[str, float]]:
    """Kinds of noise and levels, in the order asked for."""
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
    """The share of queries without a word that the collection knows, by noise and level."""
    name = names(result)[0]
    shares = {
        f"{noise} {percent(level)}": float(np.mean(result.per_query(name, noise, level, "empty")))
        for noise, level in _points(result)
    }
    texts = [f"{percent(share, 1)} under {noise}" for noise, share in shares.items() if share]
    return f"Queries left without a known word: {listed(texts) if texts else 'none'}."
