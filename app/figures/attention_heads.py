"""Every head at a glance: a small picture each, and its numbers over a whole test part."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from app.figures.attention import ANYWHERE, RING, WEIGHTS
from app.figures.style import REFERENCE, laid_out, stroke

ROW = 110
DOTS = 340


def small(pictures: list[np.ndarray], chosen: tuple[int, int | None]) -> go.Figure:
    """A small heat map of every head, blocks from top to bottom; `customdata` is block and head.

    Every picture has its own colours, from its smallest weight to its largest: compare patterns,
    not shades.

    Args:
        pictures: one array [heads, rows, columns] a block.
        chosen: block and head to bring out; no head: the whole block.
    """
    blocks, heads = len(pictures), len(pictures[0])
    figure = make_subplots(
        rows=blocks, cols=heads, horizontal_spacing=0.012, vertical_spacing=0.05 / max(blocks, 1)
    )
    for block, of_block in enumerate(pictures):
        for head, values in enumerate(of_block):
            place = {"row": block + 1, "col": head + 1}
            figure.add_trace(
                go.Heatmap(
                    z=values, zmin=float(values.min()), zmax=float(values.max()) or 1.0,
                    colorscale=WEIGHTS, showscale=False, hoverinfo="skip",
                ),
                **place,
            )  # fmt: skip
            figure.add_trace(_mark(values, block, head), **place)
            if block == chosen[0] and chosen[1] in {None, head}:
                figure.add_shape(
                    type="rect", x0=-0.5, y0=-0.5, x1=values.shape[1] - 0.5,
                    y1=values.shape[0] - 0.5, line={"color": RING, "width": 3}, **place,
                )  # fmt: skip
    laid_out(
        figure, height=60 + ROW * blocks, showlegend=False, dragmode=False, **ANYWHERE,
    )  # fmt: skip
    figure.update_xaxes(visible=False, fixedrange=True)
    figure.update_yaxes(visible=False, fixedrange=True, autorange="reversed")
    for head in range(heads):
        figure.update_xaxes(
            visible=True, showticklabels=False, showgrid=False, side="top",
            title={"text": f"head {head + 1}", "standoff": 2}, row=1, col=head + 1,
        )  # fmt: skip
    for block in range(blocks):
        figure.update_yaxes(
            visible=True, showticklabels=False, showgrid=False,
            title={"text": f"block {block + 1}", "standoff": 2}, row=block + 1, col=1,
        )  # fmt: skip
    figure.update_layout(margin={"l": 28, "r": 4, "t": 28, "b": 4})
    return figure


def _mark(values: np.ndarray, block: int, head: int) -> go.Scatter:
    """A transparent mark in the middle, which every click on the picture is nearest to."""
    height, width = values.shape
    return go.Scatter(
        x=[(width - 1) / 2],
        y=[(height - 1) / 2],
        mode="markers",
        marker={"symbol": "square", "size": 40, "color": "rgba(0,0,0,0)"},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=[[block, head]],
        hovertemplate=f"block {block + 1}, head {head + 1}<extra></extra>",
    )


def small_alt_text(pictures: list[np.ndarray]) -> str:
    """The small pictures in words."""
    return (
        f"Small heat maps of {len(pictures)} × {len(pictures[0])} heads, documents by documents "
        "in the order of the initial ranking, each in its own colours."
    )


def dots(table: pd.DataFrame, ranker: str, column: str, words: str) -> go.Figure:
    """A mark a head over its block; the line is what equal weights would give, where there is one.

    Args:
        table: block, head (from 1), the column, chance.
        ranker: its label, which gives the colour.
        column: what is drawn.
        words: what it is called.
    """
    line = stroke(ranker)
    heads = int(table["head"].max()) if len(table) else 1
    shift = (table["head"] - (heads + 1) / 2) * (0.6 / max(heads, 1))
    figure = go.Figure(
        go.Scatter(
            x=table["block"] + shift,
            y=table[column],
            mode="markers+text" if heads > 1 else "markers",
            text=table["head"].astype(str),
            textposition="top center",
            cliponaxis=False,
            marker={"size": 9, "color": line.color},
            customdata=table[["block", "head"]],
            hovertemplate=(
                "block %{customdata[0]}, head %{customdata[1]}<br>"
                f"{words}: %{{y:.3f}}<extra></extra>"
            ),
        )
    )
    if column in {"relevant", "lift"}:
        figure.add_hline(
            y=1.0 if column == "lift" else float(table["chance"].mean()),
            line={"color": REFERENCE, "dash": "dot"},
            annotation_text="chance",
            annotation_position="bottom right",
        )
    blocks = sorted({int(block) for block in table["block"]})
    figure.update_xaxes(
        title="block", tickvals=blocks, range=[min(blocks) - 0.5, max(blocks) + 0.5]
    )
    figure.update_yaxes(title=words, rangemode="tozero")
    return laid_out(figure, height=DOTS, showlegend=False)


def dots_alt_text(table: pd.DataFrame, ranker: str, column: str, words: str) -> str:
    """The marks in words."""
    values = table[column].dropna()
    if not len(values):
        return f"No head of {ranker} has a number for {words}."
    return (
        f"{words} of {len(values)} heads of {ranker} by block, from {values.min():.3f} to "
        f"{values.max():.3f}."
    )
