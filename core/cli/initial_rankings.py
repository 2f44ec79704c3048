"""`study initial-rankings`: Table 4 on the terminal."""

import argparse

from core.cli.answer import Answer, records
from core.cli.open import done, texts_of, workbench_of
from core.studies import initial_rankings, initial_rankings_table
from core.studies.result import StudyResult, stored_summary


def study(arguments: argparse.Namespace) -> Answer:
    """`study initial-rankings`: none, one or many initial rankings, left out and exchanged."""
    if arguments.initial is None:
        preset = arguments.preset or ("small" if arguments.data == "sample" else "paper")
        arguments.initial = ",".join(f"{name}@{preset}" for name in initial_rankings.FOUR)
    bench = workbench_of(arguments)
    plan = initial_rankings.planned(
        bench,
        arguments.rankers.split(","),
        arguments.swaps.split(",") if arguments.swaps else (),
        texts_of(arguments.measures),
        arguments.seeds,
    )
    artefact = done("initial rankings", initial_rankings.run(bench, plan))
    result = StudyResult.open(artefact.path)
    frame = initial_rankings_table.table(result, plan.measures[0])
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
    }
    parts = [
        frame.round(3).to_string(index=False, na_rep="–"),
        initial_rankings_table.finding(result, plan.measures[0]),
        f"stored as {artefact.key}",
    ]
    return Answer(answer, "\n".join(parts))
