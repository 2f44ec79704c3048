"""Effectiveness against robustness: a mark a ranker, as large as a list takes long."""

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from app.figures.beside import Mark, places
from app.figures.perturbations import plain_names
from app.figures.style import end_labels, faded, laid_out, stroke

HEIGHT = 460
SMALLEST, LARGEST = 11.0, 34.0
"""Pixels across: of the fastest and of the slowest ranker."""

GIVEN = "initial ranking"
"""It costs nothing, so that it has no say in the sizes."""

WIDTH, FRAME = 270.0, 96.0
"""Pixels of the plot on a telephone, and of what is above and below it."""


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
    for row, size in zip(rows, sizes, strict=True):
        figure.add_trace(_mark(row, size, (measure, worst)))
    figure.add_hline(y=1.0, line={"color": "rgba(127,127,127,0.8)", "width": 1.2, "dash": "dot"})
    laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=False)
    figure.update_xaxes(title=f"{measure} on the lists as they are", range=bounds[0])
    figure.update_yaxes(title=f"share kept at {worst}", range=bounds[1], tickformat=".0%")
    _named(figure, rows, sizes, bounds)
    return figure


def _mark(row: Any, size: float, named: tuple[str, str]) -> go.Scatter:
    measure, worst = named
    ranker, color = str(row["ranker"]), stroke(str(row["ranker"])).color
    given = ranker == GIVEN
    return go.Scatter(
        x=[row["start"]],
        y=[row["kept"]],
        name=ranker,
        mode="markers",
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


def _named(
    figure: go.Figure,
    rows: Sequence[Any],
    sizes: Sequence[float],
    bounds: tuple[list[float], list[float]],
) -> None:
    """Write the names beside the marks, with a line where a name had to go further away."""
    texts = end_labels(plain_names([str(row["ranker"]) for row in rows]))
    (left, right), (bottom, top) = bounds
    plot = HEIGHT - FRAME
    marks = [
        Mark(
            (row["start"] - left) / (right - left) * WIDTH,
            (top - row["kept"]) / (top - bottom) * plot,
            size,
            text,
        )
        for row, size, text in zip(rows, sizes, texts, strict=True)
    ]
    for row, mark, (x, y, far) in zip(rows, marks, places(marks, (WIDTH, plot)), strict=True):
        color = stroke(str(row["ranker"])).color
        figure.add_annotation(
            x=row["start"], y=row["kept"], ax=x, ay=y, text=mark.text, showarrow=True,
            xanchor="center", yanchor="middle", align="center", arrowhead=0, arrowwidth=1.2,
            arrowcolor=color if far else "rgba(0,0,0,0)", standoff=mark.size / 2, borderpad=0,
            font={"size": 12}, name="name",
        )  # fmt: skip


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
