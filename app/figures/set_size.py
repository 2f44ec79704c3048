"""Table 3: a measure against the candidates in a list as curves."""

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import end_labels, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import Curve, bounds, finish_curves, log_ticks, vertical
from shuffleproof.app.figures.traces import curves as add_curves

HEIGHT = 460
WORDS = {"ideal": "ideal order", "initial ranking": "initial ranking"}
"""Labels of the curves that depend on the candidates alone."""


@plain_text
def curves(frame: pd.DataFrame, measure: str, home: int | None = None) -> go.Figure:
    """Curves with 95 % intervals over a logarithmic axis of sizes, labelled at their ends.

    Args:
        frame: ranker, trained_on, size, mean_length, mean, low, high, n; one trained_on per ranker.
        measure: name of the measure.
        home: training size of the rankers, marked by a line; None: no line.
    """
    figure, drawn, ends = go.Figure(), [], []
    if home is not None:
        _training_size_line(figure, home, at_axis=home == frame["size"].min())
    facts = ("ranker", "trained_on", "size", "low", "high", "n", "mean_length")
    for name, rows in frame.groupby("ranker", sort=False):
        ranker, points = str(name), rows.sort_values("size")
        called, alone = WORDS.get(ranker, ranker), ranker in WORDS
        hover = (
            f"<b>{called}</b><br>%{{x}} candidates (%{{customdata[6]:.1f}} on average), trained on "
            f"%{{customdata[1]}}<br>{measure} %{{y:.3f}} [%{{customdata[3]:.3f}}, "
            "%{customdata[4]:.3f}], N = %{customdata[5]}<extra></extra>"
        )
        look: dict[str, Any] = {"name": called, "line": {"width": 1.6 if alone else 2.4}}
        look |= {"marker": {"symbol": "diamond"}} if ranker == "ideal" else {}
        fill = 0.08 if alone else 0.14
        drawn.append(Curve(ranker, points, facts, hover, "size", fill=fill, look=look))
        last = points[points["mean"].notna()].tail(1)  # ordinals end before the longest lists
        ends += [
            (ranker, math.log10(x), float(y))
            for x, y in zip(last["size"], last["mean"], strict=True)
        ]
    add_curves(figure, drawn)
    sizes = sorted(set(frame["size"]))
    log_ticks(figure, "test list length (documents)", sizes)
    xaxes(figure, range=[math.log10(sizes[0]) - 0.04, math.log10(sizes[-1]) + 0.04])
    low, high = float(frame["low"].min()), float(frame["high"].max())
    scale = bounds(low, high) if math.isfinite(low + high) else (0.0, 1.0)
    texts = end_labels([WORDS.get(ranker, ranker) for ranker, _, _ in ends])
    return finish_curves(figure, ends, (measure, scale), HEIGHT, texts)


def _training_size_line(figure: go.Figure, home: int, *, at_axis: bool) -> None:
    """Add a line at the training size; its label does not touch the vertical axis."""
    vertical(figure, home)
    figure.add_annotation(
        x=math.log10(home), y=0, yref="paper", text="trained here", showarrow=False,
        textangle=-90, xanchor="left" if at_axis else "right", yanchor="bottom", font={"size": 12},
    )  # fmt: skip
