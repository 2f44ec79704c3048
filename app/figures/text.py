"""Text of users in pictures shown as the text it is: ids, names and labels are no markup.

Plotly reads `<a href>`, `<b>` and entities in every name, tick, title and hover text, and `%{…}`
in hover texts. Every function that draws is wrapped in `plain_text`, so that what it is given
cannot be read so; markup is what the figures themselves write.
"""

import html
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import fields, is_dataclass, replace
from functools import singledispatch, wraps
from typing import Any, ParamSpec

import numpy as np
import pandas as pd
import plotly.graph_objects as go

SPECIAL = r"[&<>]|%\{"

P = ParamSpec("P")
_drawing: ContextVar[bool] = ContextVar("drawing", default=False)


def escaped(text: str) -> str:
    """Text that Plotly shows letter by letter.

    >>> escaped("<a href='x'>a & b</a> %{x}")
    "&lt;a href='x'&gt;a &amp; b&lt;/a&gt; %&#123;x}"
    """
    return html.escape(text, quote=False).replace("%{", "%&#123;")


def unescaped(value: Any) -> Any:
    """What stood there before `escaped`, for facts that come back with a click.

    >>> unescaped(["a &lt; b", 1])
    ['a < b', 1]
    """
    if isinstance(value, str):
        return html.unescape(value)
    return [unescaped(one) for one in value] if isinstance(value, (list, tuple)) else value


def plain_text(draw: Callable[P, go.Figure]) -> Callable[P, go.Figure]:
    """Escape every text among the arguments of a function that draws, tables' cells included.

    Functions that draw by way of others are escaped once.
    """

    @wraps(draw)
    def drawn(*given: P.args, **named: P.kwargs) -> go.Figure:
        if _drawing.get():
            return draw(*given, **named)
        token = _drawing.set(True)
        try:
            safe = {name: _safe(value) for name, value in named.items()}
            return draw(*(_safe(value) for value in given), **safe)
        finally:
            _drawing.reset(token)

    return drawn


@singledispatch
def _safe(value: Any) -> Any:
    """A value with every text in it escaped."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _safe(getattr(value, field.name)) for field in fields(value)}
        return replace(value, **parts)
    return value


_safe.register(str, escaped)


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
    safe = frame.copy(deep=False)
    for at, kind in enumerate(frame.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(at, _column(frame.iloc[:, at]))
    return safe.set_axis(_column(frame.index), axis="index").set_axis(
        _column(frame.columns), axis="columns"
    )


@_safe.register
def _column(values: pd.Series | pd.Index) -> Any:
    """A column or an index; texts stay as they are, and of their type, where none needs it."""
    if pd.api.types.is_numeric_dtype(values.dtype) or isinstance(values, pd.MultiIndex):
        return values
    needed = values.astype(str).str.contains(SPECIAL, regex=True)
    return values.map(_safe) if needed.any() else values
