"""A bar a query: up in a colour where something is gained, down in grey where it is lost."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import UNDIMMED, UNSIGNED_ZERO, laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

HEIGHT = 300
CHOSEN = "#D55E00"
WORSE = "rgba(127,127,127,0.75)"


@plain_text
def bars(
    frame: pd.DataFrame,
    color: str,
    facts: Sequence[str],
    hover: str,
    chosen: str | None = None,
) -> go.Figure:
    """The bars, without the title of their axis.

    Args:
        frame: query, difference and the facts; the greatest difference first.
        color: of the gains.
        facts: columns that a click and the hover text know, the query first.
        hover: template of the hover text.
        chosen: the query whose bar is framed.
    """
    places = np.arange(1, len(frame) + 1)
    gains = frame["difference"].to_numpy() > 0
    figure = go.Figure(
        [
            go.Bar(
                x=places[mask], y=frame["difference"][mask], marker={"color": shade},
                **UNDIMMED,
                customdata=frame.loc[mask, list(facts)], hovertemplate=hover,
            )
            for mask, shade in ((gains, color), (~gains, WORSE))
        ]
    )  # fmt: skip
    laid_out(
        figure, height=HEIGHT, showlegend=False, hovermode="closest", bargap=0.15,
        barmode="overlay",
    )  # fmt: skip
    xaxes(figure, title="queries, the greatest gain first", showgrid=False)
    yaxes(figure, tickformat="+.2~f", zeroline=True, **UNSIGNED_ZERO)
    for at in np.flatnonzero(frame["query"].astype(str) == chosen):
        figure.add_shape(
            type="rect", x0=at + 0.5, x1=at + 1.5, y0=0, y1=frame["difference"].iloc[at],
            line={"width": 2.5, "color": CHOSEN},
        )  # fmt: skip
    return figure
