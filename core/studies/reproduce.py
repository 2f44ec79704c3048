"""Commands and Python code that reproduce a stored study or ranker."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from shuffleproof.core.data.layout import SAMPLE
from shuffleproof.core.errors import UsageError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.parameters import parameters, text_of
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import CONFIGS, FILES, Kind, RankerName, with_display_names
from shuffleproof.core.rankers.preset_differences import from_preset
from shuffleproof.core.studies.kinds.benchmark import outside_runs
from shuffleproof.core.studies.question import Facts, Question, preset_of, syntax_of
from shuffleproof.core.studies.registry import study_kind
from shuffleproof.core.user_code import MARK

MODULE = "MODULE"
"""Placeholder for the module that registers user code, since stored results do not name it."""

LIST_FLAGS = ("initial", "depth", "scores", "queries")


def study_command(recipe: Facts, facts: Facts) -> str:
    """Command that repeats a stored study.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags can express it, or the kind is unknown.

    >>> recipe = {"kind": "invariance", "rankers": [["dlcm", ""]], "draws": 20, "seed": 1}
    >>> study_command(recipe, {"data": "mine"})
    'shuffleproof study invariance --rankers dlcm --seed 1 --data mine'
    """
    if outside_runs.is_of_runs(recipe):
        return outside_runs.runs_command(recipe, facts)
    return command_of(question_of(recipe, facts), facts)


def study_python(recipe: Facts, facts: Facts) -> str:
    """Python lines that repeat a stored study; arguments as the command's."""
    if outside_runs.is_of_runs(recipe):
        return outside_runs.runs_python(recipe, facts)
    return python_of(question_of(recipe, facts), facts)


def question_of(recipe: Facts, facts: Facts) -> Question:
    """Question of a stored study.

    Raises:
        UsageError: the kind is unknown, or an old study lacks a field.
    """
    return study_kind(recipe).of(recipe, facts)


def command_of(question: Question, facts: Facts) -> str:
    """Command of a question, without default flags.

    Args:
        question: of any kind.
        facts: its data: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags can express it.
    """
    facts, preset = question.list_facts(facts), _preset(facts)
    words = ["shuffleproof", "study", *question.command_words()]
    for field in parameters(question):
        flag = syntax_of(field).words(field, getattr(question, field.name), preset)
        words += (
            map(with_display_names, flag) if field.names in {"families", "perturbations"} else flag
        )
    words += ["--with", MODULE] if user_code_in(question) else []
    words += [] if facts["data"] == SAMPLE else ["--data", facts["data"]]
    return shlex.join(words + list_flags(facts, question.initial))


def python_of(question: Question, facts: Facts) -> str:
    """Python lines that ask a question and print the result."""
    facts, preset = question.list_facts(facts), _preset(facts)
    differing = {
        field.name: value
        for field in parameters(question)
        if (value := getattr(question, field.name)) != field.default
    }
    scope = {} if preset == preset_of(facts["data"]) else {"preset": preset}
    scope |= changed_lists(facts, question.initial)
    name, expression = type(question).__name__, question.result_line()
    user_names = user_code_in(question)
    lines = [
        *([f"import {MODULE}  # which registers {', '.join(user_names)}"] if user_names else []),
        f"from shuffleproof import {name}, ask",
        *_printing(question, expression),
        "",
        f"question = {name}(",
        *(f"    {field}={value!r}," for field, value in differing.items()),
        ")",
        f"result = ask({', '.join(['question', repr(facts['data']), *_arguments(scope)])})",
        f"print({expression})",
    ]
    return "\n".join(lines) + "\n"


def user_code_in(question: Question) -> list[str]:
    """Measures, perturbations and rankers of user code in a question.

    >>> from shuffleproof.core.studies.kinds.invariance.question import Invariance
    >>> user_code_in(Invariance(("dlcm", "dlcm#0123456789ab")))
    []
    """
    names = question.names()
    families = [*names.families, *(family for family, _ in names.perturbations)]
    links = [link.partition(":")[0] for family in families for link in family.split("+")]
    leaves = [leaf for name in expand(names.rankers).values() for leaf in name.leaves]
    user_names = [name for name in (*map(str, names.measures), *links) if MARK in name]
    return [*user_names, *(str(leaf) for leaf in leaves if leaf.kind is Kind.OBJECT)]


def _printing(question: Question, expression: str) -> list[str]:
    """Import of the function that prints the result; empty for a method of the result."""
    place = question.place("sections")
    return [
        f"from {place} import {function}"
        for function in re.findall(r"\b(\w+)\(result\b", expression)
    ]


def ranker_command(recipe: Facts, data: str) -> str:
    """Command that trains a stored ranker again.

    Args:
        recipe: of the artefact: `ranker`, `lists`.
        data: current name of the data set.

    Raises:
        UsageError: no flags can express its lists.

    >>> from shuffleproof.core.rankers import registry
    >>> recipe = {"ranker": registry.spec("dlcm", "small", epochs=3).recipe(), "lists": "all"}
    >>> ranker_command(recipe, "mine")
    'shuffleproof train dlcm@small --data mine --set epochs=3'
    >>> ranker_command({"ranker": {"name": "scores", "file": "mine.txt"}}, "mine")
    'shuffleproof bring scores mine.txt --data mine'
    """
    name = str(recipe["ranker"]["name"])
    if name in FILES:
        words = ["shuffleproof", "bring", name, str(recipe["ranker"]["file"])]
        rule = recipe["ranker"].get("columns")
        words += ["--columns", str(rule)] if rule else []
        return shlex.join(words + ([] if data == SAMPLE else ["--data", data]))
    if name in CONFIGS:
        raise UsageError("its parameters were in a file: write those of its recipe to one")
    preset, changed = from_preset(recipe["ranker"])
    words = ["shuffleproof", "train", f"{name}@{preset}" if preset else name]
    if RankerName.of(name).kind is Kind.OBJECT:
        words += ["--with", MODULE]
        changed = {field: value for field, value in changed.items() if field == "seed" and value}
    words += [] if data == SAMPLE else ["--data", data]
    lists = recipe.get("lists")
    if isinstance(lists, Mapping):
        if "initial" not in lists:
            raise UsageError(
                "it is one part of a cross-fitting, which its lists make by themselves: "
                "train on those"
            )
        words += list_flags({"data": data, "lists": lists})
    if changed:
        words += ["--set", *(f"{field}={text_of(value)}" for field, value in changed.items())]
    return shlex.join(words)


def list_flags(facts: Facts, initial: tuple[str, ...] = Question.initial) -> list[str]:
    """Flags of the lists' recipe, and of the preset.

    Args:
        facts: `data`, `lists`, `preset`.
        initial: default initial rankers of the command.

    Raises:
        UsageError: no flags can express it.
    """
    changed = changed_lists(facts, initial)
    without_flag = sorted(set(changed).difference(LIST_FLAGS))
    if without_flag or changed.get("depth", 0) is None:
        cause = ", ".join(without_flag) or "lists of all documents"
        raise UsageError(f"no flag of the command line says {cause}: use the lines of Python")
    words: list[str] = []
    for name in LIST_FLAGS:
        if name in changed:
            words += [f"--{name}", text_of(changed[name])]
    preset = _preset(facts)
    return words if preset == preset_of(facts["data"]) else [*words, "--preset", preset]


def changed_lists(facts: Facts, initial: tuple[str, ...] = Question.initial) -> dict[str, Any]:
    """Fields of the lists' recipe that differ from the defaults of a command."""
    defaults = asdict(ListRecipe(tuple(f"{name}@{_preset(facts)}" for name in initial)))
    lists = facts.get("lists", defaults)
    recipe = {name: lists.get(name, value) for name, value in defaults.items()}
    recipe["initial"] = tuple(recipe["initial"])
    return {name: value for name, value in recipe.items() if value != defaults[name]}


def _preset(facts: Facts) -> str:
    return str(facts.get("preset") or preset_of(facts["data"]))


def _arguments(values: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in values.items()]
