"""Table 2 as one picture: every ranker's difference from a baseline, the best on top."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import UNSIGNED_ZERO, end_labels, shapes, stroke, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Dots, dots, rows, vertical
from shuffleproof.core.metrics.significance import ALPHA

ROW, FRAME = 34, 106
"""Pixels of a ranker's row, and of axis and margins."""

LONGEST = 16


@plain_text
def differences(frame: pd.DataFrame, baseline: str, measure: str) -> go.Figure:
    """Dots with 95 % intervals, filled where the difference is significant.

    Args:
        frame: ranker, difference, low, high, p, n, wins, ties, losses; one row per ranker.
        baseline: ranker at zero.
        measure: name of the measure.
    """
    shown = frame[frame["difference"].notna()]
    shown = shown.sort_values("difference", ascending=False, kind="stable", ignore_index=True)
    names = [str(name) for name in shown["ranker"]]
    facts = ["ranker", "low", "high", "p", "n", "wins", "ties", "losses"]
    hover = (
        f"<b>%{{customdata[0]}}</b><br>{measure} %{{x:+.3f}} "
        "[%{customdata[1]:+.3f}, %{customdata[2]:+.3f}]<br>p %{customdata[3]:.2g} (Holm), "
        "N = %{customdata[4]}<br>better on %{customdata[5]}, equal on %{customdata[6]}, "
        "worse on %{customdata[7]}<extra></extra>"
    )
    figure = go.Figure()
    ends = shown["low"].tolist(), shown["high"].tolist()
    full = (shown["p"] <= ALPHA).tolist()
    colors, marks = [stroke(name).color for name in names], list(shapes(names).values())
    given = shown[facts].to_numpy(dtype=object).tolist()
    values = shown["difference"].tolist()
    dots(figure, Dots(values, names, ends, full, colors, marks, given, hover))
    vertical(figure, 0)
    rows(figure, names, end_labels(names, LONGEST), FRAME + ROW * max(len(names), 1))
    title = f"{measure} minus<br>that of {baseline}"
    xaxes(figure, title=title, tickformat="+.3~f", **UNSIGNED_ZERO)
    return figure
