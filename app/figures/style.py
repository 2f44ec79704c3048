"""One colour and one dash per ranker on every page, and the layout that all figures share.

Colours are Okabe and Ito's palette, which survives colour blindness (and greys are kept for
reference lines). Solid = reads an initial ranking, dashed = does not.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1", "#A6761D")
REFERENCE = "#7F7F7F"
KNOWN = {
    "setrank-imsab-init": 0,
    "dlcm": 1,
    "setrank-imsab": 2,
    "setrank-msab-init": 3,
    "lambdamart": 4,
    "setrank-msab": 5,
    "dlcm-without-init": 6,
}
READS_INITIAL = ("-init", "dlcm")


@dataclass(frozen=True)
class Stroke:
    """How a ranker's line is drawn."""

    color: str
    dash: str


def stroke(ranker: str) -> Stroke:
    """The colour and dash of a ranker, by its name alone: the same on every page and day.

    >>> stroke("dlcm").dash, stroke("setrank-imsab").dash
    ('solid', 'dash')
    """
    name = ranker.partition("@")[0]
    if name in {"initial ranking", "random", "ideal", "file-order"}:
        return Stroke(REFERENCE, "dot")
    place = KNOWN.get(name)
    if place is None:
        place = hashlib.sha256(name.encode()).digest()[0]
    reads_initial = name.endswith("-init") or name == "dlcm"
    if name.endswith("without-init"):
        reads_initial = False
    return Stroke(PALETTE[place % len(PALETTE)], "solid" if reads_initial else "dash")


def faded(color: str, opacity: float) -> str:
    """A hex colour as rgba, for ribbons.

    >>> faded("#0072B2", 0.5)
    'rgba(0,114,178,0.5)'
    """
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def laid_out(figure: go.Figure, **changes: Any) -> go.Figure:
    """The shared layout: transparent ground (light and dark), quiet grid, room for labels."""
    figure.update_layout(
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13},
        margin={"l": 56, "r": 16, "t": 24, "b": 48},
        hoverlabel={"namelength": -1},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        **changes,
    )
    grid = {"gridcolor": "rgba(127,127,127,0.2)", "zeroline": False, "automargin": True}
    figure.update_xaxes(**grid)
    figure.update_yaxes(**grid)
    return figure
