"""The queries behind a ranker and a family: by level, by damage, and the list of one of them."""

from typing import Any

import pandas as pd
import streamlit as st

from app import disturbed
from app.figures import bump
from app.figures import perturbations as figure
from app.plain import escaped
from app.views.disturbed_choice import CONFIG
from core.errors import ShuffleproofError
from core.store.manifest import Artefact
from core.studies.benchmark_finding import signed

MAP, ROWS, BUMP, FEATURES = "query map", "behind", "bump", "features"


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
            figure.queries(frame, disturbed.unit(family), measure), key=MAP,
            alt=figure.queries_alt_text(frame, measure), on_select=_take_cell,
            selection_mode="points", config=CONFIG,
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
        st.markdown(_said(damaged, point, measure))
        _rows(damaged)
    _one_list(artefact, point, damaged)


def _take_cell() -> None:
    """A click on the map chooses its query and level."""
    for clicked in st.session_state[MAP]["selection"]["points"]:
        facts = clicked.get("customdata")
        if facts:
            st.session_state["of"], st.session_state["at"] = str(facts[0]), float(facts[1])
            return


def _said(frame: pd.DataFrame, point: tuple[str, str, float], measure: str) -> str:
    ranker, family, level = point
    lost, gained = int((frame["change"] < 0).sum()), int((frame["change"] > 0).sum())
    of = disturbed.many(len(frame), "query", "queries")
    text = f"By {family} at {level:g}, {ranker} loses {measure} on {lost} of {of} "
    text += f"and gains on {gained}"
    if lost:
        worst: Any = frame.iloc[0]
        text += f"; query {worst['query']} loses most: {signed(worst['change'])} "
        text += f"({worst['unchanged']:.3f} → {worst['disturbed']:.3f})"
    return escaped(f"{text}.")


def _rows(frame: pd.DataFrame) -> None:
    number, ids = st.column_config.NumberColumn, [str(query) for query in frame["query"]]

    def take() -> None:
        for row in st.session_state[ROWS]["selection"]["rows"]:
            st.session_state["of"] = ids[row]

    st.dataframe(
        frame,
        hide_index=True,
        height=300,
        key=ROWS,
        on_select=take,
        selection_mode="single-row",
        alt="Queries, the most damaged first; choose a row to see its list",
        column_config={
            "query": st.column_config.TextColumn("Query", pinned=True),
            "unchanged": number("As it is", format="%.3f"),
            "disturbed": number("Disturbed", format="%.3f", help="Mean of the draws."),
            "change": number("Change", format="%+.3f"),
            "worst_draw": number("Worst draw", help="The draw with the lowest value."),
        },
    )


def _one_list(artefact: Artefact, point: tuple[str, str, float], frame: pd.DataFrame) -> None:
    left, right = st.columns(2)
    query = left.selectbox(
        "Query", [str(query) for query in frame["query"]], index=None, key="of",
        bind="query-params", placeholder="Choose a row or a cell above, or a query here",
    )  # fmt: skip
    if query is None:
        return
    entry = disturbed.entry(point[1])
    draws = entry.draws(point[2], int(artefact.recipe["draws"])) if entry else 1
    worst = int(frame.loc[frame["query"].astype(str) == query, "worst_draw"].iloc[0])
    draw = right.selectbox(
        "Draw", ["worst", *map(str, range(draws))], key="draw", bind="query-params",
        help=f"Worst: the draw with the lowest value for this query, here draw {worst}.",
    )  # fmt: skip
    try:
        with st.spinner("Scoring the list again …", show_time=True):
            moves = disturbed.replayed(
                artefact, point, query, worst if draw in {None, "worst"} else int(draw), columns()
            )
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    at = f"{point[1]} at {point[2]:g}"
    if entry is None or entry.of_input:
        both_lists(moves, point[0], f"Query {query}. Left: the list disturbed by {at}.")
        return
    how = "trained" if entry.retrains else "asked"
    head = f"Query {query}, under {at}. Left: the list, which stays as it is."
    both_lists(moves, point[0], head, (f"{how} otherwise", f"{how} as it is"))


def columns() -> tuple[int, ...]:
    """The features that the table of a list's documents shows."""
    return tuple(int(name) for name in st.session_state.get(FEATURES, ()))


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
    st.plotly_chart(
        bump.bump(moves, ranker), key=BUMP, config={"displayModeBar": False},
        alt=bump.alt_text(moves, ranker),
    )  # fmt: skip
    gone, new = (int((moves["kind"] == kind).sum()) for kind in ("gone", "new"))
    left = f"{disturbed.many(gone, 'document')} left the list, {new} joined it."
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
    number = st.column_config.NumberColumn
    with st.expander("Documents, labels, scores and features of this list"):
        st.multiselect(
            "Features", disturbed.features(), key=FEATURES, wrap=True, placeholder="none",
            help="As they were and as they are, beside every document.",
        )  # fmt: skip
        st.dataframe(
            moves,
            hide_index=True,
            key="documents",
            placeholder="",
            column_config={
                "document": st.column_config.TextColumn("Document", pinned=True),
                "label": number("Label", format="%g"),
                "kind": st.column_config.TextColumn("In", help="kept: in both lists"),
                "shown": number("Shown at"),
                "answered": number("Answered at"),
                "shown_before": number("Shown as it is"),
                "answered_before": number("Answered as it is"),
                "score": number("Score", format="%.4g"),
                "score_before": number("Score as it is", format="%.4g"),
            },
            alt="Every document of the list before and after",
        )
