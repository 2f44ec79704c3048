"""`study attention`: what every head looks at, on the terminal."""

import argparse

from core.cli.answer import Answer, records
from core.cli.open import done, workbench_of
from core.studies import attention, attention_text
from core.studies.result import StudyResult, stored_summary

SHOWN = {
    "neighbours": "{:.1f}", "entropy": "{:.2f}", "relevant": "{:.3f}", "chance": "{:.3f}",
    "lift": "{:.2f}", "redundancy": "{:.2f}", "dead": "{:.2f}",
}  # fmt: skip


def study(arguments: argparse.Namespace) -> Answer:
    """`study attention`: entropy, relevant mass, redundancy, dead points of every head."""
    bench = workbench_of(arguments)
    names = arguments.rankers.split(",")
    work = attention.run(bench, names, arguments.queries, arguments.dead_below)
    artefact = done("attention", work)
    result = StudyResult.open(artefact.path)
    frame = attention_text.table(result)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
    }
    formats = {name: text.format for name, text in SHOWN.items()}
    parts = [frame.to_string(index=False, formatters=formats, na_rep="–"), ""]
    parts += [attention_text.finding(result, name) for name in names]
    return Answer(answer, "\n".join([*parts, f"stored as {artefact.key}"]))
