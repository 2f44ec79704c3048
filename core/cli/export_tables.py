"""Writing a benchmark or an ablation as the table that it is, and a benchmark's runs in a zip."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from shuffleproof.core.cli.open import measures_of
from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.metrics.bundles import moved
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import table_text
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.benchmark import retrieved, sections
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import View
from shuffleproof.core.studies.tables import DIGITS, Table

ENDINGS = {"latex": "tex", "markdown": "md", "csv": "csv", "parquet": "parquet", "json": "json"}
"""How the files of a table's formats end."""

FORMATS = frozenset({*ENDINGS, "run"})
"""What such a study has a form of its own for."""


def table_of(what: str, store: Store) -> Artefact | None:
    """The stored benchmark or ablation that a key names; None where it names something else."""
    try:
        found = store.resolve(what, "study")
    except ArtefactError:
        return None
    return found if found.recipe["kind"] in {benchmark.KIND, ablation.KIND} else None


def is_benchmark(what: str, store: Store) -> bool:
    """Whether a key names a stored benchmark."""
    found = table_of(what, store)
    return found is not None and found.recipe["kind"] == benchmark.KIND


def view_of(arguments: argparse.Namespace, study: Artefact) -> View:
    """What the flags of `export` say of a study's tables."""
    measures: Sequence[str] = ()
    if arguments.measures:
        measures = measures_of(arguments)
    elif arguments.conventions:
        measures = [moved(text, arguments.conventions) for text in study.recipe["measures"]]
    return View(
        measures,
        arguments.digits or DIGITS,
        list(dict.fromkeys(parts_of(arguments.against))),
        arguments.test,
        benchmark_table.SYMBOLS[arguments.marks],
    )


def write(artefact: Artefact, chosen: str, store: Store, out: Path, view: View) -> None:
    """Write a study in one of FORMATS.

    Args:
        artefact: a benchmark or an ablation.
        chosen: one of FORMATS.
        store: where a benchmark's data is.
        out: the file.
        view: how its table is to be shown.

    Raises:
        UsageError: runs of an ablation, or runs into another file than a zip.
        UnknownNameError: a baseline that is no row.
        DataError: runs are wanted and the data is not stored any more.
    """
    if chosen == "run":
        if artefact.recipe["kind"] != benchmark.KIND or out.suffix != ".zip":
            raise UsageError("a benchmark has many runs: give a file that ends in .zip")
        if "runs" in artefact.recipe:
            raise UsageError(
                "these runs came from files: use those, nothing of them is written again"
            )
        folds = retrieved.made_on(artefact.facts, store)
        retrieved.write(artefact.path, folds, out)
        return
    result = StudyResult.open(artefact.path)
    if artefact.recipe["kind"] == ablation.KIND:
        if view.measures:
            raise UsageError(
                f"an ablation's table has its own columns, under {ablation.MEASURE}: leave out "
                "--measures and --conventions"
            )
        table = Table(ablation.table(result), ablation.COLUMNS, str(artefact.key))
        written(table, chosen, out, view.digits)
        return
    measures = list(view.measures or result.measures)
    result = benchmark_table.with_measures(result, artefact.path, measures, store)
    rows = benchmark_table.rankers_of(result)
    baselines = [name for name in view.baselines or () if name != INITIAL or name in rows]
    how = (measures, baselines, view.test, view.symbols)
    if ENDINGS[chosen] in table_text.EXACT:
        frame = benchmark_table.numbers(result, *how)
        out.write_bytes(table_text.exact(frame, ENDINGS[chosen]))
        return
    written(sections.table(result, *how, digits=view.digits), chosen, out, view.digits)


def written(table: Table, chosen: str, out: Path, digits: int = DIGITS) -> None:
    """Write a table: CSV, Parquet and JSON exact, LaTeX and Markdown for people."""
    out.write_bytes(table_text.written(table, ENDINGS[chosen], digits))
