"""GSF's equivariance error against the number of shuffles, beside the 1/√S that is due."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    REFERENCE,
    end_labels,
    faded,
    laid_out,
    ribbon,
    shapes,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text

DUE = "1/√S"
INTERVAL = "[%{customdata[1]:.3g}, %{customdata[2]:.3g}]"
TICKS = [digit * 10.0**power for power in range(-9, 2) for digit in (1, 2, 5)]


@plain_text
def equivariance(frame: pd.DataFrame, *, height: int = 400) -> go.Figure:
    """The error by the number of shuffles, both axes logarithmic, one line a ranker.

    Args:
        frame: as `kinds.group_shuffles.sections.table` makes it: ranker, grouping, shuffles,
            error, low, high, tau; shuffles 0: all pairs.
        height: pixels.
    """
    sampled = frame[frame["grouping"] == "sampled"].sort_values("shuffles", kind="stable")
    rankers = [str(name) for name in dict.fromkeys(sampled["ranker"])]
    figure = go.Figure()
    marks = shapes(rankers)
    for at, ranker in enumerate(rankers):
        points = sampled[sampled["ranker"] == ranker]
        if points["low"].notna().all():  # one list has no interval
            fill, name = faded(stroke(ranker).color, 0.2), f"95 % interval of {ranker}"
            figure.add_trace(
                ribbon(points["shuffles"], points["low"], points["high"], fill, name=name)
            )
        _due(figure, points, named=not at)
        _line(figure, points, ranker, marks[ranker])
    _names(figure, sampled, rankers)
    _all_pairs(figure, frame)
    counts = sorted(set(sampled["shuffles"].tolist()))
    xaxes(
        figure,
        title="shuffles S",
        type="log",
        tickvals=counts,
        ticktext=[str(count) for count in counts],
    )
    yaxes(figure, title="change of score, in deviations", type="log", tickvals=TICKS)
    return laid_out(figure, height=height, showlegend=False, hovermode="closest")


def _line(figure: go.Figure, points: pd.DataFrame, ranker: str, symbol: str) -> None:
    figure.add_trace(
        go.Scatter(
            x=points["shuffles"],
            y=points["error"],
            name=ranker,
            mode="lines+markers",
            line={"color": stroke(ranker).color, "width": 2.5},
            marker={"size": 9, "symbol": symbol},
            customdata=points[["tau", "low", "high"]],
            hovertemplate=(
                f"<b>{ranker}, S = %{{x}}</b><br>error %{{y:.3g}} "
                + ("" if points["low"].isna().any() else INTERVAL)
                + "<br>Kendall τ %{customdata[0]:.3f}<extra></extra>"
            ),
        )
    )


def _due(figure: go.Figure, points: pd.DataFrame, *, named: bool) -> None:
    """1/√S through the middle of the points (on logarithmic axes); one point falls nowhere."""
    counts = points["shuffles"].to_numpy(float)
    errors = points["error"].to_numpy(float)
    if len(errors) < 2 or not (errors > 0).all():
        return
    heights = np.exp(np.mean(np.log(errors * np.sqrt(counts)))) / np.sqrt(counts)
    figure.add_trace(
        go.Scatter(
            x=counts,
            y=heights,
            name=DUE,
            mode="lines",
            line={"color": REFERENCE, "dash": "dot", "width": 1.5},
            hoverinfo="skip",
        )
    )
    if named:
        figure.add_annotation(
            x=np.log10(counts[0]), y=np.log10(heights[0]), text=f"expected: {DUE}", showarrow=False,
            yshift=18, xanchor="left", font={"size": 12},
        )  # fmt: skip


def _names(figure: go.Figure, sampled: pd.DataFrame, rankers: Sequence[str]) -> None:
    """The rankers at the ends of their lines."""
    for ranker, text in zip(rankers, end_labels(rankers), strict=True):
        last = sampled[sampled["ranker"] == ranker].iloc[-1]
        if last["error"] > 0:
            figure.add_annotation(
                x=np.log10(last["shuffles"]), y=np.log10(last["error"]), text=text, xanchor="right",
                yshift=-18, showarrow=False, font={"size": 12},
            )  # fmt: skip


def _all_pairs(figure: go.Figure, frame: pd.DataFrame) -> None:
    exhaustive = frame[frame["grouping"] == "exhaustive"]
    if len(exhaustive):
        worst = float(exhaustive["error"].max())
        figure.add_annotation(
            x=0.01, y=0.02, xref="paper", yref="paper", showarrow=False, xanchor="left",
            text=f"all pairs, far below: {worst:.1g}, rounding alone",
            font={"size": 12},
        )  # fmt: skip
