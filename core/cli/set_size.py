"""`study set-size`: Table 3 on the terminal."""

import argparse

import pandas as pd

from core.cli.answer import Answer, records
from core.cli.open import done, recipe_of, store_of, texts_of, use_device
from core.errors import ParameterError
from core.studies import set_size, set_size_table
from core.studies.result import StudyResult, stored_summary

SHOWN = {
    "mean": "{} on lists of N1",
    "shift": "minus that of the same ranker trained on lists of N1",
    "order_stability": "τ between the orders of the documents shared with lists of N0",
    "score_shift": "shift of their scores, in standard deviations",
}
"""The tables of the answer, by column of `set_size_table.curves`."""


def study(arguments: argparse.Namespace) -> Answer:
    """`study set-size`: train on lists of N0, test on lists of N1."""
    use_device(arguments)
    recipe, preset = recipe_of(arguments)
    trained_on, sizes = _sizes(arguments.trained_on), _sizes(arguments.sizes)
    opening = set_size.opened(
        arguments.data, [*sizes, *trained_on], recipe, store_of(arguments), preset
    )
    benches = done("lists", opening)
    plan = set_size.planned(
        benches,
        arguments.rankers.split(","),
        trained_on,
        texts_of(arguments.measures),
        arguments.seeds,
    )
    artefact = done("set size", set_size.run(benches, plan, arguments.data))
    result = StudyResult.open(artefact.path)
    measure = plan.measures[0]
    frame = set_size_table.curves(result, measure)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "claim": set_size_table.claim(result, measure),
        "shorter": artefact.facts["shorter"],
    }
    parts = [
        "\n".join([f"{words.format(measure)}:", _wide(frame, column)])
        for column, words in SHOWN.items()
        if frame[column].notna().any()
    ]
    parts += filter(None, [set_size_table.shorter(artefact.facts)])
    parts += [*artefact.facts["left_out"], set_size_table.finding(result, measure)]
    parts.append(f"stored as {artefact.key}")
    return Answer(answer, "\n".join(parts))


def _wide(frame: pd.DataFrame, column: str) -> str:
    """A row a ranker and N0, a column an N1."""
    known = frame[frame[column].notna()]
    wide = known.pivot_table(column, ["ranker", "trained_on"], "size", sort=False)
    return wide.round(3).to_string(na_rep="–")


def _sizes(text: str) -> list[int]:
    try:
        return sorted({int(size) for size in text.split(",")})
    except ValueError:
        raise ParameterError("sizes", text, "whole numbers, comma-separated") from None
