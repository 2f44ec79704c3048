"""A stored study as one self-contained HTML file: `python -m app.report STUDY… OUT.html`."""

import html
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from plotly.offline import get_plotlyjs

from shuffleproof.app import (
    report_attention,
    report_disturbed,
    report_groups,
    report_parts,
    report_sizes,
    report_tables,
)
from shuffleproof.app.figures.initial_ranking import alt_text, curves
from shuffleproof.core.errors import UsageError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.studies.kinds.benchmark.finding import signed
from shuffleproof.core.studies.kinds.invariance.certificate import certificates
from shuffleproof.core.studies.kinds.ranking_degradation.significance import marks
from shuffleproof.core.studies.kinds.ranking_degradation.study import claim, finding
from shuffleproof.core.studies.methods import paragraph, references
from shuffleproof.core.studies.question import Facts
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.result import StudyResult, stored_summary

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-size: 14px; display: block; overflow-x: auto; }
td, th { padding: .2rem .6rem; border-bottom: 1px solid #8884; text-align: right; }
td:first-child, th:first-child { text-align: left; }
figcaption, footer, .said { color: #777; font-size: 14px; }
@media (prefers-color-scheme: dark) { body { background: #14161a; color: #e6e6e6; } }
"""


def report(studies: Sequence[Path]) -> str:
    """The report of stored studies (their directories), in the order given."""
    parts = [_study(directory) for directory in studies]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>Shuffleproof report</title><style>{STYLE}</style>"
        f"<script>{get_plotlyjs()}</script>"  # whole, so that the file needs nothing else
        f"<body><h1>Will my ranker survive?</h1>{''.join(parts)}</body></html>"
    )


def _study(directory: Path) -> str:
    result = StudyResult.open(directory)
    kind = result.recipe["kind"]
    if kind in report_tables.KINDS:
        drawn = report_tables.section(result)
    elif kind in report_sizes.KINDS:
        drawn = report_sizes.section(result)
    elif kind in report_disturbed.KINDS:
        drawn = report_disturbed.section(result)
    elif kind in report_groups.KINDS:
        drawn = report_groups.section(result)
    elif kind in report_attention.KINDS:
        drawn = report_attention.section(result)
    elif kind == "invariance":
        drawn = _invariance(result)
    elif kind == "initial-ranking":
        drawn = _initial_ranking(result, stored_summary(directory))
    else:
        drawn = _other(result, stored_summary(directory))
    return drawn + _methods(result) + _recipe(result)


def _other(result: StudyResult, summary: pd.DataFrame) -> str:
    """A study without a picture of its own here: its question and its numbers."""
    entry = STUDIES.get(result.recipe["kind"])
    question = entry.title if entry else result.recipe["kind"]
    return f"<h2>{html.escape(question)}</h2>{report_parts.table(summary)}"


def _asked(kind: str) -> str:
    return f"<h2>{html.escape(STUDIES[kind].title)}</h2>"


def _methods(result: StudyResult) -> str:
    """A paragraph for a paper, and what it cites."""
    words = html.escape(paragraph(result.recipe, result.facts))
    works = "".join(
        f"<li>{html.escape(work)}</li>" for work in references(result.recipe, result.facts)
    )
    return f"<h3>Methods</h3><p>{words}</p><h3>References</h3><ol>{works}</ol>"


def _initial_ranking(result: StudyResult, summary: pd.DataFrame) -> str:
    parts = [_asked("initial-ranking")]
    for family, measure in summary[["family", "measure"]].drop_duplicates().itertuples(index=False):
        figure = curves(summary, family, measure, entry_of(family).unit)
        parts.append(report_parts.figure(figure, alt_text(summary, family, measure)))
        parts.append(report_parts.finding(finding(result, family, measure)))
        convention = html.escape(Measure.parse(measure).convention())
        parts.append(f"<p class='said'>{convention}</p>")
        verdict = claim(result, family, measure)
        if verdict:
            interval = f"95 % {signed(verdict['low'])} to {signed(verdict['high'])}"
            parts.append(
                f"<p>{html.escape(verdict['whose'])} that {html.escape(verdict['claim'])}: "
                f"<b>{verdict['verdict']}</b> here (difference {signed(verdict['difference'])}, "
                f"{interval}, p = {verdict['p']:.3g}, n = {verdict['n']}, paired t test).</p>"
            )
        parts.append(_significance(result, family, measure))
    parts.append("<details><summary>Every number</summary>")
    parts.append(report_parts.table(summary))
    parts.append("</details>")
    return "".join(parts)


def _significance(result: StudyResult, family: str, measure: str) -> str:
    frame = marks(result, family, measure)
    return (
        "<details><summary>Is it more than chance?</summary>"
        "<p class='said'>change: from the unchanged lists; against: the initial ranking at the "
        "same level. Paired t tests, p adjusted by Holm over each column, effect: Cohen's d, "
        f"▲ ▼: p ≤ 0.05.</p>{report_parts.table(frame)}</details>"
    )


def _invariance(result: StudyResult) -> str:
    reads = {name: frozenset(found) for name, found in result.facts["reads"].items()}
    cards = certificates(result, reads)
    frame = pd.DataFrame([card.plain() for card in cards])[list(INVARIANCE)]
    told = "".join(report_parts.said(card.sentence()) for card in cards)
    rests = [
        report_parts.folded(
            f"What the verdict on {card.ranker} rests on",
            "".join(report_parts.said(line) for line in card.details()),
        )
        for card in cards
    ]
    return "".join([_asked("invariance"), told, report_parts.table(frame), *rests])


INVARIANCE = (
    "ranker", "verdict", "queries", "queries_moved", "queries_untold", "positions_moved",
    "lowest_tau", "max_score_deviation", "numeric_floor", "distinct_orders", "failure_bound",
)  # fmt: skip


def _recipe(result: StudyResult) -> str:
    """What makes it again, and all that determines it."""
    writers = [("As a command", study_command), ("In Python", study_python)]
    parts = [report_parts.folded(head, _written(write, result)) for head, write in writers]
    text = html.escape(json.dumps(result.recipe, indent=1))
    return "".join([*parts, report_parts.folded("Recipe", f"<pre>{text}</pre>")])


def _written(write: Callable[[Facts, Facts], str], result: StudyResult) -> str:
    try:
        return f"<pre>{html.escape(write(result.recipe, result.facts))}</pre>"
    except UsageError as error:  # no flags say it
        return report_parts.said(str(error))


if __name__ == "__main__":
    *directories, out = map(Path, sys.argv[1:])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report(directories), encoding="utf-8")
