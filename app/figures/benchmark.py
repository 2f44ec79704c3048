"""Table 2 as one picture: every ranker's difference from one of them, the best on top."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    UNDIMMED,
    UNSIGNED_ZERO,
    end_labels,
    laid_out,
    name_margin,
    set_properties,
    shapes,
    stroke,
)
from shuffleproof.app.figures.text import plain_text

ROW, FRAME = 34, 106
"""Pixels of a ranker, and of axis and margins."""

SIGNIFICANT = 0.05
LONGEST = 16
OPEN = "rgba(127,127,127,0.15)"
ZERO = {
    "type": "line", "xref": "x", "yref": "paper", "x0": 0, "x1": 0, "y0": 0, "y1": 1,
    "line": {"color": "rgba(127,127,127,0.8)", "width": 1.5, "dash": "dot"},
}  # fmt: skip


@plain_text
def differences(frame: pd.DataFrame, baseline: str, measure: str) -> go.Figure:
    """Dots with 95 % intervals; full where the difference is more than chance, else open.

    Args:
        frame: ranker, difference, low, high, p, n, wins, ties, losses; a row a ranker.
        baseline: who stands at zero.
        measure: what is compared.
    """
    shown = best_first(frame)
    names = [str(name) for name in shown["ranker"]]
    strokes = [stroke(name).color for name in names]
    ends = list(zip(names, strokes, shown["low"].tolist(), shown["high"].tolist(), strict=True))
    traces = [
        _intervals([(name, low, high) for name, shade, low, high in ends if shade == color], color)
        for color in dict.fromkeys(strokes)
    ]
    figure = go.Figure([*traces, _dots(shown, strokes, measure)] if names else [])
    laid_out(
        figure, height=FRAME + ROW * max(len(names), 1), showlegend=False, hovermode="closest",
        shapes=[ZERO],
    )  # fmt: skip
    texts = end_labels(names, LONGEST)
    set_properties(figure.layout,
        margin={"l": name_margin(texts), "r": 24, "b": 64},
        xaxis={"title": f"{measure} minus<br>that of {baseline}", "tickformat": "+.3~f",
               **UNSIGNED_ZERO},
        yaxis={
            "tickvals": names, "ticktext": texts, "showgrid": True,
            "categoryorder": "array", "categoryarray": names[::-1],
        },
    )  # fmt: skip
    return figure


def best_first(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that have a difference, the greatest first."""
    known = frame[frame["difference"].notna()]
    return known.sort_values("difference", ascending=False, kind="stable")


def _intervals(ends: Sequence[tuple[str, float, float]], color: str) -> go.Scatter:
    """The intervals of the rankers of one colour: a line each, with a stroke at either end."""
    return go.Scatter(
        x=[end for _, low, high in ends for end in (low, high, None)],
        y=[name for ranker, _, _ in ends for name in (ranker, ranker, None)],
        mode="lines+markers",
        line={"color": color, "width": 2.2},
        marker={"symbol": "line-ns", "size": 9, "line": {"color": color, "width": 2.2}},
        hoverinfo="skip",
        unselected={"marker": {"opacity": 1}},
    )


def _dots(shown: pd.DataFrame, strokes: Sequence[str], measure: str) -> go.Scatter:
    counted = shown["p"] <= SIGNIFICANT
    facts = ["ranker", "low", "high", "p", "n", "wins", "ties", "losses"]
    return go.Scatter(
        x=shown["difference"],
        y=shown["ranker"],
        mode="markers",
        marker={
            "size": 12,
            "color": [
                shade if full else OPEN for shade, full in zip(strokes, counted, strict=True)
            ],
            "line": {"color": list(strokes), "width": 2.5},
            "symbol": list(shapes([str(name) for name in shown["ranker"]]).values()),
        },
        **UNDIMMED,
        customdata=shown[facts].to_numpy(dtype=object),
        hovertemplate=(
            f"<b>%{{customdata[0]}}</b><br>{measure} %{{x:+.3f}} "
            "[%{customdata[1]:+.3f}, %{customdata[2]:+.3f}]<br>p %{customdata[3]:.2g} (Holm), "
            "N = %{customdata[4]}<br>better on %{customdata[5]}, equal on %{customdata[6]}, "
            "worse on %{customdata[7]}<extra></extra>"
        ),
    )
