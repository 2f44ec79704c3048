"""What can be taken away from a benchmark: files, runs, a link, a command."""

from dataclasses import replace
from typing import Any

from shuffleproof.app import benchmarks, exports, opened
from shuffleproof.app.study import choice, parts
from shuffleproof.app.views.benchmark.chosen import Chosen, Marked
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.benchmark import sections as benchmark_text
from shuffleproof.core.studies.kinds.benchmark.table import numbers


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

    def make(ending: str) -> bytes:
        result = opened.result(chosen.key)
        if ending in table_text.WRITERS:
            return table_text.written(benchmark_text.table(result, *how), ending)
        return table_text.exact(numbers(result, *how), ending)

    return [
        exports.File(words, f"{stem}.{ending}", lambda ending=ending: make(ending))  # type: ignore[misc]
        for ending, words in exports.TABLES.items()
    ]
