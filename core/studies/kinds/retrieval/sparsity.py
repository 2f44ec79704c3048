"""SNRM trained at fixed weights of each penalty, or pruned: effectiveness and sparsity.

λ is not adapted, and nothing is pruned under a penalty, so that each method acts alone. Nothing is
fitted to judgments, so every judged query is measured at every seed.
"""

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pandas as pd

from shuffleproof.core.progress import Progress
from shuffleproof.core.retrieval import snrm
from shuffleproof.core.retrieval.postings import SparseIndex
from shuffleproof.core.retrieval.registry import IndexedCollection
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.retrieval.question import Sparsity
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import (
    COSTS,
    DEPTH,
    CollectionPlan,
    JudgedQueries,
    measure_folds,
)
from shuffleproof.core.studies.listless.question import ListlessQuestion
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Headline, Picture, Section, View
from shuffleproof.core.studies.study import CellResult, Trial
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import number

PRUNING = "pruning"
QUERY_SHARE = 3
"""Queries keep 1/3 of the dimensions that documents keep, as in the preset `tuned`."""

Ways = tuple[tuple[str, float, str], ...]
"""Penalty or `PRUNING`, its level, and the digest of its network at seed 0."""


@dataclass(frozen=True, kw_only=True)
class Plan(CollectionPlan):
    """Full description of the study.

    Attributes:
        preset: of SNRM.
        penalties: to compare.
        strengths: weights of each penalty.
        keep: numbers of dimensions that remain after pruning.
        ways: all combinations with their networks.
    """

    further_values: ClassVar[tuple[str, ...]] = COSTS
    kind: str = field(default=Sparsity.kind, init=False)
    preset: str
    penalties: tuple[str, ...]
    strengths: tuple[float, ...]
    keep: tuple[int, ...]
    ways: Ways

    def cells(self) -> tuple[Cell, ...]:
        """Cells in order of work: every way at the first seed, then the other seeds."""
        return tuple(
            self.cell(
                Trial(way, self.kind, level, seed), way=way, level=level, network=network, seed=seed
            )
            for seed in range(self.seeds)
            for way, level, network in self.ways
        )

    @classmethod
    def of_question(
        cls, question: ListlessQuestion, indexed: IndexedCollection, **more: Any
    ) -> "Plan":
        """Plan of a question, with the networks of its ways."""
        fields = vars(question)
        points = [(way, level) for way in fields["penalties"] for level in fields["strengths"]]
        points += [(PRUNING, float(level)) for level in fields["keep"]]
        recipes = {point: recipe_of(fields["preset"], *point, 0) for point in points}
        ways = tuple(
            (*point, snrm.LEARNER.key_of_training(indexed, recipe).digest)
            for point, recipe in recipes.items()
        )
        return super().of_question(question, indexed, ways=ways, **more)

    def compute(
        self, indexed: IndexedCollection, judged: JudgedQueries, cell: Cell
    ) -> Generator[Progress, None, CellResult]:
        """Train a way at a seed, and search every judged query."""
        row, seeded = cell.row, replace(indexed, seed=cell.row.draw)
        recipe = recipe_of(self.preset, row.ranker, row.level, row.draw)
        artefact = yield from snrm.LEARNER.training(seeded, recipe)
        latent = snrm.load(seeded, artefact, recipe)
        if row.ranker == PRUNING:
            latent = prune_latent(latent, int(row.level))
        values = measure_folds(indexed, latent, judged.places, self.parsed_measures)
        return judged.size, {"values": values}


def recipe_of(preset: str, way: str, level: float, seed: int) -> snrm.SNRMRecipe:
    """Recipe of a way to sparsity: one penalty at one weight, or none for pruning.

    >>> [recipe_of("small", way, 5.0, 0).training.strength for way in ("flops", PRUNING)]
    [5.0, 0.0]
    """
    penalty: Mapping[str, object] = {"penalty": "l1", "strength": 0.0}
    if way != PRUNING:
        penalty = {"penalty": way, "strength": level}
    free = {"document_target": 0, "query_target": 0, "keep_document": 0, "keep_query": 0,
            "keep_share": 1.0, "seed": seed}  # fmt: skip
    return snrm.LEARNER.preset(preset).with_fields({**penalty, **free})


def prune_latent(latent: snrm.Latent, keep: int) -> snrm.Latent:
    """Copy with only the largest dimensions of documents, and a third of that for queries."""
    table = snrm.prune(latent.index.vectors, keep)
    recipe = latent.recipe.with_fields({"keep_query": max(1, keep // QUERY_SHARE)})
    index = SparseIndex.of(table)
    return snrm.Latent(latent.tokens, latent.network, recipe, index)


COLUMNS = (
    Column("way", "Way", help="A penalty in training, or pruning after it."),
    Column("level", "Level", tables.LEVEL, "λ; of pruning: dimensions kept of a document."),
    *retrievers.MEANS,
    *retrievers.GATES[:-1],
    retrievers.MILLISECONDS,
    retrievers.GATES[-1],
)


def headline(result: StudyResult, view: View) -> Headline:
    """Best index that passes the sparsity checks."""
    measure = view.measure(result)
    sparse = _sparse(result, measure)
    if not len(sparse):
        return Headline("No index passes the sparsity checks.")
    best = sparse.iloc[0]
    return Headline(
        f"{_method_in_words(best)} is the best sparse index: {measure} {number(best['mean'])} at "
        f"{best['nonzeros_document']:.0f} non-zeros a document."
    )


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """Picture, conventions, table."""
    frame, measure = points(result), view.measure(result)
    yield Picture("sparsity", (frame[frame["measure"] == measure], measure))
    for text in result.measures:
        yield Convention.of(text, len(result.query_ids), f"{DEPTH:,} documents a query")
    yield Table(frame, COLUMNS, "Effectiveness and sparsity of each index")


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """Answer of the command in JSON."""
    return {"points": records(points(result))}


def points(result: StudyResult) -> pd.DataFrame:
    """COLUMNS, one row per way, level and measure."""
    rows = []
    for way, kind, level in result.points:
        times = result.per_query(way, kind, level, "milliseconds")
        row = {"way": way, "level": level, "milliseconds": known_mean(times)}
        rows.append(row | retrievers.gates_of(result, way, kind, level))
    means = result.summary().rename(columns={"ranker": "way"})
    frame = means.merge(pd.DataFrame(rows), on=["way", "level"])
    return frame.reindex(columns=tables.keys(COLUMNS))


def _sparse(result: StudyResult, measure: str) -> pd.DataFrame:
    """Points of a measure that pass the sparsity checks, best first."""
    frame = points(result)
    frame = frame[frame["measure"] == measure]
    sparse = frame.drop(retrievers.failing(frame).index)
    return sparse.sort_values("mean", ascending=False, kind="stable")


def _method_in_words(row: Any) -> str:
    """Way and its level in words."""
    if row["way"] == PRUNING:
        return f"pruning to {row['level']:g}"
    return f"{row['way']} at λ = {row['level']:g}"
