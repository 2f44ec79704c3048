"""What documents that came after training lose: seen and unseen ones, a line a retriever."""

import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures import query_noise
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.words import interval, percent, signed


@plain_text
def changes(frame: pd.DataFrame, measure: str) -> go.Figure:
    """The change of recall of seen and of unseen documents against the share that came later.

    Args:
        frame: retriever, documents, share, change, low, high.
        measure: what recall is called.
    """
    own = frame.rename(columns={"share": "level", "documents": "panel"})
    return query_noise.panels(own, measure, "came later")


@in_words
def alt_text(frame: pd.DataFrame, measure: str) -> str:
    """The figure in words: of every retriever the largest share."""
    own = frame[frame["share"] == frame["share"].max()]
    said = [
        f"{row['retriever']}, {row['documents']} documents {signed(row['change'])} "
        f"{interval(row['low'], row['high'])}"
        for _, row in own.iterrows()
    ]
    return (
        f"Change of {measure} where {percent(own['share'].max())} of the documents came after "
        "training, "
        f"with 95 % intervals: {'; '.join(said)}."
    )
