"""A benchmark's table as text: booktabs LaTeX and Markdown, best in bold, marks explained."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shuffleproof.core.studies.kinds.benchmark import notes as benchmark_notes
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark.rows import GROUPS, groups_of
from shuffleproof.core.studies.kinds.benchmark.table import LETTERS
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import one_line

DIGITS = 3
"""Decimals of a table where nobody asks for others."""
LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
DAGGERS = str.maketrans({"†": r"\dagger", "‡": r"\ddagger", "§": r"\S", "¶": r"\P", "‖": r"\Vert"})
MARKDOWN = str.maketrans({character: f"\\{character}" for character in "|\\`*_<>[]"})


@dataclass(frozen=True)
class Cell:
    """One number of the table as it is printed.

    Attributes:
        mean: in decimals, `–` where it is undefined.
        spread: `± sd`, or empty for a single run.
        marks: letters of the baselines from which it differs.
        best: whether no ranker is better.
    """

    mean: str
    spread: str
    marks: str
    best: bool


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
            mean="–" if math.isnan(row["mean"]) else f"{row['mean']:.{digits}f}",
            spread="" if math.isnan(row["sd"]) else f"± {row['sd']:.{digits}f}",
            marks=letters.get(place, ""),
            best=bool(row["best"]),
        )
    return found


def latex(  # noqa: PLR0913 (as `cells`)
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
    *,
    digits: int = DIGITS,
) -> str:
    """The table in LaTeX; needs the package booktabs. Its notes are comments above it."""
    printed = cells(result, measures, baselines, test, symbols, digits=digits)
    names = " & ".join(
        ["Ranker", *(name.translate(LATEX) for name in benchmark_notes.heads(measures))]
    )
    said = benchmark_notes.said(result, measures, baselines, test, symbols)
    said += benchmark_notes.means_over_folds(result, measures, digits)
    lines = [
        *(f"% {one_line(line)}" for line in said),
        rf"\begin{{tabular}}{{l{'l' * len(measures)}}}",
        r"\toprule", names + r" \\",
    ]  # fmt: skip
    for group, labels in grouped(result):
        lines += [
            r"\midrule",
            rf"\multicolumn{{{len(measures) + 1}}}{{l}}{{\emph{{{group}}}}} \\",
        ]
        for label in labels:
            row = [_latex_cell(printed[label, measure]) for measure in measures]
            lines.append(" & ".join([one_line(label).translate(LATEX), *row]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def markdown(  # noqa: PLR0913 (as `cells`)
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
    *,
    digits: int = DIGITS,
) -> str:
    """The table in Markdown, its notes below it."""
    printed = cells(result, measures, baselines, test, symbols, digits=digits)
    names = [name.translate(MARKDOWN) for name in benchmark_notes.heads(measures)]
    lines = [
        f"| Ranker | {' | '.join(names)} |",
        f"| :-- |{' --: |' * len(measures)}",
    ]
    for group, labels in grouped(result):
        lines.append(f"| *{group}* |{' |' * len(measures)}")
        for label in labels:
            row = [_markdown_cell(printed[label, measure]) for measure in measures]
            lines.append(f"| {one_line(label).translate(MARKDOWN)} | {' | '.join(row)} |")
    said = benchmark_notes.said(result, measures, baselines, test, symbols)
    said += benchmark_notes.means_over_folds(result, measures, digits)
    return "\n".join([*lines, "", *(f"{line}  " for line in said), ""])


def grouped(result: StudyResult) -> list[tuple[str, list[str]]]:
    """The groups that have rows, in their order, each with its rows in theirs."""
    labels, groups = benchmark_table.rankers_of(result), groups_of(result.facts)
    return [
        (group, [label for label in labels if groups[label] == group])
        for group in GROUPS
        if any(groups[label] == group for label in labels)
    ]


def _latex_cell(cell: Cell) -> str:
    mean = rf"\textbf{{{cell.mean}}}" if cell.best else cell.mean.replace("–", "--")
    spread = rf" {{\scriptsize$\pm${cell.spread[2:]}}}" if cell.spread else ""
    marks = cell.marks.translate(DAGGERS)
    marks = rf"$^{{\mathrm{{{marks}}}}}$" if marks else ""
    return f"{mean}{marks}{spread}"


def _markdown_cell(cell: Cell) -> str:
    mean = f"**{cell.mean}**" if cell.best else cell.mean
    marks = f" {cell.marks}" if cell.marks else ""
    return f"{mean}{marks} {cell.spread}".strip()
