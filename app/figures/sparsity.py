"""Non-zeros of a document against effectiveness: a line a way to sparsity."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import DASHES, PALETTE, laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import interval, number

HEIGHT = 420


@plain_text
def curves(frame: pd.DataFrame, measure: str) -> go.Figure:
    """A mark a level, open where the index is dense in disguise, with its 95 % interval.

    Args:
        frame: way, level, mean, low, high, nonzeros_document, postings_per_query_over_n,
            dense_in_disguise.
        measure: that is drawn.
    """
    figure = go.Figure()
    for place, (way, own) in enumerate(frame.groupby("way", sort=False)):
        points = own.sort_values("nonzeros_document", kind="stable")
        dense = points["dense_in_disguise"].astype(bool)
        figure.add_trace(
            go.Scatter(
                x=points["nonzeros_document"].clip(lower=0.1),
                y=points["mean"],
                name=str(way),
                mode="lines+markers",
                line={
                    "color": PALETTE[place % len(PALETTE)], "width": 2,
                    "dash": ("solid", *DASHES)[place % (1 + len(DASHES))],
                },
                marker={
                    "size": 10, "symbol": ["circle-open" if one else "circle" for one in dense],
                },
                error_y={
                    "type": "data", "symmetric": False, "array": points["high"] - points["mean"],
                    "arrayminus": points["mean"] - points["low"], "thickness": 1, "width": 3,
                },
                customdata=points[["level", "postings_per_query_over_n"]],
                hovertemplate=f"<b>{way}</b> %{{customdata[0]:g}}<br>{measure} %{{y:.3f}}<br>"
                "%{x:.1f} non-zeros a document<br>%{customdata[1]:.2f} N postings a query"
                "<extra></extra>",
            )
        )  # fmt: skip
    laid_out(figure, height=HEIGHT, hovermode="closest")
    xaxes(figure, title="non-zeros of a document (open: dense in disguise)", type="log")
    yaxes(figure, title=measure, rangemode="tozero")
    return figure


@in_words
def alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words."""
    said = [
        f"{row['way']} {row['level']:g}: {number(row['mean'])} {interval(row['low'], row['high'])} "
        f"at {row['nonzeros_document']:.1f} non-zeros"
        + (", dense in disguise" if row["dense_in_disguise"] else "")
        for _, row in frame.iterrows()
    ]
    return f"{measure} against non-zeros of a document: {'; '.join(said)}."
