"""The queries behind a ranker and a family: by level, by damage, and the list of one of them."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.plain import escaped
from shuffleproof.app.study import parts, query_comparison, rescored_list
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.result import in_words
from shuffleproof.core.words import counted

MAP = "query map"


@st.fragment
def section(artefact: Artefact, ranker: str, family: str, measure: str) -> None:
    """Draw the map of queries and levels, the queries of a level by damage, one query's list."""
    key = str(artefact.key)
    st.subheader(escaped(f"Queries of {ranker} under {family}"), anchor=False)
    frame = disturbed.by_level(key, ranker, family, measure)
    levels = [float(level) for level in frame.columns]
    if not levels:
        st.caption("This part of the study is not stored.")
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.plotly_chart(
            _by_level(frame, family, measure, (key, ranker)), key=MAP,
            alt=figure.queries_alt_text(frame, measure), on_select=_take_cell,
            selection_mode="points", config=parts.CLICKABLE,
        )  # fmt: skip
        if len(frame) > figure.MOST_QUERIES:
            st.caption(
                f"The {figure.MOST_QUERIES} most damaged of {len(frame)} queries; all in the list."
            )
    with right:
        level = st.selectbox(
            f"Level ({disturbed.unit(family)})", levels, index=len(levels) - 1, key="at",
            bind="query-params", format_func=lambda level: f"{level:g}",
        )  # fmt: skip
        level = levels[-1] if level is None else float(level)
        point = (ranker, family, level)
        damaged = disturbed.damage(key, point, measure)
        if not len(damaged):
            st.caption("Every query is left out by this measure.")
            return
        start = f"By {family} at {level:g}, {ranker}"
        st.markdown(escaped(in_words(damaged, start, measure, ("unchanged", "disturbed"))))
        _rows(damaged)
    _one_list(artefact, point, damaged)


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_level(_frame: pd.DataFrame, family: str, measure: str, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: study and ranker
    return figure.queries(_frame, disturbed.unit(family), measure)


def _take_cell() -> None:
    """A click on the map chooses its query and level."""
    facts = parts.clicked(MAP)
    if facts:
        st.session_state["of"], st.session_state["at"] = str(facts[0]), float(facts[1])


def _rows(frame: pd.DataFrame) -> None:
    columns = [
        tables.Column("unchanged", "As it is", tables.VALUE),
        tables.Column("disturbed", "Disturbed", tables.VALUE, "Mean of the draws."),
        tables.Column("change", "Change", tables.CHANGE),
        tables.Column("worst_draw", "Worst draw", tables.COUNT, "The draw with the lowest value."),
    ]
    alt = "Queries, the most damaged first; choose a row to see its list"
    query_comparison.rows(frame, columns, alt, height=300)


def _one_list(artefact: Artefact, point: tuple[str, str, float], frame: pd.DataFrame) -> None:
    left, right = st.columns(2)
    query = query_comparison.query(
        frame["query"], "Choose a row or a cell above, or a query here", left
    )
    if query is None:
        return
    entry = disturbed.entry(point[1])
    draws = entry.draws(point[2], int(artefact.recipe["draws"])) if entry else 1
    draw = query_comparison.draw(frame, query, draws, right)
    moves = rescored_list.rescored(
        lambda: disturbed.replayed(artefact, point, query, draw, rescored_list.features())
    )
    if moves is None:
        return
    at = f"{point[1]} at {point[2]:g}"
    if entry is None or entry.of_input:
        both_lists(moves, point[0], f"Query {query}. Left: the list disturbed by {at}.")
        return
    how = "trained" if entry.retrains else "asked"
    head = f"Query {query}, under {at}. Left: the list, which stays as it is."
    both_lists(moves, point[0], head, (f"{how} otherwise", f"{how} as it is"))


def both_lists(
    moves: pd.DataFrame, ranker: str, head: str, answers: tuple[str, str] | None = None
) -> None:
    """Draw a list before and after as a bump chart, and its documents with their scores.

    Args:
        moves: as `app.disturbed.replayed` gives it.
        ranker: who answered.
        head: what the caption begins with.
        answers: where both answers are to one list, what tells them apart: now, and before.
    """
    rescored_list.chart(moves, ranker)
    gone, new = (int((moves["kind"] == kind).sum()) for kind in ("gone", "new"))
    left = f"{counted(gone, 'document')} left the list, {new} joined it."
    middle, right = (f"what {ranker} answers to it", "what it answers to the list as it is")
    if answers is not None:
        middle, right = (f"what {ranker} answers, {how}" for how in answers)
    st.caption(
        escaped(
            f"{head} Middle: {middle}. Right: {right}. Dotted: from the list as it is to that "
            "answer. Full marks are relevant documents, strong lines are documents that passed "
            f"another. {left if gone or new else ''}"
        )
    )
    columns = [
        tables.Column("shown", "Shown at", tables.COUNT),
        tables.Column("answered", "Answered at", tables.COUNT),
        tables.Column("shown_before", "Shown as it is", tables.COUNT),
        tables.Column("answered_before", "Answered as it is", tables.COUNT),
        tables.Column("score", "Score", ".4g"),
        tables.Column("score_before", "Score as it is", ".4g"),
    ]
    of = "As they were and as they are, beside every document."
    alt = "Every document of the list before and after"
    rescored_list.documents(moves, columns, of, alt)
