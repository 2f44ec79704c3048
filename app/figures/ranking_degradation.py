"""Figure 3: a measure against the level of disturbance, one curve a ranker."""

from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    REFERENCE,
    UNDIMMED,
    end_labels,
    faded,
    laid_out,
    named_ends,
    ribbon,
    set_properties,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import number

HEIGHT = 460
CLOSEST_TICKS = 0.075  # of the axis' length: ticks nearer to their neighbours are left out
CLOSEST_TAUS = 0.17  # the same for the second axis, whose numbers are wider
TAU = "Kendall τ to the original"
Axis = Literal["level", "tau"]


@plain_text
def curves(  # noqa: PLR0913 (what is drawn, and three ways to draw it)
    summary: pd.DataFrame,
    family: str,
    measure: str,
    unit: str,
    *,
    x: Axis = "level",
    from_zero: bool = True,
) -> go.Figure:
    """Curves with 95 % ribbons, labelled at their ends.

    Args:
        summary: tidy frame with ranker, family, level, tau, measure, mean, low, high, n.
        family: the perturbation drawn.
        measure: the measure drawn.
        unit: what the level counts, for the axis.
        x: the level with the τ left as a second axis, or the τ left itself, falling.
        from_zero: the measure's axis starts at 0; else at the lowest interval.
    """
    shown = curve_rows(summary, family, measure)
    figure = go.Figure()
    curve = {str(ranker): points for ranker, points in shown.groupby("ranker", sort=False)}
    for ranker, points in curve.items():
        fill = faded(stroke(ranker).color, 0.13)
        figure.add_trace(ribbon(points[x], points.low, points.high, fill))
    # Dashes over solid lines: two curves in the same place are both seen.
    for ranker in sorted(curve, key=lambda ranker: stroke(ranker).dash != "solid"):
        figure.add_trace(_line(curve[ranker], x, ranker, (unit, measure)))
    last = {ranker: points.iloc[-1] for ranker, points in curve.items()}
    ends = [(ranker, float(point[x]), float(point["mean"])) for ranker, point in last.items()]
    low = 0.0 if from_zero else float(shown.low.min())
    high = float(shown.high.max())
    room = max(high - low, 1e-6) * 0.06
    bottom = low if from_zero and shown.low.min() >= 0 else float(shown.low.min()) - room
    if bottom < 0 < high:
        figure.add_hline(0, line={"color": REFERENCE, "width": 1})
    _axes(figure, shown, x, f"{family}: {unit}")
    yaxes(figure, title=measure, range=[bottom, high + room])
    laid_out(figure, hovermode="closest", height=HEIGHT, showlegend=False)
    _labelled(figure, ends, (bottom, high + room))
    return figure


def curve_rows(summary: pd.DataFrame, family: str, measure: str) -> pd.DataFrame:
    """The rows of one family and measure, levels as they were run: outwards from unchanged."""
    return summary[(summary.family == family) & (summary.measure == measure)]


def _line(points: pd.DataFrame, x: Axis, ranker: str, named: tuple[str, str]) -> go.Scatter:
    line, (unit, measure) = stroke(ranker), named
    facts = points[["ranker", "level", "low", "high", "tau", "n"]]
    return go.Scatter(
        x=points[x],
        y=points["mean"],
        name=ranker,
        mode="lines+markers",
        line={"color": line.color, "dash": line.dash, "width": 2.5},
        marker={"size": 8, "symbol": line.shape},
        **UNDIMMED,
        customdata=facts,
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>{unit}: %{{customdata[1]:g}}<br>"
            f"{measure}: %{{y:.3f}} [%{{customdata[2]:.3f}}, %{{customdata[3]:.3f}}]<br>"
            f"{TAU}: %{{customdata[4]:.2f}}<br>queries: %{{customdata[5]}}<extra></extra>"
        ),
    )


def _axes(figure: go.Figure, shown: pd.DataFrame, x: Axis, title: str) -> None:
    if x == "tau":
        xaxes(figure, title=TAU, autorange="reversed")
        return
    points = shown.groupby("level", sort=False)["tau"].mean()
    levels = _apart([float(level) for level in points.index], CLOSEST_TICKS)
    taus = _apart([float(level) for level in points.index], CLOSEST_TAUS)
    span = [min(points.index), max(points.index)]
    room = (span[1] - span[0]) * 0.02 or 0.5
    outwards = points.index[0] <= points.index[-1]
    ends = [span[0] - room, span[1] + room]
    axis: dict[str, Any] = {"range": ends if outwards else ends[::-1], "tickangle": 0}
    xaxes(figure, title=title, tickvals=levels, ticktext=[f"{level:g}" for level in levels], **axis)
    # An axis is drawn only with a trace of its own: one without a visible mark.
    figure.add_trace(
        go.Scatter(x=taus, y=[None] * len(taus), xaxis="x2", hoverinfo="skip", mode="markers")
    )
    set_properties(
        figure.layout,
        xaxis2={
            **axis,
            "overlaying": "x",
            "side": "top",
            "matches": "x",
            "title": {"text": TAU, "standoff": 6},
            "tickvals": taus,
            "ticktext": [number(points[level], ".2f") for level in taus],
            "showgrid": False,
            "zeroline": False,
        },
    )


def _apart(levels: list[float], closest: float) -> list[float]:
    """The levels whose ticks have room: the first, the last, and what lies apart from both."""
    length = abs(levels[-1] - levels[0]) or 1.0
    apart = [levels[0]]
    for level in levels[1:-1]:
        near = min(abs(level - apart[-1]), abs(levels[-1] - level))
        if near >= closest * length:
            apart.append(level)
    return [*apart, levels[-1]] if len(levels) > 1 else apart


def _labelled(
    figure: go.Figure, ends: list[tuple[str, float, float]], bounds: tuple[float, float]
) -> None:
    low, high = bounds
    plot = HEIGHT - figure.layout.margin.t - figure.layout.margin.b - 40  # ticks and titles
    named_ends(figure, ends, end_labels([ranker for ranker, _, _ in ends]), (low, high, plot))
