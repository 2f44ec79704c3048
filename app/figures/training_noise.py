"""Values of trainings that differ in one source of noise, as strips."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import REFERENCE, shapes, stroke, xaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.app.figures.traces import rows

ROW, FRAME = 38, 90
"""Pixels of a strip, and of axis and margins."""


@plain_text
def strips(frame: pd.DataFrame, measure: str) -> go.Figure:
    """One strip per ranker and source: a mark per training, a grey line for the ranker as trained.

    Args:
        frame: as `kinds.training_noise.sections.points` makes it: ranker, source, draw, value.
        measure: name of the measure.
    """
    usual = frame[frame["source"] == "as trained"].set_index("ranker")["value"].to_dict()
    again = frame[frame["source"] != "as trained"]
    names, texts, figure = [], [], go.Figure()
    marks = shapes([str(name) for name in usual])
    for ranker, of_ranker in again.groupby("ranker", sort=False):
        for source, strip in of_ranker.groupby("source", sort=False):
            name = f"{ranker}, {source}"
            names.append(name)
            texts.append(f"{ranker}<br>{source}")
            figure.add_scatter(
                x=[usual[ranker]], y=[name], mode="markers", hoverinfo="skip",
                marker={"symbol": "line-ns-open", "size": 24, "color": REFERENCE,
                        "line": {"width": 2}},
            )  # fmt: skip
            figure.add_scatter(
                x=strip["value"], y=[name] * len(strip), mode="markers",
                customdata=strip["draw"] + 1,
                marker={"symbol": marks[str(ranker)], "size": 10, "opacity": 0.7,
                        "color": stroke(str(ranker)).color},
                hovertemplate=f"<b>{name}</b>, training %{{customdata}}<br>{measure} %{{x:.4f}}"
                "<extra></extra>",
            )  # fmt: skip
    rows(figure, names, texts, FRAME + ROW * max(len(names), 1))
    xaxes(figure, title=measure)
    return figure
