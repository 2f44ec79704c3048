"""One document above another: effects of features and of other documents on the margin."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import NAMES, faded, laid_out, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import cut

FEATURES, DOCUMENTS, LETTERS = 10, 6, 22
"""Bars of each kind, and letters of a name, at most."""

BAR = 20
"""Pixels of a bar and its gap."""


@plain_text
def effects(features: pd.DataFrame, documents: pd.DataFrame, rest: float, ranker: str) -> go.Figure:
    """Bars of the largest effects, documents below the features.

    Args:
        features: feature, effect, low, high; the largest first.
        documents: document, effect, above_rank, below_rank, swaps; the largest first.
        rest: margin with equal features.
        ranker: label of the ranker, for its colour.
    """
    color = stroke(ranker).color
    shown = features.head(FEATURES).rename(columns={"feature": "name"})
    if len(shown):
        shown.loc[len(shown)] = ["equal features", rest, rest, rest]
    others = documents.sort_values("swaps", ascending=False, kind="stable").head(DOCUMENTS)
    others = others.rename(columns={"document": "name"})
    others["place"] = [*range(len(shown) + 1, len(shown) + 1 + len(others))]
    figure = go.Figure()
    hover = "<b>%{customdata[0]}</b>: %{x:+.3g} [%{customdata[1]:.3g}, %{customdata[2]:.3g}]"
    figure.add_trace(
        go.Bar(
            x=shown["effect"], y=[*range(len(shown))], orientation="h", name="feature",
            marker={"color": color}, customdata=shown[["name", "low", "high"]],
            hovertemplate=f"{hover}<extra></extra>",
            error_x={
                "type": "data", "array": shown["high"] - shown["effect"], "thickness": 1.2,
                "width": 3, "visible": bool((shown["high"] > shown["low"]).any()),
            },
        )
    )  # fmt: skip
    for swaps, name, fill in ((True, "swaps the two", 0.65), (False, "other document", 0.25)):
        rows = others[others["swaps"] == swaps]
        figure.add_trace(
            go.Bar(
                x=rows["effect"], y=rows["place"], orientation="h", name=name,
                marker={"color": faded(color, fill), "line": {"color": color, "width": 1}},
                customdata=rows[["name", "above_rank", "below_rank"]],
                hovertemplate="<b>%{customdata[0]}</b>: %{x:+.3g}<br>without it, the two have "
                "ranks %{customdata[1]} and %{customdata[2]}<extra></extra>",
            )
        )  # fmt: skip
    names: list[Any] = [*shown["name"], *others["name"]]
    bars: list[Any] = [*range(len(shown)), *others["place"]]
    laid_out(figure, height=110 + BAR * (len(names) + 1), bargap=0.25, barmode="overlay")
    xaxes(
        figure, title="effect on the margin", zeroline=True, zerolinecolor="rgba(127,127,127,0.8)"
    )
    texts = [cut(name, LETTERS) for name in names]
    yaxes(figure, tickvals=bars, ticktext=texts, range=[bars[-1] + 0.6, -0.6], **NAMES)
    return figure
