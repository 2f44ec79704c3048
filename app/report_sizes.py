"""Studies of set size and of several initial rankings in the report: picture, sentences, table."""

import html

import pandas as pd
import plotly.graph_objects as go

from app.figures import initial_rankings as conditions_figure
from app.figures import set_size as sizes_figure
from app.figures import set_size_map
from app.figures.style import on_paper
from core.metrics.measure import Measure
from core.studies import initial_rankings, initial_rankings_table, set_size, set_size_table
from core.studies.initial_ranking import INITIAL
from core.studies.registry import STUDIES
from core.studies.result import StudyResult
from core.studies.set_size import ANY, CEILING

KINDS = frozenset({set_size.KIND, initial_rankings.KIND})
"""The studies that this module draws."""


def section(result: StudyResult) -> str:
    """The report of one study, without its methods and its recipe."""
    kind, measure = result.recipe["kind"], str(result.measures[0])
    drawn = _sizes(result, measure) if kind == set_size.KIND else _rankings(result, measure)
    convention = html.escape(Measure.parse(measure).convention())
    return (
        f"<h2>{html.escape(STUDIES[kind].question)}</h2>{drawn}<p class='said'>{convention}, "
        f"N = {result.facts['queries']} queries, 95 % intervals over queries</p>"
    )


def _sizes(result: StudyResult, measure: str) -> str:
    frame = set_size_table.curves(result, measure)
    sizes: list[int | None] = [*sorted({int(text) for text in frame["trained_on"] if text != ANY})]
    parts = []
    for home in sizes or [None]:
        own = frame[frame["trained_on"].isin((ANY, str(home)))]
        picture = sizes_figure.curves(own, measure, home)
        parts.append(_figure(picture, sizes_figure.alt_text(own, measure)))
    said = set_size_table.sentences(result, measure)
    parts += [_said(said.losses), _said(said.candidates), _said(said.verdict)]
    short = [f"{count} lists are shorter than {size}" for size, count in
             result.facts["shorter"].items() if count]  # fmt: skip
    parts.append(_said("; ".join([*short, *result.facts["left_out"]])))
    rankers = frame[~frame["ranker"].isin((CEILING, INITIAL))]
    for shown in ("quality", "shift", "order", "scores") if len(rankers) else ():
        words = set_size_map.alt_text(rankers, shown, measure)
        parts.append(_figure(set_size_map.sizes(rankers, shown), words))
    return f"{''.join(parts)}<details><summary>Every number</summary>{_table(frame)}</details>"


def _rankings(result: StudyResult, measure: str) -> str:
    frame = initial_rankings_table.table(result, measure)
    words = conditions_figure.alt_text(frame, measure)
    said = initial_rankings_table.sentences(result, measure)
    return (
        f"{_figure(conditions_figure.conditions(frame, measure), words)}"
        f"{_said(said.rankers)}{_said(said.verdict)}"
        f"<details><summary>Is it more than chance?</summary>{_table(frame)}</details>"
    )


def _said(text: str) -> str:
    return f"<p>{html.escape(text)}</p>" if text else ""


def _figure(figure: go.Figure, words: str) -> str:
    picture = on_paper(figure).to_html(full_html=False, include_plotlyjs=False)
    said = html.escape(words)
    return (
        f"<figure role='img' aria-label='{said}'>{picture}<figcaption>{said}</figcaption></figure>"
    )


def _table(frame: pd.DataFrame) -> str:
    return frame.to_html(
        index=False, border=0, na_rep="", float_format=lambda value: f"{value:.4g}"
    )
