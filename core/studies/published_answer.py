"""Files, rows and words of a search for the conventions of a published number (`which`)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from shuffleproof.core.data import trec
from shuffleproof.core.data.layout import group_file
from shuffleproof.core.data.letor.read import LetorTable
from shuffleproof.core.data.letor.stream import Limits, MissingCells, text_lines
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.rankers.outside.file_ranker import FileScores
from shuffleproof.core.studies.kinds.benchmark.outside_runs import (
    CONVENTIONS,
    check_judged,
    judge_runs,
)
from shuffleproof.core.studies.kinds.benchmark.query import judged_by
from shuffleproof.core.studies.published import (
    WEAK,
    Convention,
    JudgedRun,
    PublishedCell,
    Search,
    cells_of,
    search,
)
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.tables import Column, Table, keys
from shuffleproof.core.words import counted, listed, number, percent

LETOR_ROW = re.compile(r"\s*\S+\s+\w+:")
"""Start of a row: its label, then a query or a feature."""

NEAREST = 10
"""Rows of conventions that do not match."""

NAMED = 4
"""Other matching conventions in the sentence."""


def folds_of(runs: Sequence[Path], qrels: Sequence[Path]) -> tuple[list[JudgedRun], bool]:
    """Runs with their judgments, or scores with their LETOR rows; several are folds.

    Returns:
        The folds, and True if the judgments are LETOR files.

    Raises:
        UsageError: not one judgments file, nor one for each run.
        DataError: a malformed or empty file, or a run without judged documents.
    """
    if len(qrels) not in {1, len(runs)}:
        files = f"{counted(len(qrels), 'file')} of judgments"
        raise UsageError(f"{files} for {counted(len(runs), 'run')}: name one, or one for each run")
    kinds, shared = {_is_letor(path) for path in qrels}, len(qrels) < len(runs)
    if len(kinds) > 1:
        raise UsageError("some judgments are LETOR files, others are not: name files of one form")
    if not kinds.pop():
        judgments = [*qrels] * len(runs) if shared else qrels
        pairs = zip(runs, judgments, strict=True)
        return [_trec_fold(run, judged, shared=shared) for run, judged in pairs], False
    if shared:
        raise UsageError(
            "one LETOR file for the scores of several folds: name one for each (--qrels)"
        )
    return [_letor_fold(run, judged) for run, judged in zip(runs, qrels, strict=True)], True


def _is_letor(path: Path) -> bool:
    """True if the first row has a query or a feature in its second column."""
    form = f"A line reads: {trec.QRELS_FORM}, or LETOR's: label qid:1 1:0.5."
    _, line = next(text_lines(path, str(path), Limits(), form))
    return LETOR_ROW.match(line) is not None


def _letor_fold(run: Path, judged: Path) -> JudgedRun:
    table = LetorTable(MissingCells.ZERO)
    for _ in table.adding(judged, groups=group_file(judged)):
        pass
    dataset = table.to_dataset().dataset
    scores = FileScores.read(str(run), dataset).scores
    return JudgedRun(dataset, CandidateLists.all_documents(dataset), scores.astype(float))


def _trec_fold(run: Path, judged: Path, *, shared: bool) -> JudgedRun:
    grades, read = trec.read_qrels(judged), trec.read_run(run)
    check_judged(run, read, judged, grades)
    if shared:  # topics of other folds are not missing
        grades = {topic: grades[topic] for topic in grades if topic in read.scores}
    whole = judge_runs(grades, {"run": read})
    return JudgedRun(whole.dataset, whole.lists["run"], whole.scores["run"])


def answer_of(
    cells: Sequence[PublishedCell], folds: Sequence[JudgedRun], *, of_letor: bool = False
) -> dict[str, Any]:
    """Answer of `which`: the finding, the rows, and how many conventions were tried."""
    found = search(cells, folds, of_letor=of_letor)
    shown = [row for row in found.rows if row.matches]
    nearest = found.rows[len(shown) : len(shown) + NEAREST]
    return {
        "finding": finding(cells, found),
        "notes": notes(cells, found),
        "matches": found.matches,
        "tried": found.tried,
        "chance": found.chance,
        "rows": [_row(cells, row) for row in (*shown, *nearest)],
    }


def answer_of_stored(
    result: StudyResult, study: Path, run: str, value: str, measure: str
) -> dict[str, Any]:
    """Answer for a run of a stored comparison in the folder `study`; an empty measure is not known.

    Raises:
        DataError: the comparison was stored without its documents.
        ParameterError, UnknownNameError: no number, or no measure.
    """
    cells = cells_of(value.strip(), measure)
    dataset, arrays = judged_by(study, result.query_ids)
    lists = CandidateLists.unranked(arrays[f"offsets/{run}"], arrays[f"rows/{run}"])
    return answer_of(cells, [JudgedRun(dataset, lists, arrays[f"scores/{run}"])])


def _row(cells: Sequence[PublishedCell], row: Convention) -> dict[str, Any]:
    """Values of a convention; `value` and `difference` are those of the worst cell."""
    usual = BUNDLES[CONVENTIONS].conventions
    return {
        "convention": ",".join(measure.text_under({}, usual) for measure in row.measures),
        "name": row.name,
        "value": row.means[row.worst_cell],
        "difference": row.means[row.worst_cell] - cells[row.worst_cell].value,
        "matches": row.matches,
        "digits": " and ".join(dict.fromkeys(digits or "no" for digits in row.digits)),
        "values": list(row.means),
        "changes": row.cost,
        "same": list(row.same),
        **{
            name: choice if isinstance(choice, str) else " ".join(map(str, choice))
            for name, choice in row.around._asdict().items()
        },
    }


def finding(cells: Sequence[PublishedCell], found: Search) -> str:
    """Sentence with the simplest convention that matches, or the nearest."""
    numbers, best = listed([cell.text for cell in cells]), found.rows[0]
    if not best.matches:
        cell, mean = cells[best.worst_cell], best.means[best.worst_cell]
        away = number(mean - cell.value, f"+.{cell.digits + 1}f")
        return (
            f"None of {counted(found.tried, 'convention')} gives {numbers}. "
            f"The nearest, {best.name}, differs by {away}."
        )
    names = [measure.without_conventions for measure in best.measures]
    measures = [
        f"{name} (not {cell.heading})" if cell.heading not in {"", name} else name
        for name, cell in zip(names, cells, strict=True)
    ]
    changes = [change for change in best.changes if change not in names]
    tool = f"{best.tool} with {listed(changes)}" if changes else best.tool
    cut = ", truncated" * ("truncated" in best.digits)
    outcome = f"{listed(measures)} by {tool}{cut}"
    if not found.matches:
        return f"No simple convention gives {numbers}. The simplest that does: {outcome}."
    return f"{numbers} {'is' if len(cells) == 1 else 'are'} {outcome}."


def notes(cells: Sequence[PublishedCell], found: Search) -> list[str]:
    """Sentences on other conventions that match, on matches by chance, and on other measures."""
    matching = [row for row in found.rows if row.matches]
    if not matching:
        known = len(cells) == 1 and cells[0].measure
        return ["Leave out --measure to try every measure."] if known else []
    names = [name for row in matching for name in (row.name, *row.same)]
    others = list(dict.fromkeys(names[1:]))
    sentences = []
    if others:
        rest = len(others) - NAMED
        named = others if rest <= 0 else [*others[:NAMED], f"{rest} more"]
        sentences.append(f"Also matching: {listed(named)}.")
    if found.chance > WEAK:
        numbers = listed([cell.text for cell in cells])
        share = percent(found.chance)
        sentences.append(f"Weak evidence: {share} of the numbers near {numbers} match as simply.")
    return sentences


def table_of(cells: Sequence[PublishedCell], rows: Sequence[Mapping[str, Any]]) -> Table:
    """Table of an answer's rows, with a column for each published number."""
    means = [
        Column(f"value {at}", cell.heading or "Mean", f".{cell.digits + 2}f")
        for at, cell in enumerate(cells)
    ]
    columns = (
        Column("name", "Convention"), *means,
        Column("digits", "Match", help="The mean rounds to the published digits, or is cut."),
        Column("convention", "Measure"),
    )  # fmt: skip
    values = [(row["name"], *row["values"], row["digits"], row["convention"]) for row in rows]
    frame = pd.DataFrame(values, columns=keys(columns))
    return Table(frame, columns, "Conventions by their distance")
