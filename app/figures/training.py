"""Training by epoch: validation NDCG@10 above, loss below, one line per ranker."""

from collections.abc import Mapping

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.style import (
    NAMES,
    end_labels,
    laid_out,
    named_ends,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import label_of, plain_text

HEIGHT = 440
VALID_SHARE = 0.6
VALID, LOSS = "validation NDCG@10", "training loss"


@plain_text
def curves(runs: Mapping[str, pd.DataFrame]) -> go.Figure:
    """Curves of several trainings.

    Args:
        runs: frames by label (a ranker's name, and more after a blank), with columns done, loss,
            valid, valid_loss; one row per epoch.
    """
    figure = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.07,
        row_heights=[VALID_SHARE, 1 - VALID_SHARE],
    )
    for label, run in runs.items():
        _valid(figure, label, run.dropna(subset="valid"))
        _losses(figure, label, run)
    figure.update_yaxes(title=VALID, row=1, col=1)
    figure.update_yaxes(title=LOSS, row=2, col=1)
    last = max((float(run["done"].max()) for run in runs.values() if len(run)), default=1.0)
    xaxes(figure, range=[0, last * 1.02])
    figure.update_xaxes(title="epoch", row=2, col=1)
    laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")
    _labelled(figure, runs)
    return figure


def _line(label: str, x: pd.Series, y: pd.Series, what: str) -> go.Scatter:
    line = stroke(_ranker(label))
    return go.Scatter(
        x=x,
        y=y,
        name=label,
        mode="lines" if len(x) > 1 else "markers",
        line={"color": line.color, "dash": line.dash, "width": 2.5},
        marker={"color": line.color, "size": 7, "symbol": line.shape},
        hovertemplate=(
            f"<b>%{{fullData.name}}</b><br>epoch %{{x}}<br>{what} %{{y:.3f}}<extra></extra>"
        ),
    )


def _valid(figure: go.Figure, label: str, run: pd.DataFrame) -> None:
    if run.empty:
        return
    figure.add_trace(_line(label, run["done"], run["valid"], VALID), row=1, col=1)
    best = run.iloc[int(run["valid"].argmax())]
    ring = {"symbol": "circle-open", "size": 12, "color": stroke(_ranker(label)).color}
    figure.add_trace(
        go.Scatter(
            x=[best["done"]],
            y=[best["valid"]],
            mode="markers",
            marker=ring | {"line": {"width": 2}},
            name=label,
            hovertemplate=(
                "<b>%{fullData.name}</b><br>best so far: epoch %{x}<br>"
                f"{VALID} %{{y:.3f}}<extra></extra>"
            ),
        ),
        row=1,
        col=1,
    )


def _losses(figure: go.Figure, label: str, run: pd.DataFrame) -> None:
    learnt, held = run.dropna(subset="loss"), run.dropna(subset="valid_loss")
    if len(learnt):
        figure.add_trace(_line(label, learnt["done"], learnt["loss"], LOSS), row=2, col=1)
    if len(held):
        line = _line(label, held["done"], held["valid_loss"], "validation loss")
        line.update(line={"width": 1.2}, mode="lines+markers", marker={"size": 4})
        figure.add_trace(line, row=2, col=1)


def _labelled(figure: go.Figure, runs: Mapping[str, pd.DataFrame]) -> None:
    """Add names at the ends of the upper curves; of the lower curves if there are no upper ones."""
    column, row = ("valid", 1) if any(run["valid"].notna().any() for run in runs.values()) else (
        "loss", 2,
    )  # fmt: skip
    ends = []
    for label, run in runs.items():
        points = run.dropna(subset=column)
        if len(points):
            ends.append((label, float(points["done"].iloc[-1]), float(points[column].iloc[-1])))
    if not ends:
        return
    values = pd.concat([run[column].dropna() for run in runs.values()])
    low, high = float(values.min()), float(values.max())
    room = (high - low) * 0.06 or abs(high) * 0.05 or 0.5
    low, high = low - room, high + room
    figure.update_yaxes(range=[low, high], row=row, col=1)
    plot = (HEIGHT - 80) * (VALID_SHARE if row == 1 else 1 - VALID_SHARE)
    texts = end_labels([label for label, _, _ in ends])
    place = {} if row == 1 else {"xref": "x2", "yref": "y2"}
    colored = [(_ranker(label), x, y) for label, x, y in ends]
    named_ends(figure, colored, texts, (low, high, plot), **place)


def _ranker(label: str) -> str:
    return label_of(label).partition(" ")[0]


ROW, FRAME = 26, 110
"""Pixels of a ranker's row, and of axis and margins."""

MOST = 20
SCALE = "validation NDCG@10"


@plain_text
def compare_dots(frame: pd.DataFrame) -> go.Figure:
    """Dots of the best rankers.

    Args:
        frame: columns label and value; one row per ranker.
    """
    best = frame.sort_values("value", ascending=False, kind="stable").head(MOST)
    strokes = [stroke(label) for label in best["label"]]
    figure = go.Figure(
        go.Scatter(
            x=best["value"],
            y=best["label"],
            mode="markers+text",
            marker={
                "color": [style.color for style in strokes],
                "symbol": [style.shape for style in strokes],
                "size": 11,
            },
            text=[f"{value:.3f}" for value in best["value"]],
            textposition="middle right",
            cliponaxis=False,
            hovertemplate=f"<b>%{{y}}</b><br>{SCALE} %{{x:.3f}}<extra></extra>",
        )
    )
    laid_out(figure, height=FRAME + ROW * len(best), showlegend=False)
    highest = float(best["value"].max()) or 1.0
    xaxes(figure, title=SCALE, range=[0, 1.2 * highest])  # room for the numbers
    yaxes(figure, autorange="reversed", showgrid=True, **NAMES)
    return figure
