"""Traces that several figures share: curves with intervals, dots with intervals."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    REFERENCE,
    UNDIMMED,
    end_labels,
    faded,
    laid_out,
    name_margin,
    named_ends,
    ribbon,
    set_properties,
    stroke,
    xaxes,
    yaxes,
)

OPEN = "rgba(127,127,127,0.15)"
"""Fill colour of a mark whose difference is not significant."""

ROOM = 0.06
"""Free share of a figure's height above the highest interval."""

LEAST = 0.02
"""Least span of a vertical axis, also for curves along 0."""


class Curve(NamedTuple):
    """A line over points, with a ribbon between `low` and `high`.

    Attributes:
        name: of the line; a ranker's label.
        points: columns of x, y and the facts; low and high for a ribbon.
        facts: columns for clicks and the hover text.
        hover: template of the hover text.
        x: column of the horizontal axis.
        y: column of the vertical axis.
        fill: opacity of the ribbon; 0: no ribbon.
        look: further properties of line and marker.
    """

    name: str
    points: pd.DataFrame
    facts: Sequence[str]
    hover: str
    x: str
    y: str = "mean"
    fill: float = 0.13
    look: Any = None


def curves(figure: go.Figure, drawn: Sequence[Curve]) -> None:
    """Add curves: ribbons first, then solid lines, then dashed ones, so that all are seen."""
    for one in drawn:  # all ribbons first: none covers a line
        if one.fill:
            points, color = one.points, stroke(one.name).color
            ends = points["low"], points["high"]
            figure.add_trace(ribbon(points[one.x], *ends, faded(color, one.fill)))
    for one in sorted(drawn, key=lambda one: stroke(one.name).dash != "solid"):
        style, look = stroke(one.name), one.look or {}
        line = {"color": style.color, "dash": style.dash, "width": 2.5} | look.get("line", {})
        marker = {"size": 8, "symbol": style.shape} | look.get("marker", {})
        figure.add_trace(
            go.Scatter(
                x=one.points[one.x], y=one.points[one.y], name=look.get("name", one.name),
                mode="lines+markers", line=line, marker=marker, **UNDIMMED,
                customdata=one.points[[*one.facts]], hovertemplate=one.hover,
            )
        )  # fmt: skip


def bounds(low: float, high: float) -> tuple[float, float]:
    """Range of the vertical axis: from 0, or from below the lowest interval if it is negative."""
    low = min(low, 0.0)
    high = max(high, low + LEAST)
    room = (high - low) * ROOM
    return (low - room if low < 0 else 0.0), high + room


def finish_curves(
    figure: go.Figure,
    ends: Sequence[tuple[str, float, float]],
    axis: tuple[str, tuple[float, float]],
    height: int,
    texts: Sequence[str] | None = None,
) -> go.Figure:
    """Lay out a figure of curves: vertical axis, a line at 0, names at the ends.

    Args:
        figure: figure with its horizontal axis.
        ends: ranker and last point of each curve, in axis coordinates (logarithms on log axes).
        axis: title and range of the vertical axis.
        height: in pixels.
        texts: labels of the ends; None: names of the rankers.

    Returns:
        The same figure.
    """
    title, (low, high) = axis
    if low < 0 < high:
        figure.add_hline(0, line={"color": REFERENCE, "width": 1})
    yaxes(figure, title=title, range=[low, high])
    laid_out(figure, hovermode="closest", height=height, showlegend=False)
    plot = height - figure.layout.margin.t - figure.layout.margin.b - 40  # ticks and titles
    names = texts or end_labels([ranker for ranker, _, _ in ends])
    named_ends(figure, ends, names, (low, high, plot))
    return figure


class Dots(NamedTuple):
    """Marks with horizontal intervals.

    Attributes:
        x: values.
        y: places of the vertical axis.
        ends: lower and upper ends of the intervals; None: no intervals.
        full: True for each significant one.
        colors: of each.
        symbols: of each, or of all.
        customdata: facts of each.
        hover: template of the hover text.
    """

    x: Sequence[float]
    y: Sequence[Any]
    ends: tuple[Sequence[float], Sequence[float]] | None
    full: Sequence[bool]
    colors: Sequence[str]
    symbols: Any
    customdata: Any
    hover: str


def dots(figure: go.Figure, drawn: Dots, size: float = 12) -> None:
    """Add dots with intervals, filled where the difference is significant.

    Plotly has one interval colour per trace, so each colour of dots is a separate trace.
    """
    for color in dict.fromkeys(drawn.colors):
        at = [place for place, other in enumerate(drawn.colors) if other == color]
        interval = None
        if drawn.ends is not None:
            low, high = drawn.ends
            interval = {
                "type": "data", "symmetric": False, "color": color, "thickness": 2.2, "width": 5,
                "array": [high[place] - drawn.x[place] for place in at],
                "arrayminus": [drawn.x[place] - low[place] for place in at],
            }  # fmt: skip
        symbols = drawn.symbols
        figure.add_trace(
            go.Scatter(
                x=[drawn.x[place] for place in at], y=[drawn.y[place] for place in at],
                mode="markers", error_x=interval, **UNDIMMED,
                marker={
                    "size": size, "line": {"color": color, "width": 2.5},
                    "color": [color if drawn.full[place] else OPEN for place in at],
                    "symbol": symbols if isinstance(symbols, str) else [symbols[p] for p in at],
                },
                customdata=[drawn.customdata[place] for place in at], hovertemplate=drawn.hover,
            )
        )  # fmt: skip


def rows(figure: go.Figure, names: Sequence[str], texts: Sequence[str], height: int) -> None:
    """Lay out a figure of rows, the first on top, with names on the left.

    Args:
        figure: the picture.
        names: row names in the data of the marks.
        texts: displayed names.
        height: in pixels.
    """
    laid_out(figure, height=height, showlegend=False, hovermode="closest")
    yaxes(
        figure, tickvals=list(names), ticktext=list(texts), showgrid=True, categoryorder="array",
        categoryarray=list(names)[::-1],
    )  # fmt: skip
    set_properties(figure.layout, margin={"l": name_margin(texts), "r": 24, "b": 64})


def vertical(figure: go.Figure, x: float) -> None:
    """Draw a dotted line at a value of the horizontal axis."""
    figure.add_vline(x=x, line={"color": "rgba(127,127,127,0.8)", "width": 1.5, "dash": "dot"})


def log_ticks(figure: go.Figure, title: str, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with ticks at these values."""
    texts = [f"{value:,g}" for value in values]
    xaxes(figure, title=title, type="log", tickvals=values, ticktext=texts, minor={"ticks": ""})
