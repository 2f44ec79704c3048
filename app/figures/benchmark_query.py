"""One query as two rankers answered it: the initial ranking, one answer, the other."""

import pandas as pd
import plotly.graph_objects as go

from app.figures import bump


def two_answers(answers: pd.DataFrame, pair: tuple[str, str]) -> go.Figure:
    """The bump chart of a list: where it stood first, and where each of the two put it.

    Args:
        answers: document, label, initial, and a column of positions for each of the pair.
        pair: the ranker and the one that it is compared with.
    """
    figure = bump.bump(moves(answers, pair), pair[0])
    figure.update_xaxes(ticktext=["initial ranking", pair[0], pair[1]])
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


def alt_text(answers: pd.DataFrame, pair: tuple[str, str]) -> str:
    """The chart in words."""
    moved = int(moves(answers, pair)["moved"].sum())
    return (
        f"Bump chart of {len(answers)} documents from the initial ranking to the answers of "
        f"{pair[0]} and {pair[1]}, which put {moved} relevant ones at different places."
    )
