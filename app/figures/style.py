"""One colour, dash and marker per ranker on every page, and the layout that all figures share.

The fourteen colours have a contrast of 3 : 1 or more against white and the dark page. A search
chose them to differ most, also for colour-blind readers (`tests/app/test_app_style.py`). Grey is
for reference lines. Solid lines read an initial ranking, dashed ones do not. Every ranker of the
registry also has a unique mark, so that colour is never the only difference.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
from plotly.basedatatypes import BasePlotlyType

from shuffleproof.app.figures.text import label_of
from shuffleproof.core.rankers.name import CONFIGS, FILES, RankerName

PALETTE = (
    "#006EB4", "#D25A00", "#DC50FA", "#BE2850", "#F05AAA", "#468CFA", "#7828FA", "#5A6464",
    "#96500A", "#825096", "#C80ABE", "#509650", "#A050DC", "#AA82D2",
)  # fmt: skip
INK = "#000000"
PALE_GAIN_LOSS = ("#8073AC", "#B2ABD2", "#D8DAEB", "#F7F7F7", "#FEE0B6", "#FDB863", "#E08214")
"""Colours of cells with numbers in INK: a contrast of 4.5 : 1 or more on every colour."""

BRIGHTER = {"#7828FA": 1.02, "#5A6464": 1.03, "#96500A": 1.025, "#825096": 1.01}
"""Factors of the channels on the dark page, for colours below 3 : 1 there."""

REFERENCE = "#7F7F7F"
DASHES = ("dash", "dashdot", "longdash", "longdashdot")
"""Dashes of rankers without an initial ranking; the last one is for names not in KNOWN."""

KNOWN = {
    "setrank-imsab-init": (0, "solid", "circle"),
    "dlcm": (1, "solid", "square"),
    "setrank-imsab-multi-init": (11, "solid", "diamond"),
    "setrank-msab-init": (4, "solid", "triangle-up"),
    "dlcm-listmle": (3, "solid", "star"),
    "dlcm-softrank": (10, "solid", "hexagon"),
    "setrank-imsab": (5, "dash", "triangle-down"),
    "setrank-msab": (6, "dash", "cross"),
    "dlcm-without-init": (8, "dash", "x"),
    "lambdamart": (9, "dash", "pentagon"),
    "mart": (2, "dash", "hexagram"),
    "gsf": (7, "dash", "triangle-left"),
    "ranksvm": (12, "dash", "triangle-right"),
    "rankboost": (13, "dash", "octagon"),
    "listnet": (0, "dashdot", "star-square"),
    "ranknet": (1, "dashdot", "star-diamond"),
    "irsvm": (11, "dashdot", "diamond-tall"),
    "lambdarank": (4, "dashdot", "diamond-wide"),
    "frank": (3, "dashdot", "hourglass"),
    "mlp": (10, "dashdot", "bowtie"),
    "frank-additive": (5, "dashdot", "star-triangle-up"),
    "pair-net": (6, "dashdot", "triangle-ne"),
    "pair-trees": (8, "dashdot", "triangle-sw"),
}
"""Palette index, dash and mark of rankers. The paper's Table 2 and DLCM's other losses have unique
colours; other rankers share a colour but differ in dash and mark."""

FURTHER = (
    "triangle-ne", "triangle-sw", "star-triangle-down", "hexagon2", "triangle-nw", "triangle-se",
    *(mark for _, _, mark in KNOWN.values()),
)  # fmt: skip
"""Marks of rankers that are not in KNOWN, and of a ranker's second row (another preset)."""


LAYOUT = {
    "paper_bgcolor": "rgba(0,0,0,0)",
    "plot_bgcolor": "rgba(0,0,0,0)",
    "font": {"family": "system-ui, sans-serif", "size": 13},
    "margin": {"l": 64, "r": 16, "t": 24, "b": 48},
    "hoverlabel": {"namelength": -1},
    "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
}
LABEL_HEIGHT = 17.0
"""Pixels of a line of a name at the end of a curve."""

LABEL_GAP = 5.0
"""Pixels between two names, so that lines of one name stay together."""

GRID = {"gridcolor": "rgba(127,127,127,0.2)", "zeroline": False}
TAG = re.compile(r"<[^>]*>")

UNSIGNED_ZERO = {"labelalias": {"+0": "0", "+0.00": "0"}}
"""Settings of an axis of signed differences: 0 has no sign."""

UNDIMMED = {"selected": {"marker": {"opacity": 1}}, "unselected": {"marker": {"opacity": 1}}}
"""Settings of clickable marks: they look the same before and after a click."""

NAMES = {"automargin": True}
"""Settings of an axis with names as ticks; Plotly draws such a figure twice to measure them."""


@dataclass(frozen=True)
class Stroke:
    """Style of a ranker's line.

    Attributes:
        color: of line and markers.
        dash: of the line.
        shape: of the markers.
    """

    color: str
    dash: str
    shape: str


def stroke(ranker: str) -> Stroke:
    """Colour, dash and mark of a ranker; they depend on its name alone.

    >>> stroke("dlcm").dash, stroke("setrank-imsab").dash, stroke("initial: mart").dash
    ('solid', 'dash', 'dot')
    """
    named = RankerName.of(label_of(ranker))
    name = named.base
    if named.is_initial or name in {"random", "ideal", "file-order"}:
        return Stroke(REFERENCE, "dot", "circle")
    if name in KNOWN:
        place, dash, shape = KNOWN[name]
        return Stroke(PALETTE[place], dash, shape)
    name = named.display if named.head in {*CONFIGS, *FILES} else name
    digest = hashlib.sha256(name.encode()).digest()  # hash() differs between processes
    shape = FURTHER[digest[1] % len(FURTHER)]
    color = PALETTE[digest[0] % len(PALETTE)]
    if named.feature is not None:  # a reference, not in a colour of the paper's rankers
        color = REFERENCE
    elif len(named.parts) == 1 and named.parts[0].base in KNOWN:  # unlike the ranker in it
        color = PALETTE[(KNOWN[named.parts[0].base][0] + 6) % len(PALETTE)]
    return Stroke(color, DASHES[-1], shape)


def shapes(rankers: Sequence[str]) -> dict[str, str]:
    """Markers of rankers in one figure: no two share both colour and shape.

    Of two rankers with equal styles, the later name in the alphabet gets another shape, whatever
    the input order.

    >>> shapes(["ranksvm", "dlcm@small", "dlcm"])
    {'ranksvm': 'triangle-right', 'dlcm@small': 'triangle-ne', 'dlcm': 'square'}
    """
    owners: dict[tuple[str, str], str] = {}
    for name in sorted(dict.fromkeys(rankers), key=lambda name: (_unknown(name), name)):
        usual = stroke(name)
        free = [shape for shape in (usual.shape, *FURTHER) if (usual.color, shape) not in owners]
        owners[usual.color, free[0] if free else usual.shape] = name
    by_name = {name: shape for (_, shape), name in owners.items()}
    return {name: by_name.get(name, stroke(name).shape) for name in dict.fromkeys(rankers)}


def _unknown(name: str) -> bool:
    return label_of(name) not in KNOWN


def faded(color: str, opacity: float) -> str:
    """A hex colour as rgba, for ribbons.

    >>> faded("#0072B2", 0.5)
    'rgba(0,114,178,0.5)'
    """
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def ribbon(x: Any, low: Any, high: Any, fill: str, **more: Any) -> go.Scatter:
    """Interval along a curve as an area between columns `low` and `high`."""
    return go.Scatter(
        x=[*x, *x[::-1]], y=[*high, *low[::-1]], fill="toself", fillcolor=fill, mode="lines",
        line={"width": 0}, hoverinfo="skip", showlegend=False, **more,
    )  # fmt: skip


def click_marks(x: Any, y: Any, size: float, **more: Any) -> go.Scatter:
    """Invisible squares over cells: heat maps report no clicks, marks do."""
    return go.Scatter(
        x=x, y=y, mode="markers", **UNDIMMED,
        marker={"size": size, "color": "rgba(0,0,0,0)", "symbol": "square"}, **more,
    )  # fmt: skip


def numbered_line(place: int) -> dict[str, Any]:
    """Line style by place, for series that are not rankers."""
    dashes = ("solid", *DASHES)
    return {
        "color": PALETTE[place % len(PALETTE)], "width": 2, "dash": dashes[place % len(dashes)],
    }  # fmt: skip


def set_properties(part: Any, /, **values: Any) -> None:
    """Set properties of a layout, an axis or the like in place, one by one.

    Does what Plotly's `update_layout` does in a fifth of the time, since every click draws a
    figure. Dictionaries are merged into existing values.

    >>> figure = go.Figure()
    >>> set_properties(figure.layout, margin={"l": 5}, height=300)
    >>> figure.layout.margin.l, figure.layout.height
    (5, 300)
    """
    for name, value in values.items():
        there = name in part  # a second axis may not exist yet
        if there and isinstance(value, dict) and isinstance(part[name], BasePlotlyType):
            set_properties(part[name], **value)
        else:
            part[name] = value


def xaxes(figure: go.Figure, **values: Any) -> None:
    """Set properties of every horizontal axis."""
    for axis in figure.select_xaxes():
        set_properties(axis, **values)


def yaxes(figure: go.Figure, **values: Any) -> None:
    """Set properties of every vertical axis."""
    for axis in figure.select_yaxes():
        set_properties(axis, **values)


def add_annotations(figure: go.Figure, notes: Sequence[dict[str, Any]]) -> None:
    """Add annotations at once; one by one, Plotly would validate all earlier ones again."""
    figure.layout.annotations = [*figure.layout.annotations, *notes]


def laid_out(figure: go.Figure, **changes: Any) -> go.Figure:
    """Apply the shared layout: transparent ground (light and dark), pale grid, room for labels."""
    set_properties(figure.layout, **LAYOUT, **changes)
    xaxes(figure, **GRID)
    yaxes(figure, **GRID)
    return figure


def end_labels(rankers: Sequence[str], longest: int = 12) -> list[str]:
    """Names for the ends of curves; long ones take two lines, which leaves phones more room.

    >>> end_labels(["dlcm", "setrank-imsab-init"])
    ['dlcm', 'setrank-<br>imsab-init']
    """
    return [name if len(name) <= longest else _in_two(name) for name in rankers]


def name_margin(texts: Sequence[str], letter: float = 7.2, room: int = 24) -> int:
    """Pixels of a margin for names along an axis.

    Args:
        texts: names, with `<br>` between lines.
        letter: pixels of a letter.
        room: pixels around them.

    >>> name_margin(["dlcm", "setrank-<br>imsab-init"], letter=7)
    94
    """
    lines = (TAG.sub("", line) for text in texts for line in text.split("<br>"))
    return room + round(letter * max(map(len, lines), default=0))


def _in_two(name: str) -> str:
    breaks = [at + 1 for at, character in enumerate(name) if character in "-@: "]
    inside = [at for at in breaks if at < len(name)]
    if not inside:
        return name
    middle = min(inside, key=lambda at: abs(at - len(name) / 2))
    return f"{name[:middle]}<br>{name[middle:]}".replace(" <br>", "<br>")


def spread_labels(wanted: Sequence[float], heights: Sequence[float], room: float) -> list[float]:
    """Places for labels near their wanted places, without overlaps.

    Args:
        wanted: wanted middle of each label, in pixels from the top.
        heights: of the labels.
        room: pixels from the top to the bottom.

    >>> spread_labels([50, 50, 90], [20, 20, 20], 200)
    [40.0, 60.0, 90.0]
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    # Merge overlapping groups until none overlap: isotonic regression by pooling neighbours.
    groups: list[list[int]] = []
    for at in order:
        groups.append([at])
        while len(groups) > 1 and _top(groups[-1], wanted, heights, room) < _bottom(
            groups[-2], wanted, heights, room
        ):
            groups[-2:] = [groups[-2] + groups[-1]]
    places = [0.0] * len(wanted)
    for group in groups:
        edge = _top(group, wanted, heights, room)
        for at in group:
            places[at] = edge + heights[at] / 2
            edge += heights[at]
    return places


def _top(
    group: Sequence[int], wanted: Sequence[float], heights: Sequence[float], room: float
) -> float:
    """Upper edge of stacked labels with the least squared distance to their wanted places."""
    offsets, total = [], 0.0
    for at in group:
        offsets.append(wanted[at] - total - heights[at] / 2)
        total += heights[at]
    return max(0.0, min(sum(offsets) / len(offsets), room - total))


def _bottom(
    group: Sequence[int], wanted: Sequence[float], heights: Sequence[float], room: float
) -> float:
    return _top(group, wanted, heights, room) + sum(heights[at] for at in group)


def named_ends(
    figure: go.Figure,
    ends: Sequence[tuple[str, float, float]],
    texts: Sequence[str],
    scale: tuple[float, float, float],
    **axes: str,
) -> None:
    """Write names at the ends of curves without overlaps, and make room for them.

    Args:
        figure: with its height and margins.
        ends: ranker and last point of its curve, in axis coordinates (logarithms on log axes).
        texts: labels, one per end.
        scale: lowest and highest value of the vertical axis, and its pixels.
        axes: xref and yref of a subplot.
    """
    low, high, plot = scale
    heights = [LABEL_HEIGHT * (text.count("<br>") + 1) for text in texts]
    gap = max(0.0, min(LABEL_GAP, (plot - sum(heights)) / max(len(heights), 1)))
    heights = [height + gap for height in heights]
    wanted = [(high - y) / (high - low) * plot for _, _, y in ends]  # pixels from the top
    places = spread_labels(wanted, heights, plot)
    notes = [
        {
            "x": x, "y": y, "ax": 16, "ay": at - wanted_at, "text": text, "xanchor": "left",
            "align": "left", "showarrow": True, "arrowhead": 0, "arrowwidth": 1.2,
            "arrowcolor": stroke(ranker).color, "standoff": 5, "font": {"size": 12},
            "borderpad": 0, "name": "end", **axes,
        }
        for (ranker, x, y), text, at, wanted_at in zip(ends, texts, places, wanted, strict=True)
    ]  # fmt: skip
    add_annotations(figure, notes)
    widest = max((len(part) for text in texts for part in text.split("<br>")), default=0)
    set_properties(figure.layout, margin={"r": 24 + 7 * widest})


def on_paper(figure: go.Figure) -> go.Figure:
    """Copy on white ground with dark text, for exported files."""
    copy = go.Figure(figure)
    copy.update_layout(
        template="plotly_white", paper_bgcolor="white", plot_bgcolor="white",
        font_color="#222222",
    )  # fmt: skip
    return copy


def names_printed(figure: go.Figure) -> go.Figure:
    """Add a legend for series whose names are not printed in the figure; return the figure."""
    printed = {note.text for note in figure.layout.annotations}
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        printed.update(axis.ticktext if axis.ticktext is not None else ())
    for trace in figure.select_traces({"type": "scatter"}):
        if "text" in (trace.mode or "") and trace.text is not None:
            printed.update([trace.text] if isinstance(trace.text, str) else trace.text)
    plain = {TAG.sub("", str(text).replace("<br>", " ")) for text in printed}
    named = {
        TAG.sub("", trace.name.replace("<br>", " ")): trace for trace in figure.data if trace.name
    }
    lacking = {name for name in named if not any(name in text for text in plain)}
    if len(named) > 1 and lacking:
        set_properties(figure.layout, showlegend=True)
        for name in lacking:
            named[name].showlegend = True
    return figure


def thumbnail(figure: go.Figure, height: int = 170) -> go.Figure:
    """Copy as a thumbnail: marks and axis lines, without text.

    Args:
        figure: the picture.
        height: in pixels.
    """
    copy = go.Figure(figure)
    set_properties(
        copy.layout, height=height, margin={"l": 8, "r": 8, "t": 8, "b": 8}, annotations=[],
        showlegend=False, title={"text": ""},
    )  # fmt: skip
    for axes in (xaxes, yaxes):
        axes(copy, showticklabels=False, title={"text": ""}, automargin=False, ticks="")
    copy.update_traces(showscale=False, selector={"type": "heatmap"})
    copy.update_traces(texttemplate="", selector={"type": "heatmap"})
    return copy


PROJECTED_LETTERS = 18
"""Font size on a projector, in pixels."""

PROJECTED_LINE = 24.0
"""Height of a line of text on a projector, in pixels."""


LEAST_HEIGHT = 480
"""Height of a projected figure in pixels for which the names of curves are placed."""


def for_projector(figure: go.Figure) -> go.Figure:
    """Copy with large text, thicker lines and the margins that both need; as high as its place."""
    copy = go.Figure(figure)
    share = PROJECTED_LETTERS / 12  # Plotly's default font size is 12
    margin = copy.layout.margin
    wide = {side: round((margin[side] or 40) * share) for side in "lrtb"}
    font = {"size": PROJECTED_LETTERS}
    set_properties(copy.layout, height=None, margin=wide, font=font, hoverlabel={"font": font})
    for axes in (xaxes, yaxes):
        axes(copy, tickfont=font, title={"font": font})
    for note in copy.layout.annotations:
        set_properties(note, font=font)
    copy.update_traces(textfont=font, selector={"type": "heatmap"})
    for trace in copy.select_traces({"type": "scatter"}):
        if trace.line.width:
            trace.line.width *= share
        if isinstance(trace.marker.size, (int, float)):
            trace.marker.size *= share
    _ends(copy, LEAST_HEIGHT - wide["t"] - wide["b"])
    return copy


def _ends(figure: go.Figure, plot: float) -> None:
    """Spread the names at the ends of curves again, each on one line."""
    ends = [note for note in figure.layout.annotations if note.name == "end"]
    span = figure.layout.yaxis.range
    if not ends or not span:
        return
    low, high = span
    wanted = [(high - note.y) / (high - low) * plot for note in ends]
    places = spread_labels(wanted, [PROJECTED_LINE] * len(ends), plot)
    for note, at, wanted_at in zip(ends, places, wanted, strict=True):
        set_properties(
            note, text=note.text.replace("-<br>", "-").replace("<br>", " "), ay=at - wanted_at
        )
    longest = max(len(note.text) for note in ends)
    set_properties(figure.layout, margin={"r": 40 + round(0.58 * PROJECTED_LETTERS * longest)})
