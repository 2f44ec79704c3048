"""Benchmarks and ablations in the report: the picture, its sentence, the table."""

import html
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from app.figures import ablation as ablation_figure
from app.figures import benchmark as benchmark_figure
from app.figures import benchmark_ranks as ranks_figure
from app.figures.style import on_paper
from core.data.published import CONVENTION, SOURCE
from core.studies import (
    ablation,
    ablation_finding,
    benchmark,
    benchmark_finding,
    benchmark_printed,
    benchmark_ranks,
    benchmark_table,
    benchmark_text,
)
from core.studies.command_tables import ablation_python, benchmark_python
from core.studies.initial_ranking import INITIAL
from core.studies.registry import STUDIES
from core.studies.result import StudyResult

KINDS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], str]] = {
    benchmark.KIND: benchmark_python,
    ablation.KIND: ablation_python,
}
"""The studies that this module draws, and what writes each as Python."""

TEST = "paired t"


def section(result: StudyResult) -> str:
    """The report of one benchmark or ablation, without its recipe."""
    head = f"<h2>{html.escape(STUDIES[result.recipe['kind']].question)}</h2>"
    return head + (_ablation if result.recipe["kind"] == ablation.KIND else _benchmark)(result)


def _benchmark(result: StudyResult) -> str:
    measures, measure = result.measures, result.measures[-1]
    frame = benchmark_table.compared(result, measure, INITIAL)
    drawn = frame[~frame["ranker"].isin(("ideal", "random"))]
    words = benchmark_figure.alt_text(drawn, INITIAL, measure)
    note = html.escape(benchmark_text.note(result, measures, [INITIAL], TEST))
    parts = [
        _figure(benchmark_figure.differences(drawn, INITIAL, measure), words),
        f"<p><b>{html.escape(benchmark_finding.finding(result, measure))}</b></p>",
        _printed_table(result, measures),
        f"<p class='said'>{note}</p>",
        "<details><summary>Is it more than chance?</summary>",
        f"{_table(frame.drop(columns=['group']))}</details>",
    ]
    if len(drawn) > 1:
        found = benchmark_ranks.critical_difference(result, measure)
        places = [(str(name), float(place)) for name, place in found.ranks.items()]
        picture = ranks_figure.ranks(places, found.cliques, found.difference)
        parts.append(_figure(picture, ranks_figure.alt_text(places, found.cliques)))
    printed = benchmark_printed.printed_for(result.facts)
    if printed is not None:
        said = f"{SOURCE}, {printed.collection}: {CONVENTION}. {printed.remark}"
        parts.append(f"<p class='said'>{html.escape(said)}</p>")
        parts.append(_table(benchmark_printed.beside(result, printed)))
    return "".join(parts)


def _printed_table(result: StudyResult, measures: tuple[str, ...]) -> str:
    cells = benchmark_text.cells(result, measures, [INITIAL], TEST)
    rows = []
    for label in benchmark_table.rankers_of(result):
        texts = [html.escape(label)]
        for measure in measures:
            cell = cells[label, measure]
            mean = f"<b>{cell.mean}</b>" if cell.best else cell.mean
            texts.append(f"{mean} {cell.marks} <small>{cell.spread}</small>")
        rows.append(f"<tr><td>{'</td><td>'.join(texts)}</td></tr>")
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in ("Ranker", *measures))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _ablation(result: StudyResult) -> str:
    table = ablation.table(result)
    parts = []
    if len(table) > 1:
        for effect in ("quality", "robustness"):
            picture = ablation_figure.effects(table, effect, ablation.MEASURE)
            words = ablation_figure.alt_text(table, effect, ablation.MEASURE)
            parts.append(_figure(picture, words))
    parts.append(f"<p><b>{html.escape(ablation_finding.finding(result))}</b></p>")
    parts.append(_table(table))
    return "".join(parts)


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
