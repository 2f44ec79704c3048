"""One document above another: effects of features and of other documents on the margin."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import NAMES, faded, laid_out, stroke, xaxes, yaxes
from shuffleproof.app.figures.text import plain_text
from shuffleproof.core.words import cut

FEATURES, DOCUMENTS, LETTERS = 10, 6, 22
"""Bars of each kind, and letters of a name, at most."""

KINDS = {"feature": 1.0, "swaps the two": 0.65, "other document": 0.25}
"""Opacity of bars by kind."""


@plain_text
def effects(features: pd.DataFrame, documents: pd.DataFrame, rest: float, ranker: str) -> go.Figure:
    """Bars of the largest effects, documents below the features.

    Args:
        features: feature, effect and high, the end of its interval; the largest first.
        documents: document, effect, swaps; the largest first.
        rest: margin with equal features.
        ranker: label of the ranker, for its colour.
    """
    color, figure = stroke(ranker).color, go.Figure()
    shown = features.head(FEATURES)[["feature", "effect", "high"]]
    bars = [("feature", *row) for row in shown.itertuples(index=False)]
    if bars:
        bars.append(("feature", "equal features", rest, rest))
    # Documents that swap the two first, below an empty line
    others = documents.sort_values("swaps", ascending=False, kind="stable").head(DOCUMENTS)
    for name, effect, swaps in others[["document", "effect", "swaps"]].itertuples(index=False):
        bars.append(("swaps the two" if swaps else "other document", name, effect, effect))
    frame = pd.DataFrame(bars, columns=["kind", "name", "effect", "high"])
    frame["y"] = frame.index + (frame["kind"] != "feature")
    for kind, opacity in KINDS.items():
        rows = frame[frame["kind"] == kind]
        half_widths = rows["high"] - rows["effect"]
        figure.add_bar(
            x=rows["effect"], y=rows["y"], orientation="h", name=kind, customdata=rows["name"],
            marker={"color": faded(color, opacity), "line": {"color": color, "width": 1}},
            # Intervals of width 0 would have ends
            error_x={"array": half_widths, "thickness": 1.2, "visible": bool(half_widths.any())},
            hovertemplate=f"<b>%{{customdata}}</b>: %{{x:+.3g}}<extra>{kind}</extra>",
        )  # fmt: skip
    laid_out(figure, height=130 + 20 * len(frame), bargap=0.25, barmode="overlay")
    xaxes(figure, title="effect on the margin", zeroline=True, zerolinecolor="rgba(127,127,127,.8)")
    texts = [cut(name, LETTERS) for name in frame["name"]]
    yaxes(figure, tickvals=frame["y"], ticktext=texts, autorange="reversed", **NAMES)
    return figure
