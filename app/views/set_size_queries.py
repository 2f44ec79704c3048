"""The queries behind a cell of set size: by size, by damage, and one of them answered twice."""

from typing import Any

import pandas as pd
import streamlit as st

from app import set_sizes
from app.figures import query_map
from app.figures.perturbations import MOST_QUERIES
from app.plain import escaped
from app.set_sizes import Point, Side
from app.views import two_answers
from app.views.set_size_chosen import Chosen

CELL, MAP, AGAINST = "cell", "query map", "against"
CONFIG = {"displayModeBar": False}


def section(chosen: Chosen, point: Point | None) -> None:
    """Draw the choice of a cell; once there is one, its queries and one query's two answers."""
    st.subheader("Queries behind a cell")
    cells = chosen.points[["ranker", "trained_on", "size"]].itertuples(index=False)
    points = {
        "|".join(map(str, cell)): (str(cell[0]), str(cell[1]), int(cell[2])) for cell in cells
    }
    left, right = st.columns([3, 2])
    if point is None:
        st.session_state.pop(CELL, None)
    left.selectbox(
        "Cell", list(points), index=None, key=CELL, placeholder="Click a cell above, or choose",
        format_func=lambda text: _named(points[text]),
    )  # fmt: skip
    if point is None:
        return
    at, frame = _compared(chosen, point, right)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    measure = str(chosen.measure)
    if at == point[1:]:
        st.caption("This is the cell that the others are compared with: nothing changes.")
    else:
        start = f"From {_side(at)} to {_side(point[1:])}"
        st.markdown(escaped(two_answers.said(frame, start, measure)))
    picture, table = st.columns([3, 2], gap="medium")
    with picture:
        _map(chosen, point)
    with table:
        _rows(frame, point, at)
    _answers(chosen, point, at, [str(query) for query in frame["query"]])


def _named(point: Point) -> str:
    return f"{point[0]}, {_side(point[1:])}"


def _side(side: Side) -> str:
    """N0 and N1 in words.

    >>> _side(("40", 240)), _side(("any", 240))
    ('trained on 40, lists of 240', 'lists of 240')
    """
    return (
        f"trained on {side[0]}, lists of {side[1]}" if side[0].isdigit() else f"lists of {side[1]}"
    )


def _compared(chosen: Chosen, point: Point, place: Any) -> tuple[Side, pd.DataFrame]:
    """The cell's queries beside those of another cell of the same ranker, to be chosen."""
    usual, frame = set_sizes.queries(chosen.key, point, str(chosen.measure))
    own = chosen.points[chosen.points["ranker"] == point[0]]
    sides = [(str(a), int(b)) for a, b in zip(own["trained_on"], own["size"], strict=True)]
    others = {f"{a}|{b}": (a, b) for a, b in [usual, *sides] if (a, b) != point[1:]}
    if st.session_state.get(AGAINST) not in {None, *others}:  # of another cell
        del st.session_state[AGAINST]
    first = f"{usual[0]}|{usual[1]}"
    wanted = place.selectbox(
        "Compared with", list(others), index=0 if first in others else None, key=AGAINST,
        format_func=lambda text: _side(others[text]), bind="query-params",
        placeholder="the cell itself",
        help="The same ranker on lists of another size, or trained on another size.",
    )  # fmt: skip
    against = others.get(str(wanted))
    if against is None or against == usual:
        return usual, frame
    return set_sizes.queries(chosen.key, point, str(chosen.measure), against)


def _map(chosen: Chosen, point: Point) -> None:
    measure = str(chosen.measure)
    frame = set_sizes.by_size(chosen.key, point[0], point[1], measure)
    st.plotly_chart(
        query_map.queries(frame, "candidates tested on (N1)", measure), key=MAP, config=CONFIG,
        alt=query_map.alt_text(frame, "sizes", measure), on_select=_take(point),
        selection_mode="points",
    )  # fmt: skip
    more = f" The {MOST_QUERIES} most damaged of {len(frame)}." if len(frame) > MOST_QUERIES else ""
    st.caption(
        escaped(f"Change from lists of {point[1] if point[1].isdigit() else frame.columns[0]}. "
                f"Click a cell for its list.{more}")
    )  # fmt: skip


def _take(point: Point) -> Any:
    """A click on the map chooses its query and size."""

    def taken() -> None:
        for clicked in st.session_state[MAP]["selection"]["points"]:
            facts = clicked.get("customdata")
            if facts:
                st.session_state["of"] = str(facts[0])
                st.session_state[CELL] = f"{point[0]}|{point[1]}|{facts[1]}"
                return

    return taken


def _rows(frame: pd.DataFrame, point: Point, at: Side) -> None:
    number = st.column_config.NumberColumn
    columns = {
        "home": number(_side(at), format="%.3f"),
        "here": number(_side(point[1:]), format="%.3f"),
        "change": number("change", format="%+.3f"),
        "order_stability": number("τ of shared", format="%.2f"),
        "score_shift": number("scores shifted", format="%.2f"),
    }
    alt = f"Queries of {_named(point)}, the most damaged first; choose a row to see its list"
    two_answers.rows(frame, columns, alt)


def _answers(chosen: Chosen, point: Point, at: Side, ids: list[str]) -> None:
    ranker, trained_on, size = point
    alike = f"to its list of {at[1]}" if at[0] == trained_on else f"when {_side(at)}"
    compared = two_answers.Compared(
        ranker,
        (f"list of {size}", f"answer, N0 {trained_on}", f"answer, N0 {at[0]}<br>to {at[1]}"),
        f"Left: the list of {size} in its initial order. Middle: what {ranker} answers to it. "
        f"Right: what it answers {alike}. Dotted: from that list's initial order to that answer.",
        before=f"N0 {at[0]}, N1 {at[1]}",
        now=f"N0 {trained_on}, N1 {size}",
    )
    two_answers.one_query(
        ids, set_sizes.seeds(chosen.key, point), compared,
        lambda query, seed, features: set_sizes.replayed(
            chosen.artefact, (point, (ranker, *at)), query, seed, features
        ),
    )  # fmt: skip
