"""Studies of disturbed inputs as what would make them again: a command line, or Python."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from core.errors import ParameterError, UsageError
from core.perturb.worst_case import Search
from core.studies.answer_changes import OWN
from core.studies.command import changed_lists, list_flags, opened, rankers_of
from core.studies.initial_ranking import PAPER_FAMILY
from core.studies.perturbations import pairs_of
from core.studies.worst_case_plan import BUDGETS

Recipe = Mapping[str, Any]
DRAWS, RANDOM_DRAWS = 5, 10
MEASURE = "NDCG@10"
SAID_BY_FLAGS = frozenset({"method", "unit", "budget"})


def card_command(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The command that makes a robustness card, flags at their defaults left out.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> recipe = {"rankers": [["initial ranking", ""], ["dlcm", ""]], "draws": 5, "seed": 0,
    ...           "perturbations": [["shuffle", 0.0], ["shuffle", 0.5]]}
    >>> card_command(recipe, {"data": "sample"})
    'shuffleproof study card --rankers dlcm --families shuffle'
    """
    words = ["shuffleproof", "study", "card", "--rankers", ",".join(rankers_of(recipe))]
    families = ",".join(_levels(recipe))
    if families != PAPER_FAMILY:
        words += ["--families", families]
    return shlex.join(words + _rest(recipe, facts, DRAWS))


def card_python(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The lines that make a robustness card and print it; arguments as the command's."""
    how = f"draws={recipe['draws']}, seed={recipe['seed']}"
    lines = [
        *_imports(facts, "card, card_table"),
        f"rankers, families = {rankers_of(recipe)!r}, {list(_levels(recipe))!r}",
        f"stored = finished(card.run(bench, rankers, families, {how}))",
        "result = StudyResult.open(stored.path)",
        f"print(card_table.cards(result, families[0], {MEASURE!r}).T)",
    ]
    return "\n".join(lines) + "\n"


def perturbations_command(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The command that makes a study of perturbations, flags at their defaults left out.

    Raises:
        UsageError: no flags say how the lists are made, or which levels.

    >>> pairs = [["cut", 0.0], ["cut", 0.5], ["shuffle", 0.0], ["shuffle", 0.5]]
    >>> recipe = {"rankers": [["dlcm", ""]], "draws": 5, "seed": 0, "perturbations": pairs,
    ...           "measures": ["NDCG@10", "answer-tau"]}
    >>> perturbations_command(recipe, {"data": "sample"})
    'shuffleproof study perturbations --rankers dlcm --families cut,shuffle --levels 0.5'
    """
    words = ["shuffleproof", "study", "perturbations", "--rankers", ",".join(rankers_of(recipe))]
    families, levels = _families(recipe)
    words += ["--families", ",".join(families)] + (["--levels", levels] if levels else [])
    words += _rest(recipe, facts, DRAWS)
    measures = _measures(recipe)
    return shlex.join(words + ([] if measures == [MEASURE] else ["--measures", ",".join(measures)]))


def perturbations_python(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The lines that make a study of perturbations and print its losses."""
    pairs = [(family, float(level)) for family, level in recipe["perturbations"]]
    measures = tuple(_measures(recipe))
    how = f"pairs, measures, draws={recipe['draws']}, seed={recipe['seed']}"
    lines = [
        *_imports(facts, "perturbations, perturbations_table"),
        f"rankers, measures = {rankers_of(recipe)!r}, {measures!r}",
        f"pairs = {pairs!r}",
        f"setup = perturbations.Setup({how})",
        "stored = finished(perturbations.run(bench, rankers, setup))",
        "result = StudyResult.open(stored.path)",
        "print(perturbations_table.losses(result, measures[0]))",
    ]
    return "\n".join(lines) + "\n"


def worst_case_command(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The command that makes a study of the worst case, flags at their defaults left out.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> recipe = {"rankers": [["dlcm", ""]], "draws": 10, "seed": 1, "budgets": [1, 3],
    ...           "search": {"method": "beam", "unit": "inversions"}, "target": "ranking",
    ...           "measure": "NDCG@10", "queries": None}
    >>> worst_case_command(recipe, {"data": "sample"})
    'shuffleproof study worst-case --rankers dlcm --method beam --budgets 1,3 --seed 1'
    """
    words = ["shuffleproof", "study", "worst-case", "--rankers", ",".join(rankers_of(recipe))]
    usual = asdict(Search()) | {"target": "ranking", "measure": MEASURE, "queries": None}
    given = dict(recipe["search"]) | {name: recipe[name] for name in ("target", "measure")}
    given["queries"] = recipe["queries"]
    for name in ("target", "unit", "method"):
        words += [] if given[name] == usual[name] else [f"--{name}", str(given[name])]
    beyond = {
        name: v for name, v in _changed(recipe["search"]).items() if name not in SAID_BY_FLAGS
    }
    words += ["--set", *(f"{name}={value}" for name, value in beyond.items())] if beyond else []
    if tuple(recipe["budgets"]) != BUDGETS:
        words += ["--budgets", ",".join(map(str, recipe["budgets"]))]
    for name in ("measure", "queries"):
        words += [] if given[name] == usual[name] else [f"--{name}", str(given[name])]
    return shlex.join(words + _rest(recipe, facts, RANDOM_DRAWS))


def worst_case_python(recipe: Recipe, facts: Mapping[str, Any]) -> str:
    """The lines that make a study of the worst case and print its table."""
    search = ", ".join(f"{name}={value!r}" for name, value in _changed(recipe["search"]).items())
    how = f"budgets={list(recipe['budgets'])!r}, target={recipe['target']!r}, "
    how += f"measure={recipe['measure']!r}"
    more = f"draws={recipe['draws']}, seed={recipe['seed']}, queries={recipe['queries']!r}"
    lines = [
        "from core.perturb.worst_case import Search",
        *_imports(facts, "worst_case, worst_case_table"),
        f"rankers, search = {rankers_of(recipe)!r}, Search({search})",
        f"how = dict({how})",
        f"stored = finished(worst_case.run(bench, rankers, search, **how, {more}))",
        "print(worst_case_table.table(StudyResult.open(stored.path)))",
    ]
    return "\n".join(lines) + "\n"


def _imports(facts: Mapping[str, Any], modules: str) -> list[str]:
    first = ["from core.rankers.initial import ListRecipe"] if changed_lists(facts) else []
    return [
        *first,
        f"from core.studies import {modules}",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
    ]


def _rest(recipe: Recipe, facts: Mapping[str, Any], usual_draws: int) -> list[str]:
    """The flags that all three share: data, lists, draws, seed."""
    words = [] if facts["data"] == "sample" else ["--data", facts["data"]]
    words += list_flags(facts)
    words += [] if recipe["draws"] == usual_draws else ["--draws", str(recipe["draws"])]
    return words + (["--seed", str(recipe["seed"])] if recipe["seed"] else [])


def _measures(recipe: Recipe) -> list[str]:
    return [text for text in recipe["measures"] if text not in OWN]


def _levels(recipe: Recipe) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for family, level in recipe["perturbations"]:
        found.setdefault(family, []).append(float(level))
    return found


def _families(recipe: Recipe) -> tuple[Sequence[str], str | None]:
    """The families and levels as flags that give the same pairs; the lists as they are come first.

    Raises:
        UsageError: no flags give them.
    """
    levels = _levels(recipe)
    pairs = [(family, float(level)) for family, level in recipe["perturbations"]]
    for families, wanted in ((list(levels), pairs), (list(levels)[1:], pairs[1:])):
        if not families:
            continue
        given = ",".join(f"{level:g}" for level in levels[families[0]][1:])
        for said in (None, given or None):
            if _pairs(families, said) == wanted:
                return families, said
    raise UsageError("no flags of the command line say these levels: use Python")


def _pairs(families: Sequence[str], levels: str | None) -> list[tuple[str, float]]:
    """As `pairs_of`; none where a family does not take the levels."""
    try:
        return pairs_of(families, levels)
    except ParameterError:
        return []


def _changed(search: Mapping[str, Any]) -> dict[str, Any]:
    """What of a search differs from its defaults."""
    usual = asdict(Search())
    return {
        name: value for name, value in search.items() if value != usual[name] and name != "budget"
    }
