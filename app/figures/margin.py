"""One document above another: effects of features and of other documents on the margin."""

from typing import Any

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
        features: feature, effect, low, high; the largest first.
        documents: document, effect, above_rank, below_rank, swaps; the largest first.
        rest: margin with equal features.
        ranker: label of the ranker, for its colour.
    """
    color, figure, bars = stroke(ranker).color, go.Figure(), []
    for row in features.head(FEATURES).to_dict("records"):
        interval = f"95 % interval {row['low']:.3g} to {row['high']:.3g}"
        bars.append(("feature", row["feature"], row["effect"], row["high"], interval))
    if bars:
        bars.append(("feature", "equal features", rest, rest, "margin with equal features"))
    # Documents that swap the two first, below an empty line
    others = documents.sort_values("swaps", ascending=False, kind="stable").head(DOCUMENTS)
    for row in others.to_dict("records"):
        without = f"without it, the two have ranks {row['above_rank']} and {row['below_rank']}"
        kind = "swaps the two" if row["swaps"] else "other document"
        bars.append((kind, row["document"], row["effect"], row["effect"], without))
    frame = pd.DataFrame(bars, columns=["kind", "name", "effect", "high", "text"])
    frame["y"] = frame.index + (frame["kind"] != "feature")
    for kind, opacity in KINDS.items():
        rows: Any = frame[frame["kind"] == kind]
        figure.add_bar(
            x=rows["effect"], y=rows["y"], orientation="h", name=kind,
            marker={"color": faded(color, opacity), "line": {"color": color, "width": 1}},
            error_x={
                "type": "data", "array": rows["high"] - rows["effect"], "thickness": 1.2,
                "visible": bool((rows["high"] > rows["effect"]).any()),
            },
            customdata=rows[["name", "text"]],
            hovertemplate="<b>%{customdata[0]}</b>: %{x:+.3g}<br>%{customdata[1]}<extra></extra>",
        )  # fmt: skip
    laid_out(figure, height=130 + 20 * len(frame), bargap=0.25, barmode="overlay")
    xaxes(figure, title="effect on the margin", zeroline=True, zerolinecolor="rgba(127,127,127,.8)")
    texts = [cut(name, LETTERS) for name in frame["name"]]
    yaxes(figure, tickvals=frame["y"], ticktext=texts, autorange="reversed", **NAMES)
    return figure
