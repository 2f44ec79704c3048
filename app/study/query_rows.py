"""The queries behind a number: what was lost, as rows that choose one, as a list to choose from."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.core.studies.kinds.benchmark.finding import signed
from shuffleproof.core.words import counted


def said(frame: pd.DataFrame, start: str, measure: str) -> str:
    """What a disturbance did to the queries of a ranker.

    Args:
        frame: query, unchanged, disturbed and change, the most damaged first.
        start: by what, and who.
        measure: that changed.

    >>> row = {"query": ["7"], "unchanged": [0.5], "disturbed": [0.25], "change": [-0.25]}
    >>> said(pd.DataFrame(row), "Then X", "AP")
    'Then X loses AP on 1 of 1 query and gains on 0; query 7 loses most: −0.250 (0.500 → 0.250).'
    """
    lost, gained = int((frame["change"] < 0).sum()), int((frame["change"] > 0).sum())
    text = f"{start} loses {measure} on {lost} of {counted(len(frame), 'query')} "
    text += f"and gains on {gained}"
    if lost:
        worst: Any = frame.iloc[0]
        text += f"; query {worst['query']} loses most: {signed(worst['change'])} "
        text += f"({worst['unchanged']:.3f} → {worst['disturbed']:.3f})"
    return f"{text}."


def rows(
    frame: pd.DataFrame,
    columns: Mapping[str, Any],
    alt: str,
    *,
    height: int,
    key: str = "behind",
) -> None:
    """Draw the queries, the most telling first; a click on a row chooses its query.

    Args:
        frame: query and its numbers; where queries are told apart by their folds too, fold.
        columns: how its columns are drawn, but for the query.
        alt: the table in words.
        height: of the table in pixels.
        key: of the widget.
    """
    chosen = {"of": "query"} | ({"fold of": "fold"} if "fold" in frame else {})
    ids = {name: frame[column].astype(str) for name, column in chosen.items()}

    def take() -> None:
        for row in st.session_state[key]["selection"]["rows"]:
            for name, own in ids.items():
                st.session_state[name] = own.iloc[row]

    st.dataframe(
        frame,
        hide_index=True,
        height=height,
        key=key,
        on_select=take,
        selection_mode="single-row",
        placeholder="",
        column_config={"query": st.column_config.TextColumn("Query", pinned=True), **columns},
        alt=alt,
    )


def query(queries: Iterable[object], placeholder: str, place: Any = st) -> str | None:
    """Draw the choice of a query; a click on a row or a mark sets it too."""
    found = place.selectbox(
        "Query", list(dict.fromkeys(map(str, queries))), index=None, key="of",
        bind="query-params", placeholder=placeholder,
    )  # fmt: skip
    return None if found is None else str(found)


def draw(frame: pd.DataFrame, chosen: str, draws: int, place: Any) -> int:
    """Draw the choice of one of the draws of a query.

    Args:
        frame: query and worst_draw.
        chosen: the query.
        draws: how many there are.
        place: where it is drawn.
    """
    worst = int(frame.loc[frame["query"].astype(str) == chosen, "worst_draw"].iloc[0])
    found = place.selectbox(
        "Draw", ["worst", *map(str, range(draws))], key="draw", bind="query-params",
        help=f"Worst: the draw with the lowest value for this query, here draw {worst}.",
    )  # fmt: skip
    return worst if found in {None, "worst"} else int(found)
