"""What can be taken away from a study of set size: files, a link, a command."""

from typing import Any

import streamlit as st

from app import exports, report, set_sizes
from app.views import parts
from app.views.set_size_chosen import Chosen
from core.studies.command_tables import set_size_command, set_size_python


def row(chosen: Chosen, drawn: Any) -> None:
    """Draw the row of menus for the picture and its numbers."""
    recipe, facts, key = chosen.artefact.recipe, chosen.artefact.facts, chosen.key
    table = set_sizes.curves(key, str(chosen.measure))
    parts.exports_row(
        parts.Shared(
            figures=exports.figure_files(drawn, f"{key}-figure"),
            tables=exports.table_files(table, f"{key}-table"),
            recipe=exports.recipe_file(recipe, facts, key),
            report=exports.File(
                "Report (HTML)",
                f"{key}.html",
                lambda: report.report([set_sizes.path(key)]).encode(),
            ),
            link=_link() | {"data": [st.session_state.get("data") or "sample"], "study": [key]},
            command=lambda: set_size_command(recipe, facts),
            python=set_size_python(recipe, facts),
        ),
        "take",
    )


def _link() -> dict[str, list[str]]:
    """Every choice that stands in the address."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
