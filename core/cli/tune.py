"""The command that searches for a recipe: `tune`."""

import argparse
from dataclasses import replace
from typing import Any

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import run_shown, scope_of, use_device, workers_of_command
from shuffleproof.core.rankers.named_presets import NamedPreset


def tune(arguments: argparse.Namespace) -> Answer:
    """`tune`: search a recipe on the validation parts; the best becomes a preset with a name."""
    from shuffleproof.core.tuning import Tuning, tune  # noqa: PLC0415 (who has work to do)

    use_device(arguments)
    scope = scope_of(arguments)
    tuning = Tuning(
        arguments.ranker,
        tuple(arguments.search),
        arguments.trials,
        arguments.budget,
        arguments.seed,
        arguments.name,
        arguments.at_once or 1,
    )
    if not arguments.at_once and arguments.executor is not None:
        from shuffleproof.core.execution.executor import executor  # noqa: PLC0415 (few name one)

        tuning = replace(tuning, at_once=executor(arguments.executor).at_once)
    with workers_of_command(arguments, scope.store):
        preset, cached = run_shown(f"tune {arguments.ranker}", tune(tuning, scope))
    return Answer(plain(preset, cached=cached), preset_lines(preset))


def plain(preset: NamedPreset, *, cached: bool) -> dict[str, Any]:
    """A tuned preset as JSON has it."""
    states = [row["state"] for row in preset.history]
    return {
        "preset": str(preset),
        "data": preset.data,
        "base": f"{preset.ranker}@{preset.base}",
        "fields": dict(preset.fields),
        "measure": preset.measure,
        "valid": {f"{preset.ranker}@{name}": value for name, value in preset.usual_values.items()}
        | {str(preset): preset.best["value"]},
        "trials": preset.trials,
        **{state: states.count(state) for state in ("done", "pruned", "failed")},
        "search": preset.asked["search"],
        "history": [dict(row) for row in preset.history],
        "test": [dict(row) for row in preset.test],
        "looks": preset.looks,
        "cached": cached,
    }


def preset_lines(preset: NamedPreset) -> str:
    """A tuned preset for the terminal."""
    shown = plain(preset, cached=True)
    names = ("preset", "base", "fields", "data", "measure", "valid", "trials", "pruned", "failed")
    lines = table({name: shown[name] for name in (*names, "looks")})
    tests = table(shown["test"])
    return f"{lines}\n\ntest part:\n{tests}\n\nuse: `--rankers {preset}`"
