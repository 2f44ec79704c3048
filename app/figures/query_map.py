"""Queries by what was done to them: a row a query, a column a size or condition."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures import perturbations
from shuffleproof.app.figures.style import NAMES, set_properties, xaxes
from shuffleproof.app.figures.text import in_words, plain_text
from shuffleproof.core.rankers.name import without_presets
from shuffleproof.core.words import number

LONGEST, UPRIGHT, CHARACTER = 22, 6, 5
"""Characters of a column's name at most, and until it is turned; pixels that each then takes."""


@plain_text
def queries(frame: pd.DataFrame, axis: str, measure: str) -> go.Figure:
    """The change of every query in every column, the most damaged on top.

    Args:
        frame: a column a size or condition, a row a query (its id is the index).
        axis: what the columns are.
        measure: that changed.
    """
    names = [str(name) for name in frame.columns]
    numbered = frame.set_axis(range(len(names)), axis="columns")
    figure = perturbations.queries(numbered, axis, measure)
    marks = figure.data[-1]
    marks.customdata = [[query, names[int(at)], change] for query, at, change in marks.customdata]
    marks.hovertemplate = (
        "<b>query %{customdata[0]}</b><br>%{customdata[1]}<br>"
        f"{measure}: %{{customdata[2]:+.3f}}<extra></extra>"
    )
    texts = [_short(name) for name in names]
    longest = max(map(len, texts), default=0)
    turned = longest > UPRIGHT
    xaxes(figure,
        tickvals=[f"{at}" for at in range(len(names))], ticktext=texts,
        tickangle=-45 if turned else 0, title_standoff=8, **NAMES,
    )  # fmt: skip
    if turned:
        set_properties(figure.layout, height=figure.layout.height + CHARACTER * longest)
    return figure


def _short(name: str) -> str:
    """A column's name without presets, its end left out where it is still long.

    >>> _short("rankboost@tuned for lambdamart@tuned")
    'rankboost for lambda …'
    """
    name = without_presets(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2].rstrip()} …"


@in_words
def alt_text(frame: pd.DataFrame, columns: str, measure: str) -> str:
    """The map in words.

    >>> frame = pd.DataFrame({40: [-0.5, 0.25]}, index=["a", "b"])
    >>> alt_text(frame, "sizes", "NDCG@10")
    'Map of the change in NDCG@10 of 2 queries over 1 size: query a loses most, −0.500 at 40.'
    """
    rows, across = frame.shape
    words = f"Map of the change in {measure} of {rows} {'query' if rows == 1 else 'queries'} over "
    words += f"{across} {columns[:-1] if across == 1 else columns}"
    values = frame.to_numpy(float)
    if not (values < 0).any():
        return f"{words}: none loses."
    row, column = divmod(int(np.nanargmin(values)), values.shape[1])
    lowest = number(values[row, column])
    return f"{words}: query {frame.index[row]} loses most, {lowest} at {frame.columns[column]}."
