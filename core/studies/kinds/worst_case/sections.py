"""A search for the worst case, told: random mean against worst found."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.worst_case import table as worst_case_table
from shuffleproof.core.studies.kinds.worst_case.finding import finding
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import counted


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame, measure = worst_case_table.table(result), str(result.measures[0])
    recipe = result.recipe
    unit = str(recipe["search"]["unit"])
    yield Picture("worst case", (frame, measure, unit))
    yield Finding(finding(frame, measure, unit))
    convention = (
        Measure.parse(measure).convention(),
        f"N = {counted(result.facts['queries'], 'query')}",
        f"{counted(recipe['draws'], 'random order')} a budget",
        f"{unit} of the {recipe['target']}",
    )
    yield Convention(" · ".join(convention))
    yield worst_case_table.told(frame, unit)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    return {
        "table": records(worst_case_table.table(result)),
        "certificates": result.facts["certificates"],
        "convention": Measure.parse(result.measures[0]).convention(),
    }
