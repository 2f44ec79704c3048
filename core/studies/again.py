"""Anything stored as what would make it again: a command line, or lines of Python."""

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from core.errors import UsageError
from core.rankers import outside
from core.studies import (
    command,
    command_attention,
    command_groups,
    command_perturbations,
    command_tables,
)
from core.studies.differences import from_preset
from core.studies.methods import rankers_of

Written = Callable[[Mapping[str, Any], Mapping[str, Any]], str]

COMMANDS: Mapping[str, Written] = {
    "invariance": lambda recipe, facts: command.certificates_command(
        rankers_of(recipe), facts, recipe["draws"], recipe["seed"]
    ),
    "initial-ranking": command.command_of,
    "benchmark": command_tables.benchmark_command,
    "ablation": command_tables.ablation_command,
    "set-size": command_tables.set_size_command,
    "initial-rankings": command_tables.initial_rankings_command,
    "attention": lambda recipe, facts: command_attention.attention_command(
        rankers_of(recipe), facts, recipe["queries"], recipe["dead_below"]
    ),
    "perturbations": command_perturbations.perturbations_command,
    "worst-case": command_perturbations.worst_case_command,
    "card": command_perturbations.card_command,
    "group-shuffles": command_groups.group_shuffles_command,
}
"""What writes a study as a command, by its kind."""

PYTHON: Mapping[str, Written] = {
    "invariance": lambda recipe, facts: command.certificates_python(
        rankers_of(recipe), facts, recipe["draws"], recipe["seed"]
    ),
    "initial-ranking": command.python_of,
    "benchmark": command_tables.benchmark_python,
    "ablation": command_tables.ablation_python,
    "set-size": command_tables.set_size_python,
    "initial-rankings": command_tables.initial_rankings_python,
    "attention": command_attention.attention_study_python,
    "perturbations": command_perturbations.perturbations_python,
    "worst-case": command_perturbations.worst_case_python,
    "card": command_perturbations.card_python,
    "group-shuffles": command_groups.group_shuffles_python,
}
"""What writes a study as Python, by its kind."""


def study_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes a stored study again.

    Args:
        recipe: of the study.
        facts: of the study.

    Raises:
        UsageError: no flags say it, or studies of its kind say it on their own page.
    """
    return _writer(COMMANDS, recipe)(recipe, facts)


def study_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines of Python that make a stored study again; arguments as the command's."""
    return _writer(PYTHON, recipe)(recipe, facts)


def ranker_command(recipe: Mapping[str, Any], data: str) -> str:
    """The command that trains a stored ranker again.

    Args:
        recipe: of the artefact: `ranker`, `lists`.
        data: what the data set is called now.

    Raises:
        UsageError: no flags say how its lists are made.

    >>> from core.rankers import registry
    >>> recipe = {"ranker": registry.spec("dlcm", "small", epochs=3).recipe(), "lists": "all"}
    >>> ranker_command(recipe, "mine")
    'shuffleproof train dlcm@small --data mine --set epochs=3'
    >>> ranker_command({"ranker": {"name": "scores", "file": "mine.txt"}}, "mine")
    'shuffleproof bring scores mine.txt --data mine'
    """
    name = str(recipe["ranker"]["name"])
    if name in outside.KINDS:
        words = ["shuffleproof", "bring", name, str(recipe["ranker"]["file"])]
        return shlex.join(words + ([] if data == "sample" else ["--data", data]))
    preset, changed = from_preset(recipe["ranker"])
    words = ["shuffleproof", "train", f"{name}@{preset}" if preset else name]
    words += [] if data == "sample" else ["--data", data]
    lists = recipe.get("lists")
    if isinstance(lists, Mapping):
        if "initial" not in lists:
            raise UsageError(
                "it is one part of a cross-fitting, which its lists make by themselves: "
                "train on those"
            )
        words += command.list_flags({"data": data, "lists": lists})
    if changed:
        words += ["--set", *(f"{field}={_text(value)}" for field, value in changed.items())]
    return shlex.join(words)


def _writer(known: Mapping[str, Written], recipe: Mapping[str, Any]) -> Written:
    kind = str(recipe["kind"])
    if kind not in known:
        raise UsageError(f"a study of kind {kind} is written on its own page: use the menu there")
    return known[kind]


def _text(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
