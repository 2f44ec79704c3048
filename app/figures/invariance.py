"""Scores before against scores after: on the diagonal nothing changed."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import REFERENCE, laid_out, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import counted

MOST = 1000
"""Documents that are drawn, those whose scores changed most: browsers stand still over more."""


@plain_text
def scatter(moves: pd.DataFrame, ranker: str, *, height: int = 320) -> go.Figure:
    """One mark a document: full where it moved, hollow where it stayed.

    Args:
        moves: document, label, score_before, score, moved.
        ranker: its label, which gives the colour.
        height: pixels.
    """
    color = stroke(ranker).color
    both = pd.concat([moves["score_before"], moves["score"]]).astype(float)
    low, high = (float(both.min()), float(both.max())) if len(both) else (0.0, 1.0)
    room = (high - low or 1.0) * 0.06
    ends = [low - room, high + room]
    title = "score before"
    if len(moves) > MOST:
        which = f"the {MOST:,} of {counted(len(moves), 'document')} that changed most"
        title += f'<br><span style="font-size:12px">{which}</span>'
        change = (moves["score"].astype(float) - moves["score_before"].astype(float)).abs()
        moves = moves.loc[change.nlargest(MOST).index]
    figure = go.Figure(
        go.Scatter(
            x=ends,
            y=ends,
            mode="lines",
            line={"color": REFERENCE, "width": 1, "dash": "dot"},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=moves["score_before"],
            y=moves["score"],
            mode="markers",
            marker={
                "size": 8,
                "symbol": ["circle" if moved else "circle-open" for moved in moves["moved"]],
                "color": color,
            },
            customdata=moves[["document", "label"]].assign(
                change=(moves["score"].astype(float) - moves["score_before"].astype(float)),
            ),
            hovertemplate=(
                "<b>%{customdata[0]}</b><br>label %{customdata[1]:g}<br>before %{x:.3f}<br>"
                "after %{y:.3f} (%{customdata[2]:+.3g})<extra></extra>"
            ),
        )
    )
    xaxes(figure, title=title, range=ends)
    yaxes(figure, title="score now", range=ends)
    return laid_out(figure, height=height, showlegend=False, hovermode="closest")


@in_words
def alt_text(moves: pd.DataFrame, ranker: str) -> str:
    """The figure in words."""
    change = (moves["score"].astype(float) - moves["score_before"].astype(float)).abs()
    largest = float(change.max()) if len(change) else 0.0
    return (
        f"Scatter of {ranker}'s scores of {counted(len(moves), 'document')} before and after; the "
        f"largest distance from the diagonal is {largest:.3g}."
    )
