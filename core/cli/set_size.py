"""`study set-size`: Table 3 on the terminal."""

import argparse

from core.cli.answer import Answer, records
from core.cli.open import done, recipe_of, store_of, texts_of, use_device
from core.errors import ParameterError
from core.studies import set_size, set_size_table
from core.studies.result import StudyResult, stored_summary


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
    frame = set_size_table.curves(result, plan.measures[0])
    wide = frame.pivot_table("mean", ["ranker", "trained_on"], "size", sort=False)
    answer = {
        "result": str(artefact.key),
        "summary": records(stored_summary(artefact.path)),
        "table": records(frame),
        "claim": set_size_table.claim(result, plan.measures[0]),
    }
    parts = [wide.round(3).to_string(na_rep="–"), *artefact.facts["left_out"]]
    parts += [set_size_table.finding(result, plan.measures[0]), f"stored as {artefact.key}"]
    return Answer(answer, "\n".join(parts))


def _sizes(text: str) -> list[int]:
    try:
        return sorted({int(size) for size in text.split(",")})
    except ValueError:
        raise ParameterError("sizes", text, "whole numbers, comma-separated") from None
