"""Writing a benchmark or an ablation as the table that it is, and a benchmark's runs in a zip."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from core.errors import ArtefactError, UsageError
from core.store.artefacts import Store
from core.store.manifest import Artefact
from core.studies import ablation, benchmark, benchmark_runs, benchmark_table, benchmark_text
from core.studies.result import StudyResult

FORMATS = frozenset({"latex", "markdown", "run", "csv", "parquet"})
"""What such a study has a form of its own for."""


def table_of(what: str, store: Store) -> Artefact | None:
    """The stored benchmark or ablation that a key names; None where it names something else."""
    try:
        found = store.resolve(what, "study")
    except ArtefactError:
        return None
    return found if found.recipe["kind"] in {benchmark.KIND, ablation.KIND} else None


def write(
    artefact: Artefact, chosen: str, store: Store, out: Path, baselines: Sequence[str]
) -> None:
    """Write a study in one of FORMATS.

    Args:
        artefact: a benchmark or an ablation.
        chosen: one of FORMATS.
        store: where a benchmark's data is.
        out: the file.
        baselines: what a benchmark's marks compare with.

    Raises:
        UsageError: runs of an ablation, or runs into another file than a zip.
        UnknownNameError: a baseline that is no row.
        DataError: runs are wanted and the data is not stored any more.
    """
    if chosen == "run":
        if artefact.recipe["kind"] != benchmark.KIND or out.suffix != ".zip":
            raise UsageError("a benchmark has many runs: give a file that ends in .zip")
        folds = benchmark_runs.made_on(artefact.facts, store)
        benchmark_runs.write(artefact.path, folds, out)
        return
    result = StudyResult.open(artefact.path)
    if artefact.recipe["kind"] == benchmark.KIND and chosen in {"latex", "markdown"}:
        text = benchmark_text.latex if chosen == "latex" else benchmark_text.markdown
        out.write_text(text(result, result.measures, list(baselines)), encoding="utf-8")
        return
    if artefact.recipe["kind"] == benchmark.KIND:
        frame = numbers(result, baselines)
    else:
        frame = ablation.table(result)
    _written(frame, chosen, out)


def numbers(result: StudyResult, baselines: Sequence[str]) -> pd.DataFrame:
    """A benchmark in long form: means, spread, runs, n, marks, and the test against the first."""
    measures = list(result.measures)
    table = benchmark_table.means(result, measures)
    marked = benchmark_table.marks(result, measures, list(baselines))
    table = table.merge(marked, how="left", on=["ranker", "measure"])
    tests = [
        benchmark_table.compared(result, measure, baselines[0]).assign(measure=measure)
        for measure in measures
    ]
    against = pd.concat(tests, ignore_index=True).drop(columns=["group", "n"])
    against.insert(0, "against", baselines[0])
    return table.merge(against, how="left", on=["ranker", "measure"])


def _written(frame: pd.DataFrame, chosen: str, out: Path) -> None:
    if chosen == "csv":
        frame.to_csv(out, index=False)
    elif chosen == "parquet":
        frame.to_parquet(out, index=False)
    elif chosen == "latex":
        out.write_text(frame.to_latex(index=False, float_format="%.4f", escape=True))
    else:
        rows = [" | ".join(_cell(value) for value in row) for row in frame.itertuples(index=False)]
        lines = [" | ".join(map(str, frame.columns)), " | ".join("--" for _ in frame.columns)]
        out.write_text("\n".join(f"| {line} |" for line in [*lines, *rows]) + "\n")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.4g}"
    return str(value).replace("|", "\\|")
