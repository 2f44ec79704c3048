"""Figure 3: a measure against the level of disturbance, one curve a ranker."""

import pandas as pd
import plotly.graph_objects as go

from app.figures.style import faded, laid_out, stroke


def curves(summary: pd.DataFrame, family: str, measure: str, unit: str) -> go.Figure:
    """Curves with 95 % ribbons, labelled at their ends.

    Args:
        summary: tidy frame with ranker, family, level, tau, measure, mean, low, high, n.
        family: the perturbation drawn.
        measure: the measure drawn.
        unit: what the level counts, for the axis.
    """
    chosen = summary[(summary.family == family) & (summary.measure == measure)]
    figure = go.Figure()
    for ranker, points in chosen.groupby("ranker", sort=False):
        line = stroke(str(ranker))
        points = points.sort_values("level")  # noqa: PLW2901 (the same curve, in order)
        figure.add_trace(_ribbon(points, line.color))
        figure.add_trace(
            go.Scatter(
                x=points.level,
                y=points["mean"],
                name=str(ranker),
                mode="lines+markers",
                line={"color": line.color, "dash": line.dash, "width": 2.5},
                marker={"size": 6},
                customdata=points[["low", "high", "tau", "n"]],
                hovertemplate=(
                    f"<b>{ranker}</b><br>{unit}: %{{x}}<br>{measure}: %{{y:.3f}} "
                    "[%{customdata[0]:.3f}, %{customdata[1]:.3f}]<br>"
                    "Kendall τ left: %{customdata[2]:.2f}<br>"
                    "queries: %{customdata[3]}<extra></extra>"
                ),
            )
        )
    figure.update_xaxes(title=f"{family}: {unit}")
    figure.update_yaxes(title=measure)
    return laid_out(figure, hovermode="closest", height=440)


def _ribbon(points: pd.DataFrame, color: str) -> go.Scatter:
    there_and_back = pd.concat([points.level, points.level[::-1]])
    edge = pd.concat([points.high, points.low[::-1]])
    return go.Scatter(
        x=there_and_back,
        y=edge,
        fill="toself",
        fillcolor=faded(color, 0.12),
        mode="lines",
        line={"width": 0},
        hoverinfo="skip",
        showlegend=False,
    )


def alt_text(summary: pd.DataFrame, family: str, measure: str) -> str:
    """The figure in words: each ranker's first and last mean."""
    chosen = summary[(summary.family == family) & (summary.measure == measure)]
    parts = []
    for ranker, points in chosen.groupby("ranker", sort=False):
        means = points.sort_values("level")["mean"]
        parts.append(f"{ranker} from {means.iloc[0]:.3f} to {means.iloc[-1]:.3f}")
    levels = sorted(chosen.level.unique())
    return (
        f"Line chart of {measure} against {family}, levels {levels[0]:g} to {levels[-1]:g}: "
        + "; ".join(parts)
        + "."
    )
