"""One map laid out: sorted, put into bins or zoomed into, and what a click on it does."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import streamlit as st

from shuffleproof.app.figures.attention import Cells, Side
from shuffleproof.app.views.attention.answers import Overview, Wanted
from shuffleproof.core.numerals import is_count
from shuffleproof.core.rankers.attention.order import (
    MOST_CELLS,
    Sorting,
    binned,
    bounds,
    sorted_documents,
    window,
)

CHART = "attention map"
LOOKS = {"before": "as it is", "after": "after the change", "difference": "difference"}
SORTED: dict[Sorting, str] = {
    "label": "best label first",
    "score": "best score first",
    "shown": "in the order shown",
    "cluster": "those alike together",
}
AXES = {
    "documents": "documents", "points": "induced points", "units": "units of the state",
    "heads": "hidden units of φ",
}  # fmt: skip
FLAT = 1 / 3
"""Maps whose smallest number is above this share of the largest are coloured from the smallest."""

LEAST_SPAN = 0.01
"""A difference is coloured against at least this share of the largest weight: rounding is pale."""


@dataclass(frozen=True)
class View:
    """How a map is looked at.

    Attributes:
        look: before, after, or difference.
        sorting: of documents.
        zoom: places on both axes to look at closely.
        cell: row and column item that is open.
    """

    look: str
    sorting: Sorting
    zoom: tuple[int, int] | None
    cell: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis as it is laid out: the item at each place, and where bins of places begin."""

    order: np.ndarray
    edges: np.ndarray

    @property
    def grouped(self) -> bool:
        """Whether a cell holds several items along this axis."""
        return bool((np.diff(self.edges) > 1).any())

    def middle(self, cell: int) -> int:
        """The place in the middle of a cell."""
        return int(self.edges[cell] + self.edges[cell + 1]) // 2

    def item(self, cell: int) -> int:
        """The item of a cell that holds one."""
        return int(self.order[self.edges[cell]])

    def cell_of(self, item: int) -> int | None:
        """The cell that an item lies in; None: outside what is drawn."""
        place = int(np.flatnonzero(self.order == item)[0])
        inside = self.edges[0] <= place < self.edges[-1]
        return int(np.searchsorted(self.edges, place, side="right")) - 1 if inside else None


@dataclass(frozen=True, eq=False)
class Laid:
    """A map ready to be drawn, and what stands where."""

    cells: Cells
    rows: Axis
    columns: Axis
    total: tuple[int, int]

    @property
    def grouped(self) -> bool:
        """Whether cells hold several items."""
        return self.rows.grouped or self.columns.grouped


def laid(seen: Overview, maps: tuple[np.ndarray, np.ndarray], wanted: Wanted, view: View) -> Laid:
    """Lay a map out.

    Args:
        seen: the list.
        maps: before and after, by document.
        wanted: which map it is.
        view: how it is looked at.
    """
    before, after = maps
    kind = wanted.of
    down = _order(seen, before, kind.rows, -2, view)
    across = down if kind.rows == kind.columns else _order(seen, before, kind.columns, -1, view)
    rows, columns = Axis(down, _edges(down, 0, view)), Axis(across, _edges(across, 1, view))
    drawn = [
        binned(one[np.ix_(rows.order, columns.order)], rows.edges, columns.edges)
        for one in (before, after)
    ]
    values = {"before": drawn[0], "after": drawn[1]}.get(view.look)
    signed = values is None or float(before.min(initial=0.0)) < 0
    span = max(map(_largest, drawn)) or 1.0
    if values is None:
        values = drawn[1] - drawn[0]
        span = max(_largest(values), LEAST_SPAN * span)
    taken = " taken from" if kind.distribution else ""
    chosen = _ring(rows, columns, view.cell)
    cells = Cells(
        values=values,
        rows=_side(seen, rows, (kind.rows, " that take" if kind.distribution else ""), view),
        columns=_side(seen, columns, (kind.columns, taken), view),
        limits=(-span if signed else _foot(drawn), span),
        signed=signed,
        what="change" if view.look == "difference" else "weight" if kind.distribution else "value",
        chosen=chosen,
        grouped=rows.grouped or columns.grouped,
    )
    return Laid(cells, rows, columns, (before.shape[0], before.shape[1]))


def _foot(drawn: list[np.ndarray]) -> float:
    """Where the colours begin: at 0, or at the smallest number where all are far above it."""
    low = min(float(np.fmin.reduce(one, axis=None, initial=np.inf)) for one in drawn)
    return low if FLAT * max(map(_largest, drawn)) < low < np.inf else 0.0


def _largest(values: np.ndarray) -> float:
    """The largest size of a number; 0 where there is none."""
    return float(np.fmax.reduce(np.abs(values), axis=None, initial=0.0))


def _order(seen: Overview, before: np.ndarray, what: str, axis: int, view: View) -> np.ndarray:
    """The item at each place of an axis."""
    if what == "documents":
        after = view.look == "after" and view.sorting == "shown"
        square = before.shape[0] == before.shape[1] and view.sorting == "cluster"
        profiles = before if axis == -2 else before.T
        return sorted_documents(
            view.sorting,
            seen.labels,
            seen.scores[0],
            seen.shown[1 if after else 0],
            np.hstack([before, before.T]) if square else profiles,
        )
    if what == "units":
        return np.argsort(-before.mean(axis=-1 - axis - 2), kind="stable").astype(np.int64)
    return np.arange(before.shape[axis], dtype=np.int64)


def _edges(order: np.ndarray, axis: int, view: View) -> np.ndarray:
    """Where what is drawn of an axis begins and ends, bin by bin or place by place."""
    if view.zoom is None or len(order) <= MOST_CELLS:
        return bounds(len(order))
    first, last = window(view.zoom[axis], len(order))
    return np.arange(first, last + 1, dtype=np.int64)


def _ring(rows: Axis, columns: Axis, cell: tuple[int, int] | None) -> tuple[int, int] | None:
    if cell is None or rows.grouped or columns.grouped:
        return None
    row, column = rows.cell_of(cell[0]), columns.cell_of(cell[1])
    return None if row is None or column is None else (row, column)


def _side(seen: Overview, axis: Axis, role: tuple[str, str], view: View) -> Side:
    what, does = role
    edges, names, shares = axis.edges, [], []
    for first, last in pairwise(edges.tolist()):
        items = axis.order[first:last]
        single = last - first == 1
        own = f"{first + 1}"
        if what == "documents":
            own = f"{first + 1}. {seen.documents[int(items[0])]}"
            shares.append(float((seen.labels[items] > 0).mean()))
        names.append(own if single else f"{first + 1}–{last}")
    title = AXES[what] + does
    if what == "documents":
        title += f", {SORTED[view.sorting]}"
    return Side(title, names, shares)


def take(found: Laid) -> Callable[[], None]:
    """What a click does: zoom in where a cell holds several, else open the cell."""

    def taken() -> None:
        points = st.session_state[CHART]["selection"]["points"]
        rows, columns = found.cells.values.shape
        if not points:
            return
        row, column = int(points[0]["y"]), int(points[0]["x"])
        if not (0 <= row < rows and 0 <= column < columns):
            return
        if found.grouped:
            places = found.rows.middle(row), found.columns.middle(column)
            st.query_params["zoom"] = f"{places[0]}.{places[1]}"
        else:
            st.query_params["cell"] = f"{found.rows.item(row)}.{found.columns.item(column)}"

    return taken


def pair_in_address(name: str, limits: tuple[int, int]) -> tuple[int, int] | None:
    """Two whole numbers below the limits from the address; what is no such pair is taken out."""
    text = st.query_params.get(name, "")
    first, _, last = text.partition(".")
    if is_count(first) and is_count(last):
        pair = int(first), int(last)
        if pair[0] < limits[0] and pair[1] < limits[1]:
            return pair
    st.query_params.pop(name, None)
    return None
