"""Robustness cards: effectiveness against robustness, one mark per ranker."""

import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    UNDIMMED,
    end_labels,
    faded,
    laid_out,
    named_ends,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import percent

HEIGHT = 460

REFERENCE, SIZE = "initial ranking", 14
"""Name of the reference, and pixels of a mark."""

FRAME = 96
"""Pixels above and below the plot."""


@plain_text
def cards(frame: pd.DataFrame, measure: str, worst: str) -> go.Figure:
    """Marks over start (effectiveness) and kept (robustness), with the interval of kept.

    The axes fit the rankers. The initial ranking is drawn at the edge, with its number, if its
    robustness lies below the axis.

    Args:
        frame: ranker, start, end, kept with its interval kept_low to kept_high,
            milliseconds_a_list.
        measure: measure of start and end.
        worst: the last level, in words.
    """
    known = frame[frame["start"].notna() & frame["kept"].notna()]
    figure = go.Figure()
    bounds = _bounds(known)
    low = bounds[1][0]
    rows: list[Any] = known.assign(place=known["kept"].clip(lower=low)).to_dict("records")
    for row in rows:
        figure.add_trace(_mark(row, measure, worst))
    figure.add_hline(y=1.0, line={"color": "rgba(127,127,127,0.8)", "width": 1.2, "dash": "dot"})
    laid_out(figure, height=HEIGHT, hovermode="closest", showlegend=False)
    xaxes(figure, title=f"{measure} on the unchanged lists", range=bounds[0])
    yaxes(figure, title=f"share kept {worst}", range=bounds[1], tickformat=".0%")
    texts = end_labels([str(row["ranker"]) for row in rows])
    texts = [
        f"{text}<br>{percent(row['kept'], 1)}" if row["place"] > row["kept"] else text
        for text, row in zip(texts, rows, strict=True)
    ]
    ends = [(str(row["ranker"]), float(row["start"]), float(row["place"])) for row in rows]
    named_ends(figure, ends, texts, (bounds[1][0], bounds[1][1], HEIGHT - FRAME))
    return figure


def _mark(row: Any, measure: str, worst: str) -> go.Scatter:
    ranker, style = str(row["ranker"]), stroke(str(row["ranker"]))
    color = style.color
    is_reference, beyond = ranker == REFERENCE, row["place"] > row["kept"]
    symbol = "triangle-down" if beyond else "diamond" if is_reference else style.shape
    return go.Scatter(
        x=[row["start"]],
        y=[row["place"]],
        name=ranker,
        mode="markers",
        cliponaxis=False,
        marker={"size": SIZE, "symbol": symbol, "color": faded(color, 0.75)},
        error_y={
            "type": "data", "symmetric": False, "color": faded(color, 0.8), "thickness": 1.2,
            "width": 3, "visible": not beyond,
            "array": [_side(row["kept_high"] - row["kept"])],
            "arrayminus": [_side(row["kept"] - row["kept_low"])],
        },
        **UNDIMMED,
        customdata=[[ranker, row["end"], _interval(row), _timed(row), row["kept"]]],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>{measure}: %{{x:.3f}}, {worst} "
            "%{customdata[1]:.3f}<br>kept: %{customdata[4]:.1%}%{customdata[2]}%{customdata[3]}"
            "<extra></extra>"
        ),
    )  # fmt: skip


def _side(distance: float) -> float:
    """Length of one side of an interval; 0 if unknown."""
    return 0.0 if math.isnan(distance) else max(0.0, distance)


def _interval(row: Any) -> str:
    """Text of the 95 % interval of `kept`; empty if it has no width."""
    low, high = 100 * row["kept_low"], 100 * row["kept_high"]
    return f" [{low:.1f} %, {high:.1f} %]" if high > low else ""


def _timed(row: Any) -> str:
    time = row["milliseconds_a_list"]
    return "" if row["ranker"] == REFERENCE or math.isnan(time) else f"<br>{time:.3g} ms per list"


def _bounds(known: pd.DataFrame) -> tuple[list[float], list[float]]:
    """Ranges of both axes, with room for names; robustness always includes 1."""
    if known.empty:
        return [0.0, 1.0], [0.0, 1.05]
    rankers = known[known["ranker"] != REFERENCE]
    shown = rankers if len(rankers) else known
    low, high = float(known["start"].min()), float(known["start"].max())
    room = max(high - low, 0.02) * 0.3
    # The initial ranking may lose far more: it must not press the rankers together.
    bottom = min(1.0, float(np.nanmin(shown[["kept", "kept_low"]].to_numpy(float))))
    top = max(1.0, float(np.nanmax(shown[["kept", "kept_high"]].to_numpy(float))))
    gap = max(top - bottom, 0.02) * 0.16
    return [low - room, high + room], [bottom - gap, top + gap]
