"""Positions at which documents were shown and answered, and the value that each position adds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.attention import WEIGHTS
from shuffleproof.app.figures.style import laid_out, set_properties, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

HEIGHT, TOP, MOST = 454, 48, 4
"""Height in pixels, pixels of the panels' titles, and the number of rerankers that are drawn."""


@plain_text
def places(frame: pd.DataFrame) -> go.Figure:
    """Share of documents shown at one position that were answered at another.

    Args:
        frame: one row per reranker: ranker, basis (of what), lists, matrix [shown, answered];
            a row of the matrix sums to 1 at most.
    """
    drawn = [row for row in frame.to_dict("records") if row["matrix"]][:MOST]
    figure = _panels(drawn, 0.06)
    highest = max((float(np.max(row["matrix"])) for row in drawn), default=1.0)
    for at, row in enumerate(drawn, start=1):
        matrix = np.asarray(row["matrix"], dtype=float)
        numbers = [*range(1, len(matrix) + 1)]
        figure.add_heatmap(
            z=matrix, x=numbers, y=numbers, colorscale=WEIGHTS, zmin=0, zmax=highest, col=at, row=1,
            showscale=at == len(drawn), colorbar={"title": "share", "tickformat": ".0%"},
            hovertemplate="shown at %{y}, answered at %{x}: %{z:.1%}<extra></extra>",
            name=row["ranker"],
        )  # fmt: skip
    xaxes(figure, title="position answered", showgrid=False)
    yaxes(figure, autorange="reversed", showgrid=False)
    if drawn:
        figure.layout.yaxis.title = "position shown"
    return _laid_out(figure)


@plain_text
def slots(frame: pd.DataFrame) -> go.Figure:
    """Value that a slot adds to the document shown in it, a panel for each reranker.

    Args:
        frame: one row per reranker: ranker, basis, unit of its values, and values, one a slot,
            whose mean is 0; without values a reranker is left out.
    """
    drawn = [row for row in frame.to_dict("records") if row.get("values")][:MOST]
    figure = _panels(drawn, 0.09)
    for at, row in enumerate(drawn, start=1):
        numbers = [*range(1, len(row["values"]) + 1)]
        figure.add_scatter(
            x=numbers, y=row["values"], mode="lines+markers", col=at, row=1, name=row["ranker"],
            hovertemplate="slot %{x}: %{y:+.3f}<extra></extra>",
        )  # fmt: skip
        figure.update_yaxes(title_text=f"{row['unit']} − mean", zeroline=True, col=at, row=1)
    xaxes(figure, title="slot in which a document is shown", dtick=1)
    return _laid_out(figure)


def _panels(rows: Sequence[dict[Any, Any]], gap: float) -> go.Figure:
    """Empty figure with a panel for each reranker."""
    titles = [f"{row['ranker']} · {row['basis']}" for row in rows]
    return make_subplots(cols=max(len(rows), 1), subplot_titles=titles, horizontal_spacing=gap)


def _laid_out(figure: go.Figure) -> go.Figure:
    laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")
    set_properties(figure.layout, margin={"t": TOP})
    return figure
