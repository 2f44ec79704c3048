"""The queries behind a ranker and a family: by level, by damage, and the list of one of them."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import disturbed_lists, state
from shuffleproof.app.figures import perturbations as figure
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import parts, query_comparison
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.app.study_access import compute
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.perturbations import sections
from shuffleproof.core.studies.kinds.perturbations.question import Perturbations
from shuffleproof.core.words import counted

Point = tuple[str, str, float]
"""Ranker, family and level."""

MAP, CLICK = "query map", chooses(of=str, at=float)
QUERIES = (
    tables.Column("unchanged", "As it is", tables.VALUE),
    tables.Column("disturbed", "Disturbed", tables.VALUE, "Mean of the draws."),
    tables.Column("change", "Change", tables.CHANGE),
    tables.Column("worst_draw", "Worst draw", tables.COUNT, "The draw with the lowest value."),
)
DOCUMENTS = (
    tables.Column("shown", "Shown at", tables.COUNT),
    tables.Column("answered", "Answered at", tables.COUNT),
    tables.Column("shown_before", "Shown as it is", tables.COUNT),
    tables.Column("answered_before", "Answered as it is", tables.COUNT),
    tables.Column("score", "Score", ".4g"),
    tables.Column("score_before", "Score as it is", ".4g"),
)


@st.fragment
def section(artefact: Artefact, ranker: str, family: str, measure: str) -> None:
    """Draw the map of queries and levels, the queries of a level by damage, one query's list."""
    key = str(artefact.key)
    st.subheader(escaped_sentence(f"Queries of {ranker} under {family}"), anchor=False)
    frame = compute(key, sections.by_level, ranker, family, measure)
    levels = [float(level) for level in frame.columns]
    if not levels:
        st.caption("This part of the study is not stored.")
        return
    unit = disturbed_lists.unit(family)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        chart(cached_figure(figure.queries, frame, unit, measure), MAP, CLICK)
        if len(frame) > figure.MOST_QUERIES:
            st.caption(
                f"The {figure.MOST_QUERIES} most damaged of {len(frame)} queries; all in the list."
            )
    with right:
        level = query_comparison.level(f"Level ({unit})", levels)
        damaged = compute(key, sections.damage, ranker, family, level, measure)
        start = f"By {family} at {level:g}, {ranker}"
        if not query_comparison.by_damage(damaged, start, measure, QUERIES, height=300):
            return
    _one_list(artefact, (ranker, family, level), damaged)


def _one_list(artefact: Artefact, point: Point, damaged: pd.DataFrame) -> None:
    left, right = st.columns(2)
    query = query_comparison.query(
        damaged["query"], "Choose a row or a cell above, or a query here", left
    )
    if query is None:
        return
    one_list(artefact, point, damaged, query, right)
    if artefact.recipe["kind"] == Perturbations.kind:
        data = {state.USE: state.data(), "study": str(artefact.key), "query": query}
        parts.link("query", "This query under every perturbation", query=data)


def one_list(
    artefact: Artefact, point: Point, damaged: pd.DataFrame, query: str, place: Any
) -> None:
    """Draw the choice of a draw, and one query's list as it is and disturbed.

    Args:
        artefact: the study.
        point: ranker, family and level.
        damaged: the queries at this point, with their worst draws.
        query: one of them.
        place: of the choice.
    """
    ranker, family, level = point
    entry = disturbed_lists.entry(family)
    draws = entry.draws(level, int(artefact.recipe["draws"])) if entry else 1
    draw = query_comparison.draw(damaged, query, draws, place)
    moves = query_comparison.rescore(
        lambda: disturbed_lists.replayed_query(
            artefact, point, query, draw, query_comparison.features()
        )
    )
    if moves is None:
        return
    at = f"{family} at {level:g}"
    if entry is None or entry.of_input:
        both_lists(moves, ranker, f"Query {query}. Left: the list disturbed by {at}.")
        return
    how = "trained" if entry.retrains else "asked"
    head = f"Query {query}, under {at}. Left: the list, which stays as it is."
    both_lists(moves, ranker, head, (f"{how} otherwise", f"{how} as it is"))


def both_lists(
    moves: pd.DataFrame, ranker: str, head: str, answers: tuple[str, str] | None = None
) -> None:
    """Draw a list before and after as a bump chart, and its documents with their scores.

    Args:
        moves: as `app.rescoring.moves` gives it.
        ranker: who answered.
        head: what the caption begins with.
        answers: where both answers are to one list, what tells them apart: now, and before.
    """
    query_comparison.bump_chart(moves, ranker)
    gone, new = (int((moves["kind"] == kind).sum()) for kind in ("gone", "new"))
    left = f"{counted(gone, 'document')} left the list, {new} joined it."
    middle, right = (f"what {ranker} answers to it", "what it answers to the list as it is")
    if answers is not None:
        middle, right = (f"what {ranker} answers, {how}" for how in answers)
    parts.note(
        f"{head} Middle: {middle}. Right: {right}. Dotted: from the list as it is to that "
        "answer. Filled marks are relevant documents, strong lines are documents that passed "
        f"another. {left if gone or new else ''}"
    )
    of = "As they were and as they are, beside every document."
    alt = "Every document of the list before and after"
    query_comparison.documents(moves, DOCUMENTS, of, alt)
