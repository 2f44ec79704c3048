"""`study group-shuffles`: GSF's order dependence on the terminal."""

import argparse
from typing import Any

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.open import asked, done, rankers_in
from shuffleproof.core.studies.kinds.group_shuffles import study as group_shuffles
from shuffleproof.core.studies.kinds.group_shuffles import table as group_shuffles_table
from shuffleproof.core.studies.result import StudyResult, stored_summary
from shuffleproof.core.words import counted

SHOWN = {"error": "{:.3g}", "low": "{:.3g}", "high": "{:.3g}", "tau": "{:.3f}", "seconds": "{:.1f}"}


def study(arguments: argparse.Namespace) -> Answer:
    """`study group-shuffles`: the error by the number of shuffles, and the slope of its fall."""
    question, scope = asked(group_shuffles.KIND, arguments)
    names = rankers_in(question)
    artefact = done("group shuffles", question.study(scope))
    result = StudyResult.open(artefact.path)
    frame = group_shuffles_table.table(result)
    answer: dict[str, Any] = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "said": _said(result),
        "findings": {name: group_shuffles_table.finding(result, name) for name in names},
    }
    formats = {name: text.format for name, text in SHOWN.items()}
    parts = [frame.to_string(index=False, formatters=formats, na_rep="–"), answer["said"], ""]
    parts += answer["findings"].values()
    return Answer(answer, "\n".join([*parts, f"stored as {artefact.key}"]))


def _said(result: StudyResult) -> str:
    reference = counted(group_shuffles_table.reference(result), "shuffle")
    return (
        f"error: root mean square change of a score over the deviation of its list's scores under "
        f"{reference}; low, high: 95 % interval over queries; seconds: of scoring, after a warm-up"
    )
