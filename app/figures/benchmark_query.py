"""One query as two rankers answered it: the initial ranking, one answer, the other."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures import bump
from shuffleproof.app.figures.style import set_properties, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text


@plain_text
def two_answers(answers: pd.DataFrame, pair: tuple[str, str]) -> go.Figure:
    """The bump chart of a list: where it stood first, and where each of the two put it.

    Args:
        answers: document, label, initial, and a column of positions for each of the pair.
        pair: the ranker and the one that it is compared with.
    """
    figure = bump.bump(moves(answers, pair), pair[0])
    xaxes(figure, ticktext=["initial ranking", pair[0], pair[1]])
    figure.update_traces(
        selector={"mode": "markers"},
        hovertemplate=(
            "<b>%{customdata[1]}</b><br>label %{customdata[2]:g}<br>initially at "
            f"%{{customdata[3]}}<br>{pair[0]}: %{{customdata[4]}}<br>{pair[1]}: "
            "%{customdata[5]}<extra></extra>"
        ),
    )
    return figure


def moves(answers: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """The answers as a bump chart takes them; moved: relevant, and at different places."""
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
"""Places of a run that are drawn."""


@plain_text
def two_runs(documents: pd.DataFrame, pair: tuple[str, str]) -> go.Figure:
    """The first places of two runs, a line from a document's place in one to that in the other.

    Args:
        documents: document, label, and a column of positions for each of the pair, NaN where a run
            did not retrieve the document.
        pair: the two runs.
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
            f"<b>%{{customdata[1]}}</b><br>label %{{customdata[2]:g}}<br>{pair[0]}: "
            f"%{{customdata[3]}}<br>{pair[1]}: %{{customdata[4]}}<extra></extra>"
        ),
    )
    return figure


def _first(documents: pd.DataFrame, pair: tuple[str, str]) -> pd.DataFrame:
    """The documents within the first places of either run; places further down are NaN."""
    places = documents.copy()
    for name in pair:
        places[name] = places[name].where(places[name] <= DEPTH)
    return places[places[list(pair)].notna().any(axis=1)]
