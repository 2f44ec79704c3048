"""Attention weights as a clickable heat map, and all heads in small."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    NAMES,
    UNDIMMED,
    add_annotations,
    click_marks,
    laid_out,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text

WEIGHTS = [
    [0.0, "#f3f0e6"], [0.1, "#cfe0e3"], [0.3, "#7fb3cd"], [0.6, "#2f78ad"], [1.0, "#0b2c5c"],
]  # fmt: skip
"""Colours of weights, pale to dark blue: readable in grey, on light and on dark ground."""

CHANGES = [
    [0.0, "#8a3b00"],
    [0.25, "#D55E00"],
    [0.5, "#f2f0ec"],
    [0.75, "#0072B2"],
    [1.0, "#003a5c"],
]
RELEVANT, RING = "#E69F00", "#D55E00"
HEIGHT, BOTH, PLOT = 500, 400, 410
PANELS = {"xaxis": (0.0, 0.485), "xaxis2": (0.515, 1.0)}
BESIDE = ("unchanged", "after the change")
"""Headings of two maps side by side."""

MOST_TICKS = 8
LEAST_MARK = 5
MISSING = "not in both lists"
ANYWHERE = {"hovermode": "closest", "hoverdistance": -1}
"""Settings that give a click to the nearest mark at any distance: cells need not be square."""


@dataclass(frozen=True, eq=False)
class Side:
    """One axis of a map.

    Attributes:
        title: kind of the items and their order.
        names: of the items (`7. document`).
        relevant: True for each relevant document; empty: the items are not documents.
    """

    title: str
    names: Sequence[str]
    relevant: Sequence[bool]


@dataclass(frozen=True, eq=False)
class Cells:
    """Contents of a drawn map.

    Attributes:
        values: one number per cell, [rows, columns].
        rows: the vertical axis.
        columns: the horizontal axis.
        limits: numbers at the two ends of the colours.
        signed: True if numbers lie on both sides of 0.
        what: name of the numbers, for the colour bar.
        chosen: row and column of the cell to mark.
        after: the same cells after a change, drawn next to them; None: not drawn.
    """

    values: np.ndarray
    rows: Side
    columns: Side
    limits: tuple[float, float]
    signed: bool
    what: str
    chosen: tuple[int, int] | None = None
    after: np.ndarray | None = None


@plain_text
def heat(cells: Cells) -> go.Figure:
    """Heat map with row 0 at the top; x and y of a click are column and row.

    Plotly's heat maps report no clicks, so transparent marks cover the cells. Amber marks along
    the axes are relevant documents. NaN cells are empty.
    """
    count_rows, count_columns = cells.values.shape
    panels = [cells.values] if cells.after is None else [cells.values, cells.after]
    figure = go.Figure()
    for at, values in enumerate(panels):
        place = {"xaxis": f"x{at + 1}" if at else "x"}
        figure.add_traces(
            # Both panels share limits, so one colour bar is enough.
            [_colors(cells, values, place, scale=not at), _marks(cells, values, place)]
        )
        if any(cells.columns.relevant):
            above = _relevant(cells.columns, -_room(count_rows), across=True)
            figure.add_trace(above.update(place))
    if any(cells.rows.relevant):
        figure.add_trace(_relevant(cells.rows, -_room(count_columns), across=False))
    if len(panels) > 1:
        _side_by_side(figure, cells.columns.title)
    if cells.chosen is not None:
        row, column = cells.chosen
        ring = {
            "type": "rect", "x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5,
            "y1": row + 0.5, "line": {"color": RING, "width": 3},
        }  # fmt: skip
        both = [ring, ring | {"xref": "x2"}]
        set_properties(figure.layout, shapes=both[: len(panels)])
    ticks = MOST_TICKS // len(panels)
    xaxes(figure, **_axis(cells.columns, count_columns, ticks), side="bottom")
    yaxes(figure, **_axis(cells.rows, count_rows, turned=True))
    if len(panels) > 1:
        xaxes(figure, title="")
    laid_out(figure, height=HEIGHT if len(panels) == 1 else BOTH, showlegend=False, dragmode=False,
             **ANYWHERE)  # fmt: skip
    xaxes(figure, showgrid=False, fixedrange=True, **NAMES)
    yaxes(figure, showgrid=False, fixedrange=True, **NAMES)
    top = 12 if len(panels) == 1 else 32
    set_properties(figure.layout, margin={"l": 48, "r": 8, "t": top, "b": 48})
    return figure


def _side_by_side(figure: go.Figure, title: str) -> None:
    """Arrange two maps side by side, with one axis title and a heading each."""
    middles = {}
    for axis, (left, right) in PANELS.items():
        figure.layout[axis] = {"domain": [left, right], "anchor": "y"}
        middles[axis] = (left + right) / 2
    heads = zip(BESIDE, middles.values(), strict=True)
    place = {"xref": "paper", "yref": "paper", "xanchor": "center", "showarrow": False}
    above = [{"text": text, "x": x, "y": 1.0, "yanchor": "bottom", **place} for text, x in heads]
    below = {"text": title, "x": 0.5, "y": 0.0, "yanchor": "top", "yshift": -32, **place}
    add_annotations(figure, [*above, below])


def _colors(
    cells: Cells, values: np.ndarray, place: Mapping[str, str], *, scale: bool
) -> go.Heatmap:
    low, high = cells.limits
    return go.Heatmap(
        z=values,
        zmin=low,
        zmax=high,
        colorscale=CHANGES if cells.signed else WEIGHTS,
        showscale=scale,
        colorbar={
            "title": {"text": cells.what, "side": "right"},
            "thickness": 12,
            "len": 0.9,
            "outlinewidth": 0,
            "tickformat": "~g",
        },
        hoverinfo="skip",
        **place,
    )


def _marks(cells: Cells, shown: np.ndarray, place: Mapping[str, str]) -> go.Scatter:
    names = [f"<b>{name}</b> ← " for name in cells.rows.names]
    across = [name + "<br>" for name in cells.columns.names]
    texts = [
        row + column + (f"{value:.3g}" if value == value else MISSING)  # noqa: PLR0124 (NaN is not)
        for row, values in zip(names, shown.tolist(), strict=True)
        for column, value in zip(across, values, strict=True)
    ]
    rows, columns = np.indices(cells.values.shape).reshape(2, -1)
    # About the pixels of a cell, so that hover and click find the right one.
    size = max(LEAST_MARK, min(40, PLOT / max(cells.values.shape)))
    return click_marks(
        columns,
        rows,
        size,
        text=np.array(texts, dtype=object),  # Plotly validates lists element by element
        hovertemplate="%{text}<extra></extra>",
        **place,
    )


def _relevant(side: Side, at: float, *, across: bool) -> go.Scatter:
    """Marks of relevant documents along the map, at this place of the other axis."""
    places = np.flatnonzero(side.relevant).tolist()
    fixed = [at] * len(places)
    return go.Scatter(
        x=places if across else fixed,
        y=fixed if across else places,
        mode="markers",
        marker={"symbol": "square", "size": 6, "color": RELEVANT},
        **UNDIMMED,
        hoverinfo="skip",
    )


def _room(count: int) -> float:
    """Distance of the marks of relevant documents from the first cell's middle, in cells."""
    return 0.5 + max(0.02 * count, 0.25)


def _axis(
    side: Side, count: int, most: int = MOST_TICKS, *, turned: bool = False
) -> dict[str, Any]:
    ends = [-0.5 - 2 * (_room(count) - 0.5), count - 0.5]
    step = max(1, -(-count // most))
    ticks = list(range(0, count, step))
    return {
        "title": side.title,
        "range": ends[::-1] if turned else ends,
        "tickvals": ticks,
        "ticktext": _tick_texts(side, ticks),
    }


def _tick_texts(side: Side, ticks: Sequence[int]) -> list[str]:
    """Place numbers, which names begin with."""
    return [side.names[tick].partition(" ")[0].rstrip(".") for tick in ticks]


ROW = 110
TILE = 0.94
"""Width of a head's picture; the rest of its unit is a gap."""


@plain_text
def small(pictures: list[np.ndarray], chosen: tuple[int, int | None]) -> go.Figure:
    """Small heat maps of all heads, blocks from top to bottom; `customdata` is block and head.

    All heads are one heat map, one unit each: separate plots would take seconds to draw. The
    colours of a head run from its smallest to its largest weight: compare patterns, not shades.

    Args:
        pictures: one array [heads, rows, columns] per block.
        chosen: block and head to mark; head None: the whole block.
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
    """Edges of the cells of all tiles along an axis, with a gap after each tile but the last."""
    edges = np.linspace(0.0, TILE, cells + 1)
    return np.concatenate([tile + edges for tile in range(tiles)])


def _tiled(pictures: list[np.ndarray]) -> np.ndarray:
    """All heads in one array, each scaled to [0, 1], with NaN between them."""
    pages = np.stack(pictures).astype(np.float32)
    low, high = (pick(pages, axis=(2, 3), keepdims=True) for pick in (np.min, np.max))
    pages = (pages - low) / np.where(high > low, high - low, 1.0)
    # One NaN row and column per head are the gaps; the last ones are cut off.
    padded = np.pad(pages, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
    blocks, heads, rows, columns = padded.shape
    return padded.transpose(0, 2, 1, 3).reshape(blocks * rows, heads * columns)[:-1, :-1]


def _middles(blocks: int, heads: int) -> go.Scatter:
    """Transparent marks in the middle of every head: a click goes to the nearest mark."""
    places = [(block, head) for block in range(blocks) for head in range(heads)]
    return click_marks(
        [head + TILE / 2 for _, head in places],
        [block + TILE / 2 for block, _ in places],
        40,
        customdata=places,
        text=[f"block {block + 1}, head {head + 1}" for block, head in places],
        hovertemplate="%{text}<extra></extra>",
    )
