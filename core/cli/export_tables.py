"""Writing a benchmark or an ablation as the table that it is, and a benchmark's runs in a zip."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from shuffleproof.core.cli.answer import records
from shuffleproof.core.cli.open import measures_of
from shuffleproof.core.data.csv_text import csv
from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.metrics.bundles import moved
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.benchmark import export_numbers as benchmark_numbers
from shuffleproof.core.studies.kinds.benchmark import measured as benchmark_measured
from shuffleproof.core.studies.kinds.benchmark import runs as benchmark_runs
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark import text as benchmark_text
from shuffleproof.core.studies.kinds.benchmark.table import LETTERS
from shuffleproof.core.studies.kinds.benchmark.text import DIGITS
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.result import StudyResult

FORMATS = frozenset({"latex", "markdown", "run", "csv", "parquet", "json"})
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


@dataclass(frozen=True)
class Marking:
    """How a benchmark's table is made of what is stored.

    Attributes:
        baselines: what its marks compare with; those that it lacks have no marks.
        measures: the columns, under any conventions that follow from what is stored; none:
            those that it was asked for.
        test: a name of `core.studies.kinds.ranking_degradation.significance.TESTS`.
        symbols: the marks.
        digits: decimals of LaTeX and Markdown.
        conventions: a name of BUNDLES, for the columns where `measures` has none.
    """

    baselines: Sequence[str] = (INITIAL,)
    measures: Sequence[str] = ()
    test: str = "paired t"
    symbols: str = LETTERS
    digits: int = DIGITS
    conventions: str | None = None


def marking(arguments: argparse.Namespace) -> Marking:
    """What the flags of `export` say of a benchmark's table."""
    return Marking(
        list(dict.fromkeys(parts_of(arguments.against))),
        measures_of(arguments) if arguments.measures else (),
        arguments.test,
        benchmark_table.SYMBOLS[arguments.marks],
        arguments.digits or DIGITS,
        arguments.conventions,
    )


def write(artefact: Artefact, chosen: str, store: Store, out: Path, how: Marking) -> None:
    """Write a study in one of FORMATS.

    Args:
        artefact: a benchmark or an ablation.
        chosen: one of FORMATS.
        store: where a benchmark's data is.
        out: the file.
        how: a benchmark's table is made.

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
        folds = benchmark_runs.made_on(artefact.facts, store)
        benchmark_runs.write(artefact.path, folds, out)
        return
    result = StudyResult.open(artefact.path)
    if artefact.recipe["kind"] == ablation.KIND:
        if how.measures or how.conventions:
            raise UsageError(
                f"an ablation's table has its own columns, under {ablation.MEASURE}: leave out "
                "--measures and --conventions"
            )
        written(ablation.table(result), chosen, out)
        return
    measures = list(how.measures) or [moved(text, how.conventions) for text in result.measures]
    result = benchmark_measured.with_measures(result, artefact.path, measures, store)
    rows = benchmark_table.rankers_of(result)
    baselines = [name for name in how.baselines if name != INITIAL or name in rows]
    if chosen in {"latex", "markdown"}:
        write_text = benchmark_text.latex if chosen == "latex" else benchmark_text.markdown
        text = write_text(result, measures, baselines, how.test, how.symbols, digits=how.digits)
        out.write_text(text, encoding="utf-8")
        return
    frame = benchmark_numbers.numbers(result, measures, baselines, how.test, how.symbols)
    written(frame, chosen, out)


def written(frame: pd.DataFrame, chosen: str, out: Path, digits: int = 4) -> None:
    """Write a frame as CSV, Parquet, JSON (a record a row), LaTeX or Markdown.

    Args:
        frame: what every format holds, whole.
        chosen: the format.
        out: the file.
        digits: decimals of LaTeX.
    """
    if chosen == "csv":
        out.write_text(csv(frame), encoding="utf-8")
    elif chosen == "parquet":
        frame.to_parquet(out, index=False)
    elif chosen == "json":
        out.write_text(json.dumps(records(frame), allow_nan=False), encoding="utf-8")
    elif chosen == "latex":
        out.write_text(frame.to_latex(index=False, float_format=f"%.{digits}f", escape=True))
    else:
        rows = [" | ".join(_cell(value) for value in row) for row in frame.itertuples(index=False)]
        lines = [" | ".join(map(str, frame.columns)), " | ".join("--" for _ in frame.columns)]
        out.write_text("\n".join(f"| {line} |" for line in [*lines, *rows]) + "\n")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    return str(value).replace("|", "\\|")
