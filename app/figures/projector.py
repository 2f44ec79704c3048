"""A picture for a projector: the same marks, with text that the last row can read."""

import plotly.graph_objects as go

from shuffleproof.app.figures.style import set_properties, spread_labels, xaxes, yaxes

LETTERS = 18
"""Pixels of every letter."""

LINE = 24.0
"""Pixels of a line of text."""


def for_projector(figure: go.Figure, height: int = 540) -> go.Figure:
    """A copy with large text, thicker lines and the room that both need.

    Args:
        figure: the picture.
        height: in pixels.
    """
    copy = go.Figure(figure)
    share = LETTERS / 12
    margin = copy.layout.margin
    wide = {side: round((margin[side] or 40) * share) for side in "lrtb"}
    font = {"size": LETTERS}
    set_properties(copy.layout, height=height, margin=wide, font=font, hoverlabel={"font": font})
    for axes in (xaxes, yaxes):
        axes(copy, tickfont=font, title={"font": font})
    for note in copy.layout.annotations:
        set_properties(note, font=font)
        if note.name == "name":  # beside a mark
            set_properties(note, ax=note.ax * share, ay=note.ay * share)
    copy.update_traces(textfont=font, selector={"type": "heatmap"})
    for trace in copy.select_traces({"type": "scatter"}):
        if trace.line.width:
            trace.line.width *= share
        if isinstance(trace.marker.size, (int, float)):
            trace.marker.size *= share
    _ends(copy, height - wide["t"] - wide["b"])
    return copy


def _ends(figure: go.Figure, plot: float) -> None:
    """Spread the names at the ends of curves again, each on one line."""
    ends = [note for note in figure.layout.annotations if note.name == "end"]
    span = figure.layout.yaxis.range
    if not ends or not span:
        return
    low, high = span
    wanted = [(high - note.y) / (high - low) * plot for note in ends]
    places = spread_labels(wanted, [LINE] * len(ends), plot)
    for note, at, own in zip(ends, places, wanted, strict=True):
        set_properties(note, text=note.text.replace("-<br>", "-").replace("<br>", " "), ay=at - own)
    longest = max(len(note.text) for note in ends)
    set_properties(figure.layout, margin={"r": 40 + round(0.58 * LETTERS * longest)})
