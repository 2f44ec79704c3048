"""What can be taken away from one list: link, command, Python, figures, numbers, recipe, report."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from shuffleproof.app import address, exports, report, services
from shuffleproof.app.proposals import as_asked
from shuffleproof.app.scoring import List
from shuffleproof.app.study import parts
from shuffleproof.app.study.shown_list import Shown
from shuffleproof.app.views.invariance.answers import Answered
from shuffleproof.core.studies.answers.trained import TrainedRanker
from shuffleproof.core.studies.kinds.invariance.question import Invariance
from shuffleproof.core.studies.reproduce import command_of, python_of
from shuffleproof.core.studies.tables import inferred


def row(one: List, shown: Shown, found: Sequence[Answered]) -> None:
    """Draw the row of exports of this list."""
    stem = f"invariance-{len(found)}-rankers"
    rankers = [answer.ranker for answer in found]
    question = Invariance(tuple(as_asked(ranker, one.data) for ranker in rankers))
    facts = {"data": one.data, "lists": asdict(one.recipe)}
    said = {
        "data": one.data,
        "query": one.query,
        "rankers": [ranker.label for ranker in rankers],
        "before": shown.before,
        "order": shown.now,
    }
    figures = [
        file
        for answer in found
        for file in exports.figure_files(answer.bump, f"{answer.label}-bump")
    ]
    parts.exports_row(
        parts.Shared(
            figures=figures,
            tables=lambda: exports.table_files(inferred(numbers(found), stem), stem),
            recipe=exports.recipe_file(said, facts, stem),
            report=_report(one.data, rankers),
            link=lambda: parts.here(data=one.data),
            command=lambda: command_of(question, facts),
            python=lambda: python_of(question, facts),
        ),
        "invariance",
    )


def numbers(found: Sequence[Answered]) -> pd.DataFrame:
    """Every number of the list: one row a ranker and document, in the order shown."""
    tables = [one.moves.assign(ranker=one.label).sort_values("shown") for one in found]
    table = pd.concat(tables, ignore_index=True)
    return table[["ranker", *(name for name in table.columns if name != "ranker")]]


def _report(data: str, rankers: Sequence[TrainedRanker]) -> exports.File:
    """The certificates of these rankers as a page of their own."""
    found = services.certified(data, address.says("study"))
    studies = {found[ranker.digest].study for ranker in rankers if ranker.digest in found}
    paths: list[Path] = [services.store().resolve(key, "study").path for key in sorted(studies)]
    missing = "" if paths else "A report needs certificates: examine all test queries first."
    return exports.File(
        "Report (HTML)", "certificates.html", lambda: report.report(paths).encode(), missing
    )
