"""Cards, perturbations and worst cases in the report: picture, sentence, table."""

import html

from shuffleproof.app import report_parts
from shuffleproof.app.figures import card as card_figure
from shuffleproof.app.figures import perturbations as losses_figure
from shuffleproof.app.figures import worst_case as worst_figure
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.card import study as card
from shuffleproof.core.studies.kinds.card import table as card_table
from shuffleproof.core.studies.kinds.perturbations import notes as perturbations_notes
from shuffleproof.core.studies.kinds.perturbations import study as perturbations
from shuffleproof.core.studies.kinds.perturbations import table as perturbations_table
from shuffleproof.core.studies.kinds.worst_case import table as worst_case_table
from shuffleproof.core.studies.kinds.worst_case.finding import finding
from shuffleproof.core.studies.kinds.worst_case.plan import KIND as WORST_CASE
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult

KINDS = frozenset({card.KIND, perturbations.KIND, WORST_CASE})
"""The studies that this module draws."""


def section(result: StudyResult) -> str:
    """The report of one study, without its methods and its recipe."""
    kind, measure = str(result.recipe["kind"]), str(result.measures[0])
    drawn = {card.KIND: _cards, perturbations.KIND: _losses, WORST_CASE: _worst}[kind]
    convention = html.escape(Measure.parse(measure).convention())
    count, queries = result.recipe["draws"], result.facts["queries"]
    draws = f"{count} draw{'' if count == 1 else 's'}"
    of = f"N = {queries} {'query' if queries == 1 else 'queries'}"
    return (
        f"<h2>{html.escape(STUDIES[kind].title)}</h2>{drawn(result, measure)}"
        f"<p class='said'>{convention} · {of} · {draws}</p>"
    )


def _cards(result: StudyResult, measure: str) -> str:
    parts = []
    levels = result.trials.groupby("family", sort=False)["level"].last()
    for name, level in levels.items():
        family = str(name)
        frame = card_table.pareto(card_table.cards(result, family, measure))
        picture = card_figure.pareto(frame, measure, f"{family} {level:g}")
        parts.append(report_parts.figure(picture, card_figure.alt_text(frame, measure)))
        parts.append(report_parts.finding(card_table.finding(frame, family, measure)))
        parts.append(report_parts.table(frame))
    return "".join(parts)


def _losses(result: StudyResult, measure: str) -> str:
    frame = perturbations_table.losses(result, measure)
    cells = perturbations_table.condensed(frame, "last")
    groups = perturbations_table.headed(cells["family"])
    rankers = list(dict.fromkeys(frame["ranker"]))
    said = perturbations_table.finding(frame, measure, rankers, "last")
    picture = losses_figure.losses(cells, groups, measure)
    words = losses_figure.alt_text(cells, measure)
    return (
        report_parts.figure(picture, words)
        + report_parts.finding(said)
        + report_parts.said(perturbations_notes.left_out(result.facts, set(cells["family"])))
        + report_parts.folded("Every level", report_parts.table(frame))
    )


def _worst(result: StudyResult, measure: str) -> str:
    frame, unit = worst_case_table.table(result), str(result.recipe["search"]["unit"])
    picture = worst_figure.damages(frame, measure, unit)
    words = worst_figure.alt_text(frame, measure, unit)
    return (
        report_parts.figure(picture, words)
        + report_parts.finding(finding(frame, measure, unit))
        + report_parts.table(frame)
    )
