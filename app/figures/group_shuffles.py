"""GSF's equivariance error against the number of shuffles S, with the expected 1/√S."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import REFERENCE, end_labels, laid_out, shapes, yaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Curve, curves, log_ticks

DUE = "1/√S"
HEIGHT = 400
INTERVAL = "[%{customdata[2]:.3g}, %{customdata[3]:.3g}]"
TICKS = [digit * 10.0**power for power in range(-9, 2) for digit in (1, 2, 5)]


@plain_text
def equivariance(frame: pd.DataFrame) -> go.Figure:
    """Error by the number of shuffles, on logarithmic axes, one line per ranker.

    Args:
        frame: as `kinds.group_shuffles.sections.table` makes it: ranker, grouping, shuffles,
            error, low, high, tau; shuffles 0: all pairs.
    """
    sampled = frame[frame["grouping"] == "sampled"].sort_values("shuffles", kind="stable")
    rankers = [str(name) for name in dict.fromkeys(sampled["ranker"])]
    figure, marks, drawn = go.Figure(), shapes(rankers), []
    for at, (ranker, text) in enumerate(zip(rankers, end_labels(rankers), strict=True)):
        points = sampled[sampled["ranker"] == ranker]
        several = bool(points["low"].notna().all())  # one list has no interval
        hover = (
            f"<b>{ranker}, S = %{{x}}</b><br>error %{{y:.3g}} {INTERVAL if several else ''}"
            "<br>Kendall τ %{customdata[1]:.3f}<extra></extra>"
        )
        look = {"marker": {"size": 9, "symbol": marks[ranker]}}
        facts = ("ranker", "tau", "low", "high")
        fill = 0.2 if several else 0
        drawn.append(Curve(ranker, points, facts, hover, "shuffles", "error", fill, look))
        _due(figure, points, named=not at)
        last = points.iloc[-1]
        if last["error"] > 0:
            figure.add_annotation(
                x=np.log10(last["shuffles"]), y=np.log10(last["error"]), text=text,
                xanchor="right", yshift=-18, showarrow=False, font={"size": 12},
            )  # fmt: skip
    curves(figure, drawn)
    _all_pairs(figure, frame)
    log_ticks(figure, "shuffles S", sorted(set(sampled["shuffles"].tolist())))
    yaxes(figure, title="score change (standard deviations)", type="log", tickvals=TICKS)
    return laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")


def _due(figure: go.Figure, points: pd.DataFrame, *, named: bool) -> None:
    """Add the line 1/√S through the middle of the points, on logarithmic axes; needs two points."""
    counts = points["shuffles"].to_numpy(float)
    errors = points["error"].to_numpy(float)
    if len(errors) < 2 or not (errors > 0).all():
        return
    # c/√S with c the geometric mean of error·√S: the least-squares fit on log axes.
    heights = np.exp(np.mean(np.log(errors * np.sqrt(counts)))) / np.sqrt(counts)
    line = {"color": REFERENCE, "dash": "dot", "width": 1.5}
    figure.add_scatter(x=counts, y=heights, name=DUE, mode="lines", line=line, hoverinfo="skip")
    if named:
        figure.add_annotation(
            x=np.log10(counts[0]), y=np.log10(heights[0]), text=f"expected: {DUE}", showarrow=False,
            yshift=18, xanchor="left", font={"size": 12},
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
