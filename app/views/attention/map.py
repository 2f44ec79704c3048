"""One attention map of a list: request, layout and details of a cell."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from shuffleproof.app import captions, scoring
from shuffleproof.app.figures.attention import Cells, Side
from shuffleproof.app.figures.style import stroke
from shuffleproof.app.plain import escaped_sentence
from shuffleproof.app.scoring import List
from shuffleproof.core.answers.attention import most_attended, unpack_array
from shuffleproof.core.numerals import is_count
from shuffleproof.core.rankers.attention.kinds import KINDS, MapKind
from shuffleproof.core.rankers.attention.order import Sorting, sorted_documents
from shuffleproof.core.rankers.attention.summary import MEASURES
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.words import number

WORK = "shuffleproof.core.answers.attention"


@dataclass(frozen=True, eq=False)
class Overview:
    """Facts of a list's weights before and after a change, without the maps.

    Attributes:
        kinds: (name, blocks, heads) of every available map.
        documents: names, in the order of the initial ranking, as all values by document.
        labels: grades.
        ranks: under the initial ranking before and after, from 0; −1: removed.
        scores: before and after; NaN: removed.
        shown: the document at each position, before and after.
        changes: (kind, block, largest change).
        reads: what the ranker declares to read.
        came: number of documents that the change added.
    """

    kinds: Sequence[tuple[str, int, int]]
    documents: Sequence[str]
    labels: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    shown: np.ndarray
    changes: Sequence[tuple[str, int, float]]
    reads: Sequence[str]
    came: int

    @property
    def gone(self) -> int:
        """Number of documents that the change removed."""
        return int((self.ranks[1] < 0).sum())

    def size(self, kind: str) -> tuple[int, int]:
        """Blocks and heads of a kind."""
        return next((blocks, heads) for name, blocks, heads in self.kinds if name == kind)


@st.cache_resource(max_entries=64, show_spinner=False)
def overview(query_list: List, ranker: str, change: str) -> Overview:
    """Overview of a list for the ranker with this key, under a change (a `ListEdit`).

    Raises:
        ScoringError: the process has no answer.
    """
    answer = _answer_of("overview", query_list, ranker=ranker, change=change)
    types = {"labels": np.float32, "ranks": np.int64, "scores": np.float32, "shown": np.int64}
    arrays = {name: np.array(answer[name], dtype=dtype) for name, dtype in types.items()}
    return Overview(**answer | arrays | {"changes": tuple(map(tuple, answer["changes"]))})


@st.cache_resource(max_entries=64, show_spinner=False)
def heads(query_list: List, ranker: str) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Numbers of every head for the unchanged list; pictures of the first kind's heads, by block.

    Raises:
        ScoringError: the process has no answer.
    """
    answer = _answer_of("heads", query_list, ranker=ranker)
    numbers = pd.DataFrame(answer["numbers"], columns=["map", "block", "head", *MEASURES])
    return numbers, list(map(unpack_array, answer["small"]))


@dataclass(frozen=True)
class WantedMap:
    """Choice of a map: kind, block and head from 0 (head None: the mean over the heads)."""

    kind: str
    block: int
    head: int | None

    @property
    def of(self) -> MapKind:
        """Properties of the kind."""
        return KINDS[self.kind]

    def words(self, blocks: int, heads: int) -> str:
        """Name of the map; parts without a choice are left out."""
        parts = [self.of.words]
        parts += [f"block {self.block + 1}"] if blocks > 1 else []
        if heads > 1:
            parts.append("mean of the heads" if self.head is None else f"head {self.head + 1}")
        return ", ".join(parts)


@st.cache_resource(max_entries=16, show_spinner=False)
def maps(
    query_list: List, ranker: str, change: str, wanted: WantedMap
) -> tuple[np.ndarray, np.ndarray]:
    """One map before and after the change, by document.

    Raises:
        ScoringError: the process has no answer.
    """
    answer = _answer_of("chosen_map", query_list, ranker=ranker, change=change, **asdict(wanted))
    return unpack_array(answer["before"]), unpack_array(answer["after"])


@st.cache_data(max_entries=256, show_spinner=False)
def differing_features(query_list: List, document: int, other: int) -> list[list[float]]:
    """Features of two documents: id, both values, difference in standard deviations of the list.

    One document twice is compared with the mean of the list.

    Raises:
        ScoringError: the process has no answer.
    """
    answer = _answer_of("pair", query_list, documents=[document, other])
    features: list[list[float]] = answer["features"]
    return features


def attention_cards(
    ranker: str, seen: Overview, sides: tuple[np.ndarray, np.ndarray], words: str
) -> dict[str, Any]:
    """Data of cards, without the query: the list, and both rankings, each with its arcs.

    Args:
        ranker: label of the ranker.
        seen: the list.
        sides: weights between documents, before and after the change.
        words: the change, in words.
    """
    ids = list(map(str, seen.documents))
    before, after = map(_places, seen.scores)
    if np.allclose(seen.scores[0], seen.scores[1], rtol=0, atol=ROUNDING):
        after = before
    kept = [document for document in seen.shown[1].tolist() if after[document] is not None]
    name, color = RankerName.of(ranker).display, stroke(ranker).color
    moved = [new not in {None, old} for old, new in zip(before, after, strict=True)]
    columns = (("before the change", before, [False] * len(ids)), ("after it", after, moved))
    return {
        "words": words, "verdict": "",
        "documents": {"ids": ids, "labels": [*map(int, seen.labels)], **captions.documents(ids)},
        "before": seen.shown[0].tolist(), "shown": kept,
        "rankers": [
            {
                "name": name, "color": color, "note": side, "words": f"{name} {side}",
                "answered": places, "before": before, "moved": changed,
                "attended": most_attended(weights),
            }
            for (side, places, changed), weights in zip(columns, sides, strict=True)
        ],
    }  # fmt: skip


def _places(scores: np.ndarray) -> list[int | None]:
    """Position of each document by its score, from 0; None of a document without one."""
    order = np.argsort(-scores, kind="stable")
    place = dict(zip(order.tolist(), range(len(order)), strict=True))
    return [None if np.isnan(score) else place[at] for at, score in enumerate(scores)]


def _answer_of(work: str, query_list: List, **more: Any) -> Any:
    return scoring.resident().ask(f"{WORK}:{work}", query_list.question() | more)


CHART = "attention map"
LOOKS = {"both": "side by side", "difference": "difference"}
ROUNDING = 1e-5
"""Difference of scores that is not drawn as a move."""

MOST_CELLS = 100
"""Documents, points or units drawn along an axis; the first ones of longer lists."""

MOST = 8
"""Number of documents in the table of the most attended ones."""

SORTED: dict[Sorting, str] = {
    "label": "best label first",
    "score": "best score first",
    "shown": "input order",
}
AXES = {
    "documents": "documents", "points": "induced points", "units": "units of the state",
    "heads": "hidden units of φ",
}  # fmt: skip
ITEMS = {"points": "induced point", "units": "unit", "heads": "hidden unit"}
FLAT = 1 / 3
"""A map is coloured from its smallest value if that exceeds this share of the largest value."""

LEAST_SPAN = 0.01
"""Least span of a difference's colours, as a share of the largest weight: rounding is pale."""


@dataclass(frozen=True)
class View:
    """View of a map.

    Attributes:
        look: a name of LOOKS.
        sorting: of documents.
        cell: row and column item of the open cell.
    """

    look: str
    sorting: Sorting
    cell: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class MapLayout:
    """A map ready to draw: cells, the item at each place, number of documents left out."""

    cells: Cells
    rows: np.ndarray
    columns: np.ndarray
    left_out: int


def lay_out(
    seen: Overview, maps: tuple[np.ndarray, np.ndarray], wanted: WantedMap, view: View
) -> MapLayout:
    """Lay out a map, given before and after the change, by document."""
    kind, before = wanted.of, maps[0]
    down = _order(seen, before, kind.rows, -2, view)
    across = down if kind.rows == kind.columns else _order(seen, before, kind.columns, -1, view)
    rows, columns = down[:MOST_CELLS], across[:MOST_CELLS]
    drawn = [weights[np.ix_(rows, columns)] for weights in maps]
    values, signed = drawn[0], float(before.min(initial=0.0)) < 0
    span = max(map(_largest, drawn)) or 1.0  # before and after share one colour scale
    if view.look == "difference":
        values, signed = drawn[1] - drawn[0], True
        span = max(_largest(values), LEAST_SPAN * span)
    attending, attended = (" (attending)", " (attended)") if kind.distribution else ("", "")
    cells = Cells(
        values=values,
        rows=_side(seen, rows, kind.rows, attending, view),
        columns=_side(seen, columns, kind.columns, attended, view),
        limits=(-span if signed else _foot(drawn), span),
        signed=signed,
        what="change" if view.look == "difference" else "weight" if kind.distribution else "value",
        chosen=None if view.cell is None else _ring(rows, columns, view.cell),
        after=drawn[1] if view.look == "both" else None,
    )
    return MapLayout(cells, rows, columns, max(len(down) - len(rows), len(across) - len(columns)))


def _foot(drawn: list[np.ndarray]) -> float:
    """Lower end of the colours: 0, or the smallest value if all values are far above 0."""
    low = min(float(np.fmin.reduce(weights, axis=None, initial=np.inf)) for weights in drawn)
    return low if FLAT * max(map(_largest, drawn)) < low < np.inf else 0.0


def _largest(values: np.ndarray) -> float:
    """Largest absolute value; 0 for no values."""
    return float(np.fmax.reduce(np.abs(values), axis=None, initial=0.0))


def _order(seen: Overview, before: np.ndarray, what: str, axis: int, view: View) -> np.ndarray:
    """Item at each place of an axis."""
    if what == "documents":
        return sorted_documents(view.sorting, seen.labels, seen.scores[0], seen.shown[0])
    if what == "units":
        return np.argsort(-before.mean(axis=-1 - axis - 2), kind="stable").astype(np.int64)
    return np.arange(before.shape[axis], dtype=np.int64)


def _ring(rows: np.ndarray, columns: np.ndarray, cell: tuple[int, int]) -> tuple[int, int] | None:
    """Row and column of the open cell in the drawn map; None: it is not drawn."""
    places = [
        np.flatnonzero(axis == item) for axis, item in zip((rows, columns), cell, strict=True)
    ]
    return (int(places[0][0]), int(places[1][0])) if all(map(len, places)) else None


def _side(seen: Overview, items: np.ndarray, what: str, does: str, view: View) -> Side:
    title, places = AXES[what] + does, range(1, len(items) + 1)
    if what != "documents":
        return Side(title, list(map(str, places)), [])
    called = captions.titles(pd.DataFrame({"document": seen.documents}))["document"]
    names = [f"{place}. {called[item]}" for place, item in zip(places, items.tolist(), strict=True)]
    relevant = (seen.labels[items] > 0).tolist()
    return Side(f"{title}, {SORTED[view.sorting]}", names, relevant)


def take(map_: MapLayout) -> Callable[[], None]:
    """Callback of a click, which opens the clicked cell."""

    def select_cell() -> None:
        points = st.session_state[CHART]["selection"]["points"]
        rows, columns = map_.cells.values.shape
        if not points:
            return
        row, column = int(points[0]["y"]), int(points[0]["x"])
        if 0 <= row < rows and 0 <= column < columns:
            st.query_params["cell"] = f"{map_.rows[row]}.{map_.columns[column]}"

    return select_cell


def pair_in_address(name: str, limits: Sequence[int]) -> tuple[int, int] | None:
    """Two whole numbers below the limits, from the address; an invalid pair is removed from it."""
    left, _, right = st.query_params.get(name, "").partition(".")
    if is_count(left) and is_count(right) and int(left) < limits[0] and int(right) < limits[1]:
        return int(left), int(right)
    st.query_params.pop(name, None)
    return None


def opened_cell(
    query_list: List, seen: Overview, maps: tuple[np.ndarray, np.ndarray], wanted: WantedMap,
    cell: tuple[int, int],
) -> None:  # fmt: skip
    """Draw a cell's details: both documents, their ranks, the features that differ most."""
    sides = list(zip((wanted.of.rows, wanted.of.columns), cell, strict=True))
    names = [
        seen.documents[item] if what == "documents" else f"{ITEMS[what]} {item + 1}"
        for what, item in sides
    ]
    before, after = (float(weights[cell]) for weights in maps)
    st.subheader("The cell")
    words = f"{before:.4f}, after the change {after:.4f} ({number(after - before, '+.2g')})"
    if not np.isfinite(after):
        words = f"{before:.4f}; the change took a document out"
    st.markdown(f"**{escaped_sentence(names[0])}** ← **{escaped_sentence(names[1])}**: {words}.")
    items = [item for what, item in sides if what == "documents"]
    left, right = st.columns(2, gap="medium")
    left.dataframe(_side_by_side(seen, items), alt="The documents of the cell")
    if not items:
        return
    same = items[0] == items[-1]
    document, other = seen.documents[items[0]], seen.documents[items[-1]]
    other = "mean of the list" if same else _distinct_name(document, other)
    table = pd.DataFrame(
        differing_features(query_list, items[0], items[-1]),
        columns=["feature", document, other, "apart (σ)"],
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
    """Documents of a cell as columns, so that both fit on a phone."""
    table, _ = captions.with_captions(documents_table(seen, list(dict.fromkeys(items))))
    if len(table) == 2:
        table.loc[1, "document"] = _distinct_name(*table["document"])
    return table.set_index("document").map(_text).T


def _distinct_name(document: str, other: str) -> str:
    """Name of the other document, numbered if both are equal: column names must differ.

    >>> _distinct_name("a", "b"), _distinct_name("a", "a")
    ('b', 'a (2)')
    """
    return f"{other} (2)" if document == other else other


def _text(value: Any) -> str:
    """Text of a table value; a dash if it is missing."""
    if value is None or isinstance(value, float):
        return number(value, ".4g")
    return str(value)


def looked_at(
    seen: Overview, maps: tuple[np.ndarray, np.ndarray], wanted: WantedMap
) -> pd.DataFrame | None:
    """Documents with the largest shares of the weight, before and after the change.

    A share is the mean over the map's rows, in percent of their sum: equal weights give each of n
    documents 100 / n. Missing where the change removed a document. None: the columns are not
    documents, or the rows are not distributions.
    """
    if not wanted.of.distribution or wanted.of.columns != "documents":
        return None
    shares = []
    for weights in maps:
        there = ~np.isnan(weights)
        # A removed document has NaN weights: its share is missing, not 0.
        got = np.where(there, weights, 0).sum(axis=0, dtype=np.float64)
        shares.append(np.where(there.any(axis=0), 100 * got / got.sum(), np.nan))
    most = np.argsort(-shares[0], kind="stable")[:MOST].tolist()
    table = documents_table(seen, most)[["document", "label", "initial rank", "ranked"]]
    return table.assign(**{"weight": shares[0][most], "weight after": shares[1][most]})


def documents_table(seen: Overview, items: list[int]) -> pd.DataFrame:
    """Label, initial rank, and the ranker's score and rank before and after; ranks from 1.

    Missing where the change removed a document.
    """
    initial = [pd.Series(ranks + 1).where(ranks >= 0).astype("Int64") for ranks in seen.ranks]
    scores = [pd.Series(of_documents, dtype=float) for of_documents in seen.scores]
    ranked = [series.rank(ascending=False, method="first").astype("Int64") for series in scores]
    columns = {
        "document": seen.documents,
        "label": seen.labels.astype(float),
        "initial rank": initial[0],
        "ranked": ranked[0],
        "score": scores[0],
        "ranked after": ranked[1],
        "score after": scores[1],
    }
    if not initial[0].equals(initial[1]):
        columns["initial rank after"] = initial[1]
    return pd.DataFrame(columns).iloc[items].reset_index(drop=True)
