"""Table 2 as one picture: every ranker's difference from one of them, the best on top."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from app.figures.style import end_labels, laid_out, stroke

ROW, FRAME = 34, 90
"""Pixels of a ranker, and of axis and margins."""

SIGNIFICANT = 0.05
LONGEST = 16


def differences(
    frame: pd.DataFrame, baseline: str, measure: str, chosen: str | None = None
) -> go.Figure:
    """Dots with 95 % intervals; full where the difference is more than chance, else open.

    Args:
        frame: ranker, difference, low, high, p, n, wins, ties, losses; a row a ranker.
        baseline: who stands at zero.
        measure: what is compared.
        chosen: a ranker to ring.
    """
    shown = best_first(frame)
    figure = go.Figure()
    figure.add_vline(x=0, line={"color": "rgba(127,127,127,0.8)", "width": 1.5, "dash": "dot"})
    for row in shown.to_dict("records"):
        figure.add_trace(_dot(row, measure, ringed=row["ranker"] == chosen))
    names = [str(name) for name in shown["ranker"]]
    laid_out(figure, height=FRAME + ROW * max(len(names), 1), showlegend=False, hovermode="closest")
    figure.update_xaxes(title=f"{measure} minus that of {baseline}", tickformat="+.3~f")
    figure.update_yaxes(
        tickvals=names, ticktext=end_labels(names, LONGEST), categoryorder="array",
        categoryarray=names[::-1], showgrid=True,
    )  # fmt: skip
    figure.update_layout(margin={"r": 24})
    return figure


def best_first(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that have a difference, the greatest first."""
    known = frame[frame["difference"].notna()]
    return known.sort_values("difference", ascending=False, kind="stable")


def _dot(row: Mapping[Any, Any], measure: str, *, ringed: bool) -> go.Scatter:
    color = stroke(str(row["ranker"])).color
    counted = row["p"] <= SIGNIFICANT
    middle = row["difference"]
    return go.Scatter(
        x=[middle],
        y=[row["ranker"]],
        name=str(row["ranker"]),
        mode="markers",
        marker={
            "size": 16 if ringed else 12,
            "color": color if counted else "rgba(127,127,127,0.15)",
            "line": {"color": color, "width": 2.5},
        },
        error_x={
            "type": "data", "symmetric": False, "color": color, "thickness": 2.2, "width": 5,
            "array": [row["high"] - middle],
            "arrayminus": [middle - row["low"]],
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=[
            [row[name] for name in ("ranker", "low", "high", "p", "n", "wins", "ties", "losses")]
        ],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>{measure} %{{x:+.3f}} "
            "[%{customdata[1]:+.3f}, %{customdata[2]:+.3f}]<br>p %{customdata[3]:.2g} (Holm), "
            "N = %{customdata[4]}<br>better on %{customdata[5]}, equal on %{customdata[6]}, "
            "worse on %{customdata[7]}<extra></extra>"
        ),
    )  # fmt: skip


def alt_text(frame: pd.DataFrame, baseline: str, measure: str) -> str:
    """The picture in words: every difference and whether it is more than chance."""
    said = [
        f"{row['ranker']} {row['difference']:+.3f}"
        + ("" if row["p"] <= SIGNIFICANT else " (may be chance)")
        for row in best_first(frame).to_dict("records")
    ]
    return f"Dot plot of {measure} minus that of {baseline}, best first: {'; '.join(said)}."
