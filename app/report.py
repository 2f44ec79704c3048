"""A stored study as one self-contained HTML file: `python -m app.report STUDY… OUT.html`."""

import html
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from plotly.offline import get_plotlyjs

from shuffleproof.app.figures.style import on_paper
from shuffleproof.app.figures.text import alt_text
from shuffleproof.app.pictures import draw
from shuffleproof.core.errors import UsageError
from shuffleproof.core.studies import sections
from shuffleproof.core.studies.methods import paragraph, references
from shuffleproof.core.studies.question import Facts
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.studies.reproduce import study_command, study_python
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.table_text import html as table_html
from shuffleproof.core.studies.tables import Table

STYLE = (files("shuffleproof.app") / "assets" / "report.css").read_text(encoding="utf-8")

TEMPLATES: Mapping[type[sections.Section], str] = {
    sections.Headline: "<p class='headline'>{}</p>",
    sections.Finding: "<p>{}</p>",
    sections.Convention: "<p class='said'>{}</p>",
}
"""HTML templates of text sections."""


def report(studies: Sequence[Path]) -> str:
    """Report of stored studies (their directories), in input order."""
    parts = [
        f"<h2>{html.escape(study_title(directory))}</h2>{study_html(directory)}"
        for directory in studies
    ]
    body = f"<h1>What happens to my ranker when its input changes?</h1>{''.join(parts)}"
    return page("Shuffleproof report", body, get_plotlyjs())  # embedded: it needs no network


def page(title: str, body: str, script: str = "") -> str:
    """One HTML page with its script."""
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
        f"<script>{script}</script><body>{body}</body></html>"
    )


def study_html(directory: Path) -> str:
    """Sections, methods and recipe of one stored study; the page has Plotly."""
    result = StudyResult.open(directory)
    module = study_kind(result.recipe).sections_module()
    shown = sections.sections_of(module, result, sections.View())
    return "".join(map(section_html, shown)) + _methods(result) + _recipe(result)


def study_title(directory: Path) -> str:
    """Question that a stored study answers."""
    return study_kind(StudyResult.open(directory).recipe).title


def section_html(section: sections.Section) -> str:
    """One section as HTML."""
    if isinstance(section, sections.Picture):
        return _picture(section)
    if isinstance(section, Table):
        return _table(section)
    if isinstance(section, sections.Details):
        lines = (f"<p>{html.escape(line)}</p>" for line in section.lines)
        return _folded(section.title, "".join(lines))
    text = html.escape(section.text)
    return TEMPLATES[type(section)].format(text) if text else ""


def _picture(section: sections.Picture) -> str:
    """Picture as HTML; the report's head contains Plotly."""
    figure = draw(section)
    picture = on_paper(figure).to_html(full_html=False, include_plotlyjs=False)
    return f"<figure role='img' aria-label='{html.escape(alt_text(figure))}'>{picture}</figure>"


def _table(table: Table) -> str:
    title, rows = html.escape(table.title), table_html(table)
    if table.folded:
        return _folded(table.title, rows)
    return f"<h4>{title}</h4>{rows}" if title else rows


def _folded(head: str, content: str) -> str:
    """Content in a closed <details> element."""
    return f"<details><summary>{html.escape(head)}</summary>{content}</details>"


def _methods(result: StudyResult) -> str:
    """Methods paragraph for a paper, with its references."""
    words = html.escape(paragraph(result.recipe, result.facts))
    works = "".join(
        f"<li>{html.escape(work)}</li>" for work in references(result.recipe, result.facts)
    )
    return f"<h3>Methods</h3><p>{words}</p><h3>References</h3><ol>{works}</ol>"


def _recipe(result: StudyResult) -> str:
    """Command and Python code that reproduce a study, and its full recipe."""
    writers = [("As a command", study_command), ("In Python", study_python)]
    parts = [_folded(head, _written(write, result)) for head, write in writers]
    text = html.escape(json.dumps(result.recipe, indent=1))
    return "".join([*parts, _folded("Recipe", f"<pre>{text}</pre>")])


def _written(write: Callable[[Facts, Facts], str], result: StudyResult) -> str:
    try:
        return f"<pre>{html.escape(write(result.recipe, result.facts))}</pre>"
    except UsageError as error:  # no flags express it
        return f"<p>{html.escape(str(error))}</p>"


if __name__ == "__main__":
    *directories, out = map(Path, sys.argv[1:])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report(directories), encoding="utf-8")
