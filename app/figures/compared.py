"""Trained rankers side by side: one dot each on a common scale, the best on top."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import NAMES, laid_out, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

ROW, FRAME = 26, 110
"""Pixels of a ranker, and of axis and margins."""

MOST = 20
SCALE = "validation NDCG@10"


@plain_text
def compared(frame: pd.DataFrame) -> go.Figure:
    """The dots of the best rankers.

    Args:
        frame: columns label and value; one row a ranker.
    """
    best = frame.sort_values("value", ascending=False, kind="stable").head(MOST)
    colors = [stroke(label).color for label in best["label"]]
    figure = go.Figure(
        go.Scatter(
            x=best["value"],
            y=best["label"],
            mode="markers+text",
            marker={"color": colors, "size": 11},
            text=[f"{value:.3f}" for value in best["value"]],
            textposition="middle right",
            cliponaxis=False,
            hovertemplate=f"<b>%{{y}}</b><br>{SCALE} %{{x:.3f}}<extra></extra>",
        )
    )
    laid_out(figure, height=FRAME + ROW * len(best), showlegend=False)
    highest = float(best["value"].max()) or 1.0
    xaxes(figure, title=SCALE, range=[0, 1.2 * highest])  # room for the numbers
    yaxes(figure, autorange="reversed", showgrid=True, **NAMES)
    return figure


def alt_text(frame: pd.DataFrame) -> str:
    """The figure in words.

    >>> alt_text(pd.DataFrame({"label": ["mart", "dlcm"], "value": [0.5, 0.625]}))
    'Dot plot of validation NDCG@10 of 2 trained rankers: dlcm 0.625, mart 0.500.'
    """
    best = frame.sort_values("value", ascending=False, kind="stable").head(MOST)
    told = ", ".join(f"{row.label} {row.value:.3f}" for row in best.itertuples())
    count = f"{len(frame)} trained ranker{'' if len(frame) == 1 else 's'}"
    return f"Dot plot of {SCALE} of {count}: {told}."
