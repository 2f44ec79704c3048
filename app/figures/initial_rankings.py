"""Table 4 as one picture: every ranker as trained, and with other initial rankings or none."""

from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    UNSIGNED_ZERO,
    laid_out,
    name_margin,
    set_properties,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import label_of, plain_text
from shuffleproof.app.figures.traces import Dots, dots, vertical
from shuffleproof.core.metrics.significance import ALPHA
from shuffleproof.core.rankers.name import with_display_names, without_presets

ROW, FRAME = 21, 96
"""Pixels of a condition's row, and of axis and margins."""

TRAINED = "as trained"
ShownValue = Literal["mean", "change"]


@plain_text
def conditions(frame: pd.DataFrame, measure: str, shown: ShownValue = "mean") -> go.Figure:
    """Dots with 95 % intervals, filled where the change is significant.

    Args:
        frame: ranker, condition, mean, low, high, change, change_low, change_high, change_p, n.
        measure: name of the measure.
        shown: the mean, or the change from the ranker as trained.
    """
    rows = _rows(frame, shown)
    figure = go.Figure()
    if shown == "change":
        vertical(figure, 0)
    for ranker in dict.fromkeys(frame["ranker"]):
        own = [row for row in rows if row["ranker"] == ranker and row["dot"]]
        if shown == "mean" and len(own) > 1:
            _guide(figure, own)
        if own:
            _dots(figure, own, measure, shown)
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
    """Rows from top to bottom: each ranker's name, then its conditions."""
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
    """Add a vertical line at the ranker as trained, for comparison with its conditions."""
    top = rows[0]
    figure.add_shape(
        type="line", x0=top["mean"], x1=top["mean"], y0=top["y"], y1=rows[-1]["y"] + 0.4,
        line={"color": stroke(str(top["ranker"])).color, "width": 1.2, "dash": "dot"},
    )  # fmt: skip


def _dots(figure: go.Figure, rows: list[dict[Any, Any]], measure: str, shown: ShownValue) -> None:
    color, marker = stroke(str(rows[0]["ranker"])).color, stroke(str(rows[0]["ranker"])).shape
    low, high = ("low", "high") if shown == "mean" else ("change_low", "change_high")
    columns = ("ranker", "condition", "mean", "low", "high", "change", "change_p", "n")
    hover = (
        f"<b>%{{customdata[0]}}</b>, %{{customdata[1]}}<br>{measure} %{{customdata[2]:.3f}} "
        "[%{customdata[3]:.3f}, %{customdata[4]:.3f}]<br>change %{customdata[5]:+.3f}, "
        "p %{customdata[6]:.2g} (Holm), N = %{customdata[7]}<extra></extra>"
    )
    values, places = [row[shown] for row in rows], [row["y"] for row in rows]
    ends = [row[low] for row in rows], [row[high] for row in rows]
    full = [row["condition"] == TRAINED or row["change_p"] <= ALPHA for row in rows]
    facts = [[row[name] for name in columns] for row in rows]
    colors = [color] * len(rows)
    dots(figure, Dots(values, places, ends, full, colors, marker, facts, hover), 11)
