"""Distributions of a data set by part: labels, list lengths and values of a feature."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.style import PALETTE, laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

PART_COLORS = {"train": PALETTE[0], "validation": PALETTE[4], "test": PALETTE[2]}
PATTERNS = {"train": "", "validation": "/", "test": "."}
DASHES = {"train": "solid", "validation": "dash", "test": "dot"}
HEIGHT = 260
MOST_BARS = 24
STEPS = (1, 2, 5)


@plain_text
def labels(counts: pd.DataFrame) -> go.Figure:
    """Share of documents with each label, one bar per part.

    Args:
        counts: part, label, documents.
    """
    figure = go.Figure()
    for part, rows in counts.groupby("part", sort=False):
        share = rows.documents / max(rows.documents.sum(), 1)
        figure.add_trace(
            _bars(
                str(part),
                [f"{label:g}" for label in rows.label],
                share,
                customdata=rows.documents,
                hovertemplate=f"{part}, label %{{x}}<br>%{{y:.1%}} of the documents "
                "(%{customdata:,})<extra></extra>",
            )
        )
    xaxes(figure, title="label", type="category")
    yaxes(figure, title="share of documents", tickformat=".0%", rangemode="tozero")
    return laid_out(figure, barmode="group", height=HEIGHT)


@plain_text
def lengths(counts: pd.DataFrame) -> go.Figure:
    """Share of queries by list length, in bins of a round width.

    Args:
        counts: part, documents, queries.
    """
    width = bin_width(int(counts.documents.max()) if len(counts) else 1)
    figure = go.Figure()
    for part, rows in counts.groupby("part", sort=False):
        binned = rows.groupby(rows.documents // width * width).queries.sum()
        around = range(binned.index.min() - width, binned.index.max() + 2 * width, width)
        binned = binned.reindex(around, fill_value=0)  # lines start and end at 0
        ends = binned.index + width - 1
        words = [f"{low}–{high}" if high > low else f"{low}" for low, high in _pairs(binned, ends)]
        figure.add_trace(
            go.Scatter(
                x=binned.index + (width - 1) / 2,
                y=binned / max(binned.sum(), 1),
                name=str(part),
                mode="lines",
                line={
                    "color": PART_COLORS.get(str(part)),
                    "dash": DASHES.get(str(part)),
                    "shape": "hvh",
                    "width": 2.5,
                },
                customdata=list(zip(words, binned, strict=True)),
                hovertemplate=f"{part}, %{{customdata[0]}} documents<br>%{{y:.1%}} of the queries "
                "(%{customdata[1]:,})<extra></extra>",
            )
        )
    xaxes(figure, title=f"documents of a query, in steps of {width}", rangemode="tozero")
    yaxes(figure, title="share of queries", tickformat=".0%", rangemode="tozero")
    return laid_out(figure, height=HEIGHT)


@plain_text
def feature(bins: pd.DataFrame, name: str) -> go.Figure:
    """Distribution of one feature, one panel per part on a shared axis.

    Args:
        bins: part, low, high, share: the bounds of each bin and the documents' share in it.
        name: label of the feature.
    """
    parts = list(dict.fromkeys(bins.part))
    span = float(bins.high.max() - bins.low.min()) if len(bins) else 0.0
    thin = span / 50 or 1.0  # the bar of a part in which the feature is constant
    figure = make_subplots(
        rows=max(len(parts), 1), cols=1, shared_xaxes=True, vertical_spacing=0.06
    )
    for row, part in enumerate(parts, start=1):
        part_bins = bins[bins.part == part]
        bars = _bars(
            part,
            (part_bins.low + part_bins.high) / 2,
            part_bins.share,
            width=(part_bins.high - part_bins.low).where(part_bins.high > part_bins.low, thin),
            customdata=part_bins[["low", "high"]],
            hovertemplate=f"{part}, %{{customdata[0]:.4g}} to %{{customdata[1]:.4g}}<br>"
            "%{y:.1%} of the documents<extra></extra>",
        )
        figure.add_trace(bars, row=row, col=1)
        figure.update_yaxes(title=part, tickformat=".0%", rangemode="tozero", row=row, col=1)
    laid_out(figure, showlegend=False, height=130 * max(len(parts), 1) + 60)
    figure.update_xaxes(title=name, row=max(len(parts), 1), col=1)
    return figure


def bin_width(longest: int) -> int:
    """Smallest width of 1, 2, 5, 10, 20, … that needs at most MOST_BARS bars.

    >>> bin_width(20), bin_width(121), bin_width(728)
    (1, 10, 50)
    """
    power = 1
    while True:
        for step in STEPS:
            if longest // (step * power) < MOST_BARS:
                return step * power
        power *= 10


def _bars(part: str, x: object, y: object, **more: object) -> go.Bar:
    return go.Bar(
        x=x,
        y=y,
        name=part,
        marker={
            "color": PART_COLORS.get(part),
            "pattern": {"shape": PATTERNS.get(part), "fillmode": "overlay", "fgcolor": "white"},
        },
        **more,
    )


def _pairs(binned: pd.Series, ends: pd.Index) -> list[tuple[int, int]]:
    return list(zip(binned.index, ends, strict=True))
