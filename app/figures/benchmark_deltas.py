"""Two rankers query by query: a bar a query, the greatest gain first."""

import pandas as pd
import plotly.graph_objects as go

from app.figures.style import laid_out, stroke, xaxes, yaxes

HEIGHT = 300
WORSE = "rgba(127,127,127,0.75)"


def deltas(
    frame: pd.DataFrame, pair: tuple[str, str], measure: str, chosen: str | None = None
) -> go.Figure:
    """Bars up where the first ranker is better, down in grey where the second is.

    Args:
        frame: query, fold, ranker, baseline, difference; the greatest first.
        pair: the ranker and the one that it is compared with.
        measure: what is compared.
        chosen: the query whose bar is framed.
    """
    color = stroke(pair[0]).color
    ringed = frame["query"].astype(str) == chosen
    bars = go.Bar(
        x=list(range(1, len(frame) + 1)),
        y=frame["difference"],
        marker={
            "color": [color if value > 0 else WORSE for value in frame["difference"]],
            "line": {"width": [2.5 if one else 0 for one in ringed], "color": "#D55E00"},
        },
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        customdata=frame[["query", "fold", "ranker", "baseline"]],
        hovertemplate=(
            "<b>query %{customdata[0]}</b> · %{customdata[1]}<br>"
            f"{pair[0]} %{{customdata[2]:.3f}}, {pair[1]} %{{customdata[3]:.3f}}<br>"
            "difference %{y:+.3f}<extra></extra>"
        ),
    )
    figure = go.Figure(bars)
    laid_out(figure, height=HEIGHT, showlegend=False, hovermode="closest", bargap=0.15)
    xaxes(figure, title="queries, the greatest gain first", showgrid=False)
    yaxes(figure, title=f"{measure}, difference", tickformat="+.2~f", zeroline=True)
    return figure


def alt_text(frame: pd.DataFrame, pair: tuple[str, str], measure: str) -> str:
    """The bars in words."""
    better, worse = int((frame["difference"] > 0).sum()), int((frame["difference"] < 0).sum())
    return (
        f"Bars of {measure} of {pair[0]} minus {pair[1]} for {len(frame)} queries: better on "
        f"{better}, worse on {worse}, equal on {len(frame) - better - worse}."
    )
