"""An ablation, told: what each difference does to quality, to robustness and to cost."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.finding import finding
from shuffleproof.core.studies.kinds.ablation.steps import step_of
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = ablation.table(result)
    if len(frame) > 1:
        for effect in ("quality", "robustness"):
            yield Picture("ablation", (frame, effect, ablation.MEASURE, step_of))
    yield Finding(finding(result))
    level = max(level for _, level in result.recipe["perturbations"])
    convention = (
        Measure.parse(ablation.MEASURE).convention(),
        f"N = {counted(result.facts['queries'], 'query')}",
        f"lost: by {counted(int(level), 'transposition')} of the initial ranking",
        "paired t, Holm over the variants",
    )
    yield Convention(" · ".join(convention))
    table = Table(frame, ablation.COLUMNS, f"Variants of {result.facts['ranker']}")
    yield table.without("source")
    sources = [column for column in ablation.COLUMNS if column.key in {"variant", "source"}]
    frame = frame[["variant", "source"]]
    yield Table(frame, sources, "Where each difference comes from", folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "table": records(ablation.table(result)),
        "convention": Measure.parse(ablation.MEASURE).convention(),
        "queries": result.facts["queries"],
    }
