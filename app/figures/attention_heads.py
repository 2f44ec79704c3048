"""Every head at a glance: a small picture each, and its numbers over a whole test part."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.attention import ANYWHERE, RING, WEIGHTS
from shuffleproof.app.figures.style import REFERENCE, laid_out, set_properties, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import in_words, plain_text

ROW, DOTS = 110, 340
TILE = 0.94
"""How much of its unit a head's picture fills."""


@plain_text
def small(pictures: list[np.ndarray], chosen: tuple[int, int | None]) -> go.Figure:
    """A small heat map of every head, blocks from top to bottom; `customdata` is block and head.

    All are one picture, a head a unit wide: as many plots would take seconds to draw. Every head
    has its own colours, from its smallest weight to its largest: compare patterns, not shades.

    Args:
        pictures: one array [heads, rows, columns] a block.
        chosen: block and head to bring out; no head: the whole block.
    """
    blocks, heads = len(pictures), len(pictures[0])
    figure = go.Figure(
        [
            go.Heatmap(
                x=_edges(heads, pictures[0].shape[2]), y=_edges(blocks, pictures[0].shape[1]),
                z=_tiled(pictures), zmin=0, zmax=1, colorscale=WEIGHTS, showscale=False,
                hoverinfo="skip",
            ),
            _middles(blocks, heads),
        ]
    )  # fmt: skip
    chosen_heads = range(heads) if chosen[1] is None else (chosen[1],)
    rings = [
        {
            "type": "rect", "x0": head, "x1": head + TILE, "y0": chosen[0],
            "y1": chosen[0] + TILE, "line": {"color": RING, "width": 3},
        }
        for head in chosen_heads
        if 0 <= chosen[0] < blocks
    ]  # fmt: skip
    laid_out(
        figure, height=60 + ROW * blocks, showlegend=False, dragmode=False, shapes=rings, **ANYWHERE
    )
    for update, count, what in (
        (xaxes, heads, "head"), (yaxes, blocks, "block")
    ):  # fmt: skip
        update(
            figure, title=what, tickvals=[at + TILE / 2 for at in range(count)],
            ticktext=[str(at + 1) for at in range(count)], showgrid=False, fixedrange=True,
            ticks="", range=[0, count - 1 + TILE],
        )  # fmt: skip
    xaxes(figure, side="top")
    yaxes(figure, range=[blocks - 1 + TILE, 0])
    set_properties(figure.layout, margin={"l": 44, "r": 4, "t": 44, "b": 4})
    return figure


def _edges(tiles: int, cells: int) -> np.ndarray:
    """Where the cells of tiles begin and end along an axis, a gap after each tile but the last."""
    own = np.linspace(0.0, TILE, cells + 1)
    return np.concatenate([tile + own for tile in range(tiles)])


def _tiled(pictures: list[np.ndarray]) -> np.ndarray:
    """All heads in one array, each from 0 to 1, empty cells between them."""
    pages = np.stack(pictures).astype(np.float32)
    low, high = (pick(pages, axis=(2, 3), keepdims=True) for pick in (np.min, np.max))
    pages = (pages - low) / np.where(high > low, high - low, 1.0)
    padded = np.pad(pages, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    blocks, heads, rows, columns = padded.shape
    return padded.transpose(0, 2, 1, 3).reshape(blocks * rows, heads * columns)[:-1, :-1]


def _middles(blocks: int, heads: int) -> go.Scatter:
    """A transparent mark in the middle of every head: clicks on its picture are nearest to it."""
    places = [(block, head) for block in range(blocks) for head in range(heads)]
    return go.Scatter(
        x=[head + TILE / 2 for _, head in places],
        y=[block + TILE / 2 for block, _ in places],
        mode="markers",
        marker={"symbol": "square", "size": 40, "color": "rgba(0,0,0,0)"},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=places,
        text=[f"block {block + 1}, head {head + 1}" for block, head in places],
        hovertemplate="%{text}<extra></extra>",
    )


@in_words
def small_alt_text(pictures: list[np.ndarray]) -> str:
    """The small pictures in words."""
    return (
        f"Small heat maps of {len(pictures)} × {len(pictures[0])} heads, documents by documents "
        "in the order of the initial ranking, each in its own colours."
    )


@plain_text
def dots(
    table: pd.DataFrame, ranker: str, column: str, words: str, what: str = "head"
) -> go.Figure:
    """A mark a head over its block; the line is what equal weights would give, where there is one.

    Args:
        table: block, head (from 1), the column, chance.
        ranker: its label, which gives the colour.
        column: what is drawn.
        words: what it is called.
        what: what a mark is: head, or point.
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
                f"block %{{customdata[0]}}, {what} %{{customdata[1]}}<br>"
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
    xaxes(figure, title="block", tickvals=blocks, range=[min(blocks) - 0.5, max(blocks) + 0.5])
    yaxes(figure, title=words, rangemode="tozero")
    return laid_out(figure, height=DOTS, showlegend=False)


@in_words
def dots_alt_text(
    table: pd.DataFrame, ranker: str, column: str, words: str, what: str = "head"
) -> str:
    """The marks in words."""
    values = table[column].dropna()
    if not len(values):
        return f"No {what} of {ranker} has a number for {words}."
    return (
        f"{words}: {len(values)} {what}s of {ranker} by block, from {values.min():.3f} to "
        f"{values.max():.3f}."
    )
