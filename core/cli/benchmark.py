"""`study benchmark`: Table 2 on the terminal."""

import argparse

import pandas as pd

from core.cli.answer import Answer, records
from core.cli.open import done, store_of, texts_of, workbench_of
from core.data.folds import folds_of
from core.data.published import SOURCE
from core.studies import benchmark, benchmark_table, benchmark_text
from core.studies.benchmark_printed import printed_for
from core.studies.result import StudyResult, stored_summary


def study(arguments: argparse.Namespace) -> Answer:
    """`study benchmark`: every ranker on the same lists, over seeds and folds."""
    folds = folds_of(arguments.data, store_of(arguments))
    benches = []
    for fold in folds:
        of_fold = argparse.Namespace(**(vars(arguments) | {"data": fold}))
        benches.append(workbench_of(of_fold))
    measures = texts_of(arguments.measures)
    plan = benchmark.planned(benches, arguments.rankers.split(","), measures, arguments.seeds)
    artefact = done("benchmark", benchmark.run(benches, plan, arguments.data))
    result = StudyResult.open(artefact.path)
    baselines = arguments.against.split(",") if arguments.against else []
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(benchmark_table.means(result, plan.measures)),
    }
    return Answer(answer, text(result, plan.measures, baselines) + f"\nstored as {artefact.key}")


def text(result: StudyResult, measures: tuple[str, ...], baselines: list[str]) -> str:
    """The table for the terminal, what its marks mean, and the printed rows where there are any."""
    cells = benchmark_text.cells(result, measures, baselines)
    rows = {
        label: {measure: _shown(cells[label, measure]) for measure in measures}
        for label in benchmark_table.rankers_of(result)
    }
    parts = [pd.DataFrame(rows).T.to_string(justify="left")]
    parts.append(benchmark_text.note(result, measures, baselines, "paired t"))
    published = printed_for(result.facts)
    if published is not None:
        printed = {
            name: dict(zip(measures, row, strict=False)) for name, row in published.rows.items()
        }
        parts += ["", f"{SOURCE}, {published.collection}: {published.remark}"]
        parts.append(pd.DataFrame(printed).T.to_string())
    return "\n".join(parts)


def _shown(cell: benchmark_text.Cell) -> str:
    best = "*" if cell.best else ""
    return " ".join(filter(None, [cell.mean + best, cell.marks, cell.spread]))
