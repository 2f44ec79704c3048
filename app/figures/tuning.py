"""Figures of a search for a recipe: the best value so far, and every trial's settings."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import PALETTE, REFERENCE, laid_out, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text

HEIGHT, ACROSS = 300, 340
"""Pixels of the two figures."""

DONE = "done"
STOPPED = {"pruned": "stopped early", "failed": "failed"}
"""Words for the states of unfinished trials."""

MOST_TICKS = 10
"""Most trials with a tick each; beyond, Plotly's default ticks are whole numbers."""

ROOM = 0.05
"""Range of the axis above and below a single value."""

WORDS = "validation NDCG@10"


@plain_text
def best_so_far(frame: pd.DataFrame) -> go.Figure:
    """One dot per trial, the best value so far as a line; stopped trials at their last value.

    Args:
        frame: columns trial, of (a preset, or `search`), state and valid; one row per trial.
    """
    figure = go.Figure()
    done, stopped = _done(frame), frame[frame["state"].isin(STOPPED)].dropna(subset="valid")
    steps = {"color": PALETTE[0], "width": 2.5, "shape": "hv"}
    if len(done):
        last = int(frame["trial"].max())
        figure.add_scatter(
            # Extended to the last trial, which may have been stopped.
            x=[*done["trial"], last], y=[*done["valid"].cummax(), done["valid"].max()],
            mode="lines", line=steps, name="best so far",
            hovertemplate=f"best until trial %{{x}}<br>{WORDS} %{{y:.3f}}<extra></extra>",
        )  # fmt: skip
    of_presets = done["of"].where(done["of"] != "search", "")
    figure.add_scatter(
        x=done["trial"], y=done["valid"], mode="markers+text", name="finished",
        text=of_presets, cliponaxis=False,
        # Alternately above and below: names of presets at neighbouring trials would overlap.
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
    """Numbers of unfinished trials by state, in words.

    >>> stopped_in_words(pd.DataFrame({"state": ["failed", "done", "failed"]}))
    ['2 failed']
    """
    counts = frame["state"].value_counts()
    return [f"{counts[state]} {words}" for state, words in STOPPED.items() if state in counts]


def _done(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["state"] == DONE].dropna(subset="valid")
