"""Behind one point of Figure 3: the queries by damage, and the list of one of them."""

from typing import Any

import pandas as pd
import streamlit as st

from app import curves
from app.figures import bump
from app.plain import escaped
from core.errors import ShuffleproofError
from core.store.manifest import Artefact
from core.studies.benchmark_finding import signed

CHART = "curves"
ROWS = "behind"
BUMP = "bump"


def take_point() -> None:
    """A click on the figure chooses its point."""
    for clicked in st.session_state[CHART]["selection"]["points"]:
        facts = clicked.get("customdata")
        if facts:
            ranker, level = facts[0], facts[1]
            st.session_state["point"], st.session_state["at"] = str(ranker), float(level)
            return


def choice(artefact: Artefact, family: str, rankers: list[str]) -> tuple[str, float] | None:
    """Draw the choice of a point; a click on the figure sets it too."""
    st.subheader("Queries behind a point")
    levels = curves.families(artefact.recipe)[family]
    left, right = st.columns(2)
    ranker = left.selectbox(
        "Ranker", rankers, index=None, key="point", bind="query-params",
        placeholder="Click a point of the picture, or choose",
    )  # fmt: skip
    level = right.selectbox(
        f"Level ({curves.unit(family)})", levels, index=len(levels) - 1, key="at",
        bind="query-params", format_func=lambda level: f"{level:g}",
    )  # fmt: skip
    return None if ranker is None or level is None else (ranker, float(level))


def section(artefact: Artefact, family: str, measure: str, point: tuple[str, float]) -> None:
    """The queries behind a point by damage, and one query's list."""
    ranker, level = point
    frame = curves.damage(str(artefact.key), point, family, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    st.markdown(_said(frame, ranker, f"{family} at {level:g}", measure))
    _rows(frame)
    _one_list(artefact, point, family, frame)


def _said(frame: pd.DataFrame, ranker: str, disturbed: str, measure: str) -> str:
    lost, gained = int((frame.change < 0).sum()), int((frame.change > 0).sum())
    text = (
        f"By {disturbed}, {ranker} loses {measure} on {lost} of {len(frame)} queries and gains on "
        f"{gained}"
    )
    if lost:
        worst = frame.iloc[0]
        text += (
            f"; query {worst['query']} loses most: {signed(worst.change)} "
            f"({worst.unchanged:.3f} → {worst.disturbed:.3f})"
        )
    return escaped(text + ".")


def _rows(frame: pd.DataFrame) -> None:
    number = st.column_config.NumberColumn
    ids = [str(query) for query in frame["query"]]

    def take() -> None:
        for row in st.session_state[ROWS]["selection"]["rows"]:
            st.session_state["of"] = ids[row]

    st.dataframe(
        frame,
        hide_index=True,
        height=260,
        key=ROWS,
        on_select=take,
        selection_mode="single-row",
        alt="Queries, the most damaged first; choose a row to see its list",
        column_config={
            "query": st.column_config.TextColumn("Query", pinned=True),
            "unchanged": number("Unchanged", format="%.3f"),
            "disturbed": number("Disturbed (mean of draws)", format="%.3f"),
            "change": number("Change", format="%+.3f"),
            "worst_draw": number("Worst draw", help="The draw with the lowest value."),
        },
    )


def _one_list(
    artefact: Artefact, chosen: tuple[str, float], family: str, frame: pd.DataFrame
) -> None:
    left, right = st.columns(2)
    query = left.selectbox(
        "Query", [str(query) for query in frame["query"]], index=None, key="of",
        bind="query-params", placeholder="Choose a row above, or a query here",
    )  # fmt: skip
    if query is None:
        return
    draws = int(artefact.recipe["draws"]) if chosen[1] != _unchanged(artefact, family) else 1
    worst = int(frame.loc[frame["query"].astype(str) == query, "worst_draw"].iloc[0])
    draw = right.selectbox(
        "Draw", ["worst", *map(str, range(draws))], key="draw", bind="query-params",
        help=f"Worst: the draw with the lowest value for this query, here draw {worst}.",
    )  # fmt: skip
    _bump(artefact, chosen, family, (query, worst if draw in {None, "worst"} else int(draw)))


def _unchanged(artefact: Artefact, family: str) -> float:
    return curves.families(artefact.recipe)[family][0]


def _bump(artefact: Artefact, chosen: tuple[str, float], family: str, one: tuple[str, int]) -> None:
    query, draw = one
    if "lists" not in artefact.facts:
        st.info(
            "This study was stored without its lists' recipe; run it again to see single lists."
        )
        return
    try:
        with st.spinner("Scoring the list again …", show_time=True):
            moves: Any = curves.replayed(artefact, chosen, family, query, draw)
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    ranker, level = chosen
    st.plotly_chart(
        bump.bump(moves, ranker),
        key=BUMP,
        config={"displayModeBar": False},
        alt=bump.alt_text(moves, ranker),
    )
    st.caption(
        escaped(
            f"Query {query}, draw {draw}. Left: the initial ranking disturbed by {family} at "
            f"{level:g}. Middle: what {ranker} answers to it. Right: what it answers to the "
            "unchanged list. Dotted: from the unchanged initial ranking to that answer. Full "
            "marks are relevant documents, strong lines are documents that passed another."
        )
    )
