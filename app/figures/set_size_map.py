"""Table 3 as a map: N0 down, N1 across, one block a ranker, every value printed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.style import (
    INK,
    NAMES,
    PALE,
    PALE_FALL_RISE,
    laid_out,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import number

ROW, HEAD, FRAME = 34, 26, 84
"""Pixels of a row, of a ranker's name, and of axis and margins."""

TALL = 44
"""Pixels of a row that is named in two lines."""

TESTED = "candidates tested on (N1)"


@dataclass(frozen=True)
class CellContent:
    """What the cells hold.

    Attributes:
        column: of the frame.
        words: what it is, for the colour bar and the hover.
        format: of a printed value.
        middle: the value in the middle of a scale of two colours; None: one colour.
    """

    column: str
    words: str
    format: str
    middle: float | None = None


SHOWN: Mapping[str, CellContent] = {
    "quality": CellContent("mean", "mean", ".3f"),
    "shift": CellContent("shift", "− trained on N1 itself", "+.3f", 0.0),
    "order": CellContent("order_stability", "τ of the shared documents", ".2f"),
    "scores": CellContent("score_shift", "shift of scores, standard deviations", ".2f"),
}

MEANS = ("quality", "shift")
"""What is counted in the measure."""


@plain_text
def sizes(frame: pd.DataFrame, shown: str) -> go.Figure:
    """Heat maps over a common scale; a transparent mark in every cell takes the clicks.

    Where no ranker was trained on two sizes or more the map is one, a row a ranker.

    Args:
        frame: ranker, trained_on, size and the columns of `SHOWN`; one row a cell.
        shown: a name of SHOWN.
    """
    what = SHOWN[shown]
    one_each = not frame[["ranker", "trained_on"]].drop_duplicates()["ranker"].duplicated().any()
    figure = _rows(frame, what) if one_each else _blocks(frame, what)
    xaxes(figure, type="category", showgrid=False)
    yaxes(figure, showgrid=False)
    scale: dict[str, Any] = {"colorscale": list(PALE)}
    if what.middle is not None:
        scale = {"colorscale": list(PALE_FALL_RISE), "cmid": what.middle}
    set_properties(figure.layout, coloraxis=scale | {"showscale": False})
    return figure


def _rows(frame: pd.DataFrame, what: CellContent) -> go.Figure:
    """One map with a row a ranker, which says its N0."""
    homes = zip(frame["ranker"], frame["trained_on"], strict=True)
    own = frame.assign(row=[f"{name}<br>N0 = {home}" for name, home in homes])
    rows = list(dict.fromkeys(own["row"]))
    figure = go.Figure([_cells(own, rows, _columns(frame), what), _marks(own)])
    laid_out(figure, height=TALL * len(rows) + FRAME, hovermode="closest", showlegend=False)
    yaxes(figure, autorange="reversed", type="category", **NAMES)
    xaxes(figure, title=TESTED)
    return figure


def _blocks(frame: pd.DataFrame, what: CellContent) -> go.Figure:
    """A map a ranker with a row a N0, one below the other."""
    rankers = list(dict.fromkeys(frame["ranker"]))
    counts = [frame.loc[frame["ranker"] == name, "trained_on"].nunique() for name in rankers]
    room = ROW * sum(counts) + HEAD * len(rankers)
    figure = make_subplots(
        rows=len(rankers), cols=1, shared_xaxes=True, row_heights=counts,
        vertical_spacing=min(HEAD / room, 1 / max(1, len(rankers))), subplot_titles=rankers,
    )  # fmt: skip
    for at, ranker in enumerate(rankers, start=1):
        own = frame[frame["ranker"] == ranker]
        own = own.assign(row=own["trained_on"])
        rows = sorted(dict.fromkeys(own["row"]), key=_size)
        place: dict[str, Any] = {"row": at, "col": 1}
        figure.add_trace(_cells(own, rows, _columns(frame), what), **place)
        figure.add_trace(_marks(own), **place)
        figure.update_yaxes(title="N0", autorange="reversed", type="category", **NAMES, **place)
    laid_out(figure, height=room + FRAME, hovermode="closest", showlegend=False)
    figure.update_xaxes(title=TESTED, row=len(rankers), col=1)
    figure.update_annotations(font_size=13, xanchor="left", x=0)
    set_properties(figure.layout, margin={"t": HEAD + 8})
    return figure


def _columns(frame: pd.DataFrame) -> list[str]:
    return [str(size) for size in sorted(set(frame["size"]))]


def _cells(own: pd.DataFrame, rows: list[str], columns: list[str], what: CellContent) -> go.Heatmap:
    wide = own.assign(column=own["size"].astype(str)).pivot_table(
        what.column, "row", "column", dropna=False
    )
    values = wide.reindex(index=rows, columns=columns)
    texts = [["" if pd.isna(one) else number(one, what.format) for one in row]
             for row in values.to_numpy(float)]  # fmt: skip
    return go.Heatmap(
        x=columns, y=rows, z=values.to_numpy(float), text=texts, texttemplate="%{text}",
        textfont={"color": INK}, coloraxis="coloraxis", xgap=2, ygap=2, hoverinfo="skip",
    )  # fmt: skip


def _marks(own: pd.DataFrame) -> go.Scatter:
    """Marks that are not seen, one a cell."""
    return go.Scatter(
        x=own["size"].astype(str),
        y=own["row"],
        mode="markers",
        marker={
            "size": 26, "color": "rgba(0,0,0,0)", "symbol": "square", "line": {"width": 0},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=own[["ranker", "trained_on", "size", "mean", "shift", "order_stability",
                        "score_shift", "n"]],
        hovertemplate=(
            "<b>%{customdata[0]}</b><br>trained on %{customdata[1]}, tested on %{customdata[2]}"
            "<br>mean %{customdata[3]:.3f}, − trained on N1 itself %{customdata[4]:+.3f}"
            "<br>τ of shared documents %{customdata[5]:.2f}, shift of scores %{customdata[6]:.2f}"
            "<br>N = %{customdata[7]}<extra></extra>"
        ),
    )  # fmt: skip


def _size(text: str) -> int:
    return int(text) if text.isdigit() else 0


@in_words
def alt_text(frame: pd.DataFrame, shown: str, measure: str) -> str:
    """The map in words: its lowest and highest cell."""
    what = SHOWN[shown]
    known = frame[frame[what.column].notna()]
    said = f"{measure}, {what.words}" if shown in MEANS else what.words
    if known.empty:
        return f"Heat map of {said}: no cell has a value."
    rows = known.sort_values(what.column, kind="stable").to_dict("records")
    words = [
        f"{number(row[what.column], what.format)} ({row['ranker']}, trained on "
        f"{row['trained_on']}, tested on {row['size']})"
        for row in (rows[0], rows[-1])
    ]
    return f"Heat map of {said} by N0 and N1: from {words[0]} to {words[1]}."
