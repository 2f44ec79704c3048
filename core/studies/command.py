"""A stored study as what would make it again: a command line, or ten lines of Python."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from core.errors import UsageError
from core.rankers.initial import ListRecipe
from core.studies.initial_ranking import INITIAL
from core.studies.study import levels_of

DEFAULT_MEASURES = ["NDCG@10"]
DEFAULT_DRAWS = 10
DEFAULT_PERMUTATIONS = 20
DEFAULT_LEVELS = "transpositions"
SAID_BY_FLAGS = frozenset({"initial", "depth", "scores"})


def command_of(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes an initial-ranking study, flags at their defaults left out.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say it (levels that differ between families, lists of all documents).

    >>> recipe = {"rankers": [["initial ranking", ""], ["dlcm", ""]], "draws": 3, "seed": 0,
    ...           "measures": ["NDCG@10"], "perturbations": [["shuffle", 0.0], ["shuffle", 0.5]]}
    >>> command_of(recipe, {"data": "sample"})
    'shuffleproof study initial-ranking --rankers dlcm --families shuffle --levels 0.5 --draws 3'
    """
    words = ["shuffleproof", "study", "initial-ranking", "--rankers", ",".join(rankers_of(recipe))]
    if facts["data"] != "sample":
        words += ["--data", facts["data"]]
    words += list_flags(facts) + _level_flags(recipe)
    if recipe["draws"] != DEFAULT_DRAWS:
        words += ["--draws", str(recipe["draws"])]
    if list(recipe["measures"]) != DEFAULT_MEASURES:
        words += ["--measures", ",".join(recipe["measures"])]
    if recipe["seed"]:
        words += ["--seed", str(recipe["seed"])]
    return shlex.join(words)


def python_of(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make an initial-ranking study and print its finding."""
    lists = changed_lists(facts)
    pairs = [(family, level) for family, level in recipe["perturbations"]]
    lines = ["from core.rankers.initial import ListRecipe"] if lists else []
    lines += [
        "from core.studies.initial_ranking import finding",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"rankers = {rankers_of(recipe)!r}",
        f"levels = {pairs!r}",
        f"measures = {list(recipe['measures'])!r}",
        "study = finished(",
        "    bench.initial_ranking(",
        f"        rankers, levels, measures, draws={recipe['draws']}, seed={recipe['seed']}",
        "    )",
        ")",
        f"print(finding(StudyResult.open(study.path), {pairs[0][0]!r}, measures[0]))",
    ]
    return "\n".join(lines) + "\n"


def certificates_command(
    rankers: Sequence[str],
    facts: Mapping[str, Any],
    permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = 0,
) -> str:
    """The command that examines rankers for permutation invariance.

    Args:
        rankers: `ranker` or `ranker@preset`.
        facts: `data`, `lists`, `preset`.
        permutations: of each query.
        seed: of the permutations.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> certificates_command(["dlcm"], {"data": "mine"})
    'shuffleproof study invariance --rankers dlcm --data mine'
    """
    words = ["shuffleproof", "study", "invariance", "--rankers", ",".join(rankers)]
    if facts["data"] != "sample":
        words += ["--data", facts["data"]]
    words += list_flags(facts)
    if permutations != DEFAULT_PERMUTATIONS:
        words += ["--permutations", str(permutations)]
    return shlex.join(words + (["--seed", str(seed)] if seed else []))


def certificates_python(
    rankers: Sequence[str],
    facts: Mapping[str, Any],
    permutations: int = DEFAULT_PERMUTATIONS,
    seed: int = 0,
) -> str:
    """The lines that examine rankers and print their certificates; arguments as the command's."""
    lists = changed_lists(facts)
    how = "" if permutations == DEFAULT_PERMUTATIONS else f", permutations={permutations}"
    how += f", seed={seed}" if seed else ""
    lines = ["from core.rankers.initial import ListRecipe"] if lists else []
    lines += [
        "from core.studies.result import stored_summary",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"study = finished(bench.invariance({list(rankers)!r}{how}))",
        "print(stored_summary(study.path))",
    ]
    return "\n".join(lines) + "\n"


def rankers_of(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers that were asked for; the initial ranking is always there."""
    return [label for label, _ in recipe["rankers"] if label != INITIAL]


def opened(facts: Mapping[str, Any]) -> list[str]:
    """The arguments with which Python opens the workbench."""
    lists = changed_lists(facts)
    arguments = [repr(facts["data"])]
    if lists:
        said = ", ".join(f"{name}={value!r}" for name, value in lists.items())
        arguments.append(f"ListRecipe({said})")
    if facts.get("preset", usual_preset(facts)) != usual_preset(facts):
        arguments.append(f"preset={facts['preset']!r}")
    return arguments


def list_flags(facts: Mapping[str, Any]) -> list[str]:
    """The flags that say how the lists are made.

    Raises:
        UsageError: no flags say it.
    """
    changed = changed_lists(facts)
    beyond = sorted(set(changed) - SAID_BY_FLAGS)
    if beyond or changed.get("depth", 0) is None:
        what = ", ".join(beyond) or "lists of all documents"
        raise UsageError(f"no flag of the command line says {what}: use Python")
    words: list[str] = []
    if "initial" in changed:
        words += ["--initial", ",".join(changed["initial"])]
    if "depth" in changed:
        words += ["--depth", str(changed["depth"])]
    if "scores" in changed:
        words += ["--scores", changed["scores"]]
    preset = facts.get("preset", usual_preset(facts))
    return words if preset == usual_preset(facts) else [*words, "--preset", preset]


def _level_flags(recipe: Mapping[str, Any]) -> list[str]:
    levels: dict[str, list[float]] = {}
    for family, level in recipe["perturbations"]:
        levels.setdefault(family, []).append(level)
    families = ",".join(levels)
    words = [] if families == DEFAULT_LEVELS else ["--families", families]
    if all(found == levels_of(family) for family, found in levels.items()):
        return words
    first = next(iter(levels.values()))
    first = first[1:] or first
    said = ",".join(f"{level:g}" for level in first)
    if said and all(found == levels_of(family, said) for family, found in levels.items()):
        return [*words, "--levels", said]
    raise UsageError("no flags of the command line say these levels: use Python")


def changed_lists(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What of the lists' recipe differs from what a command without flags takes."""
    preset = facts.get("preset", usual_preset(facts))
    usual = asdict(ListRecipe(initial=(f"lambdamart@{preset}",)))
    made = facts.get("lists", usual)
    found = {field.name: made[field.name] for field in fields(ListRecipe)}
    found["initial"] = tuple(found["initial"])
    return {name: value for name, value in found.items() if value != usual[name]}


def usual_preset(facts: Mapping[str, Any]) -> str:
    """The preset that a command takes where it names none."""
    return "small" if facts["data"] == "sample" else "paper"
