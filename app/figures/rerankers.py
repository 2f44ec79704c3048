"""Positions at which documents were shown and answered, a heat map for each reranker."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.attention import WEIGHTS
from shuffleproof.app.figures.style import laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

HEIGHT, MOST = 430, 4
"""Height in pixels, and the number of rerankers that are drawn."""


@plain_text
def places(frame: pd.DataFrame) -> go.Figure:
    """Share of documents shown at one position that were answered at another.

    Args:
        frame: one row per reranker: ranker, basis (of what), lists, matrix [shown, answered];
            a row of the matrix sums to 1 at most.
    """
    drawn = [row for row in frame.to_dict("records") if row["matrix"]][:MOST]
    titles = [f"{row['ranker']} · {row['basis']}" for row in drawn]
    figure = make_subplots(
        cols=max(len(drawn), 1), subplot_titles=titles, horizontal_spacing=0.06, shared_yaxes=False
    )
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
    return laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")
