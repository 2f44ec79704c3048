"""Per-query results behind a point of a study: changes, and one query's list before and after.

A point is a ranker, a family and a level, as `StudyResult.points` has them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pandas.api.types import is_numeric_dtype

from shuffleproof.app import address, captions, rescoring, state
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import bump, perturbations
from shuffleproof.app.plain import refusal
from shuffleproof.app.study import choice, parts
from shuffleproof.app.study.picture import cached_figure, chart, chooses
from shuffleproof.app.study_access import compute, result
from shuffleproof.core.answers.one_list import fell_most
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.perturbations.study import as_is
from shuffleproof.core.studies.result import StudyResult, change_by_query, most_damaged
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

Point = tuple[str, str, float]
"""Ranker, family and level."""

Before = Callable[[StudyResult, Point, str], np.ndarray]
"""Function to the reference values of a point, by query, under a measure."""

Replay = Callable[[Artefact, Point, str, int, Sequence[int]], pd.DataFrame]
"""Function that scores one query of a point again, for a draw, with features to show."""

FEATURES = "features"
COLUMNS = (
    tables.Column("unchanged", "Before", tables.VALUE),
    tables.Column("perturbed", "After", tables.VALUE, "Mean over draws or seeds."),
    tables.Column("change", "Change", tables.CHANGE),
    tables.Column("worst_draw", "Worst draw", tables.COUNT, "The draw with the lowest value."),
)
DOCUMENTS = (
    tables.Column("document", "Document"),
    tables.Column("label", "Label", tables.LEVEL),
    tables.Column("moved", "Moved", tables.FLAG, "Passed another document."),
    tables.Column("kind", "In", help="kept: in both lists"),
    tables.Column("shown", "Shown at", tables.COUNT),
    tables.Column("answered", "Ranked at", tables.COUNT),
    tables.Column("shown_before", "Shown at, before", tables.COUNT),
    tables.Column("answered_before", "Ranked at, before", tables.COUNT),
    tables.Column("score", "Score", ".4g"),
    tables.Column("score_before", "Score, before", ".4g"),
)


@dataclass(frozen=True)
class PerQuery:
    """The part of a study's page that shows single queries.

    Attributes:
        before: values that a point is compared with.
        replay: scores one query's list again.
        where: description of a point, without its ranker.
        right: description of the ranking that the bump chart compares with.
        family: label of the choice of family.
        level: label of the choice of level, by family.
        unchanged: family without a change; it is never the default.
    """

    before: Before
    replay: Replay
    where: Callable[[Point], str] = lambda point: f"{point[1]} at {point[2]:g}"
    right: str = "without the perturbation"
    family: str = "Family"
    level: Callable[[str], str] = rescoring.unit
    unchanged: str = ""


def unchanged_level(study: StudyResult, point: Point, measure: str) -> np.ndarray:
    """Values at the unchanged level of the point's family."""
    ranker, family, _ = point
    return study.per_query(ranker, family, rescoring.families(study.recipe)[family][0], measure)


def unchanged_lists(study: StudyResult, point: Point, measure: str) -> np.ndarray:
    """Values of the unchanged lists, from any family that has them."""
    return as_is(study, point[0], measure)


def changes(study: StudyResult, before: Before, point: Point, measure: str) -> pd.DataFrame:
    """Change of every query at a point, the largest loss first."""
    values = before(study, point, measure)
    return change_by_query(study.query_ids, values, study.draws(*point, measure))


def changes_by_column(
    study: StudyResult, before: Before, point: Point, measure: str
) -> pd.DataFrame:
    """Change of every query at every level of the family; with one level, in all families.

    Returns:
        One column per level or family, one row per query (index: its id), the largest loss first.
    """
    of_ranker = [other for other in study.points if other[0] == point[0]]
    levels = [other for other in of_ranker if other[1] == point[1]]
    columns: dict[Any, Point] = {other[2]: other for other in levels}
    if len(levels) < 2:
        columns = {other[1]: other for other in of_ranker}
    after = {name: study.per_query(*other, measure) for name, other in columns.items()}
    return most_damaged(before(study, point, measure), after, study.query_ids)


def family_choice(how: PerQuery, points: Iterable[Point], place: Any = st) -> str:
    """Draw the choice of a family, which a click sets too; a single family is not drawn."""
    families = list(dict.fromkeys(family for _, family, _ in points))
    usual = next((family for family in families if family != how.unchanged), families[0])
    return (
        usual
        if len(families) == 1
        else parts.select(
            how.family, "family", families, usual, place=place, format_func=with_display_names
        )
    )


@st.fragment
def section(
    artefact: Artefact, how: PerQuery, measure: str, rankers: Sequence[str], family: str = ""
) -> None:
    """Draw the choice of a point and, once a ranker is chosen, its queries.

    Args:
        artefact: the study.
        how: declaration of its kind.
        measure: measure of the changes.
        rankers: options.
        family: family chosen above; empty: chosen here.
    """
    st.subheader("Per-query results", anchor=False)
    left, middle, right = st.columns(3)
    ranker = choice.ranker(
        "Ranker", rankers, "point", place=left, placeholder="Click a mark above, or choose"
    )
    if ranker is None:
        return
    points = [point for point in result(str(artefact.key)).points if point[0] == ranker]
    family = family or family_choice(how, points, middle)
    levels = [level for _, name, level in points if name == family]
    if not levels:
        st.caption("This part of the study is not stored.")
        return
    level = levels[0]
    if len(levels) > 1:
        texts = {each: (f"{each:g}",) for each in levels}
        level = right.selectbox(
            how.level(family), **address.selectbox("at", texts, levels[-1]),
            format_func=lambda each: f"{each:g}",
        )  # fmt: skip
    _of_point(artefact, how, (ranker, family, level), measure)


def _of_point(artefact: Artefact, how: PerQuery, point: Point, measure: str) -> None:
    key = str(artefact.key)
    frame = compute(key, changes, how.before, point, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    start = f"{point[0]}, {how.where(point)}"
    by_column = compute(key, changes_by_column, how.before, point, measure)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        by_level = is_numeric_dtype(by_column.columns.dtype)
        axis = how.level(point[1]) if by_level else how.family
        clicked = chooses(query=str, at=float) if by_level else chooses(query=str, family=str)
        map_ = cached_figure(perturbations.queries, by_column, axis, measure)
        chart(map_, "query map", clicked, config=parts.PLAIN)
        most = perturbations.MOST_QUERIES
        more = f" The {most} most damaged of {len(frame)}." if len(frame) > most else ""
        parts.note(f"Change of {measure} by query. Click a cell for its list.{more}")
    with right:
        single = not frame["worst_draw"].any()
        rows(frame, COLUMNS[:-1] if single else COLUMNS, f"Queries of {start}", height=330)
    place, right = st.columns(2)
    query = query_choice(frame["query"], "Choose a row or a cell above, or a query here", place)
    if query is not None:
        one_list(artefact, how, point, (query, frame), right)


def one_list(
    artefact: Artefact, how: PerQuery, point: Point, queried: tuple[str, pd.DataFrame], place: Any
) -> None:
    """Draw the choice of a draw, and one query's list before and after as a bump chart.

    Args:
        artefact: the study.
        how: declaration of its kind.
        point: ranker, family and level.
        queried: query, and `changes` of the point.
        place: place of the choice.
    """
    query, frame = queried
    draw = _draw(artefact, point, query, frame, place)
    try:
        with st.spinner("Scoring the list again …", show_time=True):
            moves = how.replay(artefact, point, query, draw, features())
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/info:")
        return
    bump_chart(moves, point[0])
    gone, new = (int((moves["kind"] == kind).sum()) for kind in ("gone", "new"))
    left = f" {counted(gone, 'document')} left the list, {new} joined it." if gone or new else ""
    parts.note(
        f"Query {query}. Left: the list shown. Middle: the ranking of {point[0]}, "
        f"{how.where(point)}. Right: its ranking {how.right}. Filled marks are relevant documents, "
        f"strong lines are documents that passed another.{left}"
    )
    documents(moves, rescoring.features())


def _draw(artefact: Artefact, point: Point, query: str, frame: pd.DataFrame, place: Any) -> int:
    """Draw the choice of one of the draws or seeds of a point, by default the worst."""
    trials = result(str(artefact.key)).trials
    same = (trials["ranker"] == point[0]) & (trials["family"] == point[1])
    draws = [int(draw) for draw in trials[same & (trials["level"] == point[2])]["draw"]]
    worst = draws[int(frame.loc[frame["query"].astype(str) == query, "worst_draw"].iloc[0])]
    if len(draws) == 1:
        return worst
    picked = place.selectbox(
        "Draw or seed", ["worst", *map(str, draws)], key="draw", bind="query-params",
        help=f"Worst: the one with the lowest value for this query, here {worst}.",
    )  # fmt: skip
    return worst if picked in {None, "worst"} else int(picked)


def features() -> tuple[int, ...]:
    """Features in the table of a list's documents."""
    return tuple(int(name) for name in st.session_state.get(FEATURES, ()))


def bump_chart(moves: pd.DataFrame, ranker: str) -> None:
    """Draw both rankings of a list, below a sentence on the document that fell most."""
    moves = captions.titles(moves)
    if fallen := fell_most(moves):
        parts.sentence(fallen)
    chart(cached_figure(bump.bump, moves, ranker), "bump", config=parts.PLAIN)


def documents(moves: pd.DataFrame, offered: Sequence[int], *more: tables.Column) -> None:
    """Draw the table of a list's documents in an expander.

    Args:
        moves: one row per document.
        offered: features that can be added as columns.
        more: columns in addition to DOCUMENTS.
    """
    place = parts.fold("Documents, labels, scores and features of this list", "documents opened")
    if place is None:
        return
    with place:
        st.multiselect("Features", offered, key=FEATURES, wrap=True, placeholder="none")
        title = "Every document of the list, before and after"
        data_frame(tables.infer_columns(moves, title, (*DOCUMENTS, *more)), "documents")


def rows(frame: pd.DataFrame, columns: Sequence[tables.Column], alt: str, *, height: int) -> None:
    """Draw the table of queries in input order; a click on a row chooses its query.

    Args:
        frame: query and its numbers; also fold, if ids repeat across folds.
        columns: columns other than the query.
        alt: alternative text of the table.
        height: of the table in pixels.
    """
    chosen = {"query": "query"} | ({"fold of": "fold"} if "fold" in frame else {})
    ids = {name: frame[column].astype(str) for name, column in chosen.items()}
    shown = frame[["query", *tables.keys(columns)]]

    def take() -> None:
        for row in st.session_state["queries"]["selection"]["rows"]:
            for name, values in ids.items():
                st.session_state[name] = values.iloc[row]

    table = Table(shown, (tables.Column("query", "Query"), *columns), alt)
    data_frame(table, "queries", on_select=take, selection_mode="single-row", height=height)


def query_choice(queries: Iterable[object], placeholder: str, place: Any = st) -> str | None:
    """Draw the choice of a query; a click on a row or a mark sets it too."""
    options: dict[str | None, tuple[str, ...]] = {None: ()}
    options |= {query: (query,) for query in map(str, queries)}
    if "of" in st.query_params:  # of an address from before all pages shared the query
        st.session_state["query"] = st.query_params.pop("of")
    before = address.carried("query")
    chosen = place.selectbox(
        "Query", **address.selectbox("query", options, None), placeholder=placeholder
    )
    if address.carried("query") != before:
        state.draw_again()  # the sidebar shows it
    if chosen is None:
        return None
    captions.draw_query_text(str(chosen), place)
    return str(chosen)
