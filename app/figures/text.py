"""Text in figures: display names of rankers, and users' text without markup.

Plotly interprets `<a href>`, `<b>` and entities in every name, tick, title and hover text, and
`%{…}` in hover texts. `plain_text` wraps every function that draws and escapes its arguments, so
that only the figures themselves write markup. It also replaces labels of rankers by their display
names; a click returns the label.
"""

import html
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from functools import singledispatch, wraps
from typing import Any, ParamSpec

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from shuffleproof.core.rankers.name import (
    CONFIGS,
    FILES,
    SPOKEN,
    Kind,
    RankerName,
    display_names,
    with_display_names,
)

SPECIAL = r"[&<>]|%\{"

MOST_NAMED = 20
"""Most series that an alternative text names."""

LABELS = frozenset({"ranker", "label", "condition", "family"})
"""Columns of frames whose texts have display names, or contain such texts."""

P = ParamSpec("P")
_names: ContextVar[Mapping[str, str] | None] = ContextVar("names", default=None)
"""Display names by label of a ranker while a figure is drawn, else None."""


def escaped(text: str) -> str:
    """Text escaped for Plotly, which shows it unchanged.

    >>> escaped("<a href='x'>a & b</a> %{x}")
    "&lt;a href='x'&gt;a &amp; b&lt;/a&gt; %&#123;x}"
    """
    return html.escape(text, quote=False).replace("%{", "%&#123;")


def unescaped(value: Any, labels: Mapping[str, str] | None = None) -> Any:
    """Original value before `plain_text`, for facts that a click returns.

    Args:
        value: of a point.
        labels: labels of rankers by display name (`labels_in`).

    >>> unescaped(["a &lt; b", 1, "DLCM"], {"DLCM": "dlcm"})
    ['a < b', 1, 'dlcm']
    """
    if isinstance(value, str):
        return html.unescape((labels or {}).get(value, value))
    return (
        [unescaped(part, labels) for part in value] if isinstance(value, (list, tuple)) else value
    )


def labels_in(figure: go.Figure) -> dict[str, str]:
    """Labels of rankers by display name, from the `meta` of a figure."""
    return dict((figure.layout.meta or {}).get("rankers", {}))


def label_of(name: str) -> str:
    """Label of a ranker from its display name in the current figure."""
    return next((label for label, shown in (_names.get() or {}).items() if shown == name), name)


def plain_text(draw: Callable[P, go.Figure]) -> Callable[P, go.Figure]:
    """Escape every text in the arguments of a function that draws, including table cells.

    Labels of rankers become display names. Nested calls do not repeat either step.
    """

    @wraps(draw)
    def drawn(*given: P.args, **named: P.kwargs) -> go.Figure:
        if _names.get() is not None:  # nested call: its arguments are escaped already
            return draw(*given, **named)
        with _named(given, named) as names:
            safe = {name: _safe(value) for name, value in named.items()}
            figure = draw(*(_safe(value) for value in given), **safe)
            if names:
                figure.layout.meta = {"rankers": {shown: label for label, shown in names.items()}}
            return figure

    return drawn


KINDS = {"heatmap": "Heat map", "bar": "Bars", "parcoords": "Parallel coordinates"}
"""Names of pictures, by the type of a trace; others are lines or dots."""


def alt_text(figure: go.Figure) -> str:
    """Alternative text: kind, axes and series of a figure; a table holds its numbers.

    >>> figure = go.Figure(go.Scatter(x=[1], y=[2], name="DLCM"))
    >>> alt_text(figure.update_layout(xaxis_title="Level", yaxis_title="<b>NDCG@10</b>"))
    'Lines of NDCG@10 against Level: DLCM.'
    """
    layout = figure.layout
    axes = " against ".join(
        axis.title.text for axis in (layout.yaxis, layout.xaxis) if axis.title.text
    )
    names = [trace.name for trace in figure.data if trace.name]
    if not names:
        values = (value for trace in figure.data for axis in "yx" for value in _ticks(trace, axis))
        ticks = (*(layout.yaxis.ticktext or ()), *(layout.xaxis.ticktext or ()))
        names = [value for value in (*values, *ticks) if isinstance(value, str)]
    series = ", ".join(list(dict.fromkeys(names))[:MOST_NAMED])
    text = f"{_kind(figure)} of " + ": ".join(filter(None, [layout.title.text, axes, series]))
    return f"{html.unescape(re.sub(r'<[^>]*>', '', text.replace('<br>', ' ')))}."


def _kind(figure: go.Figure) -> str:
    """Kind of a figure, from its traces."""
    types = {trace.type for trace in figure.data}
    for name, kind in KINDS.items():
        if name in types:
            return kind
    modes = [trace.mode or "lines" for trace in figure.data if trace.type == "scatter"]
    return "Lines" if any("lines" in mode for mode in modes) else "Dots"


def _ticks(trace: Any, axis: str) -> Sequence[Any]:
    """Values of a trace along an axis."""
    values = getattr(trace, axis, None) if axis in trace else None
    return () if values is None else list(values)


@contextmanager
def _named(*given: Any) -> Generator[Mapping[str, str]]:
    """Context in which labels of rankers among these values have display names."""
    texts = dict.fromkeys(_texts(given))
    names = display_names(filter(_is_ranker, texts))
    names |= {
        text: with_display_names(text)
        for text in texts
        if text not in names and with_display_names(text) != text
    }
    names = {escaped(label): escaped(name) for label, name in names.items()}
    token = _names.set(names)
    try:
        yield names
    finally:
        _names.reset(token)


def _is_ranker(text: str) -> bool:
    """True if a text, which may be of any kind, is a ranker's label."""
    name = RankerName.of(text)
    if name.kind in {Kind.REGISTERED, Kind.STORED}:
        is_file = name.head in FILES or name.head in CONFIGS
        return name.head in SPOKEN or (name.kind is Kind.STORED and is_file)
    return name.kind in {Kind.COMBINATION, Kind.FILE, Kind.CONFIG} or bool(name.parts)


def _texts(value: Any) -> Iterator[str]:
    """Texts in the arguments that may be labels of rankers."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _texts(name)
            yield from _texts(part)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, pd.DataFrame):
        yield from map(str, value.columns)
        for name in LABELS & set(value.columns):
            if not pd.api.types.is_numeric_dtype(value[name].dtype):
                yield from map(str, value[name].unique())


@singledispatch
def _safe(value: Any) -> Any:
    """Value with all its texts escaped."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _safe(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **parts)
    return value


@_safe.register
def _(text: str) -> str:
    return _shown(escaped(text))


@_safe.register(list)
@_safe.register(tuple)
@_safe.register(set)
@_safe.register(frozenset)
def _(values: Any) -> Any:
    return type(values)(_safe(value) for value in values)


@_safe.register(Mapping)
def _(values: Mapping[Any, Any]) -> Any:
    return {_safe(name): _safe(value) for name, value in values.items()}


@_safe.register
def _(values: np.ndarray) -> Any:
    if values.dtype.kind in "biufc":
        return values
    flat = _column(pd.Series(values.ravel()))
    return flat.to_numpy(dtype=object).reshape(values.shape)


@_safe.register
def _table(frame: pd.DataFrame) -> Any:
    safe = frame.copy(deep=False)  # numeric columns stay shared
    for at, (name, kind) in enumerate(frame.dtypes.items()):
        if not pd.api.types.is_numeric_dtype(kind):
            column = _column(frame.iloc[:, at])
            safe.isetitem(at, column.map(_shown) if name in LABELS else column)
    columns = _column(frame.columns)
    if not pd.api.types.is_numeric_dtype(columns.dtype):
        columns = columns.map(_shown)
    return safe.set_axis(_column(frame.index), axis="index").set_axis(columns, axis="columns")


@_safe.register
def _column(values: pd.Series | pd.Index) -> Any:
    """Column or index, escaped; unchanged, dtype included, if no text needs it."""
    if pd.api.types.is_numeric_dtype(values.dtype) or isinstance(values, pd.MultiIndex):
        return values
    needed = values.astype(str).str.contains(SPECIAL, regex=True)
    return values.map(_escaped) if needed.any() else values


def _escaped(cell: Any) -> Any:
    return escaped(cell) if isinstance(cell, str) else _safe(cell)


def _shown(cell: Any) -> Any:
    """Display name if a cell is the escaped label of a ranker, else the cell."""
    return (_names.get() or {}).get(cell, cell) if isinstance(cell, str) else cell
