"""One map laid out: sorted, put into bins or zoomed into, and what a click on it does."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import scoring, services
from shuffleproof.app.figures.attention import Cells, Side
from shuffleproof.app.plain import escaped
from shuffleproof.app.scoring import List
from shuffleproof.core.numerals import is_count
from shuffleproof.core.rankers.attention.kinds import KINDS, MapKind
from shuffleproof.core.rankers.attention.order import (
    MOST_CELLS,
    Sorting,
    binned,
    bounds,
    sorted_documents,
    window,
)
from shuffleproof.core.studies.kinds.attention.one_list import unpacked
from shuffleproof.core.words import number

WORK = "shuffleproof.core.studies.kinds.attention.one_list"


@dataclass(frozen=True, eq=False)
class Overview:
    """A list's weights before and after a change, but the maps themselves.

    Attributes:
        kinds: (name, blocks, heads) of every map that there is.
        documents: names, in the order of the initial ranking; so is everything by document.
        labels: grades.
        ranks: under the initial ranking before and after, from 0; −1: taken out.
        scores: before and after; NaN: taken out.
        shown: the document at each position, before and after.
        changes: (kind, block, largest change).
        reads: what the ranker declares to read.
        came: how many documents the change added.
        seconds: what the answer took.
    """

    kinds: tuple[tuple[str, int, int], ...]
    documents: tuple[str, ...]
    labels: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    shown: np.ndarray
    changes: tuple[tuple[str, int, float], ...]
    reads: tuple[str, ...]
    came: int
    seconds: float

    @property
    def gone(self) -> int:
        """How many documents the change took out."""
        return int((self.ranks[1] < 0).sum())

    def size(self, kind: str) -> tuple[int, int]:
        """Blocks and heads of a kind."""
        return next((blocks, heads) for name, blocks, heads in self.kinds if name == kind)


def overview(one: List, ranker: str, change: str) -> Overview:
    """What there is to see of a list.

    Args:
        one: the list.
        ranker: an artefact key.
        change: a text of `core.studies.kinds.attention.one_list.Change`.

    Raises:
        ScoringError: the process has no answer.
    """
    return _overview(repr(one), str(services.store().root), ranker, change, one)


@st.cache_resource(max_entries=64, show_spinner=False)
def _overview(asked: str, root: str, ranker: str, change: str, _one: List) -> Overview:
    del asked, root  # parts of the memory's key alone
    question = _one.question() | {"ranker": ranker, "change": change}
    found = scoring.resident().ask(f"{WORK}:overview", question)
    return Overview(
        kinds=tuple((name, blocks, heads) for name, blocks, heads in found["kinds"]),
        documents=tuple(found["documents"]),
        labels=np.array(found["labels"], dtype=np.float32),
        ranks=np.array(found["ranks"], dtype=np.int64),
        scores=np.array(found["scores"], dtype=np.float32),
        shown=np.array(found["shown"], dtype=np.int64),
        changes=tuple((kind, block, change) for kind, block, change in found["changes"]),
        reads=tuple(found["reads"]),
        came=int(found["came"]),
        seconds=float(found["seconds"]),
    )


@dataclass(frozen=True, eq=False)
class Heads:
    """Every head of a list at a glance.

    Attributes:
        numbers: kind, block, head and then the numbers of `core.rankers.attention.summary`.
        small: a picture of each head of the first kind, by block.
    """

    numbers: tuple[tuple[Any, ...], ...]
    small: tuple[np.ndarray, ...]


def heads(one: List, ranker: str) -> Heads:
    """Every head of a list as it is.

    Raises:
        ScoringError: the process has no answer.
    """
    return _heads(repr(one), str(services.store().root), ranker, one)


@st.cache_resource(max_entries=64, show_spinner=False)
def _heads(asked: str, root: str, ranker: str, _one: List) -> Heads:
    del asked, root  # parts of the memory's key alone
    found = scoring.resident().ask(f"{WORK}:heads", _one.question() | {"ranker": ranker})
    return Heads(tuple(map(tuple, found["numbers"])), tuple(map(unpacked, found["small"])))


@dataclass(frozen=True)
class Wanted:
    """Which map: kind, block and head (None: the mean over the heads), from 0."""

    kind: str
    block: int
    head: int | None

    @property
    def of(self) -> MapKind:
        """What the kind is."""
        return KINDS[self.kind]

    def words(self, blocks: int, heads: int) -> str:
        """The map in words, as far as there is a choice."""
        parts = [self.of.words]
        parts += [f"block {self.block + 1}"] if blocks > 1 else []
        if heads > 1:
            parts.append("mean of the heads" if self.head is None else f"head {self.head + 1}")
        return ", ".join(parts)


def maps(one: List, ranker: str, change: str, wanted: Wanted) -> tuple[np.ndarray, np.ndarray]:
    """One map before and after the change, by document.

    Raises:
        ScoringError: the process has no answer.
    """
    return _maps(repr(one), str(services.store().root), ranker, change, repr(wanted), one, wanted)


@st.cache_resource(max_entries=16, show_spinner=False)
def _maps(
    asked: str, root: str, ranker: str, change: str, which: str, _one: List, _wanted: Wanted
) -> tuple[np.ndarray, np.ndarray]:
    del asked, root, which  # parts of the memory's key alone
    question = _one.question() | {
        "ranker": ranker, "change": change,
        "kind": _wanted.kind, "block": _wanted.block, "head": _wanted.head,
    }  # fmt: skip
    found = scoring.resident().ask(f"{WORK}:chosen_map", question)
    return unpacked(found["before"]), unpacked(found["after"])


def differing_features(one: List, first: int, second: int) -> list[list[float]]:
    """Features of two documents: id, both values, difference in standard deviations of the list.

    One document twice is compared with the mean of the list.

    Raises:
        ScoringError: the process has no answer.
    """
    return _features(repr(one), str(services.store().root), first, second, one)


@st.cache_data(max_entries=256, show_spinner=False)
def _features(asked: str, root: str, first: int, second: int, _one: List) -> list[list[float]]:
    del asked, root  # parts of the memory's key alone
    question = _one.question() | {"documents": [first, second]}
    found: list[list[float]] = scoring.resident().ask(f"{WORK}:pair", question)["features"]
    return found


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
    said = f"{before:.4f}, after the change {after:.4f} ({number(after - before, '+.2g')})"
    if not np.isfinite(after):
        said = f"{before:.4f}; the change took a document out"
    st.markdown(f"**{escaped(names[0])}** ← **{escaped(names[1])}**: {said}.")
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
    if value is None or isinstance(value, float):
        return number(value, ".4g")
    return str(value)


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
