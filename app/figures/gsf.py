"""GSF's equivariance error against the number of shuffles, beside the 1/√S that is due."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures.style import REFERENCE, faded, laid_out, stroke

DUE = "1/√S"
TICKS = [digit * 10.0**power for power in range(-9, 2) for digit in (1, 2, 5)]


def equivariance(frame: pd.DataFrame, *, height: int = 380) -> go.Figure:
    """The error by the number of shuffles, both axes logarithmic.

    Args:
        frame: grouping (sampled or exhaustive), shuffles, error, low, high, tau; one row a number
            of shuffles, see `core.studies.gsf_equivariance`.
        height: pixels.
    """
    sampled = frame[frame["grouping"] == "sampled"].sort_values("shuffles")
    figure = go.Figure()
    if len(sampled):
        _ribbon(figure, sampled)
        _due(figure, sampled)
        _line(figure, sampled)
    for error in frame.loc[frame["grouping"] == "exhaustive", "error"].tolist():
        figure.add_annotation(
            x=0.01, y=0.02, xref="paper", yref="paper", showarrow=False, xanchor="left",
            text=f"all pairs, far below: {error:.1g}, rounding alone",
            font={"size": 12, "color": REFERENCE},
        )  # fmt: skip
    counts = sampled["shuffles"].tolist()
    figure.update_xaxes(
        title="shuffles S", type="log", tickvals=counts, ticktext=[str(count) for count in counts]
    )
    figure.update_yaxes(title="change of score / deviation", type="log", tickvals=TICKS)
    return laid_out(figure, height=height, showlegend=False, hovermode="closest")


def _line(figure: go.Figure, sampled: pd.DataFrame) -> None:
    figure.add_trace(
        go.Scatter(
            x=sampled["shuffles"],
            y=sampled["error"],
            name="gsf",
            mode="lines+markers",
            line={"color": stroke("gsf").color, "width": 2.5},
            marker={"size": 8},
            customdata=sampled[["tau"]],
            hovertemplate=(
                "<b>%{x} shuffles</b><br>error %{y:.3g}<br>Kendall τ %{customdata[0]:.3f}"
                "<extra></extra>"
            ),
        )
    )


def _ribbon(figure: go.Figure, sampled: pd.DataFrame) -> None:
    """The middle half of the lists."""
    figure.add_trace(
        go.Scatter(
            x=[*sampled["shuffles"], *sampled["shuffles"][::-1]],
            y=[*sampled["high"], *sampled["low"][::-1]],
            fill="toself",
            fillcolor=faded(stroke("gsf").color, 0.15),
            mode="lines",
            line={"width": 0},
            name="middle half of the lists",
            hoverinfo="skip",
        )
    )


def _due(figure: go.Figure, sampled: pd.DataFrame) -> None:
    """1/√S through the middle of the points (on logarithmic axes)."""
    counts = sampled["shuffles"].to_numpy(float)
    level = np.exp(np.mean(np.log(sampled["error"].to_numpy(float) * np.sqrt(counts))))
    heights = level / np.sqrt(counts)
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
    figure.add_annotation(
        x=np.log10(counts[-1]), y=np.log10(heights[-1]), text=DUE, showarrow=False,
        yshift=16, xanchor="right", font={"size": 12, "color": REFERENCE},
    )  # fmt: skip


def alt_text(frame: pd.DataFrame) -> str:
    """The figure in words."""
    sampled = frame[frame["grouping"] == "sampled"].sort_values("shuffles")
    if sampled.empty:
        return "No sampled groups were measured."
    first, last = sampled.iloc[0], sampled.iloc[-1]
    due = np.sqrt(first["shuffles"] / last["shuffles"])
    words = (
        f"Line chart on logarithmic axes: another order shown changes a score by "
        f"{first['error']:.3g} deviations at S = {int(first['shuffles'])} shuffles and by "
        f"{last['error']:.3g} at S = {int(last['shuffles'])}, a factor of "
        f"{last['error'] / first['error']:.2f} where 1/√S gives {due:.2f}."
    )
    exhaustive = frame[frame["grouping"] == "exhaustive"]
    if len(exhaustive):
        words += f" With all pairs it is {float(exhaustive['error'].iloc[0]):.1g}."
    return words
