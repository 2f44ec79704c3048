"""The dials of robustness cards: four numbers of one ranker, and one of them for all rankers."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    REFERENCE,
    add_annotations,
    end_labels,
    faded,
    laid_out,
    name_margin,
    set_properties,
    shapes,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import interval, number, percent

ROW, FRAME = 42, 20
"""Pixels of a dial, and of the margins."""

LINE, AXIS = 30, 84
"""Pixels of a ranker, and of the axis with its title."""

ENDS = {"quality": (0.0, 1.0), "kept": (0.0, 1.0), "area": (0.0, 1.0), "risk": (-1.0, 0.0)}
"""The range of a dial, where no interval goes beyond."""

SHARES = {"kept"}
"""Dials that are written in percent."""

GIVEN = "initial ranking"


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
    own = stroke(ranker)
    for at, row in enumerate(rows):
        low, high = _ends(row)

        def place(value: float, low: float = low, high: float = high) -> float:
            return (value - low) / (high - low)

        figure.add_trace(_bar((0.0, 1.0), at, faded(REFERENCE, 0.25), 8))
        bounds = (place(row["low"]), place(row["high"]))
        figure.add_trace(_bar(bounds, at, faded(own.color, 0.45), 8))
        figure.add_trace(
            go.Scatter(
                x=[place(row["value"])], y=[at], mode="markers", cliponaxis=False,
                marker={"size": 13, "color": own.color, "symbol": own.shape},
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
    laid_out(figure, height=FRAME + ROW * max(len(rows), 1), showlegend=False, hovermode="closest")
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


@in_words
def dials_alt_text(frame: pd.DataFrame, words: dict[str, str]) -> str:
    """The dials in words.

    >>> frame = pd.DataFrame({"ranker": ["dlcm"], "dial": ["kept"], "value": [0.9], "low": [0.8],
    ...                       "high": [1.0]})
    >>> dials_alt_text(frame, {"kept": "Kept"})
    'Dials of DLCM: Kept 90.0 % [80.0, 100.0].'
    """
    rows: list[Any] = frame.to_dict("records")
    said = ", ".join(f"{words[row['dial']]} {_numbers(row)}" for row in rows)
    return f"Dials of {rows[0]['ranker']}: {said}." if rows else "There are no dials."


@plain_text
def compare_dials(frame: pd.DataFrame, words: str) -> go.Figure:
    """One dial of all rankers, the best first; the axis is as wide as the rankers' intervals are.

    The initial ranking has no say in the axis: where it lies outside, its number stands at the
    edge.

    Args:
        frame: ranker, dial, value, low, high; one row a ranker.
        words: what the dial is.
    """
    known = frame[frame["value"].notna()].sort_values("value", ascending=False, kind="stable")
    rankers = [*map(str, known["ranker"])]
    own = known[known["ranker"] != GIVEN]
    own = own if len(own) else known
    low = float(own[["value", "low"]].min().min()) if len(own) else 0.0
    high = float(own[["value", "high"]].max().max()) if len(own) else 1.0
    room = max(high - low, 0.002) * 0.08
    ends = (low - room, high + room)
    marks, figure = shapes(rankers), go.Figure()
    rows: list[Any] = known.to_dict("records")
    notes = []
    for at, row in enumerate(rows):
        if row["ranker"] == GIVEN and not ends[0] <= row["value"] <= ends[1]:
            left = row["value"] < ends[0]
            notes.append(
                {"x": ends[0] if left else ends[1], "y": at, "showarrow": False,
                 "text": f"◂ {_numbers(row)}" if left else f"{_numbers(row)} ▸",
                 "xanchor": "left" if left else "right", "font": {"size": 12}}
            )  # fmt: skip
        else:
            figure.add_trace(_dot(row, at, marks[row["ranker"]]))
    names = end_labels(rankers, 18)
    laid_out(figure, height=AXIS + LINE * max(len(rows), 1), showlegend=False, hovermode="closest")
    spec = ".1%" if len(known) and known["dial"].iloc[0] in SHARES else ".3~f"
    xaxes(figure, title=words, range=list(ends), tickformat=spec, nticks=5)
    yaxes(
        figure, range=[len(rows) - 0.4, -0.6], tickvals=list(range(len(rows))), ticktext=names,
    )  # fmt: skip
    set_properties(figure.layout, margin={"l": name_margin(names), "r": 16, "t": 8, "b": 52})
    add_annotations(figure, notes)
    return figure


def _dot(row: Any, at: int, mark: str) -> go.Scatter:
    color = stroke(str(row["ranker"])).color
    reach = {name: abs(row[name] - row["value"]) for name in ("low", "high")}
    known = all(length == length for length in reach.values())  # noqa: PLR0124 (NaN is not)
    return go.Scatter(
        x=[row["value"]], y=[at], mode="markers", cliponaxis=True,
        marker={"size": 12, "color": color, "symbol": mark},
        error_x={
            "type": "data", "symmetric": False, "array": [reach["high"] if known else 0.0],
            "arrayminus": [reach["low"] if known else 0.0], "color": color, "thickness": 2,
            "width": 5,
        },
        selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}},
        customdata=[[row["ranker"], _numbers(row)]],
        hovertemplate="<b>%{customdata[0]}</b><br>%{customdata[1]}<extra></extra>",
    )  # fmt: skip


@in_words
def compared_alt_text(frame: pd.DataFrame, words: str) -> str:
    """The dots in words, best first."""
    known = frame[frame["value"].notna()].sort_values("value", ascending=False, kind="stable")
    rows: list[Any] = known.to_dict("records")
    said = "; ".join(f"{row['ranker']} {_numbers(row)}" for row in rows)
    return f"{words}, best first: {said}." if rows else f"{words}: nothing is known."
