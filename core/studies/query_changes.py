"""Queries by what was done to them: values before and after, or one change a column."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32

from shuffleproof.core.words import counted, number, signed

Values = Float[np.ndarray, " queries"]


def by_query(  # noqa: PLR0913 (each argument is one fact of the columns)
    query_ids: Sequence[str],
    before: tuple[str, Values],
    after: tuple[str, Values],
    change: str = "change",
    *,
    more: Mapping[str, Any] | None = None,
    gains_first: bool = False,
) -> pd.DataFrame:
    """What became of every query, the most damaged first; those without a value are left out.

    Args:
        query_ids: of the queries.
        before: a column's name, and its values.
        after: likewise.
        change: the name of the column of what is after minus what was before.
        more: other columns.
        gains_first: the greatest gain first.

    Returns:
        Columns query, before, after, change and more.

    >>> before, after = np.array([0.5, 0.5, 0.5]), np.array([0.75, 0.25, np.nan])
    >>> by_query(["a", "b", "c"], ("was", before), ("is", after)).to_dict("list")
    {'query': ['b', 'a'], 'was': [0.5, 0.5], 'is': [0.25, 0.75], 'change': [-0.25, 0.25]}
    """
    first, then = (values.astype(np.float64) for _, values in (before, after))
    columns = {before[0]: first, after[0]: then, change: then - first, **dict(more or {})}
    frame = pd.DataFrame({"query": query_ids, **columns})
    known = frame[frame[change].notna()]
    return known.sort_values(change, ascending=not gains_first, kind="stable", ignore_index=True)


def in_words(
    frame: pd.DataFrame, who: str, measure: str, ends: tuple[str, str], change: str = "change"
) -> str:
    """On how many queries a measure falls and rises, and where it falls most.

    Args:
        frame: `by_query`.
        who: what was done, and to whom.
        measure: that changed.
        ends: the columns of the values before and after.
        change: the column of the change.

    >>> frame = by_query(["7"], ("was", np.array([0.5])), ("is", np.array([0.25])))
    >>> in_words(frame, "Shuffled, dlcm", "AP", ("was", "is"))
    'Shuffled, dlcm: AP falls on 1 of 1 query and rises on 0; query 7 loses most: −0.250 \
(0.500 → 0.250).'
    """
    lost, gained = int((frame[change] < 0).sum()), int((frame[change] > 0).sum())
    text = f"{who}: {measure} falls on {lost} of {counted(len(frame), 'query')} "
    text += f"and rises on {gained}"
    if lost:
        worst: Any = frame.iloc[int(frame[change].to_numpy().argmin())]
        before, after = (number(worst[name]) for name in ends)
        text += f"; query {worst['query']} loses most: {signed(worst[change])} ({before} → {after})"
    return f"{text}."


def disturbed(
    query_ids: Sequence[str], before: Values, draws: Float[np.ndarray, "draws queries"]
) -> pd.DataFrame:
    """What the draws of a disturbance did to every query, the most damaged first.

    Returns:
        Columns query, unchanged, disturbed (the mean over the draws), change, worst_draw (the
        draw with the lowest value); queries without a value are left out.
    """
    worst = np.where(np.isnan(draws), np.inf, draws).argmin(axis=0)
    mean = draws.mean(axis=0, dtype=np.float64)
    return by_query(
        query_ids, ("unchanged", before), ("disturbed", mean), more={"worst_draw": worst}
    )


def most_damaged(
    before: Float32[np.ndarray, " queries"],
    after: Mapping[Any, Float32[np.ndarray, " queries"]],
    query_ids: Sequence[str],
    *,
    every: bool = False,
) -> pd.DataFrame:
    """The changes as a frame, rows by their mean, rising; rows without any value are left out.

    Args:
        before: what is compared with, by query.
        after: of every query, by column.
        query_ids: of the queries; the frame's index.
        every: rows without any value are there too, last.

    >>> before, after = np.float32([0.5, 0.5, np.nan]), np.float32([0.75, 0.25, np.nan])
    >>> most_damaged(before, {240: after}, ["a", "b", "c"]).to_dict("index")
    {'b': {240: -0.25}, 'a': {240: 0.25}}
    """
    first = before.astype(np.float64)
    columns = {name: values.astype(np.float64) - first for name, values in after.items()}
    frame = pd.DataFrame(columns, index=pd.Index(list(query_ids), name="query"))
    counted = frame if every else frame.dropna(how="all")
    return counted.iloc[np.argsort(counted.mean(axis=1).to_numpy(), kind="stable")]
