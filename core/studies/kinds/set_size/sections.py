"""A study of set size, told: curves, the map of sizes, what it says of the claim."""

from collections.abc import Iterator
from typing import Any

from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.kinds.ranking_degradation.study import INITIAL
from shuffleproof.core.studies.kinds.set_size import table as set_size_table
from shuffleproof.core.studies.kinds.set_size.study import ANY, CEILING
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.sections import (
    Convention,
    Finding,
    Picture,
    Section,
    Sentence,
    View,
)
from shuffleproof.core.studies.table_text import records
from shuffleproof.core.words import counted

MAPS = {
    "quality": ("mean", "{} on lists of N1"),
    "shift": ("shift", "minus that of the same ranker trained on lists of N1"),
    "order": ("order_stability", "τ between the orders of the documents shared with lists of N0"),
    "scores": ("score_shift", "shift of their scores, in standard deviations"),
}
"""What is mapped by N0 and N1: the column of `curves`, and what it is."""


def sections(result: StudyResult, view: View) -> Iterator[Section]:
    """What is said of a study, in order."""
    measure = next(iter(view.measures), str(result.measures[0]))
    frame = set_size_table.curves(result, measure)
    sizes: list[int | None] = [*sorted({int(text) for text in frame["trained_on"] if text != ANY})]
    for home in sizes or [None]:
        own = frame[frame["trained_on"].isin((ANY, str(home)))]
        yield Picture("set size", (own, measure, home))
    found = set_size_table.sentences(result, measure)
    yield Finding(found.losses)
    yield Finding(found.candidates)
    yield Finding(found.verdict)
    short = set_size_table.shorter(result.facts)
    yield Sentence("; ".join(filter(None, [short, *result.facts["left_out"]])))
    trained = frame[~frame["ranker"].isin((CEILING, INITIAL))]
    columns = {column.key: column for column in set_size_table.CURVES}
    rows = (columns["ranker"], columns["trained_on"])
    for name, (column, words) in MAPS.items():
        known = frame[frame[column].notna()]
        title = words.format(measure)
        if len(known) and len(trained):
            table = tables.wide(known, rows, "size", columns[column], title)
            yield Picture("sizes", (trained, name, measure), [table])
        elif len(known):
            yield tables.wide(known, rows, "size", columns[column], title)
    queries = counted(result.facts["queries"], "query")
    convention = Measure.parse(measure).convention()
    yield Convention(f"{convention} · N = {queries} · 95 % intervals over queries")
    title = "Means by ranker, N0 and N1"
    yield tables.Table(frame, set_size_table.CURVES, title, folded=True)


def answer(result: StudyResult, _view: View) -> dict[str, Any]:
    """What the command answers in JSON."""
    measure = str(result.measures[0])
    return {
        "table": records(set_size_table.curves(result, measure)),
        "claim": set_size_table.claim(result, measure),
        "finding": set_size_table.finding(result, measure),
        "convention": Measure.parse(measure).convention(),
        "shorter": result.facts["shorter"],
        "left_out": result.facts["left_out"],
    }
