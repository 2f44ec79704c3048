"""Retrievers side by side under one measure: means with their intervals."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import NAMES, PALETTE, laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import interval, number

ROW, FRAME = 42, 90
"""Pixels of a row, and of axis and margins."""


@plain_text
def means(frame: pd.DataFrame, measure: str) -> go.Figure:
    """A mark a retriever, the best on top, with its 95 % interval over queries.

    Args:
        frame: retriever, measure, mean, low, high, n.
        measure: that is drawn.
    """
    own = _of(frame, measure)
    figure = go.Figure(
        go.Scatter(
            x=own["mean"],
            y=own["retriever"],
            mode="markers",
            marker={"size": 11, "color": PALETTE[0]},
            error_x={
                "type": "data", "symmetric": False, "array": own["high"] - own["mean"],
                "arrayminus": own["mean"] - own["low"],
            },
            customdata=own[["low", "high"]],
            hovertemplate="<b>%{y}</b><br>%{x:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]"
            "<extra></extra>",
        )
    )  # fmt: skip
    laid_out(figure, height=ROW * len(own) + FRAME, showlegend=False, hovermode="closest")
    yaxes(figure, autorange="reversed", type="category", **NAMES)
    xaxes(figure, title=f"{measure}, mean over queries", rangemode="tozero")
    return figure


@in_words
def alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words."""
    own = _of(frame, measure)
    rows = zip(own["retriever"], own["mean"], own["low"], own["high"], strict=True)
    said = [f"{name} {number(mean)} {interval(low, high)}" for name, mean, low, high in rows]
    return f"Means of {measure} with 95 % intervals: {'; '.join(said)}."


def _of(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    found = frame[frame["measure"] == measure]
    return found.sort_values("mean", ascending=False, kind="stable", ignore_index=True)
