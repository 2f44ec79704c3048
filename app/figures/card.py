"""Robustness cards: effectiveness against robustness, a mark a ranker, and the dials of a card."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    REFERENCE,
    UNDIMMED,
    add_annotations,
    end_labels,
    faded,
    laid_out,
    name_margin,
    set_properties,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import interval, number, percent

HEIGHT = 460
SMALLEST, LARGEST = 11.0, 26.0
"""Pixels across: of the fastest and of the slowest ranker."""

GIVEN = "initial ranking"
"""It costs nothing, so that it has no say in the sizes."""

WIDTH, FRAME = 270.0, 96.0
"""Pixels of the plot on a telephone, and of what is above and below it."""


@plain_text
def pareto(frame: pd.DataFrame, measure: str, worst: str) -> go.Figure:
    """Marks over start and kept with its interval; full and ringed: on the front, hollow: beaten.

    The axes are those of the rankers: the initial ranking stands at the edge, with its number,
    where it keeps less than they show.

    Args:
        frame: ranker, start, end, kept with its interval kept_low to kept_high,
            milliseconds_a_list, front.
        measure: that start and end are means of.
        worst: the last level, in words.
    """
    known = frame[frame["start"].notna() & frame["kept"].notna()]
    figure = go.Figure()
    bounds = _bounds(known)
    low = bounds[1][0]
    rows: list[Any] = known.assign(place=known["kept"].clip(lower=low)).to_dict("records")
    sizes = _sizes([0.0 if row["ranker"] == GIVEN else row["milliseconds_a_list"] for row in rows])
    for row, size in zip(rows, sizes, strict=True):
        figure.add_trace(_mark(row, size, (measure, worst)))
    figure.add_hline(y=1.0, line={"color": "rgba(127,127,127,0.8)", "width": 1.2, "dash": "dot"})
    laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=False)
    xaxes(figure, title=f"{measure} on the lists as they are", range=bounds[0])
    yaxes(figure, title=f"share kept at {worst}", range=bounds[1], tickformat=".0%")
    _named(figure, rows, sizes, bounds)
    return figure


def _mark(row: Any, size: float, named: tuple[str, str]) -> go.Scatter:
    measure, worst = named
    ranker, style = str(row["ranker"]), stroke(str(row["ranker"]))
    color = style.color
    given, beyond = ranker == GIVEN, row["place"] > row["kept"]
    symbol = "triangle-down" if beyond else "diamond" if given else style.shape
    return go.Scatter(
        x=[row["start"]],
        y=[row["place"]],
        name=ranker,
        mode="markers",
        cliponaxis=False,
        zorder=-round(size),
        marker={
            "size": size, "symbol": symbol,
            "color": faded(color, 0.75 if row["front"] else 0.1),
            "line": {"width": 2.5 if row["front"] else 1.2, "color": color},
        },
        error_y={
            "type": "data", "symmetric": False, "color": faded(color, 0.8), "thickness": 1.2,
            "width": 3, "visible": not beyond,
            "array": [_reach(row["kept_high"] - row["kept"])],
            "arrayminus": [_reach(row["kept"] - row["kept_low"])],
        },
        **UNDIMMED,
        customdata=[[ranker, row["end"], _interval(row), _standing(row["front"], given=given),
                     _timed(row), row["kept"]]],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b>, %{{customdata[3]}}<br>{measure}: %{{x:.3f}}, at {worst} "
            "%{customdata[1]:.3f}<br>kept: %{customdata[5]:.1%}%{customdata[2]}%{customdata[4]}"
            "<extra></extra>"
        ),
    )  # fmt: skip


def _reach(distance: float) -> float:
    """The length of a half of an interval; 0 where none is known."""
    return 0.0 if math.isnan(distance) else max(0.0, distance)


def _interval(row: Any) -> str:
    """The 95 % interval of what is kept, where it has a width."""
    low, high = 100 * row["kept_low"], 100 * row["kept_high"]
    return f" [{low:.1f} %, {high:.1f} %]" if high > low else ""


def _timed(row: Any) -> str:
    time = row["milliseconds_a_list"]
    return "" if row["ranker"] == GIVEN or math.isnan(time) else f"<br>{time:.3g} ms per list"


def _standing(front: bool | None, *, given: bool) -> str:  # noqa: FBT001 (a fact of the row)
    if given:
        return "for comparison"
    return "on the front" if front else "beaten"


def _bounds(known: pd.DataFrame) -> tuple[list[float], list[float]]:
    """The axes, with room for names; robustness always shows 1."""
    if known.empty:
        return [0.0, 1.0], [0.0, 1.05]
    rankers = known[known["ranker"] != GIVEN]
    shown = rankers if len(rankers) else known
    low, high = float(known["start"].min()), float(known["start"].max())
    room = max(high - low, 0.02) * 0.3
    bottom = min(1.0, float(np.nanmin(shown[["kept", "kept_low"]].to_numpy(float))))
    top = max(1.0, float(np.nanmax(shown[["kept", "kept_high"]].to_numpy(float))))
    gap = max(top - bottom, 0.02) * 0.16
    return [low - room, high + room], [bottom - gap, top + gap]


def _sizes(milliseconds: Sequence[float]) -> list[float]:
    """Pixels across by the logarithm of the time; the least where it is not known."""
    known = [time for time in milliseconds if time > 0]
    if not known:
        return [SMALLEST] * len(milliseconds)
    low, span = math.log(min(known)), max(math.log(max(known) / min(known)), 1e-9)
    return [
        SMALLEST + (LARGEST - SMALLEST) * (math.log(time) - low) / span if time > 0 else SMALLEST
        for time in milliseconds
    ]


def _named(
    figure: go.Figure,
    rows: Sequence[Any],
    sizes: Sequence[float],
    bounds: tuple[list[float], list[float]],
) -> None:
    """Write the names beside the marks, with a line where a name had to go further away."""
    texts = end_labels([str(row["ranker"]) for row in rows])
    texts = [
        f"{text}<br>{percent(row['kept'], 1)}" if row["place"] > row["kept"] else text
        for text, row in zip(texts, rows, strict=True)
    ]
    (left, right), (bottom, top) = bounds
    plot = HEIGHT - FRAME
    marks = [
        Mark(
            (row["start"] - left) / (right - left) * WIDTH,
            (top - row["place"]) / (top - bottom) * plot,
            size,
            text,
        )
        for row, size, text in zip(rows, sizes, texts, strict=True)
    ]
    notes = []
    for row, mark, (x, y, far) in zip(
        rows, marks, places(marks, (WIDTH, plot), (top - 1.0) / (top - bottom) * plot), strict=True
    ):
        color = stroke(str(row["ranker"])).color
        note = {
            "x": row["start"], "y": row["place"], "ax": x, "ay": y, "text": mark.text,
            "showarrow": True, "xanchor": "center", "yanchor": "middle", "align": "center",
            "arrowhead": 0, "arrowwidth": 1.2, "arrowcolor": color if far else "rgba(0,0,0,0)",
            "standoff": mark.size / 2, "borderpad": 0, "font": {"size": 12}, "name": "name",
        }  # fmt: skip
        notes.append(note)
    add_annotations(figure, notes)


LETTER, LINE, GAP = 7.8, 15.0, 4.0
"""Pixels of a letter, of a line of text, and between a mark and its name."""

NEAR = (0.0, 14.0, 28.0, 44.0, 62.0, 82.0)
"""How far out names are tried, pixels."""

ANGLES = tuple(pi * at / 8 for at in (0, 8, 4, 12, 2, 6, 10, 14, 1, 3, 5, 7, 9, 11, 13, 15))
"""In which directions, the plainest first."""

OUTSIDE, FAR = 20.0, 1.0
"""What a pixel outside the plot, or away from the mark, weighs beside a covered square pixel."""

ROUNDS = 3
THICK = 4.0
"""Half the height that is kept free around a line."""


@dataclass(frozen=True)
class Mark:
    """A mark and its name.

    Attributes:
        x: pixels from the left.
        y: pixels from the top.
        size: pixels across.
        text: its name, lines parted by `<br>`.
    """

    x: float
    y: float
    size: float
    text: str

    @property
    def half(self) -> np.ndarray:
        """Half the width and the height of the name."""
        lines = self.text.split("<br>")
        return np.array([LETTER * max(map(len, lines)), LINE * len(lines)]) / 2


def places(
    marks: Sequence[Mark], room: tuple[float, float], line: float | None = None
) -> list[tuple[float, float, bool]]:
    """Where the middle of each name stands, in pixels from its mark; and whether it is far away.

    Each name in turn takes the best place there is among marks and the other names, some times.

    Args:
        marks: of the picture.
        room: pixels across and down.
        line: pixels from the top to a line across, which no name should lie on; None: no line.

    >>> places([Mark(50, 50, 10, "ab")], (100, 100))
    [(16.8, 0.0, False)]
    >>> places([Mark(50, 50, 10, "ab")], (100, 100), 50)
    [(0.0, -16.5, False)]
    """
    dots = [_box(np.array([mark.x, mark.y]), np.full(2, mark.size / 2)) for mark in marks]
    if line is not None:
        dots.append(np.array([[0.0, line - THICK], [room[0], line + THICK]]))
    boxes: dict[int, np.ndarray] = {}
    offsets = [(0.0, 0.0, False)] * len(marks)
    for _ in range(ROUNDS):
        for at, mark in enumerate(marks):
            others = [*dots, *(box for other, box in boxes.items() if other != at)]
            tried = [(_placed(mark, far, angle), far) for far in NEAR for angle in ANGLES]
            costs = [_covered(box, others, room) + FAR * far for box, far in tried]
            box, far = tried[int(np.argmin(costs))]
            x, y = (box.mean(axis=0) - [mark.x, mark.y]).round(1).tolist()
            boxes[at], offsets[at] = box, (x, y, far > NEAR[1])
    return offsets


def _placed(mark: Mark, far: float, angle: float) -> np.ndarray:
    """The box of a name in a direction, touching its mark and then so far out."""
    toward = np.array([cos(angle), -sin(angle)])
    reach = float(np.min(mark.half / np.maximum(np.abs(toward), 1e-9)))
    middle = np.array([mark.x, mark.y]) + toward * (mark.size / 2 + GAP + reach + far)
    return _box(middle, mark.half)


def _box(middle: np.ndarray, half: np.ndarray) -> np.ndarray:
    return np.array([middle - half, middle + half])


def _covered(box: np.ndarray, boxes: Sequence[np.ndarray], room: tuple[float, float]) -> float:
    """Square pixels of a name over another thing, and what is outside the plot."""
    others = np.array(boxes)
    shared = np.minimum(box[1], others[:, 1]) - np.maximum(box[0], others[:, 0])
    over = np.clip(shared, 0, None).prod(axis=1).sum()
    beyond = np.clip(np.concatenate([-box[0], box[1] - room]), 0, None).max()
    return float(over + OUTSIDE * beyond)


DIAL, DIALS_FRAME = 42, 20
"""Pixels of a dial, and of the margins."""

RANKER, AXIS = 30, 84
"""Pixels of a ranker, and of the axis with its title."""

ENDS = {"quality": (0.0, 1.0), "kept": (0.0, 1.0), "area": (0.0, 1.0), "risk": (-1.0, 0.0)}
"""The range of a dial, where no interval goes beyond."""

SHARES = {"kept"}
"""Dials that are written in percent."""


@plain_text
def dials(frame: pd.DataFrame, words: dict[str, str]) -> go.Figure:
    """A row a dial: the whole of its range in grey, the interval and the value in colour.

    Args:
        frame: of one ranker: ranker, dial, value, low, high.
        words: what each dial is called.
    """
    rows: list[Any] = [row for row in frame.to_dict("records") if row["value"] == row["value"]]
    figure = go.Figure()
    ranker = str(rows[0]["ranker"]) if rows else ""
    style = stroke(ranker)
    for at, row in enumerate(rows):
        low, high = _ends(row)

        def place(value: float, low: float = low, high: float = high) -> float:
            return (value - low) / (high - low)

        figure.add_trace(_bar((0.0, 1.0), at, faded(REFERENCE, 0.25), 8))
        bounds = (place(row["low"]), place(row["high"]))
        figure.add_trace(_bar(bounds, at, faded(style.color, 0.45), 8))
        figure.add_trace(
            go.Scatter(
                x=[place(row["value"])], y=[at], mode="markers", cliponaxis=False,
                marker={"size": 13, "color": style.color, "symbol": style.shape},
                hovertemplate=f"{words[row['dial']]}: {_numbers(row)}<extra></extra>",
            )
        )  # fmt: skip
        notes = [(0, "left", _short(low, row["dial"])), (1, "right", _short(high, row["dial"]))]
        add_annotations(
            figure,
            [
                {"x": x, "y": at, "text": text, "xanchor": side, "yshift": -14,
                 "showarrow": False, "font": {"size": 11}}
                for x, side, text in notes
            ],
        )  # fmt: skip
    names = [f"{words[row['dial']]}<br>{_numbers(row)}" for row in rows]
    laid_out(
        figure, height=DIALS_FRAME + DIAL * max(len(rows), 1), showlegend=False, hovermode="closest"
    )
    xaxes(figure, range=[-0.01, 1.01], visible=False, fixedrange=True)
    yaxes(
        figure, range=[len(rows) - 0.4, -0.5], tickvals=list(range(len(rows))), ticktext=names,
        showgrid=False, fixedrange=True,
    )  # fmt: skip
    set_properties(figure.layout, margin={"l": name_margin(names), "r": 16, "t": 4, "b": 8})
    return figure


def _ends(row: Any) -> tuple[float, float]:
    """The range of a dial."""
    low, high = ENDS[row["dial"]]
    known = [row[name] for name in ("value", "low", "high") if row[name] == row[name]]
    return min(low, *known), max(high, *known)


def _bar(ends: tuple[float, float], at: int, color: str, width: int) -> go.Scatter:
    return go.Scatter(
        x=ends, y=[at, at], mode="lines", line={"color": color, "width": width}, hoverinfo="skip"
    )


def _short(value: float, dial: str) -> str:
    return number(value, ".0%" if dial in SHARES else ".2g")


def _numbers(row: Any) -> str:
    """A dial's value and interval, as they are written."""
    if row["dial"] in SHARES:
        bounds = interval(100 * row["low"], 100 * row["high"], ".1f")
        return f"{percent(row['value'], 1)} {bounds}"
    return f"{number(row['value'])} {interval(row['low'], row['high'], '.3f')}"
