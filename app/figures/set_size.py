"""Table 3 as curves: a measure against the candidates in a list, one curve a ranker."""

import math
from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    end_labels,
    faded,
    laid_out,
    named_ends,
    stroke,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import in_words, plain_text

HEIGHT = 460
WORDS = {"ideal": "best possible order", "initial ranking": "initial ranking"}
"""What the curves of the candidates alone are called."""


@plain_text
def curves(
    frame: pd.DataFrame, measure: str, home: int | None = None, *, from_zero: bool = True
) -> go.Figure:
    """Curves with 95 % intervals over a logarithmic axis of sizes, labelled at their ends.

    Args:
        frame: ranker, trained_on, size, mean_length, mean, low, high, n; one trained_on a ranker.
        measure: what is drawn.
        home: the size that the rankers were trained on, marked by a line; None: none.
        from_zero: whether the vertical axis starts at 0.
    """
    figure = go.Figure()
    if home is not None:
        _home(figure, home, first=home == frame["size"].min())
    ends: list[tuple[str, float, float]] = []
    for ranker, own in frame.groupby("ranker", sort=False):
        points, name = own.sort_values("size"), str(ranker)
        _ribbon(figure, name, points)
        _line(figure, name, points, measure)
        last = points[points["mean"].notna()].tail(1)
        ends += [
            (name, float(x), float(y)) for x, y in zip(last["size"], last["mean"], strict=True)
        ]
    _axes(figure, frame, measure, from_zero=from_zero)
    _labelled(figure, ends)
    return figure


def _home(figure: go.Figure, home: int, *, first: bool) -> None:
    """A line where the rankers were trained; its words stand off the vertical axis."""
    grey = "rgba(127,127,127,0.8)"
    figure.add_vline(x=home, line={"color": grey, "width": 1.2, "dash": "dot"})
    figure.add_annotation(
        x=math.log10(home), y=0, yref="paper", text="trained here", showarrow=False,
        textangle=-90, xanchor="left" if first else "right", yanchor="bottom", font={"size": 12},
    )  # fmt: skip


def _line(figure: go.Figure, ranker: str, points: pd.DataFrame, measure: str) -> None:
    own = stroke(ranker)
    figure.add_trace(
        go.Scatter(
            x=points["size"],
            y=points["mean"],
            name=WORDS.get(ranker, ranker),
            mode="lines+markers",
            line={"color": own.color, "dash": own.dash, "width": 1.6 if ranker in WORDS else 2.4},
            marker={"size": 7, "symbol": "diamond" if ranker == "ideal" else own.shape},
            customdata=points[["ranker", "trained_on", "size", "low", "high", "n", "mean_length"]],
            selected={"marker": {"opacity": 1}},
            unselected={"marker": {"opacity": 1}},
            hovertemplate=(
                f"<b>{WORDS.get(ranker, ranker)}</b><br>%{{x}} candidates (%{{customdata[6]:.1f}} "
                f"on average), trained on %{{customdata[1]}}<br>{measure} %{{y:.3f}} "
                "[%{customdata[3]:.3f}, %{customdata[4]:.3f}], N = %{customdata[5]}<extra></extra>"
            ),
            showlegend=False,
        )
    )


def _ribbon(figure: go.Figure, ranker: str, points: pd.DataFrame) -> None:
    figure.add_trace(
        go.Scatter(
            x=[*points["size"], *points["size"][::-1]],
            y=[*points["high"], *points["low"][::-1]],
            mode="lines",
            fill="toself",
            fillcolor=faded(stroke(ranker).color, 0.08 if ranker in WORDS else 0.14),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
    )


def _axes(figure: go.Figure, frame: pd.DataFrame, measure: str, *, from_zero: bool) -> None:
    sizes = sorted(set(frame["size"]))
    laid_out(figure, height=HEIGHT, hovermode="closest")
    xaxes(figure,
        title="candidates in a list (N1)", type="log", tickvals=sizes, minor={"ticks": ""},
        ticktext=[str(size) for size in sizes],
        range=[math.log10(sizes[0]) - 0.04, math.log10(sizes[-1]) + 0.04],
    )  # fmt: skip
    yaxes(figure, title=measure, range=_range(frame, from_zero=from_zero))


def _range(frame: pd.DataFrame, *, from_zero: bool) -> list[float]:
    """The vertical axis, from 0 or from a little below the lowest interval."""
    low, high = float(frame["low"].min()), float(frame["high"].max())
    if not math.isfinite(low) or not math.isfinite(high):
        return [0.0, 1.0]
    from_zero = from_zero and low >= 0
    room = (high - (0.0 if from_zero else low) or 1.0) * 0.05
    return [0.0 if from_zero else low - room, high + room]


def _labelled(figure: go.Figure, ends: Sequence[tuple[str, float, float]]) -> None:
    """Names at the ends of the curves, none over another."""
    low, high = figure.layout.yaxis.range
    plot = HEIGHT - figure.layout.margin.t - figure.layout.margin.b - 20  # the axis' title
    names = [WORDS.get(ranker, ranker) for ranker, _, _ in ends]
    points = [(ranker, math.log10(x), y) for ranker, x, y in ends]
    named_ends(figure, points, end_labels(names), (low, high, plot))


@in_words
def alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words: each curve's first and last mean.

    >>> frame = pd.DataFrame({"ranker": ["dlcm"] * 2, "trained_on": ["40"] * 2,
    ...                       "size": [40, 240], "mean": [0.5, 0.25]})
    >>> alt_text(frame, "NDCG@10")
    'Line chart of NDCG@10 against 40 to 240 candidates: DLCM trained on 40 from 0.500 to 0.250.'
    """
    parts = []
    for ranker, points in frame.groupby("ranker", sort=False):
        ends = points.sort_values("size")["mean"]
        own = points["trained_on"].iloc[0]
        where = f" trained on {own}" if str(own).isdigit() else ""
        name = f"{WORDS.get(str(ranker), ranker)}{where}"
        parts.append(f"{name} from {ends.iloc[0]:.3f} to {ends.iloc[-1]:.3f}")
    first, last = frame["size"].min(), frame["size"].max()
    return f"Line chart of {measure} against {first} to {last} candidates: {'; '.join(parts)}."
