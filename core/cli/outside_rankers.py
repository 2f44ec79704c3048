"""The commands about rankers from outside: files, runs, recorded answers of rerankers."""

import argparse
from typing import Any

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import run_shown, store_of
from shuffleproof.core.cli.studies import export_lines
from shuffleproof.core.data.catalogue import resolve
from shuffleproof.core.data.document_tables import is_table
from shuffleproof.core.data.frames import columns_named
from shuffleproof.core.errors import UsageError, no_file
from shuffleproof.core.library.import_ranker import bring as import_work
from shuffleproof.core.metrics.bundles import under
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.parameters import OLD, parts_of
from shuffleproof.core.rankers.name import SCORES
from shuffleproof.core.rerank import reading
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.benchmark import judged_table, outside_runs, sections
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.user_names import row_name
from shuffleproof.core.words import counted, number


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
    if arguments.qrels is None:
        return _table(arguments)
    if arguments.columns or arguments.scores:
        raise UsageError(
            "--columns and --scores: leave them out; a table of judged rows takes no --qrels"
        )
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


def _table(arguments: argparse.Namespace) -> Answer:
    """`runs` of a table of judged rows, which has a column of scores for every ranker."""
    if missing := [path for path in arguments.run if not path.exists()]:
        raise no_file(missing[0])
    if len(arguments.run) != 1 or not is_table(arguments.run[0], str(arguments.run[0])):
        raise UsageError("--qrels: name the judgments of the runs, or one table of judged rows")
    named = [under(text, arguments.conventions) for text in parts_of(arguments.measures, OLD)]
    measures = [Measure.parse(text) for text in named]
    without_ids = [one.under(ties="averaged") if one.ties == "trec" else one for one in measures]
    columns, scores = columns_named(arguments.columns or ""), parts_of(arguments.scores or "")
    judged = judged_table.measure_table(arguments.run[0], without_ids, columns, scores)
    means = judged.means()
    against = parts_of(arguments.against or "") or list(judged.systems[:1])
    differences = [row for name in against for row in judged.differences(name)]
    queries = judged.values.shape[2]
    sizes = f"{counted(judged.rows, 'row')}, {counted(queries, 'query')}."
    intervals = "95 % intervals: Student's; those of differences agree with Holm's p."
    said = [f"{sizes} {intervals}", *(one.convention() for one in without_ids[:1])]
    answer = {"rows": means, "differences": differences, "said": said}
    tables = [[_shown(row, arguments.digits) for row in rows] for rows in (means, differences)]
    return Answer(answer, "\n\n".join([*map(table, filter(None, tables)), *said]))


def _shown(row: dict[str, Any], digits: int) -> dict[str, Any]:
    """A row with its numbers as texts, p as elsewhere."""
    decimals = {name: value for name, value in row.items() if isinstance(value, float)}
    texts = {name: number(value, f".{digits}f") for name, value in decimals.items() if name != "p"}
    return {**row, **texts}


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
