"""Benchmarks and ablations in the report: the picture, its sentence, the table."""

import html

from shuffleproof.app import report_parts
from shuffleproof.app.figures import ablation as ablation_figure
from shuffleproof.app.figures import benchmark as benchmark_figure
from shuffleproof.app.figures import benchmark_ranks as ranks_figure
from shuffleproof.core.studies.kinds.ablation import finding as ablation_finding
from shuffleproof.core.studies.kinds.ablation import study as ablation
from shuffleproof.core.studies.kinds.ablation.steps import step_of
from shuffleproof.core.studies.kinds.benchmark import finding as benchmark_finding
from shuffleproof.core.studies.kinds.benchmark import notes as benchmark_notes
from shuffleproof.core.studies.kinds.benchmark import published as benchmark_printed
from shuffleproof.core.studies.kinds.benchmark import ranks as benchmark_ranks
from shuffleproof.core.studies.kinds.benchmark import study as benchmark
from shuffleproof.core.studies.kinds.benchmark import table as benchmark_table
from shuffleproof.core.studies.kinds.benchmark import text as benchmark_text
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult

KINDS = frozenset({benchmark.KIND, ablation.KIND})
"""The studies that this module draws."""

TEST, USUAL = "paired t", "NDCG@10"


def section(result: StudyResult) -> str:
    """The report of one benchmark or ablation, without its recipe."""
    head = f"<h2>{html.escape(STUDIES[result.recipe['kind']].title)}</h2>"
    return head + (_ablation if result.recipe["kind"] == ablation.KIND else _benchmark)(result)


def _benchmark(result: StudyResult) -> str:
    measures = result.measures
    measure = USUAL if USUAL in measures else measures[-1]
    labels = benchmark_table.rankers_of(result)
    baseline = INITIAL if INITIAL in labels else labels[0]
    frame = benchmark_table.compared(result, measure, baseline)
    drawn = frame[~frame["ranker"].isin(("ideal", "random"))]
    words = benchmark_figure.alt_text(drawn, baseline, measure)
    said = benchmark_notes.said(result, measures, [baseline], TEST)
    parts = [
        report_parts.figure(benchmark_figure.differences(drawn, baseline, measure), words),
        f"<p><b>{html.escape(benchmark_finding.finding(result, measure))}</b></p>",
        _printed_table(result, measures, baseline),
        *(f"<p class='said'>{html.escape(line)}</p>" for line in said),
        "<details><summary>Is it more than chance?</summary>",
        f"{report_parts.table(frame.drop(columns=['group']))}</details>",
    ]
    found = benchmark_ranks.critical_difference(result, measure) if len(drawn) > 1 else None
    if found is not None and found.queries:
        places = [(str(name), float(place)) for name, place in found.ranks.items()]
        picture = ranks_figure.ranks(places, found.cliques, found.difference)
        parts.append(report_parts.figure(picture, ranks_figure.alt_text(places, found.cliques)))
    printed = benchmark_printed.printed_for(result.facts)
    if printed is not None:
        parts.append("<h3>As the paper printed it</h3>")
        parts.append(f"<p class='said'>{html.escape(benchmark_printed.in_words(printed))}</p>")
        warning = html.escape(benchmark_printed.warning(result.facts, measures))
        parts.append(f"<p class='said'>{warning}</p>" if warning else "")
        parts.append(report_parts.table(benchmark_printed.beside(result, printed)))
    return "".join(parts)


def _printed_table(result: StudyResult, measures: tuple[str, ...], baseline: str) -> str:
    cells = benchmark_text.cells(result, measures, [baseline], TEST)
    rows = []
    for group, labels in benchmark_text.grouped(result):
        rows.append(f"<tr><td colspan='{len(measures) + 1}'><i>{html.escape(group)}</i></td></tr>")
        for label in labels:
            texts = [html.escape(label)]
            for measure in measures:
                cell = cells[label, measure]
                mean = f"<b>{cell.mean}</b>" if cell.best else cell.mean
                texts.append(f"{mean} {cell.marks} <small>{cell.spread}</small>")
            rows.append(f"<tr><td>{'</td><td>'.join(texts)}</td></tr>")
    names = ("Ranker", *benchmark_notes.heads(measures))
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _ablation(result: StudyResult) -> str:
    table = ablation.table(result)
    parts = []
    if len(table) > 1:
        for effect in ("quality", "robustness"):
            picture = ablation_figure.effects(table, effect, ablation.MEASURE, step_of)
            words = ablation_figure.alt_text(table, effect, ablation.MEASURE)
            parts.append(report_parts.figure(picture, words))
    parts.append(f"<p><b>{html.escape(ablation_finding.finding(result))}</b></p>")
    parts.append(report_parts.table(table))
    return "".join(parts)
