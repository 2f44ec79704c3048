"""`study benchmark`: Table 2 on the terminal."""

import argparse
from pathlib import Path

import pandas as pd

from core.cli.answer import Answer, records
from core.cli.open import done, store_of, texts_of, workbench_of
from core.data.folds import folds_of
from core.data.published import SOURCE
from core.errors import UnknownNameError
from core.store.artefacts import Store
from core.studies import benchmark, benchmark_table, benchmark_text
from core.studies.benchmark_printed import printed_for
from core.studies.result import StudyResult, stored_summary


def study(arguments: argparse.Namespace) -> Answer:
    """`study benchmark`: every ranker on the same lists, over seeds and folds."""
    store = store_of(arguments)
    folds = folds_of(arguments.data, store)
    benches = []
    for fold in folds:
        of_fold = argparse.Namespace(**(vars(arguments) | {"data": fold}))
        benches.append(workbench_of(of_fold))
    measures = texts_of(arguments.measures)
    plan = benchmark.planned(benches, arguments.rankers.split(","), measures, arguments.seeds)
    baselines = arguments.against.split(",")
    labels = [row.label for row in plan.rows]
    for baseline in baselines:
        if baseline not in labels:
            raise UnknownNameError("row of the table", baseline, labels)
    artefact = done("benchmark", benchmark.run(benches, plan, called(arguments.data, store)))
    result = StudyResult.open(artefact.path)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(benchmark_table.means(result, plan.measures)),
    }
    return Answer(answer, text(result, plan.measures, baselines) + f"\nstored as {artefact.key}")


def called(data: str, store: Store) -> str:
    """What the data is called in the result: its name, or the last part of a path."""
    path = Path(data)
    return path.name if data not in store.names() and path.is_dir() else data


def text(result: StudyResult, measures: tuple[str, ...], baselines: list[str]) -> str:
    """The table for the terminal, what its marks mean, and the printed rows where there are any."""
    cells = benchmark_text.cells(result, measures, baselines)
    rows = {
        label: {measure: _shown(cells[label, measure]) for measure in measures}
        for label in benchmark_table.rankers_of(result)
    }
    parts = [pd.DataFrame(rows).T.to_string(justify="left")]
    parts.append(benchmark_text.note(result, measures, baselines, "paired t"))
    parts.append("* no ranker is better; rows without ± have one run")
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
