"""Retrievers before and after a change of documents or queries: one table, paired by query."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.listless import retrievers
from shuffleproof.core.studies.listless.collection_study import DEPTH
from shuffleproof.core.studies.listless.retrievers import label, with_display_names
from shuffleproof.core.studies.paired_differences import mean_differences
from shuffleproof.core.studies.result import StudyResult, known_mean
from shuffleproof.core.studies.sections import Convention, Headline, Picture, Section
from shuffleproof.core.studies.tables import Column, Table
from shuffleproof.core.words import signed

Point = tuple[str, str, float, str]
"""Retriever, condition, level, measure."""

Draws = np.ndarray
"""Values [seeds, queries]."""


def columns_of(condition: str, level: str, conditions: str, levels: str) -> tuple[Column, ...]:
    """Columns of `changes`.

    Args:
        condition: label of the condition.
        level: label of the level.
        conditions: help of the condition.
        levels: help of the level.
    """
    return (
        retrievers.RETRIEVER,
        Column("condition", condition, help=conditions),
        Column("level", level, ".0%", levels),
        retrievers.MEASURE,
        Column("baseline", "Baseline", tables.VALUE, "Mean over queries without the change."),
        Column("mean", "Mean", tables.VALUE, "Mean over queries with the change."),
        Column("change", "Change", tables.CHANGE, "Mean − baseline, paired by query."),
        *retrievers.TESTED,
    )


def changes(points: Iterable[tuple[Point, Draws, Draws]]) -> pd.DataFrame:
    """Changes of means over queries and seeds; all rows of a measure are tested together.

    Args:
        points: each with its values without and with the change. Seeds without both are left out.
    """
    columns = ["retriever", "condition", "level", "measure", "baseline", "mean"]
    frames = [pd.DataFrame(columns=[*columns, "change", "low", "high", "p", "n"])]
    by_measure: dict[str, list[tuple[Point, Draws, Draws]]] = {}
    for one in points:
        by_measure.setdefault(one[0][-1], []).append(one)
    for group in by_measure.values():
        rows, differences = [], []
        for point, baseline, varied in group:
            # A running study may have more seeds of one condition than of the other
            seeds = min(len(baseline), len(varied))
            if seeds:
                pair = [values[:seeds].astype(np.float64) for values in (baseline, varied)]
                rows.append((*point, *(known_mean(_over_seeds(values)) for values in pair)))
                differences.append(_over_seeds(pair[1] - pair[0]))
        if rows:
            tested = mean_differences(np.stack(differences)).rename(columns={"mean": "change"})
            frames.append(pd.DataFrame(rows, columns=columns).join(tested))
    return pd.concat(frames[1:] or frames, ignore_index=True)


def _over_seeds(values: Draws) -> np.ndarray:
    """Mean of every query over the seeds with a value; NaN without any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # for a query without values
        return np.asarray(np.nanmean(values, axis=0))


def headline(frame: pd.DataFrame, condition: Callable[[Any], str], nothing: str) -> Headline:
    """Retriever that loses most, and the one whose largest loss is smallest.

    Args:
        frame: rows of `changes`.
        condition: returns the condition of a row in words, which follow its loss.
        nothing: the sentence if no loss is significant.
    """
    worst = frame[frame["n"] > 0].sort_values("change", kind="stable").drop_duplicates("retriever")
    if not len(worst) or worst["change"].iloc[0] >= 0 or not worst["p"].iloc[0] <= ALPHA:
        return Headline(nothing)
    last, least = worst.iloc[0], worst.iloc[-1]
    text = f"{label(last['retriever'])} loses most: {last['measure']} {signed(last['change'])}"
    text += f" {condition(last)}"
    if len(worst) > 1:
        text += f"; {label(least['retriever'])} at worst {signed(least['change'])}"
    return Headline(f"{text}.")


def sections(
    result: StudyResult, frame: pd.DataFrame, columns: Sequence[Column], measure: str,
    notes: Sequence[str],
) -> Iterator[Section]:  # fmt: skip
    """Picture of one measure, conventions, and the table.

    Args:
        result: of the study.
        frame: of `changes`.
        columns: of `columns_of`.
        measure: the measure of the picture.
        notes: below the table.
    """
    shown = with_display_names(frame)
    yield Picture("changes", (shown[shown["measure"] == measure], measure, columns[2].label))
    for text in result.measures:
        yield Convention.of(text, len(result.query_ids), f"{DEPTH:,} documents a query")
    yield Table(shown, columns, "Changes, paired by query", notes)
