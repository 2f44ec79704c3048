"""One map laid out: sorted, put into bins or zoomed into, and what a click on a cell opens."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from app.figures.attention import Cells, Side
from app.plain import escaped
from app.scoring import List
from app.views.attention_asked import Overview, Wanted, differing_features
from core.rankers.attention_order import (
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
    rows = Axis(*_placed(seen, before, kind.rows, -2, view))
    columns = Axis(*_placed(seen, before, kind.columns, -1, view))
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


def _placed(
    seen: Overview, before: np.ndarray, what: str, axis: int, view: View
) -> tuple[np.ndarray, np.ndarray]:
    """The item at each place of an axis, and the edges of what is drawn."""
    count = before.shape[axis]
    if what == "documents":
        after = view.look == "after" and view.sorting == "shown"
        square = before.shape[0] == before.shape[1] and view.sorting == "cluster"
        profiles = before if axis == -2 else before.T
        order = sorted_documents(
            view.sorting,
            seen.labels,
            seen.scores[0],
            seen.shown[1 if after else 0],
            np.hstack([before, before.T]) if square else profiles,
        )
    elif what == "units":
        order = np.argsort(-before.mean(axis=-1 - axis - 2), kind="stable").astype(np.int64)
    else:
        order = np.arange(count, dtype=np.int64)
    if view.zoom is None or count <= MOST_CELLS:
        return order, bounds(count)
    first, last = window(view.zoom[0 if axis == -2 else 1], count)
    return order, np.arange(first, last + 1, dtype=np.int64)


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
    if first.isdecimal() and last.isdecimal():
        pair = int(first), int(last)
        if pair[0] < limits[0] and pair[1] < limits[1]:
            return pair
    st.query_params.pop(name, None)
    return None


def opened_cell(
    one: List, seen: Overview, maps: tuple[np.ndarray, np.ndarray], wanted: Wanted,
    cell: tuple[int, int],
) -> None:  # fmt: skip
    """Draw what is behind a cell: both documents, their ranks, their features that differ most."""
    row, column = cell
    kind = wanted.of
    names = [_called(seen, kind.rows, row), _called(seen, kind.columns, column)]
    before, after = (float(one_map[row, column]) for one_map in maps)
    st.subheader("The cell")
    said = f"{before:.4f}, after the change {after:.4f} ({after - before:+.2g})"
    if not np.isfinite(after):
        said = f"{before:.4f}; the change took a document out"
    st.markdown(f"**{escaped(names[0])}** ← **{escaped(names[1])}**: {said.replace('-', '−')}.")
    items = [
        item for item, what in ((row, kind.rows), (column, kind.columns)) if what == "documents"
    ]
    left, right = st.columns(2, gap="medium")
    left.dataframe(_side_by_side(seen, items), alt="The documents of the cell")
    if not items:
        return
    same = items[0] == items[-1]
    first, other = seen.documents[items[0]], seen.documents[items[-1]]
    other = "mean of the list" if same else _apart(first, other)
    table = pd.DataFrame(
        differing_features(one, items[0], items[-1]),
        columns=["feature", first, other, "apart (σ)"],
    ).astype({"feature": int})
    right.dataframe(
        table.map(_text), hide_index=True, alt="Features in which both documents differ most"
    )
    right.caption(
        "Features in which the document differs most from the list’s mean, in standard deviations "
        "of this list."
        if same
        else "Features that differ most, in standard deviations of this list."
    )


def _side_by_side(seen: Overview, items: list[int]) -> pd.DataFrame:
    """The documents of a cell as columns, so that both fit on a phone."""
    table = documents_table(seen, list(dict.fromkeys(items)))
    if len(table) == 2:
        table.loc[1, "document"] = _apart(*table["document"])
    table = table.set_index("document")
    return table.map(_text).T


def _apart(first: str, other: str) -> str:
    """The other document's name, told from the first one's: columns have names of their own.

    >>> _apart("a", "b"), _apart("a", "a")
    ('b', 'a (2)')
    """
    return f"{other} (2)" if first == other else other


def _text(value: Any) -> str:
    """A value of the table, or a dash where there is none."""
    if pd.isna(value):
        return "–"
    return f"{value:.4g}".replace("-", "−") if isinstance(value, float) else str(value)


def documents_table(seen: Overview, items: list[int]) -> pd.DataFrame:
    """Label, initial rank, and score and rank of the ranker before and after, from 1.

    Missing where the change took a document out.
    """
    initial = [[place + 1 if place >= 0 else None for place in ranks] for ranks in seen.ranks]
    ranked = [_ranks(scores) for scores in seen.scores]
    columns: dict[str, list[Any]] = {
        "document": list(seen.documents), "label": seen.labels.tolist(),
        "initial rank": initial[0], "ranked": ranked[0], "score": seen.scores[0].tolist(),
        "ranked after": ranked[1], "score after": seen.scores[1].tolist(),
    }  # fmt: skip
    if initial[0] != initial[1]:
        columns["initial rank after"] = initial[1]
    frame = pd.DataFrame({name: [values[at] for at in items] for name, values in columns.items()})
    whole = [name for name in columns if "rank" in name]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def _ranks(scores: np.ndarray) -> list[int | None]:
    order = np.argsort(-scores, kind="stable").tolist()
    places = {document: place for place, document in enumerate(order, 1)}
    return [places[at] if np.isfinite(scores[at]) else None for at in range(len(scores))]


def _called(seen: Overview, what: str, item: int) -> str:
    if what == "documents":
        return seen.documents[item]
    return {"points": "induced point", "units": "unit", "heads": "hidden unit"}[
        what
    ] + f" {item + 1}"
