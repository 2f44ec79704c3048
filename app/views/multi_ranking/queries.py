"""The queries behind a dot of several rankings: by condition, by damage, one answered twice."""

from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import rankings
from shuffleproof.app.figures import multi_ranking as figure
from shuffleproof.app.figures import query_map
from shuffleproof.app.figures.perturbations import MOST_QUERIES
from shuffleproof.app.plain import escaped
from shuffleproof.app.rankings import Learnt
from shuffleproof.app.study import parts, query_comparison
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.neural import ordinal_geometry
from shuffleproof.core.rankers.neural.ordinal_geometry import OrdinalGeometry
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.multi_ranking.ranking_conditions import TRAINED
from shuffleproof.core.studies.result import in_words

POINT, DOT, MAP = "behind dot", "dot", "query map"
Point = tuple[str, str]
"""Ranker and condition."""


@st.fragment
def section(artefact: Artefact, measure: str) -> None:
    """Draw the choice of a dot; once there is one, its queries and one query's two answers."""
    key = str(artefact.key)
    point = _point(key, measure)
    st.subheader("Queries behind a dot")
    _dot(key, measure, point)
    if point is None:
        return
    ranker, condition = point
    frame = rankings.queries(key, point, measure)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    if condition == TRAINED:
        st.caption("This is what the other conditions are compared with: nothing changes.")
    else:
        start = "Against the ranker as trained"
        st.markdown(escaped(in_words(frame, start, measure, ("as_trained", "here"))))
    picture, table = st.columns([3, 2], gap="medium")
    with picture:
        _map(key, measure, ranker)
    with table:
        columns = [
            tables.Column("as_trained", "as trained", tables.VALUE),
            tables.Column("here", "here", tables.VALUE),
            tables.Column("change", "change", tables.CHANGE),
        ]
        alt = f"Queries of {ranker} {condition}, the most damaged first"
        query_comparison.rows(frame, columns, alt, height=330)
    if not rankings.is_by_itself(ranker):
        _answers(artefact, point, [str(query) for query in frame["query"]])


def _point(key: str, measure: str) -> Point | None:
    """The ranker and condition that the address asks for, where the study has them."""
    asked = st.session_state.get(POINT)
    if asked is None and "ranker" in st.query_params:
        asked = (st.query_params["ranker"], st.query_params.get("condition", ""))
    frame = rankings.table(key, measure)
    known = set(zip(frame["ranker"], frame["condition"], strict=True))
    if asked is None or tuple(asked) not in known:
        st.query_params.pop("ranker", None)
        st.query_params.pop("condition", None)
        return None
    st.query_params["ranker"], st.query_params["condition"] = asked
    return str(asked[0]), str(asked[1])


def _dot(key: str, measure: str, point: Point | None) -> None:
    """The choice of a dot; a click on the picture or the map sets it too."""
    frame = rankings.table(key, measure)
    dots = [(str(a), str(b)) for a, b in zip(frame["ranker"], frame["condition"], strict=True)]
    st.session_state[DOT] = point

    def take() -> None:
        st.session_state[POINT] = st.session_state[DOT] or ("", "")

    st.selectbox(
        "Dot", dots, index=None, key=DOT, on_change=take,
        placeholder="Click a dot of the picture, or choose",
        format_func=lambda dot: f"{dot[0]}, {dot[1]}",
    )  # fmt: skip


def _map(key: str, measure: str, ranker: str) -> None:
    frame = rankings.by_condition(key, ranker, measure)
    if not len(frame.columns):
        st.caption(escaped(f"{ranker} reads no initial ranking: there is one condition."))
        return
    st.plotly_chart(
        _by_condition(frame, measure, (key, ranker)), key=MAP, config=parts.PLAIN,
        alt=query_map.alt_text(frame, "conditions", measure), on_select=_take(ranker),
        selection_mode="points",
    )  # fmt: skip
    more = f" The {MOST_QUERIES} most damaged of {len(frame)}." if len(frame) > MOST_QUERIES else ""
    st.caption(escaped(f"Change from the ranker as trained. Click a cell for its list.{more}"))


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_condition(_frame: pd.DataFrame, measure: str, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: study and ranker
    return query_map.queries(_frame, "what it reads", measure)


def _take(ranker: str) -> Any:
    """A click on the map chooses its query and condition."""

    def taken() -> None:
        facts = parts.clicked(MAP)
        if facts:
            st.session_state["of"], st.session_state[POINT] = str(facts[0]), (ranker, str(facts[1]))

    return taken


def _answers(artefact: Artefact, point: Point, ids: list[str]) -> None:
    ranker, condition = point
    put, _, place = condition.partition(" for ")
    left = put if place else artefact.recipe["initial"][0]
    compared = query_comparison.Compared(
        ranker,
        (left, condition if not place else f"answer with\n{put}", "answer as\ntrained"),
        f"Left: the list by {left}. Middle: what {ranker} answers {_reading(condition)}. Right: "
        f"what it answers as trained. Dotted: from the list by {artefact.recipe['initial'][0]} to "
        "that answer.",
        before=TRAINED,
        now=condition,
    )
    query_comparison.one_query(
        ids, rankings.seeds(str(artefact.key), point), compared,
        lambda query, seed, features: rankings.replayed(artefact, point, query, seed, features),
    )  # fmt: skip


def _reading(condition: str) -> str:
    """What a ranker reads under a condition, as a sentence says it.

    >>> _reading("without any"), _reading("oracle for mart")
    ('without any initial ranking', 'with oracle in the place of mart')
    """
    put, found, place = condition.partition(" for ")
    if found:
        return f"with {put} in the place of {place}"
    return "without any initial ranking" if condition == "without any" else condition


RANKS = 40


@st.fragment
def geometry(data: str, study: str | None, depth: int | None) -> None:
    """Draw the geometry of a ranker to be chosen; nothing where none with ordinals is trained.

    Args:
        data: the data set in use.
        study: the study shown, whose rankers come first.
        depth: how many ranks its lists have; ranks beyond were never trained.
    """
    found = {ranker.key: ranker for ranker in rankings.learnt(data, study)}
    if not found:
        return
    st.subheader("What was learnt of ranks")
    left, right = st.columns(2)
    key = left.selectbox(
        "Trained ranker", list(found), format_func=lambda key: found[key].label, key="learnt",
        bind="query-params", help="Every SetRank with ordinal embeddings of this data set.",
    )  # fmt: skip
    try:
        tables = rankings.geometry(str(key), depth or RANKS)
        names = rankings.tables(str(key))
    except ShuffleproofError as error:
        st.warning(escaped(str(error)), icon=":material/info:")
        return
    at = 0
    if len(tables) > 1:
        labels = [names[one] if one < len(names) else f"{one + 1}" for one in range(len(tables))]
        chosen = right.selectbox("Of the initial ranking", labels, key="table", bind="query-params")
        at = labels.index(chosen) if chosen in labels else 0
    _drawn(found[str(key)], tables[at], (str(key), depth, at))


def _drawn(ranker: Learnt, found: OrdinalGeometry, identity: tuple[Any, ...]) -> None:
    words = ordinal_geometry.words(found)
    for column, (title, picture) in zip(st.columns(3), _pictures(found, identity), strict=True):
        with column:
            st.caption(title)
            st.plotly_chart(
                picture, key=f"geometry {title}", alt=f"{title}. {words}", config=parts.PLAIN
            )
    st.markdown(escaped(f"{ranker.label}. {words}"))
    st.caption(
        "Where ranks mean something to the ranker, neighbours are alike and the path bends "
        "steadily; ranks that training never reached are as they were drawn."
    )


@st.cache_resource(max_entries=64, show_spinner=False)
def _pictures(_found: OrdinalGeometry, identity: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """The figures under their titles; shared between sessions and never changed."""
    del identity  # the memory's key: ranker, depth and which of its initial rankings
    return [
        ("Cosine between ranks", figure.similarity(_found.similarity)),
        ("Length by rank", figure.lengths(_found.lengths)),
        ("Path through the two main components", figure.path(_found.plane, _found.explained)),
    ]
