"""A benchmark's table as it is printed: best in bold, marks explained."""

from collections.abc import Sequence

import pandas as pd

from shuffleproof.core.studies import table_text, tables
from shuffleproof.core.studies.kinds.benchmark import notes as benchmark_notes
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, groups_of
from shuffleproof.core.studies.kinds.benchmark.table import LETTERS
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import DIGITS, Cell
from shuffleproof.core.words import number


def cells(  # noqa: PLR0913 (each argument is one fact of how the table is printed)
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
    *,
    digits: int = DIGITS,
) -> dict[tuple[str, str], Cell]:
    """Every (ranker, measure) as it is printed.

    Args:
        result: a benchmark.
        measures: the columns.
        baselines: compared with, the first symbol's the first.
        test: a name of `core.studies.kinds.ranking_degradation.significance.TESTS`.
        symbols: the marks, as `core.studies.kinds.benchmark.table.SYMBOLS` has them.
        digits: decimals.
    """
    marked = benchmark_table.marks(result, measures, baselines, test, symbols)
    letters = {(row["ranker"], row["measure"]): row["marks"] for row in marked.to_dict("records")}
    found = {}
    for row in benchmark_table.means(result, measures).to_dict("records"):
        place = (row["ranker"], row["measure"])
        found[place] = Cell(
            text=number(row["mean"], f".{digits}f"),
            spread="" if pd.isna(row["sd"]) else f"± {number(row['sd'], f'.{digits}f')}",
            marks=letters.get(place, ""),
            best=bool(row["best"]),
        )
    return found


def table(  # noqa: PLR0913 (as `cells`)
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
    *,
    digits: int = DIGITS,
) -> tables.Table:
    """The table as it is printed: best in bold, marks, groups, with what they mean below."""
    printed = cells(result, measures, baselines, test, symbols, digits=digits)
    rows = [(group, label) for group, labels in grouped(result) for label in labels]
    cells_ = {measure: [printed[label, measure] for _, label in rows] for measure in measures}
    frame = pd.DataFrame({"ranker": [label for _, label in rows], **cells_})
    heads = zip(measures, benchmark_notes.heads(measures), strict=True)
    columns = [tables.RANKER, *(tables.Column(measure, head) for measure, head in heads)]
    said = benchmark_notes.table_notes(result, measures, baselines, test, symbols)
    said += benchmark_notes.means_over_folds(result, measures, digits)
    return tables.Table(frame, columns, "", said, [group for group, _ in rows])


def markdown(result: StudyResult, measures: Sequence[str], baselines: Sequence[str]) -> str:
    """The table in Markdown, its notes below it."""
    return table_text.markdown(table(result, measures, baselines))


def grouped(result: StudyResult) -> list[tuple[str, list[str]]]:
    """The groups that have rows, in their order, each with its rows in theirs."""
    labels, groups = benchmark_table.rankers_of(result), groups_of(result.facts)
    return [
        (group, [label for label in labels if groups[label] == group])
        for group in GROUPS
        if any(groups[label] == group for label in labels)
    ]
