"""The queries behind a cell of set size: by size, by damage, and one of them answered twice."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import set_sizes
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.figures import query_map, set_size_map
from shuffleproof.app.figures.perturbations import MOST_QUERIES
from shuffleproof.app.plain import escaped
from shuffleproof.app.set_sizes import Point, Side
from shuffleproof.app.study import parts, query_comparison
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.claims import STEPS
from shuffleproof.core.studies.kinds.set_size.sections import CURVES, DROPS
from shuffleproof.core.studies.kinds.set_size.study import ANY
from shuffleproof.core.studies.result import in_words
from shuffleproof.core.studies.tables import Table


@dataclass(frozen=True)
class Chosen:
    """What is drawn of a stored study.

    Attributes:
        artefact: the study.
        measure: under the conventions chosen.
        home: the size that the drawn rankers were trained on; None: lists play no part in any.
        rankers: in the study's order, without the curves of the candidates.
    """

    artefact: Artefact
    measure: Measure
    home: int | None
    rankers: tuple[str, ...]

    @property
    def key(self) -> str:
        """The study's key."""
        return str(self.artefact.key)

    @cached_property
    def points(self) -> pd.DataFrame:
        """Every ranker at every N0 and N1, the chosen rankers alone."""
        frame = set_sizes.curves(self.key, str(self.measure))
        return frame[frame["ranker"].isin(self.rankers)]

    @cached_property
    def drawn(self) -> pd.DataFrame:
        """The curves of the picture: the candidates' own, then the rankers trained on `home`."""
        frame = set_sizes.curves(self.key, str(self.measure))
        return of_home(
            frame[frame["ranker"].isin((*set_sizes.CANDIDATES, *self.rankers))], self.home
        )


def of_home(frame: pd.DataFrame, home: int | None) -> pd.DataFrame:
    """The rows of rankers that were trained on lists of one size, or on no lists."""
    return frame[frame["trained_on"].isin((ANY, str(home)))]


CELL, MAP, AGAINST = "cell", "query map", "against"


@st.fragment
def section(chosen: Chosen) -> None:
    """Draw the choice of a cell; once there is one, its queries and one query's two answers."""
    point = _point(chosen)
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
        start = f"From {_beside(at, point)} to {_beside(point[1:], point, at)}"
        st.markdown(escaped(in_words(frame, start, measure, ("home", "here"))))
    picture, table = st.columns([3, 2], gap="medium")
    with picture:
        _map(chosen, point)
    with table:
        _rows(frame, point, at)
    _answers(chosen, point, at, [str(query) for query in frame["query"]])


def _point(chosen: Chosen) -> Point | None:
    """The cell in the address, where the study has it."""
    known_so_far = CELL in st.session_state
    text = st.session_state[CELL] if known_so_far else st.query_params.get("cell")
    asked = (text or "").split("|")
    cells = chosen.points[["ranker", "trained_on", "size"]].itertuples(index=False)
    known = {(str(a), str(b), str(c)) for a, b, c in cells}
    if len(asked) != 3 or tuple(asked) not in known:
        st.query_params.pop("cell", None)
        return None
    st.session_state[CELL] = st.query_params["cell"] = "|".join(asked)
    return asked[0], asked[1], int(asked[2])


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


def _beside(side: Side, point: Point, other: Side | None = None) -> str:
    """N0 and N1 in words beside another cell; N0 only where it tells the two apart."""
    alike = (other or side)[0] == point[1]
    return f"lists of {side[1]}" if alike else _side(side)


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
        _by_size(frame, measure, (chosen.key, *point[:2])), key=MAP, config=parts.PLAIN,
        alt=query_map.alt_text(frame, "sizes", measure), on_select=_take(point),
        selection_mode="points",
    )  # fmt: skip
    more = f" The {MOST_QUERIES} most damaged of {len(frame)}." if len(frame) > MOST_QUERIES else ""
    st.caption(
        escaped(f"Change from lists of {point[1] if point[1].isdigit() else frame.columns[0]}. "
                f"Click a cell for its list.{more}")
    )  # fmt: skip


@st.cache_resource(max_entries=64, show_spinner=False)
def _by_size(_frame: pd.DataFrame, measure: str, identity: tuple[str, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: study, ranker and N0
    return query_map.queries(_frame, "candidates tested on (N1)", measure)


def _take(point: Point) -> Any:
    """A click on the map chooses its query and size."""

    def taken() -> None:
        facts = parts.clicked(MAP)
        if facts:
            st.session_state["of"] = str(facts[0])
            st.session_state[CELL] = f"{point[0]}|{point[1]}|{facts[1]}"

    return taken


def _rows(frame: pd.DataFrame, point: Point, at: Side) -> None:
    columns = [
        tables.Column("home", _short(at, point), tables.VALUE),
        tables.Column("here", _short(point[1:], point, at), tables.VALUE),
        tables.Column("change", "change", tables.CHANGE),
        tables.Column("order_stability", "τ of shared", tables.TAU),
        tables.Column("score_shift", "scores shifted", tables.TAU),
    ]
    alt = f"Queries of {_named(point)}, the most damaged first; choose a row to see its list"
    query_comparison.rows(frame, columns, alt, height=330)


def _short(side: Side, point: Point, other: Side | None = None) -> str:
    """N1 of a column; N0 too where it tells the two apart."""
    alike = (other or side)[0] == point[1]
    return f"N1 {side[1]}" if alike else f"N0 {side[0]}, N1 {side[1]}"


def _answers(chosen: Chosen, point: Point, at: Side, ids: list[str]) -> None:
    ranker, trained_on, size = point
    if at[0] == trained_on:
        heads = (f"list of {size}", f"answer\nto {size}", f"answer\nto {at[1]}")
        other = f"what it answers to its list of {at[1]}"
    else:
        heads = (f"list of {size}", f"trained\non {trained_on}", f"trained\non {at[0]}")
        other = f"what it answers to the list of {at[1]} when trained on {at[0]}"
    compared = query_comparison.Compared(
        ranker,
        heads,
        f"Left: the list of {size} in its initial order. Middle: what {ranker} answers to it. "
        f"Right: {other}. Dotted: from that list's initial order to that answer.",
        before=_short(at, point),
        now=_short(point[1:], point, at),
    )
    query_comparison.one_query(
        ids, set_sizes.seeds(chosen.key, point), compared,
        lambda query, seed, features: set_sizes.replayed(
            chosen.artefact, (point, (ranker, *at)), query, seed, features
        ),
    )  # fmt: skip


SIZES_MAP = "map"
SHOWN = {
    "quality": "Measure",
    "shift": "Δ against N0 = N1",
    "order": "Order kept (τ)",
    "scores": "Scores shifted",
}
EXPLAINED = {
    "quality": "The mean on lists of N1. It mixes the candidates that are there with the model's "
    "own shift: the ceiling and the initial ranking in the picture above say the first.",
    "shift": "The mean minus that of the same ranker trained on lists of N1: the shift of the "
    "model alone, since both see the same candidates. Empty where nothing was trained on N1.",
    "order": "Kendall's τ-b between the orders of the documents that a list of N1 shares with the "
    "list of N0. 1: another size changes no order, as for every ranker of single documents.",
    "scores": "How far the scores of the shared documents moved against each other, in standard "
    "deviations of them.",
}


def details(chosen: Chosen) -> None:
    """Draw everything between the finding and what can be taken away."""
    if len(chosen.points):
        _sizes_map(chosen)
        section(chosen)
    _drops(chosen)
    _claim(chosen)
    place = parts.folded("Every number of the picture and the map", "every number")
    if place is not None:
        frame = set_sizes.curves(chosen.key, str(chosen.measure))
        data_frame(Table(frame, CURVES, "Means by ranker, N0 and N1"), "numbers", place)


def _sizes_map(chosen: Chosen) -> None:
    st.subheader("Every size trained on, every size tested on")
    shown = st.segmented_control(
        "Cells show", list(SHOWN), default="quality", required=True, key="cells",
        format_func=SHOWN.__getitem__, bind="query-params",
    )  # fmt: skip
    name = str(shown or "quality")
    measure = str(chosen.measure)
    st.plotly_chart(
        _drawn(chosen, name, (chosen.key, measure, chosen.rankers)),
        key=SIZES_MAP,
        alt=set_size_map.alt_text(chosen.points, name, measure),
        on_select=_take_cell,
        selection_mode="points",
        config=parts.CLICKABLE,
    )
    st.caption(f"{EXPLAINED[name]} Click a cell for its queries.")


@st.cache_resource(max_entries=128, show_spinner=False)
def _drawn(_chosen: Chosen, shown: str, identity: tuple[Any, ...]) -> Any:
    """The figure; shared between sessions and never changed."""
    del identity  # the memory's key: `_chosen` in values that can be compared
    return set_size_map.sizes(_chosen.points, shown)


def _take_cell() -> None:
    take(SIZES_MAP)


def take(chart: str) -> None:
    """A click on a point of a chart chooses the cell whose queries are shown."""
    facts = parts.clicked(chart)
    if facts:
        st.session_state[CELL] = "|".join(str(one) for one in facts[:3])


def _drops(chosen: Chosen) -> None:
    frame = set_sizes.drops(chosen.key, str(chosen.measure))
    if frame.empty:
        return
    st.subheader("Who loses what")
    title = f"Loss of {chosen.measure} between the smallest and the largest lists"
    data_frame(Table(frame, DROPS, title), "drops")
    parts.convention(
        "A negative loss is a gain: longer lists also hold more relevant documents",
        f"N = {chosen.artefact.facts['queries']} queries",
    )


def _claim(chosen: Chosen) -> None:
    found: Mapping[str, Any] = set_sizes.claim(chosen.key, str(chosen.measure))
    if not found:
        return
    st.subheader("The paper's claim, step by step")
    title = "The two steps of the paper's claim with intervals and p"
    data_frame(Table(pd.DataFrame(found["steps"]), STEPS, title), "steps")
    st.caption(escaped(f"{found['claim']} (SetRank, Table 3): {found['verdict']} here."))
