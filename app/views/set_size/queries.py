"""The queries behind a cell of set size: by size, by damage, and one of them answered twice."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from shuffleproof.app import rescoring
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.study import query_comparison, slices
from shuffleproof.app.study_access import compute, result
from shuffleproof.core.rankers.name import with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.set_size import sections
from shuffleproof.core.studies.result import in_words

CELL, AGAINST = "cell", "against"

Point = tuple[str, str, int]
"""A cell: ranker, N0 as text, N1."""

Side = tuple[str, int]
"""N0 as text, N1."""


def choose(facts: Sequence[Any]) -> None:
    """A click on a point of a chart chooses the cell whose queries are shown."""
    st.session_state[CELL] = "|".join(str(fact) for fact in facts[:3])


@st.fragment
def section(artefact: Artefact, rows: pd.DataFrame, measure: str) -> None:
    """Draw the choice of a cell; once there is one, its queries and one query's two answers.

    Args:
        artefact: the study.
        rows: the rankers shown at every N0 and N1.
        measure: that changes.
    """
    cells = rows[["ranker", "trained_on", "size"]].itertuples(index=False)
    points = {
        "|".join(map(str, cell)): (str(cell[0]), str(cell[1]), int(cell[2])) for cell in cells
    }
    point = points.get(_asked(points))
    st.subheader("Queries behind a cell")
    left, right = st.columns([3, 2])
    if point is None:
        st.session_state.pop(CELL, None)
    left.selectbox(
        "Cell", list(points), index=None, key=CELL, placeholder="Click a cell above, or choose",
        format_func=lambda text: with_display_names(_named(points[text])),
    )  # fmt: skip
    if point is None:
        return
    sides = [other[1:] for other in points.values() if other[0] == point[0]]
    at, frame = _compared(str(artefact.key), point, sides, measure, right)
    if not len(frame):
        st.caption("Every query is left out by this measure.")
        return
    if at == point[1:]:
        st.caption("This is the cell that the others are compared with: nothing changes.")
    else:
        start = f"From {_beside(at, point)} to {_beside(point[1:], point, at)}"
        st.markdown(escaped_sentence(in_words(frame, start, measure, ("home", "here"))))
    picture, table = st.columns([3, 2], gap="medium")
    with picture:
        _map(str(artefact.key), point, measure)
    with table:
        _rows(frame, point, at)
        slices.draw_slices(frame, "change", measure)
    _answers(artefact, point, at, frame)


def _asked(points: Collection[str]) -> str:
    """The cell in the address, where the study has it; else nothing."""
    text = str(st.session_state.get(CELL, st.query_params.get("cell")))
    if text not in points:
        st.query_params.pop("cell", None)
        return ""
    st.session_state[CELL] = st.query_params["cell"] = text
    return text


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


def _compared(
    key: str, point: Point, sides: Sequence[Side], measure: str, place: Any
) -> tuple[Side, pd.DataFrame]:
    """The cell's queries beside those of another cell of the same ranker, to be chosen."""
    usual, frame = compute(key, sections.queries, point, measure)
    others = {f"{a}|{b}": (a, b) for a, b in [usual, *sides] if (a, b) != point[1:]}
    if st.session_state.get(AGAINST) not in {None, *others}:  # of another cell
        del st.session_state[AGAINST]
    first = f"{usual[0]}|{usual[1]}"
    wanted = place.selectbox(
        "Compared with", list(others), index=0 if first in others else None, key=AGAINST,
        format_func=lambda text: with_display_names(_side(others[text])), bind="query-params",
        placeholder="the cell itself",
        help="The same ranker on lists of another size, or trained on another size.",
    )  # fmt: skip
    against = others.get(str(wanted))
    if against is None or against == usual:
        return usual, frame
    return compute(key, sections.queries, point, measure, against)


def _map(key: str, point: Point, measure: str) -> None:
    ranker, trained_on, _ = point
    frame = compute(key, sections.by_size, ranker, trained_on, measure)

    def take(facts: Sequence[Any]) -> None:
        st.session_state["of"] = str(facts[0])
        choose((ranker, trained_on, facts[1]))

    origin = f"lists of {trained_on if trained_on.isdigit() else frame.columns[0]}"
    columns = ("candidates tested on (N1)", "sizes")
    query_comparison.by_column(frame, columns, measure, origin, take)


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


def _answers(artefact: Artefact, point: Point, at: Side, frame: pd.DataFrame) -> None:
    ranker, trained_on, size = point
    if at[0] == trained_on:
        heads = (f"list of {size}", f"answer\nto {size}", f"answer\nto {at[1]}")
        other = f"what it answers to its list of {at[1]}"
    else:
        heads = (f"list of {size}", f"trained\non {trained_on}", f"trained\non {at[0]}")
        other = f"what it answers to the list of {at[1]} when trained on {at[0]}"
    compared = query_comparison.ComparisonTexts(
        ranker,
        heads,
        f"Left: the list of {size} in its initial order. Middle: what {ranker} answers to it. "
        f"Right: {other}. Dotted: from that list's initial order to that answer.",
        before=_short(at, point),
        now=_short(point[1:], point, at),
    )
    sides = {"now": _trials(artefact, point), "before": _trials(artefact, (ranker, *at))}
    seeds = [int(seed) for seed in sides["now"]["draw"]]
    query_comparison.one_query(frame, seeds, compared, partial(_replayed, artefact, sides))


def _trials(artefact: Artefact, point: Point) -> pd.DataFrame:
    """The trials of one cell."""
    ranker, trained_on, size = point
    trials = result(str(artefact.key)).trials
    of_home = (trials["ranker"] == ranker) & (trials["family"] == trained_on)
    return trials[of_home & (trials["level"] == size)]


def _replayed(
    artefact: Artefact,
    sides: dict[str, pd.DataFrame],
    query: str,
    seed: int,
    columns: Sequence[int],
) -> pd.DataFrame:
    """One query as a study answered it at two of its cells, as a frame for the bump chart.

    Raises:
        ShuffleproofError: the scoring process has no answer, or a ranker or the data set is gone.
    """
    asked = {
        side: [rescoring.ranker_of(trials, seed), int(trials["level"].iloc[0])]
        for side, trials in sides.items()
    }
    return rescoring.moves(
        f"{rescoring.TRAINED}:sizes", artefact, query, digests=artefact.recipe["lists"],
        features=list(columns), **asked,
    )  # fmt: skip
