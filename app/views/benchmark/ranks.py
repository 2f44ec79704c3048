"""Ranks of a benchmark's rankers with intervals, and what the winner depends on."""

from shuffleproof.app import study_access
from shuffleproof.app.data_frame import data_frame
from shuffleproof.app.study import parts
from shuffleproof.core.gate.differences import of_benchmark
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies import tables

COLUMNS = (
    tables.Column("ranker", "Ranker", tables.NAME),
    tables.Column("score", "Mean", tables.VALUE),
    tables.Column("badge", "Rank (95 %)", tables.TEXT, "Over resamples of the queries."),
    tables.Column(
        "group", "Group", tables.COUNT, "Rankers that are not separated from its first one."
    ),
)


def section(key: str, measure: Measure) -> None:
    """Draw the sentences about the winner, then the ranks."""
    board = study_access.compute(key, of_benchmark, str(measure))
    for sentence in board.sentences:
        parts.sentence(sentence)
    frame = board.rows.rename(columns={"system": "ranker"})[tables.keys(COLUMNS)]
    data_frame(tables.Table(frame, COLUMNS, "Ranks with intervals"), "ranks")
