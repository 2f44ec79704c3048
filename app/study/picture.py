"""A picture of a page: drawn once for all sessions, and what a click on it chooses."""

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
"""What is done with that for which the point clicked stands."""


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
) -> None:
    """Show a picture.

    Args:
        figure: the picture.
        key: of the widget.
        takes: what a click does; None: it takes no clicks.
        place: where it is shown.
        config: of Plotly.
    """
    clicks: dict[str, Any] = {}
    if takes is not None:
        chosen = partial(follow_click, key, takes, labels_in(figure))
        clicks = {"on_select": chosen, "selection_mode": "points"}
    place.plotly_chart(figure, key=key, alt=alt_text(figure), config=config, **clicks)


def chooses(**kinds: Callable[[Any], object]) -> OnClick:
    """A click that sets choices of the page.

    Args:
        kinds: the widgets' keys and the types of their values, in the order of a point's facts.
    """

    def take(facts: Sequence[Any]) -> None:
        for (name, kind), fact in zip(kinds.items(), facts, strict=False):
            st.session_state[name] = kind(fact)

    return take


def follow_click(key: str, takes: OnClick, labels: Mapping[str, str] | None = None) -> None:
    """Handle a click on a picture; nothing if no point has a meaning.

    Args:
        key: of the picture.
        takes: what is done.
        labels: of rankers, by what the picture calls them.
    """
    points = st.session_state[key]["selection"]["points"]
    stand_for = (unescaped(point.get("customdata") or (), labels) for point in points)
    if facts := next(filter(None, stand_for), None):
        takes(facts)
