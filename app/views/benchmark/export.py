"""What can be taken away from a benchmark: files, runs, a link, a command."""

from dataclasses import replace
from typing import Any

from shuffleproof.app import benchmarks, exports, opened
from shuffleproof.app.study import choice, parts
from shuffleproof.app.views.benchmark.chosen import Chosen, Marked
from shuffleproof.core.studies.kinds.benchmark import text as benchmark_text
from shuffleproof.core.studies.kinds.benchmark.export_numbers import numbers


def row(chosen: Chosen, drawn: Any) -> None:
    """Draw the row of menus.

    Args:
        chosen: what is shown.
        drawn: the page's picture.
    """
    key = str(chosen.key)
    runs = exports.File(
        "TREC runs and qrels (zip)", f"{key}-runs.zip", lambda: benchmarks.runs(key)
    )
    shared = choice.shared(chosen.artefact, drawn, lambda: tables(chosen, Marked.now(chosen)))
    parts.exports_row(replace(shared, more=() if chosen.of_runs else (runs,)), "take")


def tables(chosen: Chosen, marked: Marked) -> list[exports.File]:
    """The table as LaTeX and Markdown as it is printed, as CSV and Parquet with every number."""
    measures, stem = list(chosen.columns), f"{chosen.key}-table"
    how = (measures, marked.baselines, chosen.test, marked.symbols)
    written = (benchmark_text.latex, benchmark_text.markdown)
    latex, markdown = (
        lambda write=write: write(opened.result(chosen.key), *how).encode() for write in written
    )
    csv, parquet = (
        lambda kind=kind: exports.table_as(numbers(opened.result(chosen.key), *how), kind)
        for kind in ("csv", "parquet")
    )
    return [
        exports.File("LaTeX (booktabs)", f"{stem}.tex", latex),
        exports.File("Markdown", f"{stem}.md", markdown),
        exports.File("CSV", f"{stem}.csv", csv),
        exports.File("Parquet", f"{stem}.parquet", parquet),
    ]
