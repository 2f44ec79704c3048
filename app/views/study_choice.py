"""What the pages of studies share above and below their picture."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import exports, opened, report, state
from app.plain import escaped
from app.views import parts
from core.store.manifest import Artefact

Words = Callable[[Artefact], str]
Again = tuple[Callable[..., str], Callable[..., str]]
"""What writes a study as a command, and as Python."""


@dataclass(frozen=True)
class Top:
    """What stands at the top of a page.

    Attributes:
        artefact: the study chosen.
        notices: the place of what the address asks for in vain.
        picture: the place of the picture.
        controls: the place beside it, below the choice of the study.
    """

    artefact: Artefact
    notices: DeltaGenerator
    picture: DeltaGenerator
    controls: DeltaGenerator


def top(
    stored: Mapping[str, Artefact], short: Words, words: Words, one: str = "Study",
    several: str = "studies",
) -> Top:  # fmt: skip
    """Draw the places of a page and the choice of its study, as `study` does."""
    missing = state.absent("study", stored)
    notices = st.container()
    picture, controls = st.columns([5, 2], gap="medium")
    with controls:
        artefact = study(stored, short, words, one, several)
    with notices:
        state.instead("study", missing, short(artefact))
    return Top(artefact, notices, picture, controls)


def study(
    stored: Mapping[str, Artefact], short: Words, words: Words, one: str = "Study",
    several: str = "studies",
) -> Artefact:  # fmt: skip
    """Draw the choice of a study; its key always stands in the address, so that links keep it.

    Args:
        stored: the studies by key, newest first.
        short: what tells one from others in a narrow place.
        words: the rest of it in a line.
        one: what a study of the page is called.
        several: what they are called.
    """
    wanted, keys = st.query_params.get("study", ""), list(stored)
    key = st.selectbox(
        one, keys, index=keys.index(wanted) if wanted in keys else 0,
        format_func=lambda key: short(stored[key]),
        help=f"Stored {several} of this data set, newest first.",
    )  # fmt: skip
    if not stored[key].path.is_dir():
        st.rerun()  # deleted since the page was drawn: another is shown, and it is said
    st.caption(escaped(words(stored[key])))
    if wanted != key:
        st.query_params["study"] = key
    return stored[key]


def rankers(labels: Sequence[str], notices: DeltaGenerator) -> tuple[str, ...]:
    """Draw the choice of the rankers in the picture; in the study's order.

    Args:
        labels: of all rankers of the study.
        notices: where it is said that the address asks for others.
    """
    missing = state.absent("show", labels)
    shown = st.multiselect(
        "Rankers", labels, default=labels, key="show", bind="query-params", wrap=True
    )
    chosen = tuple(label for label in labels if label in shown)
    with notices:
        state.instead("ranker", missing, *chosen)
    return chosen


def take_away(artefact: Artefact, drawn: Any, table: pd.DataFrame, again: Again) -> None:
    """Draw the row of menus.

    Args:
        artefact: the study.
        drawn: the page's picture; None where there is none.
        table: its numbers.
        again: what writes the study as a command, and as Python.
    """
    stem = f"{artefact.key}-table"
    made = shared(artefact, drawn, lambda: exports.table_files(table, stem), again)
    parts.exports_row(made, "take")


def shared(
    artefact: Artefact, drawn: Any, tables: Callable[[], Sequence[exports.File]], again: Again
) -> parts.Shared:
    """What can be taken away from a study; see `take_away`."""
    recipe, facts, key = artefact.recipe, artefact.facts, str(artefact.key)
    command, python = again
    data = state.data()
    return parts.Shared(
        figures=[] if drawn is None else exports.figure_files(drawn, f"{key}-figure"),
        tables=tables,
        recipe=exports.recipe_file(recipe, facts, key),
        report=exports.File(
            "Report (HTML)", f"{key}.html", lambda: report.report([opened.path(key)]).encode()
        ),
        link=lambda: parts.here(data=data, study=key),
        command=lambda: command(recipe, facts),
        python=lambda: python(recipe, facts),
    )
