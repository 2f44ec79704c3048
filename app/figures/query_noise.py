"""What retrievers lose to noise in queries and to documents that came later: small pictures."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.style import (
    DASHES,
    PALETTE,
    REFERENCE,
    UNSIGNED_ZERO,
    add_annotations,
    laid_out,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import interval, percent, signed

ACROSS = 2
ROW, FRAME = 190, 110
"""Pixels of a row of pictures, and of legend and margins."""


@plain_text
def changes(frame: pd.DataFrame, measure: str) -> go.Figure:
    """The change of every retriever against the level, with the intervals of the tests.

    Args:
        frame: retriever, noise, level, measure, change, low, high, p, n.
        measure: that is drawn.
    """
    own = frame[frame["measure"] == measure]
    return panels(own.rename(columns={"noise": "panel"}), measure, "share of words")


@plain_text
def panels(own: pd.DataFrame, measure: str, across: str) -> go.Figure:
    """A picture a panel, a line a retriever: changes against a level, with their intervals.

    Args:
        own: retriever, panel, level, change, low, high.
        measure: what changes.
        across: what the level is.
    """
    kinds, names = own["panel"].unique(), own["retriever"].unique()
    rows = -(-len(kinds) // ACROSS)
    figure = make_subplots(
        rows=rows, cols=min(ACROSS, len(kinds)), shared_yaxes="all", shared_xaxes="all",
        horizontal_spacing=0.04, vertical_spacing=0.28 / rows,
    )  # fmt: skip
    for at, kind in enumerate(kinds):
        place = {"row": at // ACROSS + 1, "col": at % ACROSS + 1}
        for number, name in enumerate(names):
            points = own[(own["panel"] == kind) & (own["retriever"] == name)]
            figure.add_trace(_line(points, name, number, shown=at == 0), **place)
        figure.add_hline(0, line={"color": REFERENCE, "width": 1}, **place)
    laid_out(figure, height=ROW * rows + FRAME, hovermode="closest")
    set_properties(
        figure.layout, margin={"t": 76, "b": 56},
        legend={"y": 1.0, "yref": "container", "yanchor": "top"},
    )  # fmt: skip
    yaxes(figure, tickformat="+.2f", **UNSIGNED_ZERO)
    xaxes(figure, tickformat=".0%", showticklabels=True)
    figure.update_yaxes(title=f"{measure}, change", col=1, row=(rows + 1) // 2)
    figure.update_xaxes(title=across, row=rows)
    add_annotations(figure, [
        {"text": f"<b>{kind}</b>", "x": 0, "y": 1, "xref": f"x{at + 1 if at else ''} domain",
         "yref": f"y{at + 1 if at else ''} domain", "xanchor": "left", "yanchor": "bottom",
         "showarrow": False}
        for at, kind in enumerate(kinds)
    ])  # fmt: skip
    return figure


def _line(points: pd.DataFrame, name: str, number: int, *, shown: bool) -> go.Scatter:
    color = PALETTE[number % len(PALETTE)]
    return go.Scatter(
        x=points["level"],
        y=points["change"],
        name=name,
        legendgroup=name,
        showlegend=shown,
        mode="lines+markers",
        line={"color": color, "width": 2, "dash": ("solid", *DASHES)[number % (1 + len(DASHES))]},
        marker={"size": 7},
        error_y={
            "type": "data", "symmetric": False, "array": points["high"] - points["change"],
            "arrayminus": points["change"] - points["low"], "thickness": 1, "width": 3,
        },
        customdata=points[["low", "high", "panel"]],
        hovertemplate=f"<b>{name}</b><br>%{{customdata[2]}} %{{x:.0%}}<br>%{{y:+.3f}} "
        "[%{customdata[0]:+.3f}, %{customdata[1]:+.3f}]<extra></extra>",
    )  # fmt: skip


@in_words
def alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words: of every retriever and kind of noise its highest level."""
    own = frame[frame["measure"] == measure]
    last = own[own["level"] == own.groupby(["retriever", "noise"])["level"].transform("max")]
    said = [
        f"{row['retriever']} {row['noise']} {row['level']:.0%} {signed(row['change'])} "
        f"{interval(row['low'], row['high'])}"
        for _, row in last.iterrows()
    ]
    return f"Change of {measure} under noise, with 95 % intervals: {'; '.join(said)}."


@plain_text
def growth_changes(frame: pd.DataFrame, measure: str) -> go.Figure:
    """The change of recall of seen and of unseen documents against the share that came later.

    Args:
        frame: retriever, documents, share, change, low, high.
        measure: what recall is called.
    """
    own = frame.rename(columns={"share": "level", "documents": "panel"})
    return panels(own, measure, "came later")


@in_words
def growth_alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words: of every retriever the largest share."""
    own = frame[frame["share"] == frame["share"].max()]
    said = [
        f"{row['retriever']}, {row['documents']} documents {signed(row['change'])} "
        f"{interval(row['low'], row['high'])}"
        for _, row in own.iterrows()
    ]
    return (
        f"Change of {measure} where {percent(own['share'].max())} of the documents came after "
        "training, "
        f"with 95 % intervals: {'; '.join(said)}."
    )
