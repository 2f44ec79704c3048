"""The queries behind a number: what was lost, as rows that choose one, as a list to choose from."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app.data_frame import data_frame
from shuffleproof.core.studies import tables


def rows(
    frame: pd.DataFrame,
    columns: Sequence[tables.Column],
    alt: str,
    *,
    height: int,
    key: str = "behind",
) -> None:
    """Draw the queries, the most telling first; a click on a row chooses its query.

    Args:
        frame: query and its numbers; where queries are told apart by their folds too, fold.
        columns: its columns, but for the query.
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

    table = tables.inferred(frame, alt, (tables.Column("query", "Query"), *columns))
    data_frame(table, key, on_select=take, selection_mode="single-row", height=height)


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
