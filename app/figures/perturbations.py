"""What disturbed inputs cost, as maps: families × rankers, and queries × levels."""

import textwrap
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.app.figures.style import (
    INK,
    NAMES,
    PALE_GAIN_LOSS,
    UNSIGNED_ZERO,
    add_annotations,
    click_marks,
    end_labels,
    laid_out,
    name_margin,
    set_properties,
    xaxes,
    yaxes,
)
from shuffleproof.app.figures.text import escaped, plain_text
from shuffleproof.core.perturb.registry import attack_target
from shuffleproof.core.rankers.name import display_names, without_presets
from shuffleproof.core.words import signed

ROW, FRAME = 20, 16
"""Pixels of a row, and of the margins."""

ANGLES = [0, -90]
"""Degrees of the rankers' names: upright where lying ones would touch, as on telephones."""

LOSS = list(PALE_GAIN_LOSS)
"""Loss is orange, gain is purple: both survive colour blindness."""

TITLE, LINE = 36, 16
"""Letters of a line of an axis title on a telephone, and pixels of a further line."""

PLOT, DIGIT, GAP = 220, 7.5, 8
"""Pixels of the plot on a telephone, of a digit of a tick, and between two of them."""

MOST_QUERIES = 40
SMALL = 0.0005
"""A loss that prints as 0.000."""


@plain_text
def losses(
    frame: pd.DataFrame,
    groups: Mapping[str, Sequence[str]],
    measure: str,
    left_out: Collection[tuple[str, str]] = (),
) -> go.Figure:
    """Rows are families under the heading of what they change, columns are rankers.

    Args:
        frame: ranker, family, level, loss; one row a cell.
        groups: families by heading, in the order to be drawn.
        measure: that is lost.
        left_out: cells (ranker, family) where the family means nothing for the ranker.
    """
    rankers = list(dict.fromkeys(frame["ranker"]))
    rows = [row for heading, names in groups.items()
            for row in [(heading, ""), *((heading, name) for name in names)]]  # fmt: skip
    at = {family: place for place, (_, family) in enumerate(rows) if family}
    values = np.full((len(rows), len(rankers)), np.nan)
    for ranker, family, loss in zip(frame["ranker"], frame["family"], frame["loss"], strict=True):
        values[at[family], rankers.index(ranker)] = loss
    largest = max(float(np.nanmax(np.abs(values), initial=0.0)), 0.01)
    figure = go.Figure(
        go.Heatmap(
            x=list(range(len(rankers))), y=list(range(len(rows))), z=values, zmin=-largest,
            zmax=largest, zmid=0, colorscale=LOSS, showscale=False, xgap=2, ygap=2,
            text=[[_printed(value) for value in row] for row in values],
            texttemplate="%{text}", textfont={"color": INK}, hoverinfo="skip", hoverongaps=False,
        )
    )  # fmt: skip
    figure.add_trace(_marks(frame, (at, rankers), measure))
    dashes = [pair for pair in left_out if pair[0] in rankers and pair[1] in at]
    if dashes:
        figure.add_trace(_dashes(dashes, (at, rankers)))
    _named(figure, rows, rankers)
    return figure


def _named(figure: go.Figure, rows: Sequence[tuple[str, str]], rankers: Sequence[str]) -> None:
    """The names of rows, of what they are headed by, and of columns; and room for them."""
    headings = [
        {
            "x": -0.5, "y": place + 0.12, "text": f"<b>{heading}</b>", "xanchor": "left",
            "showarrow": False, "font": {"size": 12},
        }
        for place, (heading, family) in enumerate(rows) if not family
    ]  # fmt: skip
    add_annotations(figure, headings)
    names = end_labels([_short(name, 24) for name in rankers])
    height = ROW * len(rows) + name_margin(names, 7.5, 16) + FRAME
    laid_out(figure, height=height, hovermode="closest", showlegend=False)
    xaxes(figure,
        tickvals=list(range(len(rankers))), ticktext=names, side="top", fixedrange=True,
        range=[-0.5, len(rankers) - 0.5], showgrid=False, ticklabeloverflow="allow",
        autotickangles=ANGLES, **NAMES,
    )  # fmt: skip
    attacks = [family for _, family in rows if attack_target(family)]
    targets = display_names(map(attack_target, attacks))
    words = {family: escaped(targets[attack_target(family)]) for family in attacks}
    families = [words.get(family, family) for _, family in rows if family]
    texts = list(map(_short, families))
    yaxes(figure,
        tickvals=[place for place, (_, family) in enumerate(rows) if family],
        ticktext=texts,
        range=[len(rows) - 0.5, -0.5], showgrid=False, fixedrange=True, tickfont={"size": 11.5},
    )  # fmt: skip
    set_properties(figure.layout, margin={"t": 8, "b": 12, "l": name_margin(texts, 6.5), "r": 8})


def _dashes(
    pairs: Sequence[tuple[str, str]], places: tuple[Mapping[str, int], list[str]]
) -> go.Scatter:
    """A dash where a family means nothing."""
    at, rankers = places
    return go.Scatter(
        x=[rankers.index(ranker) for ranker, _ in pairs],
        y=[at[family] for _, family in pairs],
        mode="text", text=["–"] * len(pairs),
        customdata=pairs,
        hovertemplate="<b>%{customdata[0]}</b>: %{customdata[1]} means nothing<extra></extra>",
    )  # fmt: skip


def _marks(
    frame: pd.DataFrame, places: tuple[Mapping[str, int], list[str]], measure: str
) -> go.Scatter:
    at, rankers = places
    cells = list(zip(frame["ranker"], frame["family"], strict=True))
    levels = ["mean over levels" if np.isnan(level) else f"level {level:g}"
              for level in frame["level"]]  # fmt: skip
    facts = frame[["ranker", "family", "loss"]].assign(level=levels, gain=-frame["loss"])
    return click_marks(
        [rankers.index(ranker) for ranker, _ in cells],
        [at[family] for _, family in cells],
        ROW - 5,
        customdata=facts,
        hovertemplate=(
            "<b>%{customdata[0]}</b> under %{customdata[1]}<br>%{customdata[3]}<br>"
            f"{measure}: %{{customdata[4]:+.3f}}<extra></extra>"
        ),
    )  # fmt: skip


def _printed(loss: float) -> str:
    """The change as tables of papers print it: what is lost is negative, no leading 0."""
    if np.isnan(loss):
        return ""
    return "0" if abs(loss) < SMALL else signed(-loss).replace("0.", ".", 1)


def fitted_axis(figure: go.Figure, title: str) -> go.Figure:
    """The curves of a family with a title and levels that a telephone has room for.

    Args:
        figure: with the levels along its first axis, and perhaps others along a second; changed.
        title: of the first axis, broken into lines.

    Returns:
        The same figure.
    """
    lines = textwrap.wrap(title, TITLE, break_long_words=False, break_on_hyphens=False)
    figure.update_xaxes(title={"text": "<br>".join(lines)}, selector=0)
    for axis in figure.select_xaxes():
        if axis.tickvals and axis.range:
            ticks = _roomy(axis.tickvals, axis.ticktext, abs(axis.range[1] - axis.range[0]))
            axis.tickvals = [axis.tickvals[at] for at in ticks]
            axis.ticktext = [axis.ticktext[at] for at in ticks]
    bottom = (figure.layout.margin.b or 0) + LINE * (len(lines) - 1)
    set_properties(
        figure.layout, margin={"b": bottom}, height=figure.layout.height + LINE * (len(lines) - 1)
    )
    return figure


def _roomy(values: Sequence[float], texts: Sequence[str], span: float) -> list[int]:
    """The ticks whose texts do not touch on a telephone: the ends, and what lies between them.

    >>> _roomy([0, 0.01, 0.05, 0.1, 0.25, 0.5], ["0", "0.01", "0.05", "0.1", "0.25", "0.5"], 0.5)
    [0, 3, 4, 5]
    """
    last, ticks = len(values) - 1, [0]

    def apart(tick: int, other: int) -> bool:
        widths = DIGIT * (len(texts[tick]) + len(texts[other])) / 2
        return PLOT * abs(values[tick] - values[other]) / (span or 1.0) > widths + GAP

    for at in range(1, last):
        if apart(ticks[-1], at) and apart(at, last):
            ticks.append(at)
    return [*ticks, last] if last else ticks


def _short(family: str, longest: int = 18) -> str:
    return family if len(family) <= longest else f"{family[: longest - 1]}…"


LONGEST, UPRIGHT, CHARACTER = 22, 6, 5
"""Characters of a column's name at most, and until it is turned; pixels that each then takes."""


@plain_text
def queries(frame: pd.DataFrame, axis: str, measure: str) -> go.Figure:
    """The change of every query in every column, the most damaged on top.

    Args:
        frame: a column a level, size or condition, a row a query (its id is the index).
        axis: what the columns are.
        measure: that changed.
    """
    shown = frame.head(MOST_QUERIES)
    values = shown.to_numpy(float)
    largest = max(float(np.nanmax(np.abs(values), initial=0.0)), 0.01)
    ids = [str(query) for query in shown.index]
    names = [name if isinstance(name, str) else f"{name:g}" for name in shown.columns]
    places, facts = [f"{at}" for at in range(len(names))], list(shown.columns)
    figure = go.Figure(
        go.Heatmap(
            x=places, y=list(range(len(ids))), z=values, zmin=-largest, zmax=largest, zmid=0,
            colorscale="PuOr", xgap=1, ygap=0 if len(ids) > MOST_QUERIES / 2 else 1,
            colorbar={"title": {"text": "change"}, "thickness": 12, "tickformat": "+.2f",
                      **UNSIGNED_ZERO},
            hoverinfo="skip",
        )
    )  # fmt: skip
    rows, columns = (axis.ravel() for axis in np.indices(values.shape))
    figure.add_trace(
        click_marks(
            [places[column] for column in columns], rows, 11,
            customdata=[[ids[row], facts[column], values[row, column], names[column]]
                        for row, column in zip(rows, columns, strict=True)],
            hovertemplate=("<b>query %{customdata[0]}</b><br>%{customdata[3]}<br>"
                           f"{measure}: %{{customdata[2]:+.3f}}<extra></extra>"),
        )
    )  # fmt: skip
    texts = [_short_column(name) for name in names]
    longest = max(map(len, texts), default=0)
    turned = longest > UPRIGHT
    height = max(240, 10 * len(ids) + 80) + (CHARACTER * longest if turned else 0)
    laid_out(figure, height=height, hovermode="closest", showlegend=False)
    step = max(1, len(ids) // 20)
    labels = [_short(ids[row], 14) for row in range(0, len(ids), step)]
    yaxes(figure,
        range=[len(ids) - 0.5, -0.5], tickvals=list(range(0, len(ids), step)),
        ticktext=labels, showgrid=False, title="query", fixedrange=True,
    )  # fmt: skip
    set_properties(figure.layout, margin={"l": name_margin(labels, room=48)})
    xaxes(figure,
        title=axis, type="category", showgrid=False, fixedrange=True, tickvals=places,
        ticktext=texts, tickangle=-45 if turned else 0, title_standoff=8, **NAMES,
    )  # fmt: skip
    return figure


def _short_column(name: str) -> str:
    """A column's name without presets, its end left out where it is still long.

    >>> _short_column("rankboost@tuned for lambdamart@tuned")
    'rankboost for lambda …'
    """
    name = without_presets(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2].rstrip()} …"
