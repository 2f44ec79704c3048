"""Sections of a study of sparsity: failed checks first, then the cost of sparsity."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.sparsity.study import PRUNING
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import DEPTH
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Finding, Headline, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import counted, interval, listed, number

WAY = (
    Column("way", "Way", help="A penalty in training, or pruning after it."),
    Column("level", "Level", tables.LEVEL, "λ; of pruning: dimensions kept of a document."),
)
GATES = (*WAY, *retrievers.GATES[:-1], retrievers.MILLISECONDS, retrievers.GATES[-1])
SUMMARY = (*WAY, *retrievers.MEANS)


def headline(result: StudyResult, view: View) -> Headline:
    """The best that is truly sparse, or that nothing is."""
    measure = view.measure(result)
    sparse = _sparse(result, measure)
    if not len(sparse):
        return Headline("No index passes the sparsity checks.")
    best = sparse.iloc[0]
    return Headline(
        f"{_way(best)} is the best sparse index: {measure} {number(best['mean'])} at "
        f"{best['nonzeros_document']:.0f} non-zeros a document."
    )


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    yield from map(Finding, findings(result))
    yield Picture("sparsity", (points(result, result.measures[0]), result.measures[0]))
    for measure in result.measures:
        yield Convention.of(measure, len(result.query_ids), f"{DEPTH:,} documents a query")
    yield Table(gates(result), GATES, "What each index reads and matches")
    yield Table(summary(result), SUMMARY, "Effectiveness")


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "summary": records(summary(result)),
        "gates": records(gates(result)),
        "findings": findings(result),
    }


def methods_text(recipe: Mapping[str, Any], _facts: Mapping[str, Any]) -> str:
    """What is done, as a paper would say it."""
    strengths = ", ".join(f"{strength:g}" for strength in recipe["strengths"])
    keep = ", ".join(map(str, recipe["keep"]))
    return (
        f"SNRM (preset {recipe['preset']}, {counted(recipe['seeds'], 'seed')}) is trained with "
        f"{listed(recipe['penalties'])} at λ = {strengths}, fixed and without pruning, and without "
        f"a penalty and then pruned to the largest {keep} dimensions of a document and a third as "
        "many of a query. Nothing is fitted to judgments."
    )


def summary(result: StudyResult) -> pd.DataFrame:
    """Way, level, measure, mean, interval and number of queries."""
    frame = result.summary().rename(columns={"ranker": "way"})
    return frame[tables.keys(SUMMARY)]


def gates(result: StudyResult) -> pd.DataFrame:
    """The gates and the time of every way and level."""
    rows = []
    for way, kind, level in result.points:
        times = result.per_query(way, kind, level, "milliseconds")
        row = {"way": way, "level": level, "milliseconds": known_mean(times)}
        rows.append(row | retrievers.gates_of(result, way, kind, level))
    return pd.DataFrame(rows, columns=tables.keys(GATES))


def points(result: StudyResult, measure: str) -> pd.DataFrame:
    """Effectiveness under one measure beside the gates, a row a way and level."""
    means = summary(result)
    return means[means["measure"] == measure].merge(gates(result), on=["way", "level"])


def _sparse(result: StudyResult, measure: str) -> pd.DataFrame:
    """The points that pass the sparsity checks, the best first."""
    frame = points(result, measure)
    sparse = frame.drop(retrievers.failing(frame).index)
    return sparse.sort_values("mean", ascending=False, kind="stable")


def _way(row: Any) -> str:
    """A way and its level in words."""
    if row["way"] == PRUNING:
        return f"pruning to {row['level']:g}"
    return f"{row['way']} at λ = {row['level']:g}"


def findings(result: StudyResult) -> list[str]:
    """The findings in words; failed sparsity checks first."""
    read = gates(result)
    dense, sentences = retrievers.failing(read), []
    if len(dense):
        sentences.append(f"{len(dense)} of {len(read)} indexes fail a sparsity check.")
    for measure in result.measures:
        sparse = _sparse(result, measure)
        for way in dict.fromkeys(read["way"]):
            levels = sparse[sparse["way"] == way]
            if not len(levels):
                sentences.append(f"{way}: no level passes the sparsity checks.")
                continue
            best = levels.iloc[0]
            sentences.append(
                f"{_way(best)}: {Measure.parse(measure)} {number(best['mean'])} "
                f"{interval(best['low'], best['high'], '.3f')}, "
                f"{best['nonzeros_document']:.1f} non-zeros a document, "
                f"{best['postings_per_query_over_n']:.2f} N postings and "
                f"{best['milliseconds']:.3f} ms a query, the best of {way} that is sparse."
            )
    nothing = read[np.isclose(read["nonzeros_document"], 0)]
    if len(nothing):
        names = listed([_way(row) for _, row in nothing.iterrows()])
        sentences.append(f"No dimension is left under {names}.")
    return sentences
