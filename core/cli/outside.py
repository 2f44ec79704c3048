"""The commands about rankers from outside: bring a file, compare runs."""

import argparse

from core.cli.answer import Answer, records
from core.cli.open import done, store_of, texts_of
from core.data.catalogue import resolve
from core.studies import benchmark_table, benchmark_text, outside_runs
from core.studies.brought import bring as brought


def bring(arguments: argparse.Namespace) -> Answer:
    """`bring`: a file of scores or a model file becomes a ranker of a data set."""
    store = store_of(arguments)
    fold = resolve(arguments.data, store)
    artefact = done("bring", brought(arguments.kind, arguments.path, fold, store))
    return Answer(
        {
            "ranker": f"{arguments.kind}#{artefact.key.digest[:12]}",
            "artefact": str(artefact.key),
            "valid": dict(artefact.facts["valid"]),
        }
    )


def runs(arguments: argparse.Namespace) -> Answer:
    """`runs`: any number of TREC runs, judged and compared like trained rankers."""
    measures = texts_of(arguments.measures)
    result = outside_runs.compared(arguments.qrels, arguments.run, measures)
    artefact = outside_runs.keep(result, store_of(arguments))
    baselines = arguments.against.split(",") if arguments.against else []
    table = benchmark_text.markdown(result, result.measures, baselines)
    answer = {
        "result": str(artefact.key),
        "table": records(benchmark_table.means(result, result.measures)),
        "missing": result.facts["missing"],
        "unjudged": result.facts["unjudged"],
    }
    said = "".join(f"{sentence}\n" for sentence in outside_runs.uncovered(result.facts))
    return Answer(answer, f"{table}\n{said}stored as {artefact.key}")
