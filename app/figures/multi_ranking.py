"""Table 4 as one picture: every ranker as trained, and what it does without or with others."""

from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    REFERENCE,
    UNDIMMED,
    UNSIGNED_ZERO,
    laid_out,
    name_margin,
    set_properties,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import label_of, plain_text
from shuffleproof.core.rankers.name import with_display_names, without_presets

ROW, FRAME = 21, 96
"""Pixels of a condition, and of axis and margins."""

SIGNIFICANT = 0.05
TRAINED = "as trained"
ShownValue = Literal["mean", "change"]


@plain_text
def conditions(frame: pd.DataFrame, measure: str, shown: ShownValue = "mean") -> go.Figure:
    """Dots with 95 % intervals; full where the change is more than chance, else open.

    Args:
        frame: ranker, condition, mean, low, high, change, change_low, change_high, change_p, n.
        measure: what is drawn.
        shown: the mean, or the change from the ranker as trained.
    """
    rows = _rows(frame, shown)
    figure = go.Figure()
    if shown == "change":
        figure.add_vline(x=0, line={"color": REFERENCE, "width": 1.4, "dash": "dot"})
    for ranker in dict.fromkeys(frame["ranker"]):
        dots = [row for row in rows if row["ranker"] == ranker and row["dot"]]
        if shown == "mean" and len(dots) > 1:
            _guide(figure, dots)
        figure.add_trace(_dots(dots, measure, shown))
    laid_out(figure, height=FRAME + ROW * max(1, len(rows)), showlegend=False, hovermode="closest")
    title = measure if shown == "mean" else f"{measure} − as trained"
    form = ".3~f" if shown == "mean" else "+.3~f"
    xaxes(figure, title=title, tickformat=form, tickangle=0, nticks=5, **UNSIGNED_ZERO)
    texts = [str(row["text"]) for row in rows]
    yaxes(figure,
        tickvals=[row["y"] for row in rows], ticktext=texts, range=[len(rows) - 0.4, -0.6],
        showgrid=False,
    )  # fmt: skip
    set_properties(figure.layout, margin={"l": name_margin(texts)})
    return figure


def _rows(frame: pd.DataFrame, shown: ShownValue) -> list[dict[Any, Any]]:
    """The lines from top to bottom: a ranker's name, then its conditions under it."""
    rows: list[dict[Any, Any]] = []
    for ranker, conditions in frame.groupby("ranker", sort=False):
        name = f"<b>{ranker}</b>"
        points = conditions.to_dict("records")
        if shown == "mean" and points[0]["condition"] == TRAINED:
            rows.append(points[0] | {"text": name, "dot": True})
            points = points[1:]
        else:
            rows.append({"ranker": ranker, "text": name, "dot": False})
            points = [point for point in points if point["condition"] != TRAINED]
        rows += [
            point
            | {
                "text": with_display_names(without_presets(label_of(str(point["condition"])))),
                "dot": True,
            }
            for point in points
        ]
    return [row | {"y": at} for at, row in enumerate(rows)]


def _guide(figure: go.Figure, rows: list[dict[Any, Any]]) -> None:
    """A line down from the ranker as trained, to compare its conditions with."""
    top = rows[0]
    figure.add_shape(
        type="line", x0=top["mean"], x1=top["mean"], y0=top["y"], y1=rows[-1]["y"] + 0.4,
        line={"color": stroke(str(top["ranker"])).color, "width": 1.2, "dash": "dot"},
    )  # fmt: skip


def _dots(rows: list[dict[Any, Any]], measure: str, shown: ShownValue) -> go.Scatter:
    ranker = str(rows[0]["ranker"]) if rows else ""
    color = stroke(ranker).color
    low, high = ("low", "high") if shown == "mean" else ("change_low", "change_high")
    full = [row["condition"] == TRAINED or row["change_p"] <= SIGNIFICANT for row in rows]
    columns = ("ranker", "condition", "mean", "low", "high", "change", "change_p", "n")
    return go.Scatter(
        x=[row[shown] for row in rows],
        y=[row["y"] for row in rows],
        mode="markers",
        marker={
            "size": 11,
            "symbol": stroke(ranker).shape,
            "color": [color if is_full else "rgba(127,127,127,0.15)" for is_full in full],
            "line": {"color": color, "width": 2.2},
        },
        error_x={
            "type": "data", "symmetric": False, "color": color, "thickness": 1.8, "width": 4,
            "array": [row[high] - row[shown] for row in rows],
            "arrayminus": [row[shown] - row[low] for row in rows],
        },
        **UNDIMMED,
        customdata=[[row[name] for name in columns] for row in rows],
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b>, %{{customdata[1]}}<br>{measure} %{{customdata[2]:.3f}} "
            "[%{customdata[3]:.3f}, %{customdata[4]:.3f}]<br>change %{customdata[5]:+.3f}, "
            "p %{customdata[6]:.2g} (Holm), N = %{customdata[7]}<extra></extra>"
        ),
    )  # fmt: skip
