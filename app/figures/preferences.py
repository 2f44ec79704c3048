"""Aggregators of preferences: curves by level of disturbance, bounds, calls, a matrix."""

import textwrap
from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    NAMES,
    PALETTE,
    REFERENCE,
    faded,
    laid_out,
    ribbon,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text

LABELS = 24
"""Most names along a matrix; with more items only every second, third … is named."""
HEIGHT, CELL, FRAME = 400, 26, 120
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "x", "hexagon", "pentagon")
PREFERENCES = [[0.0, "#B35806"], [0.5, "rgba(127,127,127,0.15)"], [1.0, "#2B6CB0"]]
"""Colours of a cell: column's item preferred, neither, row's item preferred."""

CYCLE = "#C4208A"


class Line(NamedTuple):
    """Style of an aggregator's line."""

    color: str
    dash: str
    mark: str


def lines(aggregators: Iterable[str]) -> dict[str, Line]:
    """Style of each aggregator by its place; dashed lines come last, to be drawn over solid ones.

    >>> found = lines(["Borda", "Greedy order", "Kemeny"])
    >>> list(found), found["Greedy order"].dash
    (['Borda', 'Kemeny', 'Greedy order'], 'dash')
    """
    styles = {
        name: Line(
            PALETTE[at % len(PALETTE)], "dash" if at % 2 else "solid", MARKS[at % len(MARKS)]
        )
        for at, name in enumerate(dict.fromkeys(aggregators))
    }
    return dict(sorted(styles.items(), key=lambda item: item[1].dash != "solid"))


@plain_text
def curves(frame: pd.DataFrame, title: str, unit: str, measure: str) -> go.Figure:
    """Mean by level of disturbance, one line per aggregator, with 95 % ribbons over queries.

    Args:
        frame: aggregator, level, mean, low, high, n.
        title: name of the disturbance.
        unit: unit of a level.
        measure: name of the measure in words.
    """
    figure, drawn = go.Figure(), lines(frame["aggregator"])
    for name, line in drawn.items():
        points = frame[frame["aggregator"] == name]
        figure.add_trace(
            ribbon(points["level"], points["low"], points["high"], faded(line.color, 0.1))
        )
    for name, line in drawn.items():
        points = frame[frame["aggregator"] == name]
        figure.add_trace(
            go.Scatter(
                x=points["level"], y=points["mean"], name=name, mode="lines+markers",
                line={"color": line.color, "dash": line.dash, "width": 2.5},
                marker={"size": 8, "symbol": line.mark}, customdata=points[["low", "high", "n"]],
                hovertemplate=f"<b>{name}</b><br>{unit}: %{{x:~g}}<br>%{{y:.3f}} "
                "[%{customdata[0]:.3f}, %{customdata[1]:.3f}], %{customdata[2]} queries"
                "<extra></extra>",
            )
        )  # fmt: skip
    levels = sorted(set(frame["level"].tolist()))
    ticks = {"tickvals": levels, "ticktext": [f"{level:g}" for level in levels]}
    xaxes(figure, title=f"{title}: {unit}", **ticks)
    yaxes(figure, title=measure)
    return laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=True)


@plain_text
def bounds(frame: pd.DataFrame) -> go.Figure:
    """Measured means under every disturbance next to the proven bound, one row per bound.

    Args:
        frame: bound, disturbance, level, measured, limit, n.
    """
    figure = go.Figure()
    for name, points in frame.groupby("bound", sort=False):
        words = "<br>".join(textwrap.wrap(str(name), 34))
        figure.add_trace(
            go.Scatter(
                x=points["measured"], y=[words] * len(points), mode="markers", name="measured",
                marker={"size": 9, "color": PALETTE[0], "opacity": 0.6},
                customdata=points[["disturbance", "level", "n"]],
                hovertemplate="%{customdata[0]} %{customdata[1]:~g}: <b>%{x:.3f}</b>, "
                "%{customdata[2]} queries<extra></extra>",
            )
        )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=points["limit"][:1], y=[words], mode="markers+text", text=["bound"], name="bound",
                textposition="top center", hoverinfo="skip",
                marker={
                    "symbol": "line-ns-open", "size": 26, "color": REFERENCE,
                    "line": {"width": 3},
                },
            )
        )  # fmt: skip
    count = frame["bound"].nunique()
    laid_out(figure, height=90 * count + 80, hovermode="closest", showlegend=False)
    yaxes(figure, autorange="reversed", type="category", **NAMES)
    xaxes(figure, title="measured mean", rangemode="tozero")
    return figure


@plain_text
def calls(frame: pd.DataFrame) -> go.Figure:
    """Number of compared pairs by number of items, on logarithmic axes; hover shows seconds.

    Args:
        frame: aggregator, items, calls, seconds.
    """
    figure = go.Figure()
    for name, line in lines(frame["aggregator"]).items():
        points = frame[frame["aggregator"] == name]
        figure.add_trace(
            go.Scatter(
                x=points["items"], y=points["calls"], name=name, mode="lines+markers",
                line={"color": line.color, "dash": line.dash, "width": 2.5},
                marker={"size": 8, "symbol": line.mark}, customdata=points[["seconds"]],
                hovertemplate=f"<b>{name}</b><br>%{{x:,}} items: %{{y:,.0f}} calls, "
                "%{customdata[0]:.2g} s<extra></extra>",
            )
        )  # fmt: skip
    sizes = sorted(set(frame["items"].tolist()))
    names = [f"{size:,}" for size in sizes]
    xaxes(figure, title="items", type="log", tickvals=sizes, ticktext=names)
    yaxes(figure, title="pairs asked", type="log", dtick=1)
    return laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=True)


@plain_text
def matrix(values: np.ndarray, items: Sequence[str], cycle: Sequence[int] = ()) -> go.Figure:
    """Preferences of the row's item over the column's, sorted by an order; a cycle is marked.

    Args:
        values: f(row, column) in [0, 1], rows and columns in the order; NaN: never compared.
        items: names of the items, the first of the order on top.
        cycle: places of three items, each of which beats the next.
    """
    count = len(items)
    figure = go.Figure(
        go.Heatmap(
            z=values, zmin=0, zmax=1, colorscale=PREFERENCES, xgap=1, ygap=1, hoverongaps=False,
            colorbar={"title": {"text": "row preferred", "side": "right"}, "thickness": 12},
            customdata=[[[item, other] for other in items] for item in items],
            hovertemplate="%{customdata[0]} over %{customdata[1]}: <b>%{z:.2f}</b><extra></extra>",
        )
    )  # fmt: skip
    for row, column in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
        figure.add_shape(
            type="rect", x0=column - 0.5, x1=column + 0.5, y0=row - 0.5, y1=row + 0.5,
            line={"color": CYCLE, "width": 3},
        )  # fmt: skip
    laid_out(figure, height=min(CELL * count + FRAME, 560), hovermode="closest")
    some = range(0, count, ceil(count / LABELS))
    texts = [items[place] for place in some]
    names = {"tickvals": list(some), "ticktext": texts, "showgrid": False}
    few = names if count <= 40 else {"showticklabels": False, "showgrid": False}
    yaxes(figure, range=[count - 0.5, -0.5], title="", **few)
    xaxes(figure, range=[-0.5, count - 0.5], side="top", **few)
    set_properties(figure.layout, margin={"t": 60, "l": 80})
    return figure
