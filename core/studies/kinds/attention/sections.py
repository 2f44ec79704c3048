"""A study of attention, told: for every ranker its picture, its sentences, its heads."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.studies.kinds.attention import text as attention_text
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Heading,
    Picture,
    Section,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.studies.tables import Table
from shuffleproof.core.words import counted

DRAWN = {"lift": "relevant mass ÷ chance", "neighbours": "effective neighbours"}
"""What is drawn of the heads: the first of these that a ranker has numbers for."""


def sections(result: StudyResult, _view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    frame = attention_text.table(result)
    for name in dict.fromkeys(map(str, frame["ranker"])):
        own = frame[frame["ranker"] == name].reset_index(drop=True)
        main = own[own["map"].isin(attention_text.MAIN)]
        column = next((one for one in DRAWN if main[one].notna().any()), None)
        yield Heading(name)
        if len(main) > 1 and column:
            yield Picture("attention", (main, name, column, DRAWN[column]))
        yield Finding(attention_text.finding(result, name))
        yield Table(own, attention_text.COLUMNS, f"Every head of {name}").without("ranker")
        of_points = attention_text.points(result, name)
        if len(of_points):
            title = f"Every induced point of {name}"
            yield Table(of_points, attention_text.POINTS, title, folded=True)
    queries = counted(result.facts["queries"], "query")
    yield Convention(
        f"Means over {queries}; relevant mass: the share that documents with a label above 0 get; "
        "chance: the share that they are."
    )


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    frame = attention_text.table(result)
    names = dict.fromkeys(map(str, frame["ranker"]))
    return {
        "table": records(frame),
        "findings": {name: attention_text.finding(result, name) for name in names},
    }
