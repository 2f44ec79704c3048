"""The commands about rankers from outside: files, runs, recorded answers of rerankers."""

import argparse

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.studies import export_lines
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.errors import UsageError
from shuffleproof.core.library.import_ranker import bring as import_work
from shuffleproof.core.parameters import OLD, parts_of
from shuffleproof.core.rankers.name import SCORES
from shuffleproof.core.rerank import reading
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.benchmark import outside_runs, sections
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.user_names import row_name
from shuffleproof.core.words import counted


def bring(arguments: argparse.Namespace) -> Answer:
    """`bring`: a file of scores or a model file becomes a ranker of a data set."""
    store = store_of(arguments)
    fold = resolve(arguments.data, store)
    rule = arguments.columns
    work = import_work(arguments.kind, arguments.path, fold, store, columns=rule)
    artefact = run_shown("bring", work)
    answer = {
        "ranker": f"{arguments.kind}#{artefact.key.digest[:12]}",
        "artefact": str(artefact.key),
        "valid": dict(artefact.facts["valid"]),
        "columns": artefact.recipe["ranker"].get("columns"),
        "said": list(artefact.facts.get("columns", ())),
    }
    command = "study benchmark --rankers mart," if arguments.kind == SCORES else "certify "
    following = f"shuffleproof {command}{answer['ranker']} --data {arguments.data}"
    return Answer(answer, f"{table(answer)}\n\nNext: {following}")


def runs(arguments: argparse.Namespace) -> Answer:
    """`runs`: any number of TREC runs, judged and compared like trained rankers."""
    measures = parts_of(arguments.measures, OLD)
    bundle = arguments.conventions
    result = outside_runs.compare_runs(arguments.qrels, arguments.run, measures, bundle)
    artefact = outside_runs.keep(result, store_of(arguments))
    rows = benchmark_table.rankers_of(result)
    names = parts_of(arguments.against or "")
    baselines = list(dict.fromkeys(row_name(name, rows) for name in names))
    view = View(result.measures, arguments.digits, baselines)
    warnings = [outside_runs.conventions_in_words(bundle), *outside_runs.warnings(result.facts)]
    answer = {
        "result": str(artefact.key),
        **sections.answer(result, view),
        "missing": result.facts["missing"],
        "unjudged": result.facts["unjudged"],
        "tied": result.facts["tied"],
    }
    del answer["failed"]
    answer["said"] += warnings
    shown = sections.table(result, view)
    text = [table_text.terminal(shown), *warnings, *export_lines(artefact, arguments)]
    return Answer(answer, "\n".join([*text, f"stored as {artefact.key}"]))


def ingest_reranks(arguments: argparse.Namespace) -> Answer:
    """`ingest-reranks`: read files, store their calls, and print the groups that were guessed."""
    given = dict(part.partition("=")[::2] for part in parts_of(arguments.groups or ""))
    if not all(given.values()):
        raise UsageError("--groups: write FIELD=VALUE, as in reranker=my-model")
    artefact = reading.ingest(
        arguments.path, arguments.name, store_of(arguments), arguments.qrels, given
    )
    facts = dict(artefact.facts)
    sizes = {"lists": "list", "windows": "window", "queries": "query"}
    answer = {"name": arguments.name, "key": str(artefact.key), **facts}
    counts = ", ".join(counted(facts[name], one) for name, one in sizes.items())
    lines = [
        table(facts["groups"]),
        f"{arguments.name}: {counts}. {' '.join(facts['notes'])}".rstrip(),
    ]
    lines.append(f"Next: shuffleproof study rerankers --data {arguments.name}")
    return Answer(answer, "\n".join(lines))
