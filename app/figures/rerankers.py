"""Pictures of rerankers: positions shown and answered, value of a slot, quality by depth."""

import textwrap

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from shuffleproof.app.figures.attention import WEIGHTS
from shuffleproof.app.figures.style import laid_out, set_properties, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

HEIGHT, TOP, MOST = 430, 48, 3
"""Height in pixels, pixels above the panels, and the number of rerankers that are drawn."""
TITLES, LETTER = 30, 12
"""Letters that all titles of panels have in a line of a phone, and the height of a letter."""


@plain_text
def places(frame: pd.DataFrame) -> go.Figure:
    """Share of documents shown in one part of the list that were answered in another.

    Args:
        frame: one row per reranker: ranker, basis (of what), lists, matrix [shown, answered];
            a row of the matrix sums to 1 at most.
    """
    drawn = [row for row in frame.to_dict("records") if row["matrix"]][:MOST]
    titles = [textwrap.wrap(row["ranker"], TITLES // len(drawn)) for row in drawn]
    figure = make_subplots(
        cols=max(len(drawn), 1), horizontal_spacing=0.04, shared_yaxes=True,
        subplot_titles=["<br>".join(lines) for lines in titles],
    )  # fmt: skip
    figure.update_annotations(font_size=LETTER)
    highest = max((float(np.max(row["matrix"])) for row in drawn), default=1.0)
    for at, row in enumerate(drawn, start=1):
        matrix = np.asarray(row["matrix"], dtype=float)
        numbers = [*range(1, len(matrix) + 1)]
        figure.add_heatmap(
            z=matrix, x=numbers, y=numbers, colorscale=WEIGHTS, zmin=0, zmax=highest, col=at, row=1,
            showscale=at == len(drawn), colorbar={"title": "share", "tickformat": ".0%"},
            hovertemplate="shown in part %{y}, answered in part %{x}: %{z:.1%}"
            f"<extra>{row['basis']}</extra>", name=row["ranker"],
        )  # fmt: skip
    xaxes(figure, title="part of the list, as answered", showgrid=False, dtick=1)
    yaxes(figure, autorange="reversed", showgrid=False, dtick=1)
    if drawn:
        figure.layout.yaxis.title = "part of the list, as shown"
    laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest")
    more = max(map(len, titles), default=1) - 1
    set_properties(figure.layout, margin={"t": TOP + more * LETTER * 1.3})
    return figure


@plain_text
def curves(frame: pd.DataFrame, measure: str) -> go.Figure:
    """Quality by depth, by the number of averaged orders, and by the slot of relevant documents.

    Args:
        frame: one row per point: ranker, first_stage, by (the panel), at and mean.
        measure: name of the measure.
    """
    panels = [*dict.fromkeys(frame["by"])]
    figure = make_subplots(cols=len(panels), horizontal_spacing=0.06, shared_yaxes=True)
    named: set[str] = set()
    for (by, ranker, _), rows in frame.groupby(["by", "ranker", "first_stage"], dropna=False):
        look, col = stroke(str(ranker)), panels.index(by) + 1
        stages = rows["first_stage"].dropna()
        figure.add_scatter(
            x=rows["at"], y=rows["mean"], mode="lines+markers", name=ranker, col=col, row=1,
            legendgroup=ranker, showlegend=ranker not in named, line={"color": look.color},
            marker={"symbol": look.shape}, customdata=[[stage] for stage in stages] or None,
            hovertemplate="%{x}: %{y:.3f}" + ", %{customdata[0]}" * bool(len(stages))
            + "<extra>%{fullData.name}</extra>",
        )  # fmt: skip
        named.add(str(ranker))
    xaxes(figure, nticks=6)
    for at, panel in enumerate(panels, start=1):
        few = {"dtick": 1} if frame.loc[frame["by"] == panel, "at"].max() < 6 else {}
        figure.update_xaxes(title=panel, col=at, **few)
    figure.layout.yaxis.title = measure
    return laid_out(figure, height=HEIGHT, showlegend=True, hovermode="closest")


@plain_text
def slots(frame: pd.DataFrame) -> go.Figure:
    """Value that a slot adds to the document shown in it, a line for each reranker.

    Args:
        frame: one row per reranker: ranker, basis, unit of its values, and values, one a slot,
            whose mean is 0; without values a reranker is left out.
    """
    drawn = [row for row in frame.to_dict("records") if row.get("values")]
    figure = go.Figure()
    for row in drawn:
        look = stroke(str(row["ranker"]))
        figure.add_scatter(
            x=[*range(1, len(row["values"]) + 1)], y=row["values"], mode="lines+markers",
            name=row["ranker"], line={"color": look.color}, marker={"symbol": look.shape},
            hovertemplate="slot %{x}: %{y:+.3f}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    units = " or ".join(dict.fromkeys(row["unit"] for row in drawn))
    xaxes(figure, title="position at which a document is shown")
    yaxes(figure, title=f"effect of the position ({units})", zeroline=True)
    return laid_out(figure, height=HEIGHT, showlegend=True, hovermode="closest")
