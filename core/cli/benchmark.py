"""`study benchmark`: Table 2 on the terminal."""

import argparse
from collections.abc import Sequence

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import answer_question, asked_question, rankers_in
from shuffleproof.core.cli.studies import print_study
from shuffleproof.core.errors import UnknownNameError
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.studies.kinds.benchmark import rows as benchmark_rows
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.user_names import ranker_name


def study(arguments: argparse.Namespace) -> Answer:
    """`study benchmark`: every ranker on the same lists, over seeds and folds."""
    question, scope = asked_question(arguments)
    view = view_of(arguments)
    benchmark_table.check_baselines(view.baselines or (), view.symbols)
    rows = benchmark_rows.rows_of(rankers_in(question), scope.usual_preset, 1)
    _check_rows(view.baselines or (), [row.label for row in rows])
    artefact = answer_question(question, scope, arguments)
    result = StudyResult.open(artefact.path)
    failed = result.facts.get("failed", {})
    _check_rows(view.baselines or (), [*benchmark_table.rankers_of(result), *failed])
    return print_study(artefact, arguments, view=view)


def view_of(arguments: argparse.Namespace) -> View:
    """How the flags say that the table is to be shown."""
    return View(
        digits=arguments.digits,
        baselines=list(dict.fromkeys(map(ranker_name, parts_of(arguments.against or "")))),
        test=arguments.test,
        symbols=benchmark_table.SYMBOLS[arguments.marks],
    )


def _check_rows(baselines: Sequence[str], labels: Sequence[str]) -> None:
    for baseline in baselines:
        if baseline not in labels:
            raise UnknownNameError("row of the table", baseline, labels)
