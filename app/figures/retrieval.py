"""Figures of retrievers: means, postings, cost of sparsity, losses to noise and growth."""

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.style import (
    NAMES,
    PALETTE,
    REFERENCE,
    UNSIGNED_ZERO,
    add_annotations,
    laid_out,
    numbered_line,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import plain_text

ROW, FRAME, SPREAD = 42, 90, 380
"""Pixels of a row, of axis and margins, and of a picture of postings."""


THIN = {"thickness": 1, "width": 3}


def _interval(rows: pd.DataFrame, middle: str) -> dict[str, object]:
    """Error bars from `low` to `high` around a column."""
    return {
        "type": "data", "symmetric": False, "array": rows["high"] - rows[middle],
        "arrayminus": rows[middle] - rows["low"],
    }  # fmt: skip


@plain_text
def means(frame: pd.DataFrame, measure: str) -> go.Figure:
    """Means of retrievers, the best on top, with 95 % intervals over queries.

    Args:
        frame: retriever, measure, mean, low, high, n.
        measure: name of the measure.
    """
    rows = _rows_of(frame, measure)
    figure = go.Figure(
        go.Scatter(
            x=rows["mean"],
            y=rows["retriever"],
            mode="markers",
            marker={"size": 11, "color": PALETTE[0]},
            error_x=_interval(rows, "mean"),
            customdata=rows[["low", "high"]],
            hovertemplate="<b>%{y}</b><br>%{x:.3f} [%{customdata[0]:.3f}, %{customdata[1]:.3f}]"
            "<extra></extra>",
        )
    )  # fmt: skip
    laid_out(figure, height=ROW * len(rows) + FRAME, showlegend=False, hovermode="closest")
    yaxes(figure, autorange="reversed", type="category", **NAMES)
    xaxes(figure, title=f"{measure}, mean over queries", rangemode="tozero")
    return figure


def _rows_of(frame: pd.DataFrame, measure: str) -> pd.DataFrame:
    rows = frame[frame["measure"] == measure]
    return rows.sort_values("mean", ascending=False, kind="stable", ignore_index=True)


@plain_text
def postings(frame: pd.DataFrame) -> go.Figure:
    """Share of documents by dimension of each index, most frequent first, on logarithmic axes.

    Args:
        frame: retriever, rank, share.
    """
    figure = go.Figure(
        [
            go.Scatter(
                x=points["rank"], y=points["share"], name=str(name), mode="lines+markers",
                line=numbered_line(place),
                marker={"size": 4},
                hovertemplate=f"<b>{name}</b><br>rank %{{x:,}}: %{{y:.2%}} of the documents"
                "<extra></extra>",
            )
            for place, (name, points) in enumerate(frame.groupby("retriever", sort=False))
        ]
    )  # fmt: skip
    laid_out(figure, height=SPREAD, hovermode="closest", showlegend=True)
    xaxes(figure, title="dimension or word, by rank", type="log", dtick=1)
    yaxes(figure, title="share of documents", type="log", tickformat="~p", dtick=1)
    return figure


SPARSITY_HEIGHT = 420


@plain_text
def sparsity_curves(frame: pd.DataFrame, measure: str) -> go.Figure:
    """One mark per level with its 95 % interval, open where the index fails a sparsity check.

    Args:
        frame: way, level, mean, low, high, nonzeros_document, postings_per_query_over_n,
            dense_in_disguise.
        measure: name of the measure.
    """
    figure = go.Figure()
    for place, (way, rows) in enumerate(frame.groupby("way", sort=False)):
        points = rows.sort_values("nonzeros_document", kind="stable")
        dense = points["dense_in_disguise"].astype(bool)
        figure.add_trace(
            go.Scatter(
                x=points["nonzeros_document"].clip(lower=0.1),
                y=points["mean"],
                name=str(way),
                mode="lines+markers",
                line=numbered_line(place),
                marker={
                    "size": 10,
                    "symbol": ["circle-open" if is_dense else "circle" for is_dense in dense],
                },
                error_y=_interval(points, "mean") | THIN,
                customdata=points[["level", "postings_per_query_over_n"]],
                hovertemplate=f"<b>{way}</b> %{{customdata[0]:~g}}<br>{measure} %{{y:.3f}}<br>"
                "%{x:.1f} non-zeros a document<br>%{customdata[1]:.2f} N postings a query"
                "<extra></extra>",
            )
        )  # fmt: skip
    laid_out(figure, height=SPARSITY_HEIGHT, hovermode="closest")
    xaxes(figure, title="non-zeros of a document (open: not sparse)", type="log")
    yaxes(figure, title=measure, rangemode="tozero")
    return figure


ACROSS = 2
PANEL, PANEL_FRAME = 190, 110
"""Pixels of a row of panels, and of legend and margins."""


@plain_text
def changes(frame: pd.DataFrame, measure: str, across: str) -> go.Figure:
    """Changes against a level, with intervals: one panel per condition, one line per retriever.

    Args:
        frame: retriever, condition, level, change, low, high.
        measure: name of the measure.
        across: name of the level.
    """
    kinds, names = frame["condition"].unique(), frame["retriever"].unique()
    rows = -(-len(kinds) // ACROSS)
    figure = make_subplots(
        rows=rows, cols=min(ACROSS, len(kinds)), shared_yaxes="all", shared_xaxes="all",
        horizontal_spacing=0.04, vertical_spacing=0.28 / rows,
    )  # fmt: skip
    for at, kind in enumerate(kinds):
        place = {"row": at // ACROSS + 1, "col": at % ACROSS + 1}
        for among, name in enumerate(names):
            points = frame[(frame["condition"] == kind) & (frame["retriever"] == name)]
            figure.add_trace(_line(points, name, among, shown=at == 0), **place)
        figure.add_hline(0, line={"color": REFERENCE, "width": 1}, **place)
    laid_out(figure, height=PANEL * rows + PANEL_FRAME, hovermode="closest")
    set_properties(
        figure.layout, margin={"t": 76, "b": 56},
        legend={"y": 1.0, "yref": "container", "yanchor": "top"},
    )  # fmt: skip
    yaxes(figure, tickformat="+.2f", **UNSIGNED_ZERO)
    xaxes(figure, tickformat=".0%", showticklabels=True)
    figure.update_yaxes(title=f"{measure}, change", col=1, row=(rows + 1) // 2)
    figure.update_xaxes(title=across, row=rows)
    add_annotations(figure, [
        {"text": f"<b>{kind}</b>", "x": 0, "y": 1, "xref": f"x{at + 1 if at else ''} domain",
         "yref": f"y{at + 1 if at else ''} domain", "xanchor": "left", "yanchor": "bottom",
         "showarrow": False}
        for at, kind in enumerate(kinds)
    ])  # fmt: skip
    return figure


def _line(points: pd.DataFrame, name: str, number: int, *, shown: bool) -> go.Scatter:
    return go.Scatter(
        x=points["level"],
        y=points["change"],
        name=name,
        legendgroup=name,
        showlegend=shown,
        mode="lines+markers",
        line=numbered_line(number),
        marker={"size": 7},
        error_y=_interval(points, "change") | THIN,
        customdata=points[["low", "high", "condition"]],
        hovertemplate=f"<b>{name}</b><br>%{{customdata[2]}} %{{x:.0%}}<br>%{{y:+.3f}} "
        "[%{customdata[0]:+.3f}, %{customdata[1]:+.3f}]<extra></extra>",
    )  # fmt: skip
