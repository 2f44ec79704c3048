"""The study of GSF's shuffles as what would make it again: a command line, or Python."""

import shlex
from collections.abc import Mapping
from typing import Any

from core.studies.command import changed_lists, list_flags, opened

SHUFFLES = [1, 2, 4, 8, 16, 32, 64]
ORDERS, RANKERS = 8, ["gsf"]


def group_shuffles_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes the study, flags at their defaults left out.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> recipe = {"rankers": [["gsf", ""]], "shuffles": [1, 4], "orders": 8, "seed": 0,
    ...           "queries": 9}
    >>> group_shuffles_command(recipe, {"data": "mine"})
    'shuffleproof study group-shuffles --data mine --shuffles 1,4 --queries 9'
    """
    words = ["shuffleproof", "study", "group-shuffles"]
    if _rankers(recipe) != RANKERS:
        words += ["--rankers", ",".join(_rankers(recipe))]
    if facts["data"] != "sample":
        words += ["--data", facts["data"]]
    words += list_flags(facts)
    if list(recipe["shuffles"]) != SHUFFLES:
        words += ["--shuffles", ",".join(map(str, recipe["shuffles"]))]
    if recipe["orders"] != ORDERS:
        words += ["--orders", str(recipe["orders"])]
    if recipe["queries"] is not None:
        words += ["--queries", str(recipe["queries"])]
    if recipe["seed"]:
        words += ["--seed", str(recipe["seed"])]
    return shlex.join(words)


def group_shuffles_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make the study and print its findings; arguments as the command's."""
    lines = ["from core.rankers.initial import ListRecipe"] if changed_lists(facts) else []
    how = {name: recipe[name] for name in ("shuffles", "orders", "seed", "queries")}
    lines += [
        "from core.studies import group_shuffles, group_shuffles_table",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"rankers = {_rankers(recipe)!r}",
        f"how = {how!r}",
        "study = finished(group_shuffles.run(bench, rankers, **how))",
        "for ranker in rankers:",
        "    print(group_shuffles_table.finding(StudyResult.open(study.path), ranker))",
    ]
    return "\n".join(lines) + "\n"


def _rankers(recipe: Mapping[str, Any]) -> list[str]:
    return [str(label) for label, _ in recipe["rankers"]]
