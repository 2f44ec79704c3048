"""`study set-size`: Table 3 on the terminal."""

import argparse
from functools import partial

import pandas as pd

from shuffleproof.core.cli.answer import Answer, records
from shuffleproof.core.cli.figures import fixed
from shuffleproof.core.cli.open import asked, done
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.studies.kinds.set_size import study as set_size
from shuffleproof.core.studies.kinds.set_size import table as set_size_table
from shuffleproof.core.studies.result import StudyResult, stored_summary

SHOWN = {
    "mean": "{} on lists of N1",
    "shift": "minus that of the same ranker trained on lists of N1",
    "order_stability": "τ between the orders of the documents shared with lists of N0",
    "score_shift": "shift of their scores, in standard deviations",
}
"""The tables of the answer, by column of `set_size_table.curves`."""


def study(arguments: argparse.Namespace) -> Answer:
    """`study set-size`: train on lists of N0, test on lists of N1."""
    question, scope = asked(set_size.KIND, arguments)
    artefact = done("set size", question.study(scope))
    result = StudyResult.open(artefact.path)
    measure = result.measures[0]
    frame = set_size_table.curves(result, measure)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "claim": set_size_table.claim(result, measure),
        "finding": set_size_table.finding(result, measure),
        "convention": Measure.parse(measure).convention(),
        "shorter": artefact.facts["shorter"],
        "left_out": artefact.facts["left_out"],
    }
    parts = [
        "\n".join([f"{words.format(measure)}:", _wide(frame, column, arguments.digits)])
        for column, words in SHOWN.items()
        if frame[column].notna().any()
    ]
    parts += filter(None, [set_size_table.shorter(artefact.facts)])
    parts += [*artefact.facts["left_out"], answer["finding"], answer["convention"]]
    parts.append(f"stored as {artefact.key}")
    return Answer(answer, "\n".join(parts))


def _wide(frame: pd.DataFrame, column: str, digits: int) -> str:
    """A row a ranker and N0, a column an N1."""
    known = frame[frame[column].notna()]
    wide = known.pivot_table(column, ["ranker", "trained_on"], "size", sort=False)
    return wide.to_string(na_rep="–", float_format=partial(fixed, digits=digits))
