"""Writing a benchmark as it is printed: LaTeX, Markdown, or its runs and judgments in a zip."""

from pathlib import Path

from core.errors import ArtefactError
from core.store.artefacts import Store
from core.store.manifest import Artefact
from core.studies import benchmark, benchmark_runs, benchmark_text
from core.studies.initial_ranking import INITIAL
from core.studies.result import StudyResult

FORMATS = frozenset({"latex", "markdown", "run"})
"""What a benchmark has a form of its own for."""


def benchmark_of(what: str, store: Store) -> Artefact | None:
    """The stored benchmark that a key names; None where it names something else."""
    try:
        found = store.resolve(what, "study")
    except ArtefactError:
        return None
    return found if found.recipe["kind"] == benchmark.KIND else None


def write(artefact: Artefact, chosen: str, store: Store, out: Path) -> None:
    """Write a benchmark in one of FORMATS; letters compare with the initial ranking.

    Raises:
        DataError: runs are wanted and the data is not stored any more.
    """
    if chosen == "run":
        folds = benchmark_runs.made_on(artefact.facts, store)
        benchmark_runs.write(artefact.path, folds, out)
        return
    result = StudyResult.open(artefact.path)
    text = benchmark_text.latex if chosen == "latex" else benchmark_text.markdown
    out.write_text(text(result, result.measures, [INITIAL]), encoding="utf-8")
