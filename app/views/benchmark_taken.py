"""What can be taken away from a benchmark: files, runs, a link, a command."""

from typing import Any

import streamlit as st

from app import benchmarks, exports, report
from app.views import parts
from app.views.benchmark_chosen import Chosen, Marked
from core.studies import benchmark_text
from core.studies.benchmark_numbers import numbers
from core.studies.command_tables import benchmark_command, benchmark_python


def row(chosen: Chosen, drawn: Any, marked: Marked) -> None:
    """Draw the row of menus.

    Args:
        chosen: what is shown.
        drawn: the page's picture.
        marked: whom the table's letters compare with.
    """
    recipe, facts, key = chosen.artefact.recipe, chosen.artefact.facts, chosen.key
    runs = exports.File(
        "TREC runs and qrels (zip)", f"{key}-runs.zip", lambda: benchmarks.runs(key)
    )
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
            more=() if chosen.of_runs else (runs,),
            link=_link() | {"data": [st.session_state.get("data") or "sample"], "study": [key]},
            command=lambda: benchmark_command(recipe, facts),
            python=benchmark_python(recipe, facts),
        ),
        "take",
    )


def tables(chosen: Chosen, marked: Marked) -> list[exports.File]:
    """The table as LaTeX and Markdown as it is printed, as CSV and Parquet with every number."""
    measures, stem = list(chosen.columns), f"{chosen.key}-table"
    how = (measures, marked.baselines, chosen.test, marked.symbols)
    written = (benchmark_text.latex, benchmark_text.markdown)
    latex, markdown = (
        lambda write=write: write(benchmarks.result(chosen.key), *how).encode() for write in written
    )
    csv, parquet = (
        lambda kind=kind: exports.table_as(numbers(benchmarks.result(chosen.key), *how), kind)
        for kind in ("csv", "parquet")
    )
    return [
        exports.File("LaTeX (booktabs)", f"{stem}.tex", latex),
        exports.File("Markdown", f"{stem}.md", markdown),
        exports.File("CSV", f"{stem}.csv", csv),
        exports.File("Parquet", f"{stem}.parquet", parquet),
    ]


def _link() -> dict[str, list[str]]:
    """Every choice that stands in the address."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
