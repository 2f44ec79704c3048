"""Figures of pages, cached for all sessions, and the choices that clicks on them set."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ParamSpec

import plotly.graph_objects as go
import streamlit as st

from shuffleproof.app.figures.text import alt_text, labels_in, unescaped
from shuffleproof.app.study import parts
from shuffleproof.app.study_access import BY_CONTENT

Facts = ParamSpec("Facts")

OnClick = Callable[[Sequence[Any]], None]
"""Function that handles the facts of a clicked point."""


def cached_figure(
    draw: Callable[Facts, go.Figure], *facts: Facts.args, **more: Facts.kwargs
) -> go.Figure:
    """Figure of a function, cached by its arguments; shared by sessions and never changed."""
    return _drawn(draw, facts, more)


@st.cache_resource(max_entries=512, show_spinner=False, hash_funcs=BY_CONTENT)
def _drawn(draw: Callable[..., go.Figure], facts: Any, more: Any) -> go.Figure:
    return draw(*facts, **more)


def chart(
    figure: go.Figure,
    key: str,
    takes: OnClick | None = None,
    *,
    place: Any = st,
    config: Any = parts.CLICKABLE,
    **more: Any,
) -> None:
    """Draw a figure.

    Args:
        figure: the figure.
        key: key of the widget.
        takes: handler of clicks; None: not clickable.
        place: container of the figure.
        config: configuration of Plotly.
        more: further arguments of `st.plotly_chart`.
    """
    clicks: dict[str, Any] = more
    if takes is not None:
        chosen = partial(follow_click, key, takes, labels_in(figure))
        clicks = {"on_select": chosen, "selection_mode": "points"}
    place.plotly_chart(figure, key=key, alt=alt_text(figure), config=config, **clicks)


def chooses(**kinds: Callable[[Any], object]) -> OnClick:
    """Handler of clicks that sets choices of the page.

    Args:
        kinds: types of values by key of the widget, in the order of a point's facts.
    """

    def take(facts: Sequence[Any]) -> None:
        for (name, kind), fact in zip(kinds.items(), facts, strict=False):
            st.session_state[name] = kind(fact)

    return take


def follow_click(key: str, takes: OnClick, labels: Mapping[str, str] | None = None) -> None:
    """Handle a click on a figure; points without facts are ignored.

    Args:
        key: key of the figure.
        takes: handler.
        labels: labels of rankers by display name.
    """
    points = st.session_state[key]["selection"]["points"]
    selected = (unescaped(point.get("customdata") or (), labels) for point in points)
    if facts := next(filter(None, selected), None):
        takes(facts)
