"""One query by two rankers: the initial ranking and both rankings."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures import bump
from shuffleproof.app.figures.style import set_properties, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text


@plain_text
def two_answers(answers: pd.DataFrame, pair: tuple[str, str]) -> go.Figure:
    """Bump chart of a list: initial ranking, then both rankings.

    Args:
        answers: document, label, initial, and a column of positions for each of the pair.
        pair: ranker and baseline.
    """
    figure = bump.bump(moves(answers, pair), pair[0])
    xaxes(figure, ticktext=["initial ranking", pair[0], pair[1]])
    figure.update_traces(
        selector={"mode": "markers"},
        hovertemplate=(
            "<b>%{customdata[1]}</b><br>label %{customdata[2]:~g}<br>initially at "
            f"%{{customdata[3]}}<br>{pair[0]}: %{{customdata[4]}}<br>{pair[1]}: "
            "%{customdata[5]}<extra></extra>"
        ),
    )
    return figure


def moves(answers: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """Frame of a bump chart; `moved` marks relevant documents whose positions differ."""
    return pd.DataFrame(
        {
            "document": answers["document"],
            "label": answers["label"],
            "shown": answers["initial"],
            "answered": answers[pair[0]],
            "shown_before": answers["initial"],
            "answered_before": answers[pair[1]],
            "moved": (answers[pair[0]] != answers[pair[1]]) & (answers["label"] > 0),
        }
    )


DEPTH = 40
"""Number of a run's first places that are drawn."""


@plain_text
def two_runs(documents: pd.DataFrame, pair: tuple[str, str]) -> go.Figure:
    """First places of two runs, with a line between a document's places in both.

    Args:
        documents: document, label, and a column of positions for each of the pair, NaN where a run
            did not retrieve the document.
        pair: names of the two runs.
    """
    places = _first(documents, pair)
    left, right = places[pair[0]], places[pair[1]]
    frame = pd.DataFrame(
        {
            "document": places["document"],
            "label": places["label"],
            "shown": left,
            "answered": right,
            "shown_before": float("nan"),
            "answered_before": float("nan"),
            "moved": (left != right) & (places["label"] > 0),
        }
    )
    figure = bump.bump(frame, pair[0])
    lowest = max(int(left.max(skipna=True) or 1), int(right.max(skipna=True) or 1))
    xaxes(figure, tickvals=[0, 1], ticktext=list(pair), range=[-0.1, 1.1])
    yaxes(figure, range=[lowest + 0.7, 0.3])
    set_properties(figure.layout, height=bump.SMALLEST + lowest * bump.ROW // 2)
    figure.update_traces(
        selector={"mode": "markers"},
        hovertemplate=(
            f"<b>%{{customdata[1]}}</b><br>label %{{customdata[2]:~g}}<br>{pair[0]}: "
            f"%{{customdata[3]}}<br>{pair[1]}: %{{customdata[4]}}<extra></extra>"
        ),
    )
    return figure


def _first(documents: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """Documents within the first places of either run; later places are NaN."""
    places = documents.copy()
    for name in pair:
        places[name] = places[name].where(places[name] <= DEPTH)
    return places[places[list(pair)].notna().any(axis=1)]
