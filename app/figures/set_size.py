"""Table 3: a measure against the candidates in a list as curves, and N0 by N1 as a map."""

import math
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
    click_marks,
    end_labels,
    laid_out,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Curve, bounds, finish_curves, log_ticks, vertical
from shuffleproof.app.figures.traces import curves as add_curves
from shuffleproof.core.words import number

HEIGHT = 460
WORDS = {"ideal": "best possible order", "initial ranking": "initial ranking"}
"""What the curves of the candidates alone are called."""


@plain_text
def curves(frame: pd.DataFrame, measure: str, home: int | None = None) -> go.Figure:
    """Curves with 95 % intervals over a logarithmic axis of sizes, labelled at their ends.

    Args:
        frame: ranker, trained_on, size, mean_length, mean, low, high, n; one trained_on a ranker.
        measure: what is drawn.
        home: the size that the rankers were trained on, marked by a line; None: none.
    """
    figure, drawn, ends = go.Figure(), [], []
    if home is not None:
        _home(figure, home, at_axis=home == frame["size"].min())
    facts = ("ranker", "trained_on", "size", "low", "high", "n", "mean_length")
    for name, rows in frame.groupby("ranker", sort=False):
        ranker, points = str(name), rows.sort_values("size")
        called, alone = WORDS.get(ranker, ranker), ranker in WORDS
        hover = (
            f"<b>{called}</b><br>%{{x}} candidates (%{{customdata[6]:.1f}} on average), trained on "
            f"%{{customdata[1]}}<br>{measure} %{{y:.3f}} [%{{customdata[3]:.3f}}, "
            "%{customdata[4]:.3f}], N = %{customdata[5]}<extra></extra>"
        )
        look: dict[str, Any] = {"name": called, "line": {"width": 1.6 if alone else 2.4}}
        look |= {"marker": {"symbol": "diamond"}} if ranker == "ideal" else {}
        fill = 0.08 if alone else 0.14
        drawn.append(Curve(ranker, points, facts, hover, "size", fill=fill, look=look))
        last = points[points["mean"].notna()].tail(1)
        ends += [
            (ranker, math.log10(x), float(y))
            for x, y in zip(last["size"], last["mean"], strict=True)
        ]
    add_curves(figure, drawn)
    sizes = sorted(set(frame["size"]))
    log_ticks(figure, "candidates in a list (N1)", sizes)
    xaxes(figure, range=[math.log10(sizes[0]) - 0.04, math.log10(sizes[-1]) + 0.04])
    low, high = float(frame["low"].min()), float(frame["high"].max())
    scale = bounds(low, high) if math.isfinite(low + high) else (0.0, 1.0)
    texts = end_labels([WORDS.get(ranker, ranker) for ranker, _, _ in ends])
    return finish_curves(figure, ends, (measure, scale), HEIGHT, texts)


def _home(figure: go.Figure, home: int, *, at_axis: bool) -> None:
    """A line where the rankers were trained; its words stand off the vertical axis."""
    vertical(figure, home)
    figure.add_annotation(
        x=math.log10(home), y=0, yref="paper", text="trained here", showarrow=False,
        textangle=-90, xanchor="left" if at_axis else "right", yanchor="bottom", font={"size": 12},
    )  # fmt: skip


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
    named = frame.assign(row=[f"{name}<br>N0 = {home}" for name, home in homes])
    rows = list(dict.fromkeys(named["row"]))
    figure = go.Figure([_cells(named, rows, _columns(frame), what), _marks(named)])
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
        cells = frame[frame["ranker"] == ranker]
        cells = cells.assign(row=cells["trained_on"])
        rows = sorted(dict.fromkeys(cells["row"]), key=_size)
        place: dict[str, Any] = {"row": at, "col": 1}
        figure.add_trace(_cells(cells, rows, _columns(frame), what), **place)
        figure.add_trace(_marks(cells), **place)
        figure.update_yaxes(title="N0", autorange="reversed", type="category", **NAMES, **place)
    laid_out(figure, height=room + FRAME, hovermode="closest", showlegend=False)
    figure.update_xaxes(title=TESTED, row=len(rankers), col=1)
    figure.update_annotations(font_size=13, xanchor="left", x=0)
    set_properties(figure.layout, margin={"t": HEAD + 8})
    return figure


def _columns(frame: pd.DataFrame) -> list[str]:
    return [str(size) for size in sorted(set(frame["size"]))]


def _cells(
    frame: pd.DataFrame, rows: list[str], columns: list[str], what: CellContent
) -> go.Heatmap:
    wide = frame.assign(column=frame["size"].astype(str)).pivot_table(
        what.column, "row", "column", dropna=False
    )
    values = wide.reindex(index=rows, columns=columns)
    texts = [["" if pd.isna(value) else number(value, what.format) for value in row]
             for row in values.to_numpy(float)]  # fmt: skip
    return go.Heatmap(
        x=columns, y=rows, z=values.to_numpy(float), text=texts, texttemplate="%{text}",
        textfont={"color": INK}, coloraxis="coloraxis", xgap=2, ygap=2, hoverinfo="skip",
    )  # fmt: skip


def _marks(frame: pd.DataFrame) -> go.Scatter:
    return click_marks(
        frame["size"].astype(str), frame["row"], 26,
        customdata=frame[["ranker", "trained_on", "size", "mean", "shift", "order_stability",
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
