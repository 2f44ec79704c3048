"""`study benchmark`: Table 2 on the terminal."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.open import asked, done, rankers_in
from shuffleproof.core.data.published import CUTOFFS
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.studies.kinds.benchmark import notes as benchmark_notes
from shuffleproof.core.studies.kinds.benchmark import published as benchmark_printed
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark import text as benchmark_text
from shuffleproof.core.studies.kinds.benchmark.text import DIGITS
from shuffleproof.core.studies.result import StudyResult, stored_summary


class How(NamedTuple):
    """How the table is printed: a name of TESTS, the symbols of the baselines, decimals."""

    test: str = "paired t"
    symbols: str = benchmark_table.LETTERS
    digits: int = DIGITS


def study(arguments: argparse.Namespace) -> Answer:
    """`study benchmark`: every ranker on the same lists, over seeds and folds."""
    question, scope = asked(benchmark.KIND, arguments)
    baselines = list(dict.fromkeys(parts_of(arguments.against)))
    benchmark_table.check_baselines(baselines, how_of(arguments).symbols)
    rows = benchmark_rows.rows_of(rankers_in(question), scope.usual, 1)
    _check_rows(baselines, [row.label for row in rows])
    artefact = done("benchmark", question.study(scope))
    result = StudyResult.open(artefact.path)
    found = benchmark_table.rankers_of(result)
    _check_rows(baselines, [*found, *result.facts.get("failed", {})])
    baselines = [one for one in baselines if one in found]
    answer = {
        "result": str(artefact.key),
        "failed": dict(result.facts.get("failed", {})),
        "summary": records(stored_summary(artefact.path)),
        **table(result, result.measures, baselines, how_of(arguments)),
    }
    if arguments.json:
        return Answer(answer)
    told = text(result, result.measures, baselines, how_of(arguments))
    return Answer(answer, f"{told}\nstored as {artefact.key}")


def _check_rows(baselines: Sequence[str], labels: Sequence[str]) -> None:
    for baseline in baselines:
        if baseline not in labels:
            raise UnknownNameError("row of the table", baseline, labels)


def table(
    result: StudyResult, measures: Sequence[str], baselines: Sequence[str], how: How
) -> dict[str, Any]:
    """The keys of a table's --json: its numbers, marks, comparisons and what stands under it.

    Args:
        result: a benchmark.
        measures: the columns.
        baselines: compared with.
        how: the test and the marks.
    """
    marked = benchmark_table.marks(result, measures, baselines, how.test, how.symbols)
    means = benchmark_table.means(result, measures).merge(marked, "left", ["ranker", "measure"])
    compared = [
        benchmark_table.compared(result, measure, baseline, how.test).assign(
            against=baseline, measure=measure
        )
        for baseline in baselines
        for measure in measures
    ]
    printed = benchmark_printed.printed_for(result.facts)
    beside = [] if printed is None else records(benchmark_printed.beside(result, printed))
    return {
        "table": records(means.fillna({"marks": ""})),
        "test": how.test,
        "symbols": dict(zip(baselines, how.symbols, strict=False)),
        "comparisons": [row for frame in compared for row in records(frame)],
        "said": _said(result, measures, baselines, how),
        "published": beside,
    }


def _said(
    result: StudyResult, measures: Sequence[str], baselines: Sequence[str], how: How
) -> list[str]:
    """The lines under the table."""
    lines = benchmark_notes.said(result, measures, baselines, how.test, how.symbols)
    lines += benchmark_notes.means_over_folds(result, measures, how.digits)
    if benchmark_printed.printed_for(result.facts) is not None:
        lines += filter(None, [benchmark_printed.warning(result.facts, measures)])
    return lines


def how_of(arguments: argparse.Namespace) -> How:
    """The test and the marks that the flags name."""
    return How(arguments.test, benchmark_table.SYMBOLS[arguments.marks], arguments.digits)


def text(result: StudyResult, measures: Sequence[str], baselines: Sequence[str], how: How) -> str:
    """The table for the terminal, what its marks mean, and the printed rows where there are any.

    Args:
        result: a benchmark.
        measures: the columns.
        baselines: compared with.
        how: the test and the marks.
    """
    cells = benchmark_text.cells(
        result, measures, baselines, how.test, how.symbols, digits=how.digits
    )
    rows: dict[str, list[str]] = {}
    for group, labels in benchmark_text.grouped(result):
        rows[f"{group}:"] = [""] * len(measures)
        for label in labels:
            rows[f"  {label}"] = [_shown(cells[label, measure]) for measure in measures]
    parts = [_aligned(rows, benchmark_notes.heads(measures))]
    said = _said(result, measures, baselines, how)
    parts += [line.replace("old: best", "old (*): best") for line in said]
    printed = benchmark_printed.printed_for(result.facts)
    if printed is not None:
        parts += ["", f"As printed, not measured here: {benchmark_printed.in_words(printed)}"]
        numbers = {name: [f"{one:.4f}" for one in row] for name, row in printed.rows.items()}
        parts.append(_aligned(numbers, [f"NDCG@{cutoff}" for cutoff in CUTOFFS]))
    return "\n".join(parts)


def _aligned(rows: Mapping[str, Sequence[str]], heads: Sequence[str]) -> str:
    """Rows under their heads, everything from the left.

    >>> print(_aligned({"mart": ["0.5 *", "0.6"]}, ["NDCG@1", "RR"]))
          NDCG@1  RR
    mart  0.5 *   0.6
    """
    table = [["", *heads], *([name, *cells] for name, cells in rows.items())]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    )
    return "\n".join(line.rstrip() for line in lines)


def _shown(cell: benchmark_text.Cell) -> str:
    best = "*" if cell.best else ""
    return " ".join(filter(None, [cell.mean + best, cell.marks, cell.spread]))
