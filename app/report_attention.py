"""Studies of attention in the report: for every ranker a picture, its sentences, every head."""

import html

import pandas as pd

from shuffleproof.app import report_parts
from shuffleproof.app.figures import attention_heads as figure
from shuffleproof.core.studies.kinds.attention.study import KIND
from shuffleproof.core.studies.kinds.attention.text import MAIN, finding, points, table
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.result import StudyResult

KINDS = frozenset({KIND})
"""The studies that this module draws."""

DRAWN = {"lift": "relevant mass ÷ chance", "neighbours": "effective neighbours"}
"""What is drawn of the heads: the first of these that a ranker has numbers for."""


def section(result: StudyResult) -> str:
    """The report of one study, without its methods and its recipe."""
    frame = table(result)
    rankers = list(dict.fromkeys(frame["ranker"]))
    drawn = "".join(_ranker(result, frame, name) for name in rankers)
    count = result.facts["queries"]
    return (
        f"<h2>{html.escape(STUDIES[KIND].title)}</h2>{drawn}<p class='said'>Means over "
        f"{count} {'query' if count == 1 else 'queries'}; relevant mass: the share that documents "
        "with a label above 0 get; chance: the share that they are.</p>"
    )


def _ranker(result: StudyResult, frame: pd.DataFrame, name: str) -> str:
    own = frame[frame["ranker"] == name].reset_index(drop=True)
    main = own[own["map"].isin(MAIN)]
    column = next((one for one in DRAWN if main[one].notna().any()), None)
    parts = [f"<h3>{html.escape(name)}</h3>"]
    if len(main) > 1 and column:
        words = figure.dots_alt_text(main, name, column, DRAWN[column])
        parts.append(report_parts.figure(figure.dots(main, name, column, DRAWN[column]), words))
    parts.append(report_parts.finding(finding(result, name)))
    parts.append(report_parts.folded("Every head", report_parts.table(own)))
    of_points = points(result, name)
    if len(of_points):
        parts.append(report_parts.folded("Every induced point", report_parts.table(of_points)))
    return "".join(parts)
