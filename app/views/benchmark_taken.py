"""What can be taken away from a benchmark: files, runs, a link, a command."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from app import benchmarks, exports, report
from app.views import parts
from app.views.benchmark_chosen import Chosen
from core.studies import benchmark_text
from core.studies.command_tables import benchmark_command, benchmark_python


def row(chosen: Chosen, drawn: Any, marked: Sequence[str]) -> None:
    """Draw the row of menus.

    Args:
        chosen: what is shown.
        drawn: the page's picture.
        marked: whom the table's letters compare with.
    """
    recipe, facts, key = chosen.artefact.recipe, chosen.artefact.facts, chosen.key
    parts.exports_row(
        parts.Shared(
            figures=exports.figure_files(drawn, f"{key}-figure"),
            tables=tables(chosen, marked),
            recipe=exports.recipe_file(recipe, facts, key),
            report=exports.File(
                "Report (HTML)",
                f"{key}.html",
                lambda: report.report([benchmarks.path(key)]).encode(),
            ),
            more=(
                exports.File(
                    "TREC runs and qrels (zip)", f"{key}-runs.zip", lambda: benchmarks.runs(key)
                ),
            ),
            link=_link() | {"data": [st.session_state.get("data") or "sample"], "study": [key]},
            command=lambda: benchmark_command(recipe, facts),
            python=benchmark_python(recipe, facts),
        ),
        "take",
    )


def tables(chosen: Chosen, marked: Sequence[str]) -> list[exports.File]:
    """The table as LaTeX and Markdown as it is printed, as CSV and Parquet with every number."""
    result = benchmarks.result(chosen.key)
    measures, stem = list(chosen.columns), f"{chosen.key}-table"
    numbers = numeric(chosen.key, chosen.columns, tuple(marked), chosen.test)
    written = (benchmark_text.latex, benchmark_text.markdown)
    latex, markdown = (
        lambda write=write: write(result, measures, marked, chosen.test).encode()
        for write in written
    )
    return [
        exports.File("LaTeX (booktabs)", f"{stem}.tex", latex),
        exports.File("Markdown", f"{stem}.md", markdown),
        exports.File("CSV", f"{stem}.csv", lambda: exports.table_as(numbers, "csv")),
        exports.File("Parquet", f"{stem}.parquet", lambda: exports.table_as(numbers, "parquet")),
    ]


def numeric(key: str, columns: tuple[str, ...], marked: tuple[str, ...], test: str) -> pd.DataFrame:
    """Every number of the table with its letters, a row a ranker and measure."""
    cells = benchmarks.cells(key, columns, marked, test)
    frame = benchmarks.means(key, columns)
    places = zip(frame["ranker"], frame["measure"], strict=True)
    return frame.assign(marks=[cells[place].marks for place in places])


def _link() -> dict[str, list[str]]:
    """Every choice that stands in the address."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
