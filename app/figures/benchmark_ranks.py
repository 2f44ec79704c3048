"""A critical-difference diagram: mean ranks over the queries, lines joining what is alike.

Demšar, JMLR 2006, Figure 1; the names stand in rows, so that they fit on a phone.
"""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    NAMES,
    end_labels,
    laid_out,
    set_properties,
    shapes,
    stroke,
)
from shuffleproof.app.figures.text import plain_text

ROW, LINE, FRAME = 26, 13, 110
"""Pixels of a ranker, of a joining line, and of axis and margins."""

LONGEST = 24
BEYOND = 0.03  # so that a line over equal ranks is seen


@plain_text
def ranks(
    places: Sequence[tuple[str, float]], cliques: Sequence[Sequence[str]], difference: float
) -> go.Figure:
    """Dots at the mean ranks, thick lines over those that do not differ.

    Args:
        places: (ranker, mean rank), best first.
        cliques: rankers within which none differs from another.
        difference: the critical difference.
    """
    of = dict(places)
    figure = go.Figure()
    top = (len(cliques) + 0.5) * LINE / ROW  # stems end above the joining lines
    above = top + 2 * LINE / ROW
    for color, rows in _by_color(places).items():
        stems = [
            point for at, place in rows for point in ((place, -top), (place, at), (None, None))
        ]
        xs, ys = zip(*stems, strict=True)
        figure.add_trace(_line(xs, ys, color, 1))
    figure.add_trace(_dots(places))
    for at, clique in enumerate(cliques):
        height = -(at + 0.5) * LINE / ROW
        ends = (of[clique[0]] - BEYOND, of[clique[-1]] + BEYOND)
        figure.add_trace(_line(ends, (height, height), "rgba(127,127,127,0.95)", 6))
    highest = 1 + max((place for _, place in places), default=1.0)
    scale = -top - LINE / ROW
    figure.add_trace(_line((1, 1 + difference), (scale, scale), "#D55E00", 3))
    figure.add_annotation(
        x=1 + difference, y=scale, text=f"critical difference {difference:.2f}", showarrow=False,
        xanchor="left", xshift=4, font={"size": 12},
    )  # fmt: skip
    names = [f"{ranker} {place:.2f}" for ranker, place in places]
    height = FRAME + round(ROW * (len(places) + above))
    laid_out(figure, height=height, showlegend=False, hovermode="closest")
    set_properties(figure.layout,
        margin={"t": 56, "b": 12},
        xaxis={"title": "mean rank (1 = best)", "side": "top", "range": [0.7, highest]},
        yaxis={
            "range": [len(places) + 0.7, -above], "tickvals": list(range(1, len(places) + 1)),
            "ticktext": end_labels(names, LONGEST), "showgrid": False, **NAMES,
        },
    )  # fmt: skip
    return figure


def _by_color(places: Sequence[tuple[str, float]]) -> dict[str, list[tuple[int, float]]]:
    """Row and mean rank of the rankers of each colour: a trace a colour, not one a ranker."""
    by_color: dict[str, list[tuple[int, float]]] = {}
    for at, (ranker, place) in enumerate(places, start=1):
        by_color.setdefault(stroke(ranker).color, []).append((at, place))
    return by_color


def _line(x: Sequence[Any], y: Sequence[Any], color: str, width: float) -> go.Scatter:
    return go.Scatter(
        x=x, y=y, mode="lines", line={"color": color, "width": width}, hoverinfo="skip"
    )


def _dots(places: Sequence[tuple[str, float]]) -> go.Scatter:
    return go.Scatter(
        x=[place for _, place in places],
        y=list(range(1, len(places) + 1)),
        text=[ranker for ranker, _ in places],
        mode="markers",
        marker={
            "color": [stroke(ranker).color for ranker, _ in places],
            "symbol": list(shapes([ranker for ranker, _ in places]).values()),
            "size": 11,
        },
        cliponaxis=False,
        hovertemplate="<b>%{text}</b><br>mean rank %{x:.2f}<extra></extra>",
    )
