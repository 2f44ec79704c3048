"""Two rankers query by query: a bar a query, the greatest gain first."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.query_bars import bars
from shuffleproof.app.figures.style import stroke, yaxes
from shuffleproof.app.figures.text import plain_text


@plain_text
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
    hover = (
        "<b>query %{customdata[0]}</b> · %{customdata[1]}<br>"
        f"{pair[0]} %{{customdata[2]:.3f}}, {pair[1]} %{{customdata[3]:.3f}}<br>"
        "difference %{y:+.3f}<extra></extra>"
    )
    facts = ("query", "fold", "ranker", "baseline")
    figure = bars(frame, stroke(pair[0]).color, facts, hover, chosen)
    yaxes(figure, title=f"{measure}, difference")
    return figure


def alt_text(frame: pd.DataFrame, pair: tuple[str, str], measure: str) -> str:
    """The bars in words."""
    better, worse = int((frame["difference"] > 0).sum()), int((frame["difference"] < 0).sum())
    return (
        f"Bars of {measure} of {pair[0]} minus {pair[1]} for {len(frame)} queries: better on "
        f"{better}, worse on {worse}, equal on {len(frame) - better - worse}."
    )
