"""Cards, perturbations and worst cases in the report: picture, sentence, table."""

import html

import pandas as pd
import plotly.graph_objects as go

from app.figures import card as card_figure
from app.figures import perturbations as losses_figure
from app.figures import worst_case as worst_figure
from app.figures.style import on_paper
from core.metrics.measure import Measure
from core.studies import card, card_table, perturbations, perturbations_table, worst_case_table
from core.studies.registry import STUDIES
from core.studies.result import StudyResult
from core.studies.worst_case_finding import finding
from core.studies.worst_case_plan import KIND as WORST_CASE

KINDS = frozenset({card.KIND, perturbations.KIND, WORST_CASE})
"""The studies that this module draws."""


def section(result: StudyResult) -> str:
    """The report of one study, without its methods and its recipe."""
    kind, measure = str(result.recipe["kind"]), str(result.measures[0])
    drawn = {card.KIND: _cards, perturbations.KIND: _losses, WORST_CASE: _worst}[kind]
    convention = html.escape(Measure.parse(measure).convention())
    draws = f"{result.recipe['draws']} draws"
    return (
        f"<h2>{html.escape(STUDIES[kind].question)}</h2>{drawn(result, measure)}"
        f"<p class='said'>{convention}, N = {result.facts['queries']} queries, {draws}</p>"
    )


def _cards(result: StudyResult, measure: str) -> str:
    parts = []
    levels = result.trials.groupby("family", sort=False)["level"].last()
    for name, level in levels.items():
        family = str(name)
        frame = card_table.pareto(card_table.cards(result, family, measure))
        picture = card_figure.pareto(frame, measure, f"{family} {level:g}")
        parts.append(_figure(picture, card_figure.alt_text(frame, measure)))
        parts.append(_said(card_table.finding(frame, family, measure)))
        parts.append(_table(frame))
    return "".join(parts)


def _losses(result: StudyResult, measure: str) -> str:
    frame = perturbations_table.losses(result, measure)
    cells = perturbations_table.condensed(frame, "last")
    groups = perturbations_table.headed(cells["family"])
    rankers = list(dict.fromkeys(frame["ranker"]))
    said = perturbations_table.finding(frame, measure, rankers, "last")
    picture = losses_figure.losses(cells, groups, measure)
    return (
        f"{_figure(picture, losses_figure.alt_text(cells, measure))}{_said(said)}"
        f"<details><summary>Every level</summary>{_table(frame)}</details>"
    )


def _worst(result: StudyResult, measure: str) -> str:
    frame, unit = worst_case_table.table(result), str(result.recipe["search"]["unit"])
    picture = worst_figure.damages(frame, measure, unit)
    words = worst_figure.alt_text(frame, measure, unit)
    return f"{_figure(picture, words)}{_said(finding(frame, measure, unit))}{_table(frame)}"


def _figure(figure: go.Figure, words: str) -> str:
    picture = on_paper(figure).to_html(full_html=False, include_plotlyjs=False)
    said = html.escape(words)
    return (
        f"<figure role='img' aria-label='{said}'>{picture}<figcaption>{said}</figcaption></figure>"
    )


def _said(text: str) -> str:
    return f"<p><b>{html.escape(text)}</b></p>" if text else ""


def _table(frame: pd.DataFrame) -> str:
    return frame.to_html(
        index=False, border=0, na_rep="", float_format=lambda value: f"{value:.4g}"
    )
