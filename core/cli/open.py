"""From flags to a store, a workbench and finished work."""

import argparse
import os
import re
from collections.abc import Generator
from typing import TypeVar

from core.cli.answer import warn
from core.cli.progress import ProgressLine
from core.data.folds import folds_of
from core.execution import devices
from core.metrics.bundles import under
from core.progress import Progress
from core.rankers import registry
from core.rankers.initial import ListRecipe
from core.store.artefacts import Store, default_store
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


def recipe_of(arguments: argparse.Namespace) -> tuple[ListRecipe, str]:
    """How lists are made, and the preset of rankers named without one."""
    preset = arguments.preset or ("small" if arguments.data == "sample" else "paper")
    named = "lambdamart" if arguments.initial is None else arguments.initial
    recipe = ListRecipe(
        initial=tuple(_with_preset(name, preset) for name in named.split(",")),
        depth=arguments.depth,
        scores=arguments.scores,
    )
    return recipe, preset


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
