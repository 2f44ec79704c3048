"""Effectiveness against robustness: a mark a ranker, as large as a list takes long."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from app.figures.style import faded, laid_out, stroke

HEIGHT = 460
SMALLEST, LARGEST = 11.0, 34.0
"""Pixels across: of the fastest and of the slowest ranker."""

GIVEN = "initial ranking"
"""It costs nothing, so that it has no say in the sizes."""

PLACES = ("top center", "bottom center", "middle right", "middle left")
WIDTH, LETTER, LINE = 320.0, 7.0, 17.0
"""Pixels of the plot on a telephone, of a letter, and of a line of text."""


def pareto(frame: pd.DataFrame, measure: str, worst: str) -> go.Figure:
    """Marks over start and kept; full and ringed: on the front, hollow: beaten.

    Args:
        frame: ranker, start, end, kept, milliseconds_a_list, front.
        measure: that start and end are means of.
        worst: the last level, in words.
    """
    known = frame[frame["start"].notna() & frame["kept"].notna()]
    figure = go.Figure()
    bounds = _bounds(known)
    rows: list[Any] = known.to_dict("records")
    sizes = _sizes([0.0 if row["ranker"] == GIVEN else row["milliseconds_a_list"] for row in rows])
    places = _places(rows, sizes, bounds)
    for row, size, place in zip(rows, sizes, places, strict=True):
        figure.add_trace(_mark(row, size, place, (measure, worst)))
    figure.add_hline(y=1.0, line={"color": "rgba(127,127,127,0.8)", "width": 1.2, "dash": "dot"})
    laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=False)
    figure.update_xaxes(title=f"{measure} on the lists as they are", range=bounds[0])
    figure.update_yaxes(title=f"share kept at {worst}", range=bounds[1], tickformat=".0%")
    return figure


def _mark(row: Any, size: float, place: str, named: tuple[str, str]) -> go.Scatter:
    measure, worst = named
    ranker, color = str(row["ranker"]), stroke(str(row["ranker"])).color
    given = ranker == GIVEN
    return go.Scatter(
        x=[row["start"]],
        y=[row["kept"]],
        name=ranker,
        mode="markers+text",
        text=[ranker],
        textposition=place,
        textfont={"size": 12},
        cliponaxis=False,
        marker={
            "size": size, "symbol": "diamond" if given else "circle",
            "color": faded(color, 0.75 if row["front"] else 0.1),
            "line": {"width": 2.5 if row["front"] else 1.2, "color": color},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=[[ranker, row["end"], row["milliseconds_a_list"],
                     _standing(row["front"], given=given)]],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b>, %{{customdata[3]}}<br>{measure}: %{{x:.3f}}, at {worst} "
            "%{customdata[1]:.3f}<br>kept: %{y:.1%}<br>%{customdata[2]:.3g} ms a list"
            "<extra></extra>"
        ),
    )  # fmt: skip


def _standing(front: bool, *, given: bool) -> str:  # noqa: FBT001 (a fact of the row)
    if given:
        return "for comparison"
    return "on the front" if front else "beaten"


def _bounds(known: pd.DataFrame) -> tuple[list[float], list[float]]:
    """The axes, with room for names; robustness always shows 1."""
    if known.empty:
        return [0.0, 1.0], [0.0, 1.05]
    low, high = float(known["start"].min()), float(known["start"].max())
    room = max(high - low, 0.02) * 0.3
    bottom, top = float(known["kept"].min()), max(1.0, float(known["kept"].max()))
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


def _places(
    rows: Sequence[Any], sizes: Sequence[float], bounds: tuple[list[float], list[float]]
) -> list[str]:
    """Where each name stands beside its mark, so that as few as possible cover another."""
    (left, right), (bottom, top) = bounds
    plot = HEIGHT - 96.0
    middles = [
        (
            (row["start"] - left) / (right - left) * WIDTH,
            (top - row["kept"]) / (top - bottom) * plot,
        )
        for row in rows
    ]
    taken = [_box(middle, (size, size)) for middle, size in zip(middles, sizes, strict=True)]
    found = []
    for row, middle, size in zip(rows, middles, sizes, strict=True):
        width = LETTER * len(str(row["ranker"]))
        boxes = {place: _box(_beside(middle, place, (size, width)), (width, LINE))
                 for place in PLACES}  # fmt: skip
        best = min(PLACES, key=lambda place, boxes=boxes: _covered(boxes[place], taken, plot))  # type: ignore[misc]
        taken.append(boxes[best])
        found.append(best)
    return found


def _beside(middle: tuple[float, float], place: str, size: tuple[float, float]) -> Any:
    mark, width = size
    across = {"middle right": mark / 2 + width / 2 + 4, "middle left": -mark / 2 - width / 2 - 4}
    down = {"top center": -mark / 2 - LINE / 2, "bottom center": mark / 2 + LINE / 2}
    return middle[0] + across.get(place, 0.0), middle[1] + down.get(place, 0.0)


def _box(middle: Any, size: tuple[float, float]) -> Any:
    half = np.array(size) / 2
    return np.array([middle - half, middle + half])


def _covered(box: Any, taken: Sequence[Any], plot: float) -> float:
    """Square pixels of a name that lie over another thing or outside the plot."""
    overlaps = [
        float(
            np.prod(np.clip(np.minimum(box[1], other[1]) - np.maximum(box[0], other[0]), 0, None))
        )
        for other in taken
    ]
    outside = max(0.0, -box[0][0], box[1][0] - WIDTH) + max(0.0, -box[0][1], box[1][1] - plot)
    return sum(overlaps) + 20.0 * outside


def alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words: where each ranker stands.

    >>> frame = pd.DataFrame({"ranker": ["dlcm"], "start": [0.5], "kept": [0.25],
    ...                       "milliseconds_a_list": [2.0], "front": [True]})
    >>> alt_text(frame, "RR")
    'Robustness against RR: dlcm starts at 0.500 and keeps 25 %, 2 ms a list, on the front.'
    """
    parts = []
    rows: list[Any] = frame.to_dict("records")
    for row in rows:
        time = row["milliseconds_a_list"]
        timed = f", {time:.3g} ms a list" if time > 0 else ""
        front = ", on the front" if row["front"] else ""
        parts.append(f"{row['ranker']} starts at {row['start']:.3f} and keeps "
                     f"{row['kept']:.0%}{timed}{front}".replace("%", " %"))  # fmt: skip
    return f"Robustness against {measure}: {'; '.join(parts)}."
