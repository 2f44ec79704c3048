"""From flags to a store, a workbench and finished work."""

import argparse
import os
import re
from collections.abc import Generator, Sequence
from typing import TypeVar

from core.cli.answer import warn
from core.cli.progress import ProgressLine
from core.data.folds import folds_of
from core.errors import ParameterError
from core.execution import devices
from core.metrics.bundles import under
from core.progress import Progress
from core.rankers import registry
from core.rankers.initial import ListRecipe
from core.store.artefacts import Store, default_store
from core.studies import names
from core.studies.study import levels_of
from core.studies.workbench import Workbench, finished

Value = TypeVar("Value")


def store_of(arguments: argparse.Namespace) -> Store:
    """The store that the flags name, or the user's own."""
    own = default_store()
    return Store(arguments.store, own.bundled) if arguments.store else own


def texts_of(text: str) -> list[str]:
    """What a comma separates, commas within parentheses left alone.

    >>> texts_of("NDCG(ideal=shown,ties=row)@10,RR")
    ['NDCG(ideal=shown,ties=row)@10', 'RR']
    """
    return re.split(r",(?![^()]*\))", text)


def measures_of(arguments: argparse.Namespace) -> list[str]:
    """The measures that --measures and --conventions name, as text.

    Raises:
        UnknownNameError, ParameterError: a text that is no measure.

    >>> flags = argparse.Namespace(measures="NDCG@5,AP", conventions="trec_eval")
    >>> measures_of(flags)
    ['NDCG(gain=linear,ties=trec)@5', 'AP(ties=trec)']
    """
    return [under(text, arguments.conventions) for text in texts_of(arguments.measures)]


def done(title: str, work: Generator[Progress, None, Value]) -> Value:
    """Run work to its end with its progress on stderr."""
    line = ProgressLine(title)
    try:
        return finished(work, line)
    finally:
        line.close()


def use_device(arguments: argparse.Namespace) -> None:
    """Compute where --device says, if it says anything.

    Raises:
        UsageError: no such device.
    """
    if arguments.device is not None:
        os.environ["SHUFFLEPROOF_DEVICE"] = devices.device(arguments.device)


def preset_of(arguments: argparse.Namespace) -> str:
    """The preset of rankers named without one."""
    chosen: str | None = arguments.preset
    return chosen or ("small" if arguments.data == "sample" else "paper")


def recipe_of(arguments: argparse.Namespace) -> tuple[ListRecipe, str]:
    """How lists are made, and the preset of rankers named without one.

    Raises:
        UnknownNameError: a name among the flags that nothing has (see `core.studies.names`).
    """
    preset = preset_of(arguments)
    named = "lambdamart" if arguments.initial is None else arguments.initial
    recipe = ListRecipe(
        initial=tuple(_with_preset(name, preset) for name in named.split(",")),
        depth=arguments.depth,
        scores=arguments.scores,
    )
    names.check(_asked(arguments, recipe), preset, store_of(arguments))
    return recipe, preset


def _asked(arguments: argparse.Namespace, recipe: ListRecipe) -> names.Names:
    """Everything that the flags of any command name, so that nothing is made before it is known."""
    flags = {flag: value for flag, value in vars(arguments).items() if isinstance(value, str)}
    of = {flag: _parted(flags.get(flag, "")) for flag in ("rankers", "families", "swaps")}
    levels = flags.get("levels")
    changes = fields_of(arguments.set) if arguments.answer == "rankers:train" else {}
    return names.Names(
        rankers=[*of["rankers"], *_parted(flags.get("ranker", ""))],
        changes=changes,
        initial=recipe.initial,
        measures=[text for name in ("measures", "measure") for text in _measures(flags.get(name))],
        families=of["families"],
        perturbations=[
            (family, level) for family in of["families"] for level in levels_of(family, levels)
        ],
        swaps=of["swaps"],
        from_outside=True,
    )


def _measures(text: str | None) -> list[str]:
    return texts_of(text) if text else []


def _parted(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def fields_of(pairs: Sequence[str]) -> dict[str, str]:
    """The fields of --set.

    >>> fields_of(["epochs=3"])
    {'epochs': '3'}

    Raises:
        ParameterError: one that has no value.
    """
    found = {}
    for pair in pairs:
        field, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError("--set", pair, "FIELD=VALUE")
        found[field] = value
    return found


def one_fold(data: str, store: Store) -> str:
    """The data set to open; where a text stands for several folds the first, and that is said."""
    names = folds_of(data, store)
    if len(names) > 1:
        warn(f"{data} has {len(names)} folds ({', '.join(names)}); this is about {names[0]}.")
    return names[0]


def _with_preset(name: str, preset: str) -> str:
    """An initial ranker by its full name: one that is fitted has a preset.

    >>> _with_preset("lambdamart", "small"), _with_preset("feature:3", "small")
    ('lambdamart@small', 'feature:3')
    """
    return f"{name}@{preset}" if "@" not in name and registry.entry(name).fitted else name


def workbench_of(arguments: argparse.Namespace) -> Workbench:
    """The workbench that --data, --initial, --depth, --scores and --preset describe."""
    use_device(arguments)
    store = store_of(arguments)
    recipe, preset = recipe_of(arguments)
    data = one_fold(arguments.data, store)
    return done("lists", Workbench.opened(data, recipe, store, preset))
