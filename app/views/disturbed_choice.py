"""What the pages of cards, perturbations and worst cases share above and below their picture."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st

from app import disturbed, exports, report
from app.plain import escaped
from app.views import parts
from core.store.manifest import Artefact

CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}
"""Of every picture that takes clicks."""


def study(stored: Mapping[str, Artefact]) -> Artefact:
    """Draw the choice of a study; its key always stands in the address."""
    wanted, keys = st.query_params.get("study", ""), list(stored)
    key = st.selectbox(
        "Study", keys, index=keys.index(wanted) if wanted in keys else 0,
        format_func=lambda key: disturbed.short_words(stored[key]),
        help="Stored studies of this data set, newest first.",
    )  # fmt: skip
    st.caption(escaped(disturbed.words(stored[key])))
    if wanted != key:
        st.query_params["study"] = key
    return stored[key]


def rankers(labels: list[str]) -> tuple[str, ...]:
    """Draw the choice of the rankers in the picture; in the study's order."""
    shown = st.multiselect(
        "Rankers", labels, default=labels, key="show", bind="query-params", wrap=True
    )
    return tuple(label for label in labels if label in shown)


def take_away(
    artefact: Artefact,
    drawn: Any,
    table: pd.DataFrame,
    again: tuple[Callable[..., str], Callable[..., str]],
) -> None:
    """Draw the row of menus.

    Args:
        artefact: the study.
        drawn: the page's picture.
        table: its numbers.
        again: what writes the study as a command, and as Python.
    """
    recipe, facts, key = artefact.recipe, artefact.facts, str(artefact.key)
    command, python = again
    parts.exports_row(
        parts.Shared(
            figures=exports.figure_files(drawn, f"{key}-figure"),
            tables=exports.table_files(table, f"{key}-table"),
            recipe=exports.recipe_file(recipe, facts, key),
            report=exports.File(
                "Report (HTML)",
                f"{key}.html",
                lambda: report.report([disturbed.path(key)]).encode(),
            ),
            link=_link() | {"data": [st.session_state.get("data") or "sample"], "study": [key]},
            command=lambda: command(recipe, facts),
            python=python(recipe, facts),
        ),
        "take",
    )


def _link() -> dict[str, list[str]]:
    """Every choice that stands in the address."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
