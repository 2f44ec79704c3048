"""`which`: the conventions that reproduce a published number."""

import argparse

from shuffleproof.core.cli.answer import Answer
from shuffleproof.core.studies.published import answer_of, cells_of, folds_of, table_of
from shuffleproof.core.studies.table_text import terminal

SHOWN = 5
"""Rows of the terminal; --verbose prints all."""

NO_MATCH = 3


def find_conventions(arguments: argparse.Namespace) -> Answer:
    """`which`: try the conventions, and show the simplest ones that match."""
    cells = cells_of(arguments.value, arguments.measure, arguments.values)
    folds, of_letor = folds_of(arguments.runs, arguments.qrels)
    answer = answer_of(cells, folds, of_letor=of_letor)
    rows = answer["rows"]
    first, rest = (terminal(table_of(cells, part)) for part in (rows[:SHOWN], rows[SHOWN:]))
    text = "\n".join([answer["finding"], *answer["notes"], "", first])
    return Answer(answer, text, 0 if answer["matches"] else NO_MATCH, rest if rows[SHOWN:] else "")
