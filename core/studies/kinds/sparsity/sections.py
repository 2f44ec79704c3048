"""Sections of a study of sparsity: effectiveness against the numbers of the sparsity checks."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.sparsity.study import PRUNING
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import DEPTH
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import number

COLUMNS = (
    Column("way", "Way", help="A penalty in training, or pruning after it."),
    Column("level", "Level", tables.LEVEL, "λ; of pruning: dimensions kept of a document."),
    *retrievers.MEANS,
    *retrievers.GATES[:-1],
    retrievers.MILLISECONDS,
    retrievers.GATES[-1],
)


def headline(result: StudyResult, view: View) -> Headline:
    """The best index that passes the sparsity checks."""
    measure = view.measure(result)
    sparse = _sparse(result, measure)
    if not len(sparse):
        return Headline("No index passes the sparsity checks.")
    best = sparse.iloc[0]
    return Headline(
        f"{_way(best)} is the best sparse index: {measure} {number(best['mean'])} at "
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
    """The command's answer in JSON."""
    return {"points": records(points(result))}


def points(result: StudyResult) -> pd.DataFrame:
    """COLUMNS, a row a way, level and measure."""
    rows = []
    for way, kind, level in result.points:
        times = result.per_query(way, kind, level, "milliseconds")
        row = {"way": way, "level": level, "milliseconds": known_mean(times)}
        rows.append(row | retrievers.gates_of(result, way, kind, level))
    means = result.summary().rename(columns={"ranker": "way"})
    frame = means.merge(pd.DataFrame(rows), on=["way", "level"])
    return frame.reindex(columns=tables.keys(COLUMNS))


def _sparse(result: StudyResult, measure: str) -> pd.DataFrame:
    """The points of a measure that pass the sparsity checks, the best first."""
    frame = points(result)
    frame = frame[frame["measure"] == measure]
    sparse = frame.drop(retrievers.failing(frame).index)
    return sparse.sort_values("mean", ascending=False, kind="stable")


def _way(row: Any) -> str:
    """A way and its level in words."""
    if row["way"] == PRUNING:
        return f"pruning to {row['level']:g}"
    return f"{row['way']} at λ = {row['level']:g}"
