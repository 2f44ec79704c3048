"""Robustness cards: effectiveness against robustness, a mark a ranker, and the dials of a card."""

import math
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
    named_ends,
    set_properties,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import interval, number, percent

HEIGHT = 460

GIVEN, SIZE = "initial ranking", 14
"""A reference, and pixels of a mark."""

FRAME = 96
"""Pixels above and below the plot."""


@plain_text
def cards(frame: pd.DataFrame, measure: str, worst: str) -> go.Figure:
    """Marks over start and kept with its interval.

    The axes are those of the rankers: the initial ranking stands at the edge, with its number,
    where it keeps less than they show.

    Args:
        frame: ranker, start, end, kept with its interval kept_low to kept_high,
            milliseconds_a_list.
        measure: that start and end are means of.
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
    xaxes(figure, title=f"{measure} on the lists as they are", range=bounds[0])
    yaxes(figure, title=f"share kept at {worst}", range=bounds[1], tickformat=".0%")
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
    given, beyond = ranker == GIVEN, row["place"] > row["kept"]
    symbol = "triangle-down" if beyond else "diamond" if given else style.shape
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
            "array": [_reach(row["kept_high"] - row["kept"])],
            "arrayminus": [_reach(row["kept"] - row["kept_low"])],
        },
        **UNDIMMED,
        customdata=[[ranker, row["end"], _interval(row), _timed(row), row["kept"]]],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>{measure}: %{{x:.3f}}, at {worst} "
            "%{customdata[1]:.3f}<br>kept: %{customdata[4]:.1%}%{customdata[2]}%{customdata[3]}"
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


DIAL, DIALS_FRAME = 42, 20
"""Pixels of a dial, and of the margins."""

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
