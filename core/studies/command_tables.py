"""A stored benchmark or ablation as what would make it again: a command line, or Python."""

import shlex
from collections.abc import Mapping
from typing import Any

from core.errors import UsageError
from core.studies.command import changed_lists, list_flags, opened, usual_preset
from core.studies.ranker_sets import NAMED

REFERENCES = frozenset({"ideal", "initial ranking", "random"})
TABLE = ["NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10"]
SEEDS, SET = 3, "table2"
LEVELS, DRAWS, RANKER = [0.0, 5.0, 20.0], 5, "setrank-imsab-init"
TOWARDS = ["released", "tuned"]


def benchmark_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes a benchmark, flags at their defaults left out.

    Args:
        recipe: of the benchmark.
        facts: of the benchmark: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> rows = [{"label": "ideal", "seeds": 1}, {"label": "random", "seeds": 2},
    ...         {"label": "dlcm", "seeds": 2}]
    >>> benchmark_command({"rows": rows, "measures": ["RR"]}, {"data": "mine"})
    'shuffleproof study benchmark --rankers dlcm --data mine --seeds 2 --measures RR'
    """
    words = ["shuffleproof", "study", "benchmark"]
    asked = _asked(recipe)
    if asked != [SET]:
        words += ["--rankers", ",".join(asked)]
    words += _data(facts) + list_flags(facts)
    if _seeds(recipe) != SEEDS:
        words += ["--seeds", str(_seeds(recipe))]
    if list(recipe["measures"]) != TABLE:
        words += ["--measures", ",".join(recipe["measures"])]
    return shlex.join(words)


def benchmark_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make a benchmark and print its table; arguments as the command's."""
    names = [fold["name"] for fold in facts["folds"]]
    first, *rest = opened(facts)
    lines = ["from core.rankers.initial import ListRecipe"] if changed_lists(facts) else []
    lines += [
        "from core.studies import benchmark, benchmark_text",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"folds = {names!r}",
        f"opened = [Workbench.opened({', '.join(['fold', *rest])}) for fold in folds]",
        "benches = [finished(work) for work in opened]",
        f"rankers, measures = {_asked(recipe)!r}, {list(recipe['measures'])!r}",
        f"plan = benchmark.planned(benches, rankers, measures, {_seeds(recipe)})",
        f"stored = finished(benchmark.run(benches, plan, {first}))",
        "result = StudyResult.open(stored.path)",
        "print(benchmark_text.markdown(result, plan.measures, ['initial ranking']))",
    ]
    return "\n".join(lines) + "\n"


def ablation_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes an ablation, flags at their defaults left out.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`, `ranker`, `sizes`, `towards`.

    Raises:
        UsageError: no flags say how the lists are made, or it was made before sizes were noted.

    >>> recipe = {"perturbations": [["transpositions", 0.0], ["transpositions", 9.0]],
    ...           "draws": 5, "seed": 1}
    >>> facts = {"data": "sample", "ranker": "dlcm", "sizes": "small", "towards": ["released"]}
    >>> ablation_command(recipe, facts)
    'shuffleproof study ablation --ranker dlcm --towards released --levels 0,9 --seed 1'
    """
    words = ["shuffleproof", "study", "ablation"]
    _noted(facts)
    if facts["ranker"] != RANKER:
        words += ["--ranker", facts["ranker"]]
    words += _data(facts) + list_flags(facts)
    usual = "small" if facts.get("preset", usual_preset(facts)) == "small" else None
    if facts["sizes"] != usual:
        words += ["--sizes", facts["sizes"] or "own"]
    if list(facts["towards"]) != TOWARDS:
        words += ["--towards", ",".join(facts["towards"])]
    if _levels(recipe) != LEVELS:
        words += ["--levels", ",".join(f"{level:g}" for level in _levels(recipe))]
    if recipe["draws"] != DRAWS:
        words += ["--draws", str(recipe["draws"])]
    if recipe["seed"]:
        words += ["--seed", str(recipe["seed"])]
    return shlex.join(words)


def ablation_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make an ablation and print its table; arguments as the command's."""
    _noted(facts)
    how = f"sizes={facts['sizes']!r}, towards={list(facts['towards'])!r}, seed={recipe['seed']}"
    lines = ["from core.rankers.initial import ListRecipe"] if changed_lists(facts) else []
    lines += [
        "from core.studies import ablation",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"made = ablation.variants({facts['ranker']!r}, {how})",
        f"levels, draws, seed = {_levels(recipe)!r}, {recipe['draws']}, {recipe['seed']}",
        "work = ablation.run(bench, made, levels, draws, seed)",
        "print(ablation.table(StudyResult.open(finished(work).path)))",
    ]
    return "\n".join(lines) + "\n"


def _asked(recipe: Mapping[str, Any]) -> list[str]:
    """The rankers of a benchmark as somebody would ask for them: a set by its name."""
    labels = [row["label"] for row in recipe["rows"] if row["label"] not in REFERENCES]
    return next(([name] for name, own in NAMED.items() if list(own) == labels), labels)


def _seeds(recipe: Mapping[str, Any]) -> int:
    return max((int(row["seeds"]) for row in recipe["rows"]), default=1)


def _levels(recipe: Mapping[str, Any]) -> list[float]:
    return [float(level) for _, level in recipe["perturbations"]]


def _data(facts: Mapping[str, Any]) -> list[str]:
    return [] if facts["data"] == "sample" else ["--data", facts["data"]]


def _noted(facts: Mapping[str, Any]) -> None:
    if "sizes" not in facts or "towards" not in facts:
        raise UsageError("this ablation was stored without its sizes; run it again")
