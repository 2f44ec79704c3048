"""The worst order found against random ones, by budget."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    UNDIMMED,
    end_labels,
    faded,
    laid_out,
    named_ends,
    ribbon,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text

HEIGHT = 440
GREY = "rgba(127,127,127,0.8)"


@plain_text
def damages(frame: pd.DataFrame, measure: str, unit: str) -> go.Figure:
    """Damage over the budget: strong the worst found with its interval, thin the random mean.

    Args:
        frame: ranker, budget, random_damage, worst_damage (NaN while a ranker is searched), low,
            high, certified.
        measure: that is lost.
        unit: what the budget counts.
    """
    figure = go.Figure()
    ends: list[tuple[str, float, float]] = []
    for name, rows in frame.groupby("ranker", sort=False):
        ranker, points = str(name), _from_nothing(rows)
        searched = points["worst_damage"].notna().all()
        if searched:
            fill = faded(stroke(ranker).color, 0.13)
            figure.add_trace(ribbon(points["budget"], points["low"], points["high"], fill))
        figure.add_trace(_random(ranker, points, measure))
        if searched:
            figure.add_trace(_worst(ranker, points, (measure, unit)))
        last: Any = points.iloc[-1]
        end = last["worst_damage" if searched else "random_damage"]
        ends.append((ranker, float(last["budget"]), float(end)))
    budgets = [0, *sorted(set(frame["budget"]))]
    high = float(np.nanmax([0.01, *frame["high"], *frame["random_damage"]]))
    low = min([0.0, float(frame["random_damage"].min())] if len(frame) else [0.0])
    bounds = (low - 0.05 * (high - low), high + 0.05 * (high - low))
    laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=False)
    xaxes(
        figure, title=f"budget: {unit} per list", tickvals=budgets, range=[-0.3, budgets[-1] * 1.02]
    )
    yaxes(figure, title=f"{measure} lost", range=list(bounds))
    figure.add_hline(y=0, line={"color": GREY, "width": 1})
    certified = set(frame[frame["certified"]]["ranker"])
    _labelled(figure, ends, bounds, certified)
    return figure


def _from_nothing(rows: pd.DataFrame) -> pd.DataFrame:
    """The points of a ranker, and the budget of 0 before them, at which nothing is lost."""
    start = rows.head(1).assign(budget=0, random_damage=0.0, worst_damage=0.0, low=0.0, high=0.0)
    return pd.concat([start, rows.sort_values("budget")], ignore_index=True)


def _random(ranker: str, points: pd.DataFrame, measure: str) -> go.Scatter:
    return go.Scatter(
        x=points["budget"], y=points["random_damage"], mode="lines+markers",
        line={"color": faded(stroke(ranker).color, 0.7), "width": 1.2, "dash": "dot"},
        marker={"size": 6, "symbol": f"{stroke(ranker).shape}-open", "color": stroke(ranker).color},
        customdata=points[["ranker", "budget", "random"]],
        **UNDIMMED,
        hovertemplate=(
            "<b>%{customdata[0]}</b>, random orders<br>budget %{customdata[1]}: "
            f"{measure} lost %{{y:+.3f}}<extra></extra>"
        ),
    )  # fmt: skip


def _worst(ranker: str, points: pd.DataFrame, named: tuple[str, str]) -> go.Scatter:
    line, (measure, unit) = stroke(ranker), named
    return go.Scatter(
        x=points["budget"], y=points["worst_damage"], name=ranker, mode="lines+markers",
        line={"color": line.color, "dash": line.dash, "width": 2.5},
        marker={"size": 8, "symbol": line.shape},
        customdata=points[["ranker", "budget", "low", "high", "random_damage"]],
        **UNDIMMED,
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b>, worst order found<br>%{{customdata[1]}} {unit}: {measure} "
            "lost %{y:.3f} [%{customdata[2]:.3f}, %{customdata[3]:.3f}]<br>random: "
            "%{customdata[4]:+.3f}<extra></extra>"
        ),
    )  # fmt: skip


def _labelled(
    figure: go.Figure,
    ends: Sequence[tuple[str, float, float]],
    bounds: tuple[float, float],
    certified: set[str],
) -> None:
    """Names at the ends of the curves, none over another; certified ones say so."""
    low, high = bounds
    plot = HEIGHT - figure.layout.margin.t - figure.layout.margin.b - 20
    names = end_labels([ranker for ranker, _, _ in ends])
    texts = [
        f"{text}<br>certified 0" if ranker in certified else text
        for text, (ranker, _, _) in zip(names, ends, strict=True)
    ]
    named_ends(figure, ends, texts, (low, high, plot))
