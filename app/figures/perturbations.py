"""Losses under perturbations as heat maps: families × rankers, and queries × levels."""

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
"""Angles of the rankers' names: vertical where horizontal ones would touch, as on phones."""

LOSS = list(PALE_GAIN_LOSS)
"""Colours: orange for losses, purple for gains, safe for colour-blind readers."""

TITLE, LINE = 36, 16
"""Letters in a line of an axis title on a phone, and pixels of each further line."""

PLOT, DIGIT, GAP = 220, 7.5, 8
"""Pixels on a phone: width of the plot, of a tick's digit, of the gap between ticks."""

MOST_QUERIES = 40
SMALL = 0.0005
"""Losses below this print as 0.000."""


@plain_text
def losses(
    frame: pd.DataFrame,
    groups: Mapping[str, Sequence[str]],
    measure: str,
    left_out: Collection[tuple[str, str]] = (),
) -> go.Figure:
    """Heat map of losses: rows are families under the part they change, columns are rankers.

    Args:
        frame: ranker, family, level, loss; one row per cell.
        groups: families by heading, in drawing order.
        measure: name of the measure.
        left_out: cells (ranker, family) where the family does not apply to the ranker.
    """
    rankers = list(dict.fromkeys(frame["ranker"]))
    # A heading is a row without cells above its families.
    rows = [row for heading, names in groups.items()
            for row in [(heading, ""), *((heading, name) for name in names)]]  # fmt: skip
    at = {family: place for place, (_, family) in enumerate(rows) if family}
    values = np.full((len(rows), len(rankers)), np.nan)
    for ranker, family, loss in zip(frame["ranker"], frame["family"], frame["loss"], strict=True):
        values[at[family], rankers.index(ranker)] = loss
    # At least 0.01, so that rounding does not get full colours.
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
    """Add names of rows, headings and columns, with room for them."""
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
    """Dashes in cells where a family does not apply."""
    at, rankers = places
    return go.Scatter(
        x=[rankers.index(ranker) for ranker, _ in pairs],
        y=[at[family] for _, family in pairs],
        mode="text", text=["–"] * len(pairs),
        customdata=pairs,
        hovertemplate="<b>%{customdata[0]}</b>: %{customdata[1]} does not apply<extra></extra>",
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
    """Change as papers print it: a loss is negative, without a leading 0."""
    if np.isnan(loss):
        return ""
    return "0" if abs(loss) < SMALL else signed(-loss).replace("0.", ".", 1)


def fitted_axis(figure: go.Figure, title: str) -> go.Figure:
    """Fit the title and the level ticks of a family's curves to a phone.

    Args:
        figure: with levels along its first axis, perhaps others along a second; changed in place.
        title: title of the first axis, which is wrapped.

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
    """Indices of ticks whose texts do not touch on a phone; both ends stay.

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
"""Most characters of a column's name, most before it is turned, pixels of each when turned."""


@plain_text
def queries(frame: pd.DataFrame, axis: str, measure: str) -> go.Figure:
    """Heat map of every query's change in every column, the largest loss on top.

    Args:
        frame: one column per level, size or condition, one row per query (index: its id).
        axis: title of the columns.
        measure: name of the measure.
    """
    shown = frame.head(MOST_QUERIES)
    values = shown.to_numpy(float)
    largest = max(float(np.nanmax(np.abs(values), initial=0.0)), 0.01)
    ids = [str(query) for query in shown.index]
    names = [name if isinstance(name, str) else f"{name:g}" for name in shown.columns]
    # Categories by place: shortened names of columns may be equal.
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
    """Column name without presets, cut if it is still long.

    >>> _short_column("rankboost@tuned for lambdamart@tuned")
    'rankboost for lambda …'
    """
    name = without_presets(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2].rstrip()} …"
