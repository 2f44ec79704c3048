"""What a ranker has learnt of ranks: similarity, lengths and path of its ordinal embeddings."""

import numpy as np
import plotly.graph_objects as go

from shuffleproof.app.figures.style import PALETTE, laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

HEIGHT = 330
SIMILARITY = "RdBu"
PATH = "Cividis"


@plain_text
def similarity(cosines: np.ndarray) -> go.Figure:
    """Cosine of every pair of ranks as a heat map, from −1 to 1; rank 1 is the best.

    Args:
        cosines: [ranks, ranks].
    """
    ranks = list(range(1, len(cosines) + 1))
    figure = go.Figure(
        go.Heatmap(
            x=ranks, y=ranks, z=cosines, zmin=-1, zmax=1, colorscale=SIMILARITY,
            colorbar={"thickness": 12, "title": {"text": "cosine", "side": "right"}},
            hovertemplate="ranks %{x} and %{y}<br>cosine %{z:.2f}<extra></extra>",
        )
    )  # fmt: skip
    laid_out(figure, height=HEIGHT)
    xaxes(figure, title="rank", showgrid=False)
    yaxes(figure, title="rank", showgrid=False, autorange="reversed")
    return figure


@plain_text
def lengths(norms: np.ndarray) -> go.Figure:
    """The length of the embedding of every rank.

    Args:
        norms: [ranks].
    """
    figure = go.Figure(
        go.Scatter(
            x=list(range(1, len(norms) + 1)), y=norms, mode="lines+markers",
            line={"color": PALETTE[0], "width": 2}, marker={"size": 6},
            hovertemplate="rank %{x}<br>length %{y:.3f}<extra></extra>",
        )
    )  # fmt: skip
    laid_out(figure, height=HEIGHT, showlegend=False)
    xaxes(figure, title="rank (1 is the best)")
    yaxes(figure, title="length", rangemode="tozero")
    return figure


@plain_text
def path(plane: np.ndarray, explained: tuple[float, float]) -> go.Figure:
    """The ranks one after the other on their first two principal components.

    Args:
        plane: [ranks, 2].
        explained: share of the variance along each of them.
    """
    ranks = list(range(1, len(plane) + 1))
    ends = {0, len(plane) - 1}
    figure = go.Figure(
        go.Scatter(
            x=plane[:, 0], y=plane[:, 1], mode="lines+markers+text",
            line={"color": "rgba(127,127,127,0.5)", "width": 1.2},
            marker={"size": 9, "color": ranks, "colorscale": PATH},
            text=[str(rank) if at in ends else "" for at, rank in enumerate(ranks)],
            textposition="top center",
            customdata=ranks,
            hovertemplate="rank %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")
    xaxes(figure, title=f"component 1 ({explained[0]:.0%})")
    yaxes(figure, title=f"component 2 ({explained[1]:.0%})")
    return figure
