"""A study of GSF's shuffles in the report: picture, sentences, table."""

import html

from shuffleproof.app.figures import gsf
from shuffleproof.app.figures.style import on_paper
from shuffleproof.core.studies.kinds.group_shuffles import study as group_shuffles
from shuffleproof.core.studies.kinds.group_shuffles import table as group_shuffles_table
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult

KINDS = frozenset({group_shuffles.KIND})
"""The studies that this module draws."""


def section(result: StudyResult) -> str:
    """The report of one study, without its methods and its recipe."""
    frame = group_shuffles_table.table(result)
    picture = on_paper(gsf.equivariance(frame)).to_html(full_html=False, include_plotlyjs=False)
    words = html.escape(gsf.alt_text(frame))
    said = "".join(
        f"<p><b>{html.escape(group_shuffles_table.finding(result, str(ranker)))}</b></p>"
        for ranker in dict.fromkeys(frame["ranker"])
    )
    table = frame.to_html(
        index=False, border=0, na_rep="", float_format=lambda value: f"{value:.4g}"
    )
    return (
        f"<h2>{html.escape(STUDIES[group_shuffles.KIND].title)}</h2>"
        f"<figure role='img' aria-label='{words}'>{picture}<figcaption>{words}</figcaption>"
        f"</figure>{said}{table}"
    )
