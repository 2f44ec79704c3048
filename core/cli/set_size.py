"""`study set-size`: Table 3 on the terminal."""

import argparse
from functools import partial

import pandas as pd

from core.cli.answer import Answer, records
from core.cli.figures import fixed
from core.cli.open import done, measures_of, recipe_of, store_of, use_device
from core.errors import ParameterError
from core.metrics.measure import Measure
from core.numerals import whole
from core.studies import set_size, set_size_table
from core.studies import set_size_reach as reach
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
    measures = measures_of(arguments)
    recipe, preset = recipe_of(arguments)
    store = store_of(arguments)
    sizes = _sizes("sizes", arguments.sizes) or reach.proposed_for(arguments.data, store)
    trained_on = _sizes("trained-on", arguments.trained_on) or reach.homes(sizes)
    opening = set_size.opened(arguments.data, [*sizes, *trained_on], recipe, store, preset)
    benches = done("lists", opening)
    plan = set_size.planned(
        benches,
        arguments.rankers.split(","),
        trained_on,
        measures,
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


def _sizes(name: str, text: str | None) -> list[int]:
    """The sizes of a flag; none where it is not given."""
    if text is None:
        return []
    try:
        return reach.checked(name, [whole(size) for size in text.split(",")])
    except ValueError:
        raise ParameterError(name, text, "whole numbers, comma-separated") from None
