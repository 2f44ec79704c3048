"""The user's selection of rankers for all pages, and the baseline.

Forms start with the selection, and pages of results show it, unless the address of a page names
rankers. Only the user changes it. An empty selection has no effect.
"""

from collections.abc import Iterable, Sequence
from html import escape

import streamlit as st

from shuffleproof.app import address, proposals, state, training
from shuffleproof.app.figures.style import Stroke, stroke
from shuffleproof.app.plain import escaped
from shuffleproof.core.errors import ShuffleproofError
from shuffleproof.core.rankers.name import RankerName, display_names
from shuffleproof.core.words import counted

SELECTED, AGAINST = "selected", "pinned"
"""Address keys of the selected rankers and of the baseline."""

FOLLOWING = ("show", "baseline", "minus", "rankers", "ranker", "new.rankers")
"""Choices of pages that follow the selection when the user changes it."""

CHANGED, HIDDEN = "selection changed", "hidden rankers"
"""Session keys: True after a change; names of the rankers that no page shows."""

GLYPHS = {
    "circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "triangle-down": "▼",
    "triangle-left": "◀", "triangle-right": "▶", "star": "★", "cross": "✚", "x": "✖",
    "pentagon": "⬟", "hexagon": "⬢", "octagon": "⯃", "hexagram": "✶", "star-square": "✦",
    "star-diamond": "✧", "diamond-tall": "♦", "diamond-wide": "⬥", "hourglass": "⧗",
    "bowtie": "⧓", "star-triangle-up": "▴", "triangle-ne": "◥", "triangle-sw": "◣",
    "triangle-nw": "◤", "triangle-se": "◢", "star-triangle-down": "▾", "hexagon2": "⬣",
    "arrow-up": "⬆", "arrow-down": "⬇",
}  # fmt: skip
"""Characters for the marks of figures."""


def choose() -> None:
    """Draw the choice in the sidebar, with colour, dash and mark of the chosen rankers."""
    names = _offered(state.data())
    shown = display_names(names)
    options: dict[str, Sequence[str]] = {name: (name, shown[name]) for name in names}
    several = address.multiselect(SELECTED, options, (), nothing=())
    no_groups: dict[str | None, Sequence[str]] = {None: ()}
    no_groups.update(options)
    baseline = address.selectbox(AGAINST, no_groups, None)
    chosen, pinned = several["default"], st.session_state.get(AGAINST)
    words = f"{counted(len(chosen), 'ranker')} chosen" if chosen else "Choose rankers"
    with st.sidebar.popover(words, icon=":material/checklist:"):
        st.multiselect(
            "Rankers", **several, wrap=True, format_func=shown.__getitem__,
            on_change=_follow, placeholder="all rankers of the page",
            help="Default of every form and result, unless the address names rankers.",
        )  # fmt: skip
        st.selectbox(
            "Compared with", **baseline, format_func=shown.__getitem__,
            on_change=_follow, placeholder="default of each page",
            help="Baseline of every page whose study has this ranker.",
        )  # fmt: skip
    drawn = [*chosen, *([pinned] if pinned and pinned not in chosen else [])]
    if drawn:
        lines = [_line(shown[name], stroke(name), pinned=name == pinned) for name in drawn]
        st.sidebar.html("".join(lines))


def _offered(data: str) -> list[str]:
    """Rankers for a study of a data set: trainable or external ones."""
    try:
        imported = proposals.imported_rankers(data)
    except ShuffleproofError:  # the data set is gone: the page shows the error
        imported = []
    return [*training.FITTED, *imported]


def _follow() -> None:
    """Reset the choices of the page, so that they follow the changed selection."""
    for name in FOLLOWING:
        st.session_state.pop(name, None)
        st.query_params.pop(name, None)
    st.session_state[CHANGED] = True


def selection_changed() -> bool:
    """True once after every change, for forms to start again."""
    return bool(st.session_state.pop(CHANGED, False))


def _line(name: str, look: Stroke, *, pinned: bool) -> str:
    """HTML of a ranker's line, mark and name, as in figures."""
    kind = "solid" if look.dash == "solid" else "dashed"
    line = f"width:.9rem;border-top:3px {kind} {look.color}"
    against = " · baseline" if pinned else ""
    return (
        '<div style="display:flex;gap:.25rem;align-items:center;font-size:.875rem">'
        f'<span style="{line}"></span><span style="color:{look.color}">{GLYPHS[look.shape]}</span>'
        f'<span style="{line};margin-right:.25rem"></span><span>{escape(name)}{against}</span>'
        "</div>"
    )


def selected_rankers() -> tuple[str, ...]:
    """Selected rankers, the baseline included; empty: no selection."""
    chosen = tuple(st.session_state.get(SELECTED) or ())
    pinned = st.session_state.get(AGAINST)
    return (*chosen, pinned) if chosen and pinned and pinned not in chosen else chosen


def selected_among(labels: Iterable[str]) -> list[str]:
    """Selected rankers among these; empty without a selection."""
    return [label for label in labels if any(_is(label, name) for name in selected_rankers())]


def among(labels: Iterable[str]) -> list[str]:
    """Selected rankers among those of a result, with its references.

    Without a selection, or if the result has none of the selected: all that are not hidden.
    """
    hidden = st.session_state.get(HIDDEN, set())
    there = [label for label in labels if RankerName.of(label).base not in hidden]
    chosen = selected_among(there)
    if not chosen:
        return there
    return [label for label in there if label in chosen or RankerName.of(label).is_reference]


def show_only(labels: Iterable[str], shown: Iterable[str]) -> None:
    """Show these rankers of a page, and hide its others, on all pages."""
    bases = {label: RankerName.of(label).base for label in labels}
    seen = {bases[label] for label in shown}
    st.session_state[HIDDEN] = st.session_state.get(HIDDEN, set()) - seen | (
        {*bases.values()} - seen
    )


def draw_query() -> None:
    """Draw the query that all pages show, as a button that unpins it; nothing without one."""
    query = address.carried("query")
    if query is not None:
        st.sidebar.button(
            f"Query {escaped(query)}", icon=":material/keep:", key="unpin", type="tertiary",
            on_click=address.drop_carried, args=("query",),
            help="All pages show this query. Press to let each page choose again.",
        )  # fmt: skip


def baseline(labels: Iterable[str], usual: str) -> str:
    """Baseline of a page: the chosen one if its result has it, else the default."""
    pinned = st.session_state.get(AGAINST)
    return next((label for label in labels if pinned and _is(label, pinned)), usual)


def _is(label: str, name: str) -> bool:
    """True if a result's label belongs to a selected ranker, at any preset or seed."""
    digits, label_digits = RankerName.of(name).digits, RankerName.of(label).digits
    if digits:
        return bool(label_digits) and (
            label_digits.startswith(digits) or digits.startswith(label_digits)
        )
    return RankerName.of(label).base == RankerName.of(name).base
