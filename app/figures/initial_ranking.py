"""Figure 3: a measure against the level of a perturbation, one curve per ranker."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import set_properties, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Curve, bounds, finish_curves
from shuffleproof.app.figures.traces import curves as add_curves
from shuffleproof.core.words import number

HEIGHT = 460
CLOSEST_TICKS = 0.075  # of the axis' length: ticks nearer to their neighbours are left out
CLOSEST_TAUS = 0.17  # the same for the second axis, whose numbers are wider
TAU = "Kendall τ to the original"


@plain_text
def curves(summary: pd.DataFrame, family: str, measure: str, unit: str) -> go.Figure:
    """Curves with 95 % ribbons, labelled at their ends; the upper axis shows τ at each level.

    Args:
        summary: tidy frame with ranker, family, level, tau, measure, mean, low, high, n.
        family: the perturbation drawn.
        measure: the measure drawn.
        unit: what the level counts, for the axis.
    """
    shown = summary[(summary.family == family) & (summary.measure == measure)]
    figure = go.Figure()
    of_rankers = {str(ranker): points for ranker, points in shown.groupby("ranker", sort=False)}
    hover = (
        f"<b>%{{customdata[0]}}</b><br>{unit}: %{{customdata[1]:~g}}<br>"
        f"{measure}: %{{y:.3f}} [%{{customdata[2]:.3f}}, %{{customdata[3]:.3f}}]<br>"
        f"{TAU}: %{{customdata[4]:.2f}}<br>queries: %{{customdata[5]}}<extra></extra>"
    )
    facts = ("ranker", "level", "low", "high", "tau", "n")
    add_curves(figure, [Curve(name, of, facts, hover, "level") for name, of in of_rankers.items()])
    last = {ranker: points.iloc[-1] for ranker, points in of_rankers.items()}
    ends = [(ranker, float(point["level"]), float(point["mean"])) for ranker, point in last.items()]
    _axes(figure, shown, f"{family}: {unit}")
    scale = bounds(float(shown.low.min()), float(shown.high.max()))
    return finish_curves(figure, ends, (measure, scale), HEIGHT)


def _axes(figure: go.Figure, shown: pd.DataFrame, title: str) -> None:
    points = shown.groupby("level", sort=False)["tau"].mean()
    levels = _tick_levels([float(level) for level in points.index], CLOSEST_TICKS)
    taus = _tick_levels([float(level) for level in points.index], CLOSEST_TAUS)
    span = [min(points.index), max(points.index)]
    room = (span[1] - span[0]) * 0.02 or 0.5
    outwards = points.index[0] <= points.index[-1]  # the unchanged level is on the left
    ends = [span[0] - room, span[1] + room]
    axis: dict[str, Any] = {"range": ends if outwards else ends[::-1], "tickangle": 0}
    xaxes(figure, title=title, tickvals=levels, ticktext=[f"{level:g}" for level in levels], **axis)
    # Plotly draws the second axis only with a trace on it: this one has no visible marks.
    figure.add_trace(
        go.Scatter(x=taus, y=[None] * len(taus), xaxis="x2", hoverinfo="skip", mode="markers")
    )
    set_properties(
        figure.layout,
        xaxis2={
            **axis, "overlaying": "x", "side": "top", "matches": "x", "showgrid": False,
            "title": {"text": TAU, "standoff": 6}, "tickvals": taus, "zeroline": False,
            "ticktext": [number(points[level], ".2f") for level in taus],
        },
    )  # fmt: skip


def _tick_levels(levels: list[float], closest: float) -> list[float]:
    """Levels whose ticks have room: the first, the last, and those far enough from others."""
    length = abs(levels[-1] - levels[0]) or 1.0
    apart = [levels[0]]
    for level in levels[1:-1]:
        near = min(abs(level - apart[-1]), abs(levels[-1] - level))
        if near >= closest * length:
            apart.append(level)
    return [*apart, levels[-1]] if len(levels) > 1 else apart
