"""Commands that run studies: a question from flags, then its result."""

import argparse
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from subprocess import run
from typing import Any

from shuffleproof.core.cli.answer import MORE, Answer
from shuffleproof.core.cli.flags import DIGITS, question_of
from shuffleproof.core.cli.open import (
    answer_question,
    check_workers,
    checked_question,
    dry_answer,
    dry_runner,
    run_shown,
    store_of,
    workers_of_command,
)
from shuffleproof.core.errors import DataError, UnknownNameError
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rankers.name import INITIAL
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.benchmark import rows, table
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.registry import LISTLESS, study_kind
from shuffleproof.core.studies.result import StudyResult, stored_summary
from shuffleproof.core.studies.sections import ANSWER_FAULTS, STOPPED, View, sections_of
from shuffleproof.core.studies.table_text import records, terminal_text
from shuffleproof.core.studies.user_names import ranker_name


def study(arguments: argparse.Namespace) -> Answer:
    """`study KIND`: a study of any kind, its sections as text or its answer as JSON."""
    question, scope = checked_question(arguments)
    return print_study(answer_question(question, scope, arguments), arguments)


def benchmark(arguments: argparse.Namespace) -> Answer:
    """`study benchmark`: every ranker on the same lists, over seeds and folds; Table 2."""
    question, scope = checked_question(arguments)
    baselines = list(dict.fromkeys(map(ranker_name, parts_of(arguments.against))))
    view = View(digits=arguments.digits, baselines=baselines, test=arguments.test)
    table.check_baselines(baselines)
    known = rows.rows_of(question.names().rankers, scope.usual_preset, 1)
    _check_rows(baselines, [row.label for row in known])
    artefact = answer_question(question, scope, arguments)
    result = StudyResult.open(artefact.path)
    _check_rows(baselines, [*table.rankers_of(result), *result.facts.get("failed", {})])
    return print_study(artefact, arguments, lines=export_lines(artefact, arguments), view=view)


def _check_rows(baselines: Sequence[str], labels: Sequence[str]) -> None:
    for baseline in baselines:
        if baseline not in labels:
            raise UnknownNameError("row of the table", baseline, labels)


def listless(arguments: argparse.Namespace) -> Answer:
    """`study KIND` of data without candidate lists: its sections as text or its answer as JSON."""
    question, scope = listless_question(arguments)

    with workers_of_command(arguments, scope.store, dry_runner(question, scope)):
        artefact = run_shown(question.kind, question.answer(scope, arguments.max_seconds))
    return print_study(artefact, arguments)


def dry_run(arguments: argparse.Namespace) -> Answer:
    """`study KIND --dry-run`: trainings, trials and calls, stored or to be made."""
    listless = arguments.command.rpartition(" ")[2] in LISTLESS
    question, scope = (listless_question if listless else checked_question)(arguments)
    return dry_answer(dry_runner(question, scope, timed=True)())


def listless_question(arguments: argparse.Namespace) -> tuple[Any, Scope]:
    """Question of a command, and its scope."""
    check_workers(arguments)
    kind = LISTLESS[arguments.command.rpartition(" ")[2]]
    scope = Scope(store_of(arguments), arguments.data)
    question = question_of(kind, arguments, scope.usual_preset)
    question.check(scope)
    return question, scope


def print_study(
    artefact: Artefact,
    arguments: argparse.Namespace,
    more: Mapping[str, Any] | None = None,
    lines: Sequence[str] = (),
    view: View | None = None,
) -> Answer:
    """Answer of a stored study; computes only the printed parts.

    Args:
        artefact: the study.
        arguments: output format and decimals.
        more: keys beside those that the kind has.
        lines: what stands below the sections.
        view: how it is to be shown.
    """
    if arguments.json:
        return Answer(answer_of(artefact, view) | dict(more or {}))
    verbose = arguments.verbose
    digits = getattr(arguments, "digits", DIGITS)
    text = [text_of(artefact, digits, view, verbose=verbose), *lines]
    stored = (
        "finished trials are stored" if STOPPED in artefact.facts else f"stored as {artefact.key}"
    )
    return Answer({}, "\n".join([*text, stored if verbose else f"{stored} {MORE}"]))


def export_lines(artefact: Artefact, arguments: argparse.Namespace) -> list[str]:
    """Line with the export that writes the same table, if its flags are not the defaults."""
    flags = {
        "against": "" if arguments.against == INITIAL else arguments.against,
        "digits": "" if arguments.digits == DIGITS else arguments.digits,
    }
    texts = [f" --{name} {shlex.quote(str(value))}" for name, value in flags.items() if value]
    command = f"shuffleproof export {artefact.key} table.md{''.join(texts)}"
    return [f"this table as a file: `{command}`"] * bool(texts)


def answer_of(artefact: Artefact, view: View | None = None) -> dict[str, Any]:
    """JSON answer of the command of a stored study."""
    sections_module, view = study_kind(artefact.recipe).sections_module(), view or View()
    summary = records(stored_summary(artefact.path))
    result = StudyResult.open(artefact.path)
    answer = sections_module.answer(result, view)
    head, stopped = asdict(sections_module.headline(result, view)), artefact.facts.get(STOPPED)
    key = None if stopped else str(artefact.key)
    faults = {ANSWER_FAULTS: notes} if (notes := result.facts.get(ANSWER_FAULTS)) else {}
    common = {"result": key, "stopped": stopped, "headline": head, "summary": summary}
    return common | faults | answer


def text_of(
    artefact: Artefact, digits: int = DIGITS, view: View | None = None, *, verbose: bool = False
) -> str:
    """Sections of a stored study for the terminal."""
    kind, result = study_kind(artefact.recipe), StudyResult.open(artefact.path)
    sections = sections_of(kind.sections_module(), result, view or View(digits=digits))
    return terminal_text(sections, digits, verbose=verbose) + "\n"


FIGURE_REMEDY = "Mend what it names, or export .html, which needs no browser."


def report(studies: list[Artefact], out: Path) -> None:
    """Write stored studies as one self-contained HTML file, drawn by the app's figures.

    Raises:
        DataError: the report's process failed.
    """
    paths = [str(study.path) for study in studies]
    command = [sys.executable, "-P", "-m", "shuffleproof.app.report", *paths, str(out)]
    finished = run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise DataError(
            str(out), f"the report could not be written ({finished.stderr[-500:].strip()})",
            "Mend what it names, or export .csv, .json, .parquet or .tex instead.",
        )  # fmt: skip


def write_picture(study: Artefact, out: Path, how: Mapping[str, Any]) -> None:
    """Write one picture of a stored study as PDF, SVG or PNG, drawn by the app's figures.

    Args:
        study: the study.
        out: the file.
        how: as `shuffleproof.app.pictures` takes it: measures, number, size, width and format.

    Raises:
        DataError: it could not be drawn.
    """
    words = ["-m", "shuffleproof.app.pictures", str(study.path), str(out), json.dumps(how)]
    finished = run([sys.executable, *words], capture_output=True, text=True, check=False)
    if finished.returncode:
        reason = (finished.stderr.strip().splitlines() or ["its process ended"])[-1]
        raise DataError(str(out), f"the figure could not be drawn ({reason})", FIGURE_REMEDY)
