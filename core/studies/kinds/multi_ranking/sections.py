"""A study of several initial rankings, told: conditions, what hurts most, the claim."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.multi_ranking import table as multi_ranking_table
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import Convention, Finding, Picture, Section, View
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    measure = next(iter(view.measures), str(result.measures[0]))
    frame = multi_ranking_table.table(result, measure)
    yield Picture("conditions", (frame, measure))
    found = multi_ranking_table.sentences(result, measure)
    yield Finding(found.rankers)
    yield Finding(found.verdict)
    queries = counted(result.facts["queries"], "query")
    convention = Measure.parse(measure).convention()
    yield Convention(f"{convention} · N = {queries} · 95 % intervals over queries")
    title = f"{measure} of every ranker under every condition"
    yield Table(frame, multi_ranking_table.COLUMNS, title)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    measure = str(result.measures[0])
    verdict = multi_ranking_table.claim(result, measure)
    return {
        "table": records(multi_ranking_table.table(result, measure)),
        "claim": None if verdict is None else asdict(verdict),
        "finding": multi_ranking_table.finding(result, measure),
        "convention": Measure.parse(measure).convention(),
    }
