"""A benchmark's table as text: booktabs LaTeX and Markdown, best in bold, marks explained."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.metrics.measure import Measure
from core.studies import benchmark_table
from core.studies.benchmark import GROUPS
from core.studies.benchmark_table import LETTERS
from core.studies.result import StudyResult

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
MARKDOWN = str.maketrans({character: f"\\{character}" for character in "|\\`*_<>[]"})


@dataclass(frozen=True)
class Cell:
    """One number of the table as it is printed.

    Attributes:
        mean: three decimals, `–` where it is undefined.
        spread: `± sd`, or empty for a single run.
        marks: letters of the baselines from which it differs.
        best: whether no ranker is better.
    """

    mean: str
    spread: str
    marks: str
    best: bool


def cells(
    result: StudyResult, measures: Sequence[str], baselines: Sequence[str], test: str = "paired t"
) -> dict[tuple[str, str], Cell]:
    """Every (ranker, measure) as it is printed.

    Args:
        result: a benchmark.
        measures: the columns.
        baselines: compared with, `a` the first.
        test: a name of `core.studies.table.TESTS`.
    """
    marked = benchmark_table.marks(result, measures, baselines, test)
    letters = {(row["ranker"], row["measure"]): row["marks"] for row in marked.to_dict("records")}
    found = {}
    for row in benchmark_table.means(result, measures).to_dict("records"):
        place = (row["ranker"], row["measure"])
        found[place] = Cell(
            mean="–" if math.isnan(row["mean"]) else f"{row['mean']:.3f}",
            spread="" if math.isnan(row["sd"]) else f"± {row['sd']:.3f}",
            marks=letters.get(place, ""),
            best=bool(row["best"]),
        )
    return found


def latex(
    result: StudyResult, measures: Sequence[str], baselines: Sequence[str], test: str = "paired t"
) -> str:
    """The table in LaTeX; needs the package booktabs."""
    printed = cells(result, measures, baselines, test)
    heads = " & ".join(["Ranker", *(_head(measure).translate(LATEX) for measure in measures)])
    lines = [
        f"% {note(result, measures, baselines, test)}",
        rf"\begin{{tabular}}{{l{'l' * len(measures)}}}",
        r"\toprule", heads + r" \\",
    ]  # fmt: skip
    for group, labels in _grouped(result):
        lines += [
            r"\midrule",
            rf"\multicolumn{{{len(measures) + 1}}}{{l}}{{\emph{{{group}}}}} \\",
        ]
        for label in labels:
            row = [_latex_cell(printed[label, measure]) for measure in measures]
            lines.append(" & ".join([label.translate(LATEX), *row]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def markdown(
    result: StudyResult, measures: Sequence[str], baselines: Sequence[str], test: str = "paired t"
) -> str:
    """The table in Markdown, the note under it."""
    printed = cells(result, measures, baselines, test)
    lines = [
        f"| Ranker | {' | '.join(_head(x).translate(MARKDOWN) for x in measures)} |",
        f"| :-- |{' --: |' * len(measures)}",
    ]
    for group, labels in _grouped(result):
        lines.append(f"| *{group}* |{' |' * len(measures)}")
        for label in labels:
            row = [_markdown_cell(printed[label, measure]) for measure in measures]
            lines.append(f"| {label.translate(MARKDOWN)} | {' | '.join(row)} |")
    return "\n".join([*lines, "", note(result, measures, baselines, test), ""])


def note(result: StudyResult, measures: Sequence[str], baselines: Sequence[str], test: str) -> str:
    """One line that says what the numbers and marks are."""
    facts = result.facts
    runs = max(benchmark_table.means(result, measures[:1])["runs"], default=1)
    of = f"{len(facts['folds'])} folds, " if len(facts["folds"]) > 1 else ""
    said = (
        f"{facts['data']}: {facts['queries']} test queries, {of}mean ± standard deviation of up "
        f"to {runs} runs (seeds x folds); {Measure.parse(measures[0]).convention()}."
    )
    if baselines:
        named = ", ".join(
            f"{letter} {name}" for letter, name in zip(LETTERS, baselines, strict=False)
        )
        said += f" Above, or (below), at p <= .05 ({test}, Holm): {named}."
    return said


def _grouped(result: StudyResult) -> list[tuple[str, list[str]]]:
    labels = benchmark_table.rankers_of(result)
    groups = result.facts["groups"]
    return [
        (group, [label for label in labels if groups[label] == group])
        for group in GROUPS
        if any(groups[label] == group for label in labels)
    ]


def _head(measure: str) -> str:
    """The measure without its conventions, which the note says."""
    name, _, cutoff = measure.partition("@")
    bare = name.partition("(")[0]
    return f"{bare}@{cutoff}" if cutoff else bare


def _latex_cell(cell: Cell) -> str:
    mean = rf"\textbf{{{cell.mean}}}" if cell.best else cell.mean.replace("–", "--")
    spread = rf" {{\scriptsize$\pm${cell.spread[2:]}}}" if cell.spread else ""
    marks = rf"$^{{\mathrm{{{cell.marks}}}}}$" if cell.marks else ""
    return f"{mean}{marks}{spread}"


def _markdown_cell(cell: Cell) -> str:
    mean = f"**{cell.mean}**" if cell.best else cell.mean
    marks = f" {cell.marks}" if cell.marks else ""
    return f"{mean}{marks} {cell.spread}".strip()
