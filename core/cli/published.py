"""`which`: the conventions that reproduce a published number."""

import argparse

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.studies.published_answer import answer_of, cells_named, folds_of, table_of

SHOWN = 5
"""Rows of the terminal; --verbose prints all."""

NO_MATCH = 3


def find_conventions(arguments: argparse.Namespace) -> Answer:
    """`which`: try the conventions, and show the simplest ones that match."""
    cells = cells_named(arguments.value, arguments.measure, arguments.values)
    folds, of_letor = folds_of(arguments.runs, arguments.qrels)
    answer = answer_of(cells, folds, of_letor=of_letor)
    rows = table_of(cells, answer["rows"])
    text = "\n".join([answer["finding"], *answer["notes"], "", table(rows[:SHOWN])])
    details = table(rows[SHOWN:]) if len(rows) > SHOWN else ""
    return Answer(answer, text, 0 if answer["matches"] else NO_MATCH, details)
