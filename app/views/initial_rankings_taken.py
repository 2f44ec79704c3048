"""What can be taken away from a study of initial rankings: files, a link, a command."""

from typing import Any

import streamlit as st

from app import exports, rankings, report
from app.views import parts
from core.store.manifest import Artefact
from core.studies.command_tables import initial_rankings_command, initial_rankings_python


def row(artefact: Artefact, measure: str, drawn: Any) -> None:
    """Draw the row of menus.

    Args:
        artefact: the study.
        measure: that the page shows.
        drawn: the page's picture; None where there is none.
    """
    recipe, facts, key = artefact.recipe, artefact.facts, str(artefact.key)
    parts.exports_row(
        parts.Shared(
            figures=[] if drawn is None else exports.figure_files(drawn, f"{key}-figure"),
            tables=exports.table_files(rankings.table(key, measure), f"{key}-table"),
            recipe=exports.recipe_file(recipe, facts, key),
            report=exports.File(
                "Report (HTML)",
                f"{key}.html",
                lambda: report.report([rankings.path(key)]).encode(),
            ),
            link=_link() | {"data": [st.session_state.get("data") or "sample"], "study": [key]},
            command=lambda: initial_rankings_command(recipe, facts),
            python=initial_rankings_python(recipe, facts),
        ),
        "take",
    )


def _link() -> dict[str, list[str]]:
    """Every choice that stands in the address."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
