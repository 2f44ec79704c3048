"""Studies of set size and of several initial rankings in the report: picture, sentences, table."""

import html

from shuffleproof.app import report_parts
from shuffleproof.app.figures import initial_rankings as conditions_figure
from shuffleproof.app.figures import set_size as sizes_figure
from shuffleproof.app.figures import set_size_map
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.multi_ranking import study as initial_rankings
from shuffleproof.core.studies.kinds.multi_ranking import table as initial_rankings_table
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.kinds.set_size import study as set_size
from shuffleproof.core.studies.kinds.set_size import table as set_size_table
from shuffleproof.core.studies.kinds.set_size.study import ANY, CEILING
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted

KINDS = frozenset({set_size.KIND, initial_rankings.KIND})
"""The studies that this module draws."""


def section(result: StudyResult) -> str:
    """The report of one study, without its methods and its recipe."""
    kind, measure = result.recipe["kind"], str(result.measures[0])
    drawn = _sizes(result, measure) if kind == set_size.KIND else _rankings(result, measure)
    convention = html.escape(Measure.parse(measure).convention())
    return (
        f"<h2>{html.escape(STUDIES[kind].title)}</h2>{drawn}<p class='said'>{convention}, "
        f"N = {counted(result.facts['queries'], 'query')}, 95 % intervals over queries</p>"
    )


def _sizes(result: StudyResult, measure: str) -> str:
    frame = set_size_table.curves(result, measure)
    sizes: list[int | None] = [*sorted({int(text) for text in frame["trained_on"] if text != ANY})]
    parts = []
    for home in sizes or [None]:
        own = frame[frame["trained_on"].isin((ANY, str(home)))]
        picture = sizes_figure.curves(own, measure, home)
        parts.append(report_parts.figure(picture, sizes_figure.alt_text(own, measure)))
    said = set_size_table.sentences(result, measure)
    parts += [
        report_parts.said(said.losses),
        report_parts.said(said.candidates),
        report_parts.said(said.verdict),
    ]
    short = set_size_table.shorter(result.facts)
    parts.append(report_parts.said("; ".join(filter(None, [short, *result.facts["left_out"]]))))
    rankers = frame[~frame["ranker"].isin((CEILING, INITIAL))]
    for shown in ("quality", "shift", "order", "scores") if len(rankers) else ():
        words = set_size_map.alt_text(rankers, shown, measure)
        parts.append(report_parts.figure(set_size_map.sizes(rankers, shown), words))
    return "".join(parts) + report_parts.folded("Every number", report_parts.table(frame))


def _rankings(result: StudyResult, measure: str) -> str:
    frame = initial_rankings_table.table(result, measure)
    words = conditions_figure.alt_text(frame, measure)
    said = initial_rankings_table.sentences(result, measure)
    return (
        f"{report_parts.figure(conditions_figure.conditions(frame, measure), words)}"
        f"{report_parts.said(said.rankers)}{report_parts.said(said.verdict)}"
        f"<details><summary>Is it more than chance?</summary>{report_parts.table(frame)}</details>"
    )
