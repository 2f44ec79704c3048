"""The command that writes stored things to files: results, runs, judgments, data."""

import argparse
from pathlib import Path

from shuffleproof.core.cli import export_data, export_tables
from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.cli.open import done, store_of, workbench_of
from shuffleproof.core.cli.work import report
from shuffleproof.core.data import trec
from shuffleproof.core.data.table_write import WRITERS
from shuffleproof.core.errors import UsageError
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.result import SUMMARY, StudyResult
from shuffleproof.core.studies.tables import inferred

ENDINGS = {
    ".run": "run", ".qrels": "qrels", ".txt": "letor", ".gz": "letor", "": "letor", ".csv": "csv",
    ".parquet": "parquet", ".tex": "latex", ".md": "markdown", ".zip": "run", ".html": "html",
    ".json": "json",
}  # fmt: skip


def export(arguments: argparse.Namespace) -> Answer:
    """`export`: a study's numbers, a ranker's run, a data set's judgments or LETOR text."""
    chosen = arguments.format or ENDINGS.get(arguments.out.suffix)
    if chosen is None:
        raise UsageError(f"the ending {arguments.out.suffix!r} names no format; add --format")
    told, store = {}, store_of(arguments)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if chosen in {"qrels", "letor"} and export_tables.is_benchmark(arguments.what, store):
        raise UsageError("runs and qrels of a benchmark come together: give a file ending in .zip")
    if chosen in {"qrels", "letor"} or (
        chosen in WRITERS and export_data.is_data(arguments.what, store)
    ):
        _no_measures(arguments, "data has labels and no measures")
        told = {"part": export_data.write(arguments, chosen)}
    elif chosen in export_tables.FORMATS and (
        table := export_tables.table_of(arguments.what, store)
    ):
        view = export_tables.view_of(arguments, table)
        export_tables.write(table, chosen, store, arguments.out, view)
    elif arguments.out.suffix == ".zip":
        raise UsageError(
            "zips are written of benchmarks: give a file that ends in .csv, .parquet, .json, .tex, "
            ".md or .html"
        )
    elif chosen == "run":
        _no_measures(arguments, "a run has scores and no measures")
        told = {"part": _run(arguments)}
    else:
        _study(store.resolve(arguments.what, "study"), chosen, arguments)
    return Answer({"out": str(arguments.out), "bytes": _size(arguments.out), **told})


def _size(out: Path) -> int:
    written = [out / name for name in export_data.FILES.values()] if out.is_dir() else [out]
    return sum(path.stat().st_size for path in written)


def _run(arguments: argparse.Namespace) -> str:
    part = str(arguments.part or "test")
    if part == export_data.ALL:
        raise UsageError("a run is of one part: --part train, valid or test")
    bench = workbench_of(arguments)
    name = RankerName.of(arguments.what)
    if name.parts or name.digits or name.feature is not None or name.base in registry.RANKERS:
        ranker = done(arguments.what, bench.trained(arguments.what)).ranker
    else:
        ranker = registry.load(store_of(arguments).resolve(arguments.what, "ranker").path)
    judged = getattr(bench.prepared, part)
    scores = ranker.score(judged.dataset, judged.lists)
    trec.write_run(arguments.out, judged.dataset, judged.lists, scores, tag=ranker.name)
    return part


def _study(artefact: Artefact, chosen: str, arguments: argparse.Namespace) -> None:
    """Write a study's numbers, or its report; under other measures where the flags name any."""
    if chosen == "html":
        _no_measures(arguments, "a report is drawn of the study's own measures")
        report([artefact], arguments.out)
        return
    view = export_tables.view_of(arguments, artefact)
    summary = StudyResult.open(artefact.path).summarised(view.measures)
    table = inferred(summary, str(artefact.key), SUMMARY)
    export_tables.written(table, chosen, arguments.out, view.digits)


def _no_measures(arguments: argparse.Namespace, why: str) -> None:
    """Refuse flags that what is written has no use for.

    Raises:
        UsageError: --measures or --conventions was given.
    """
    if arguments.measures or arguments.conventions:
        raise UsageError(f"{why}: leave out --measures and --conventions")
