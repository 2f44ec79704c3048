"""A benchmark's table as text: booktabs LaTeX and Markdown, best in bold, marks explained."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from core.metrics.measure import Measure
from core.studies import benchmark_table
from core.studies.benchmark_rows import GROUPS, groups_of
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
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
) -> dict[tuple[str, str], Cell]:
    """Every (ranker, measure) as it is printed.

    Args:
        result: a benchmark.
        measures: the columns.
        baselines: compared with, the first symbol's the first.
        test: a name of `core.studies.table.TESTS`.
        symbols: the marks, as `core.studies.benchmark_table.SYMBOLS` has them.
    """
    marked = benchmark_table.marks(result, measures, baselines, test, symbols)
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
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
) -> str:
    """The table in LaTeX; needs the package booktabs. Its notes are comments above it."""
    printed = cells(result, measures, baselines, test, symbols)
    names = " & ".join(["Ranker", *(name.translate(LATEX) for name in heads(measures))])
    said = [runs_in_words(result, measures[0]), *notes(measures[0], baselines, test, symbols)]
    lines = [
        *(f"% {line}" for line in said),
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
            lines.append(" & ".join([label.translate(LATEX), *row]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def markdown(
    result: StudyResult,
    measures: Sequence[str],
    baselines: Sequence[str],
    test: str = "paired t",
    symbols: str = LETTERS,
) -> str:
    """The table in Markdown, its notes below it."""
    printed = cells(result, measures, baselines, test, symbols)
    lines = [
        f"| Ranker | {' | '.join(name.translate(MARKDOWN) for name in heads(measures))} |",
        f"| :-- |{' --: |' * len(measures)}",
    ]
    for group, labels in grouped(result):
        lines.append(f"| *{group}* |{' |' * len(measures)}")
        for label in labels:
            row = [_markdown_cell(printed[label, measure]) for measure in measures]
            lines.append(f"| {label.translate(MARKDOWN)} | {' | '.join(row)} |")
    said = [runs_in_words(result, measures[0]), *notes(measures[0], baselines, test, symbols)]
    return "\n".join([*lines, "", *(f"{line}  " for line in said), ""])


def runs_in_words(result: StudyResult, measure: str) -> str:
    """What the means are over: the data, its queries, seeds and folds, and who ran once.

    Args:
        result: a benchmark.
        measure: a column; queries that it leaves out are not counted.
    """
    means, facts = benchmark_table.means(result, [measure]), result.facts
    folds, left_out = len(facts["folds"]), facts["queries"] - int(means["n"].max())
    text = f"{facts['data']} · N = {_counted(int(means['n'].max()), 'query', 'queries')}"
    text += f" ({left_out} without relevant documents left out)" if left_out else ""
    text += f" of {_counted(folds, 'fold')}" if folds > 1 else ""
    most = int(means["runs"].max())
    if most == 1:
        return f"{text} · 1 run of each row"
    text += f" · mean ± standard deviation of {_over(most // folds, folds)}"
    fewer = means.loc[means["runs"] < most, "runs"]
    if len(fewer) and int(fewer.max()) > 1:
        text += f", of {_over(1, folds)} where the seed changes nothing"
    elif len(fewer):
        text += " · rows without ±: 1 run"
    return text


def _over(seeds: int, folds: int) -> str:
    """Seeds, folds or both, with how many runs that makes.

    >>> _over(3, 1), _over(1, 5), _over(3, 5)
    ('3 seeds', '5 folds', '3 seeds × 5 folds = 15 runs')
    """
    if folds == 1 or seeds == 1:
        return _counted(seeds, "seed") if folds == 1 else _counted(folds, "fold")
    return f"{_counted(seeds, 'seed')} × {_counted(folds, 'fold')} = {seeds * folds} runs"


def notes(measure: str, baselines: Sequence[str], test: str, symbols: str = LETTERS) -> list[str]:
    """What the numbers and marks are: the convention, bold, and the baselines' marks.

    Args:
        measure: a column.
        baselines: compared with.
        test: a name of `core.studies.table.TESTS`.
        symbols: the marks.

    >>> notes("NDCG@10", ["mart"], "paired t")[1]
    'Marks: a above mart, (a) below, at p ≤ .05 (paired t, Holm over rows and measures)'
    """
    said = Measure.parse(measure).convention().partition(" · ")[2]
    first = f"{said} · bold: best row" if said else "bold: best row"
    if not baselines:
        return [first]
    named = ", ".join(
        f"{mark} above {name}, ({mark}) below"
        for mark, name in zip(symbols, baselines, strict=False)
    )
    return [first, f"Marks: {named}, at p ≤ .05 ({test}, Holm over rows and measures)"]


def _counted(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun if number == 1 else several or noun + 's'}"


def grouped(result: StudyResult) -> list[tuple[str, list[str]]]:
    """The groups that have rows, in their order, each with its rows in theirs."""
    labels, groups = benchmark_table.rankers_of(result), groups_of(result.facts)
    return [
        (group, [label for label in labels if groups[label] == group])
        for group in GROUPS
        if any(groups[label] == group for label in labels)
    ]


def heads(measures: Sequence[str]) -> list[str]:
    """The columns' heads: without their conventions, which a note says, where all share them.

    >>> heads(["NDCG(empty=one)@10", "RR(empty=one)"]), heads(["RR", "RR(empty=one)"])
    (['NDCG@10', 'RR'], ['RR', 'RR(empty=one)'])
    """
    parsed = [Measure.parse(measure) for measure in measures]
    ways = {(one.gain, one.discount, one.ideal, one.empty, one.ties) for one in parsed}
    if len(ways) > 1:
        return list(measures)
    return [one.name if one.cutoff is None else f"{one.name}@{one.cutoff}" for one in parsed]


def _latex_cell(cell: Cell) -> str:
    mean = rf"\textbf{{{cell.mean}}}" if cell.best else cell.mean.replace("–", "--")
    spread = rf" {{\scriptsize$\pm${cell.spread[2:]}}}" if cell.spread else ""
    marks = cell.marks.replace("†", r"\dagger").replace("‡", r"\ddagger")
    marks = rf"$^{{\mathrm{{{marks}}}}}$" if marks else ""
    return f"{mean}{marks}{spread}"


def _markdown_cell(cell: Cell) -> str:
    mean = f"**{cell.mean}**" if cell.best else cell.mean
    marks = f" {cell.marks}" if cell.marks else ""
    return f"{mean}{marks} {cell.spread}".strip()
