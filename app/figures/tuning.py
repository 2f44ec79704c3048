"""A search for a recipe: the best so far, trial by trial, and what every trial was."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    PALETTE,
    REFERENCE,
    add_annotations,
    faded,
    laid_out,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text

HEIGHT, ACROSS = 300, 340
"""Pixels of the two pictures."""

DONE = "done"
STOPPED = {"pruned": "stopped early", "failed": "failed"}
"""What became of trials that are not finished, in words."""

SPAN = 8
"""A field whose values differ by this factor or more has a logarithmic axis."""

MOST_TICKS = 10
"""Up to so many trials, each has its tick; an axis of more has whole numbers by itself."""

ROOM = 0.05
"""Above and below a value that is the only one."""

WORDS = "validation NDCG@10"


@plain_text
def best_so_far(frame: pd.DataFrame) -> go.Figure:
    """A dot a trial, and the best until then as a line; stopped trials at the value they had.

    Args:
        frame: columns trial, of (a preset, or `search`), state and valid; one row a trial.
    """
    figure = go.Figure()
    done, stopped = _done(frame), frame[frame["state"].isin(STOPPED)].dropna(subset="valid")
    steps = {"color": PALETTE[0], "width": 2.5, "shape": "hv"}
    if len(done):
        last = int(frame["trial"].max())
        figure.add_scatter(
            x=[*done["trial"], last], y=[*done["valid"].cummax(), done["valid"].max()],
            mode="lines", line=steps, name="best so far",
            hovertemplate=f"best until trial %{{x}}<br>{WORDS} %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    of_presets = done["of"].where(done["of"] != "search", "")
    figure.add_scatter(
        x=done["trial"], y=done["valid"], mode="markers+text", name="finished",
        text=of_presets, cliponaxis=False,
        textposition=[f"{('top', 'bottom')[at % 2]} center" for at in range(len(done))],
        marker={"color": PALETTE[0], "size": 8},
        hovertemplate=f"trial %{{x}} %{{text}}<br>{WORDS} %{{y:.3f}}<extra></extra>",
    )  # fmt: skip
    if len(stopped):
        figure.add_scatter(
            x=stopped["trial"], y=stopped["valid"], mode="markers", name="not finished",
            text=stopped["state"].map(STOPPED),
            marker={"color": REFERENCE, "size": 8, "symbol": "x-thin", "line": {"width": 2}},
            hovertemplate=f"trial %{{x}}, %{{text}}<br>{WORDS} %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")
    trials, values = max(frame["trial"], default=1), frame["valid"].dropna()
    xaxes(
        figure, title="trial", tickformat="d", range=[0.5, trials + 0.5],
        dtick=1 if trials <= MOST_TICKS else None,
    )  # fmt: skip
    yaxes(figure, title=WORDS)
    if len(values) and values.min() == values.max():
        yaxes(figure, range=[values.iloc[0] - ROOM, values.iloc[0] + ROOM])
    return figure


def stopped_in_words(frame: pd.DataFrame) -> list[str]:
    """How many trials were not finished, by what became of them.

    >>> stopped_in_words(pd.DataFrame({"state": ["failed", "done", "failed"]}))
    ['2 failed']
    """
    counts = frame["state"].value_counts()
    return [f"{counts[state]} {words}" for state, words in STOPPED.items() if state in counts]


@plain_text
def parallel(frame: pd.DataFrame, fields: Sequence[str]) -> go.Figure:
    """Parallel coordinates: a line a finished trial through its settings to what it came to.

    The better a trial, the darker its line; the best stands out. Drawn as plain lines, since
    plotly's own kind needs WebGL and has no hovers.

    Args:
        frame: columns trial, state, valid, and the fields.
        fields: that were searched.
    """
    done = _done(frame).sort_values("valid", kind="stable")  # the best is drawn last, on top
    axes = [_axis(done[name], name.replace("_", " ")) for name in fields]
    axes.append(_axis(done["valid"], WORDS, "{:.3f}".format))
    figure = go.Figure()
    for at, row in enumerate(done.to_dict("records"), start=1):
        best = at == len(done)
        settings = "<br>".join(f"{name.replace('_', ' ')} {_text(row[name])}" for name in fields)
        figure.add_scatter(
            x=[*range(len(axes))], y=[axis.places[at - 1] for axis in axes],
            mode="lines+markers", marker={"size": 7 if best else 4}, name=f"trial {row['trial']}",
            line={"width": 3, "color": PALETTE[0]} if best
            else {"width": 1.5, "color": faded(REFERENCE, 0.25 + 0.65 * at / len(done))},
            hovertemplate=f"<b>%{{fullData.name}}</b><br>{settings}<br>"
            f"{WORDS} {row['valid']:.3f}<extra></extra>",
        )  # fmt: skip
    laid_out(figure, height=ACROSS, showlegend=False, hovermode="closest")
    set_properties(figure.layout, margin={"l": 30, "r": 30, "t": 60, "b": 30})
    xaxes(
        figure, range=[-0.35, len(axes) - 0.65], tickvals=[*range(len(axes))], side="top",
        tickfont_size=10,
        ticktext=["<br>".join(axis.label.split()) for axis in axes], tickangle=0, showgrid=True,
    )  # fmt: skip
    yaxes(figure, range=[-0.12, 1.12], showgrid=False, showticklabels=False)
    add_annotations(figure, [
        {"x": at, "y": y, "text": text, "showarrow": False, "yanchor": anchor, "font": {"size": 11}}
        for at, axis in enumerate(axes)
        for y, text, anchor in ((0, axis.low, "top"), (1, axis.high, "bottom"))
    ])  # fmt: skip
    return figure


def _done(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["state"] == DONE].dropna(subset="valid")


@dataclass(frozen=True)
class Axis:
    """One axis of parallel coordinates.

    Attributes:
        label: its name.
        low: what stands at its lower end.
        high: at its upper end.
        places: of every trial, from 0 to 1.
    """

    label: str
    low: str
    high: str
    places: list[float]


def _axis(values: pd.Series, label: str, text: Callable[[Any], str] | None = None) -> Axis:
    """An axis of numbers, of logarithms where they span much, or of choices in their order.

    >>> _axis(pd.Series([1, 10, 100]), "leaves")
    Axis(label='leaves (log)', low='1', high='100', places=[0.0, 0.5, 1.0])
    """
    text, numbers = text or _text, pd.to_numeric(values, errors="coerce").astype(float)
    if values.empty:
        return Axis(label, "", "", [])
    if numbers.isna().any():
        choices = sorted(set(map(str, values)))
        numbers, ends = values.map(str).map(choices.index).astype(float), (choices[0], choices[-1])
    else:
        ends = (text(values.min()), text(values.max()))
        if 0 < SPAN * numbers.min() <= numbers.max():
            numbers, label = numbers.map(math.log10), f"{label} (log)"
    low, high = numbers.min(), numbers.max()
    if low == high:
        return Axis(label, ends[0], "", [0.5] * len(values))
    return Axis(label, *ends, [float(place) for place in (numbers - low) / (high - low)])


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else str(value)
