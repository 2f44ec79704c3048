"""Bump chart of a list: each document's place in the input order and in the rankings."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import faded, laid_out, set_properties, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import counted

BEHIND = "rgba(127,127,127,0.4)"
STAYED = "rgba(127,127,127,0.75)"
HEADS = ("shown", "answer", "answer<br>before")
ROW = 13
SMALLEST, LARGEST = 260, 900
MOST = 500
"""Number of documents drawn, those that moved furthest: browsers freeze over many more."""


@plain_text
def bump(moves: pd.DataFrame, ranker: str, *, chosen: int | None = None) -> go.Figure:
    """Lines from the input order to the ranking, and on to the ranking before.

    A moved document has a strong line in the ranker's colour, any other a thin grey one. The
    order before is a faint dotted line behind. Filled marks are relevant documents. Of longer
    lists only the MOST that moved furthest are drawn; a note below says so.

    Args:
        moves: document, label, shown, answered, shown_before, answered_before, moved.
        ranker: label of the ranker, which sets the colour.
        chosen: row of a document to mark.
    """
    color, count, of_all = stroke(ranker).color, _places(moves), len(moves)
    size = 7 if count <= 60 else 4
    if of_all > MOST:
        distance = (moves["answered"] - moves["answered_before"]).abs().astype(float)
        moves = moves.loc[distance.nlargest(MOST).index.union(moves.index.intersection([chosen]))]
    # Traces in drawing order: order before, unmoved, moved, chosen on top.
    figure = go.Figure()
    figure.add_trace(_lines(moves, ("shown_before", "answered_before"), BEHIND, 1, dash="dot"))
    path = ("shown", "answered", "answered_before")
    figure.add_trace(_lines(moves[~moves["moved"]], path, STAYED, 1))
    figure.add_trace(_lines(moves[moves["moved"]], path, faded(color, 0.9), 1.8))
    if chosen is not None and chosen in moves.index:
        figure.add_trace(_lines(moves.loc[[chosen]], path, color, 5))
    for at, column in enumerate(path):
        figure.add_trace(_marks(moves, at, column, color, size))
    xaxes(figure,
        tickvals=[0, 1, 2], ticktext=HEADS,
        side="top", range=[-0.15, 2.2], showgrid=False, fixedrange=True,
    )  # fmt: skip
    yaxes(figure, range=[count + 0.7, 0.3], tickvals=_ticks(count), showgrid=False, fixedrange=True)
    height = min(max(count * ROW + 80, SMALLEST), LARGEST)
    laid_out(figure, height=height, showlegend=False, hovermode="closest", dragmode=False)
    set_properties(figure.layout, margin={"l": 28, "r": 24, "t": 44, "b": 8})
    if of_all > MOST:
        text = f"The {MOST} of {counted(of_all, 'document')} that moved furthest"
        figure.add_annotation(
            text=text, x=0, y=0, xref="paper", yref="paper", yanchor="top", showarrow=False
        )
        set_properties(figure.layout, margin={"b": 28})
    return figure


def _places(moves: pd.DataFrame) -> int:
    """Number of places; larger than the number of documents if only part of a list is drawn."""
    positions = moves[["shown", "answered", "answered_before"]].to_numpy(float)
    return max(len(moves), int(np.nanmax(positions, initial=1)))


def _lines(
    moves: pd.DataFrame, columns: tuple[str, ...], color: str, width: float, dash: str = "solid"
) -> go.Scatter:
    """One trace for all documents, with a gap after each: thousands of traces would be slow."""
    places = np.full((len(moves), len(columns) + 1), np.nan)
    places[:, :-1] = moves[list(columns)].to_numpy(dtype=float)
    across = np.tile([*range(len(columns)), np.nan], len(moves))
    return go.Scatter(
        x=across,
        y=places.ravel(),
        mode="lines",
        line={"color": color, "width": width, "dash": dash},
        hoverinfo="skip",
    )


def _marks(moves: pd.DataFrame, at: int, column: str, color: str, size: int) -> go.Scatter:
    relevant = moves["label"] > 0
    facts = moves[["document", "label", "shown", "answered", "answered_before"]].copy()
    facts.insert(0, "row", moves.index)  # a click sends the row: ids of documents may repeat
    return go.Scatter(
        x=np.full(len(moves), at),
        y=moves[column],
        mode="markers",
        marker={
            "size": size,
            "color": [color if full else "rgba(127,127,127,0.25)" for full in relevant],
            "line": {"color": color, "width": 1},
        },
        selected={"marker": {"opacity": 1, "size": 11}},
        unselected={"marker": {"opacity": 1}},
        customdata=facts,
        hovertemplate=(
            "<b>%{customdata[1]}</b><br>label %{customdata[2]:~g}<br>input position "
            "%{customdata[3]}<br>rank %{customdata[4]}, before %{customdata[5]}<extra></extra>"
        ),
    )


def _ticks(count: int) -> list[int]:
    """Ticks: 1, round numbers, and the last place.

    >>> _ticks(40)
    [1, 10, 20, 30, 40]
    """
    step = next(step for step in (5, 10, 20, 50, 100, 200, 500, 10_000) if count <= 5 * step)
    between = [place for place in range(step, count, step) if count - place > step / 2]
    return sorted({1, *between, count})
