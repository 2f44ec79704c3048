"""Behind one point of Figure 3: the queries by damage, and the list of one of them."""

import pandas as pd
import streamlit as st

from shuffleproof.app import curves
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts, query_rows, rescored_list
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.query_changes import in_words

CHART = "curves"


def take_point() -> None:
    """A click on the figure chooses its point."""
    facts = parts.clicked(CHART)
    if facts:
        st.session_state["point"], st.session_state["at"] = str(facts[0]), float(facts[1])


@st.fragment
def section(artefact: Artefact, family: str, measure: str, rankers: tuple[str, ...]) -> None:
    """Draw the choice of a point; once there is one, its queries by damage and one's list."""
    point = _choice(artefact, family, rankers)
    if point is not None:
        _behind(artefact, family, measure, point)


def _choice(artefact: Artefact, family: str, rankers: tuple[str, ...]) -> tuple[str, float] | None:
    """The point; a click on the figure sets it too."""
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


def _behind(artefact: Artefact, family: str, measure: str, point: tuple[str, float]) -> None:
    """The queries behind a point by damage, and one query's list."""
    ranker, level = point
    frame = curves.damage(str(artefact.key), point, family, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    start = f"By {family} at {level:g}, {ranker}"
    st.markdown(escaped(in_words(frame, start, measure, ("unchanged", "disturbed"))))
    _rows(frame)
    _one_list(artefact, point, family, frame)


def _rows(frame: pd.DataFrame) -> None:
    columns = [
        tables.Column("unchanged", "Unchanged", tables.VALUE),
        tables.Column("disturbed", "Disturbed (mean of draws)", tables.VALUE),
        tables.Column("change", "Change", tables.CHANGE),
        tables.Column("worst_draw", "Worst draw", tables.COUNT, "The draw with the lowest value."),
    ]
    alt = "Queries, the most damaged first; choose a row to see its list"
    query_rows.rows(frame, columns, alt, height=260)


def _one_list(
    artefact: Artefact, chosen: tuple[str, float], family: str, frame: pd.DataFrame
) -> None:
    left, right = st.columns(2)
    query = query_rows.query(frame["query"], "Choose a row above, or a query here", left)
    if query is None:
        return
    draws = int(artefact.recipe["draws"]) if chosen[1] != _unchanged(artefact, family) else 1
    draw = query_rows.draw(frame, query, draws, right)
    _bump(artefact, chosen, family, (query, draw))


def _unchanged(artefact: Artefact, family: str) -> float:
    return curves.families(artefact.recipe)[family][0]


def _bump(artefact: Artefact, chosen: tuple[str, float], family: str, one: tuple[str, int]) -> None:
    query, draw = one
    if "lists" not in artefact.facts:
        st.info(
            "This study was stored without its lists' recipe; run it again to see single lists."
        )
        return
    moves = rescored_list.rescored(lambda: curves.replayed(artefact, chosen, family, query, draw))
    if moves is None:
        return
    ranker, level = chosen
    rescored_list.chart(moves, ranker)
    st.caption(
        escaped(
            f"Query {query}, draw {draw}. Left: the initial ranking disturbed by {family} at "
            f"{level:g}. Middle: what {ranker} answers to it. Right: what it answers to the "
            "unchanged list. Dotted: from the unchanged initial ranking to that answer. Full "
            "marks are relevant documents, strong lines are documents that passed another."
        )
    )
