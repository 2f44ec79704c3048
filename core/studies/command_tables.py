"""A stored table as what would make it again: a command line, or Python."""

import shlex
from collections.abc import Mapping
from typing import Any

from core.errors import UsageError
from core.studies import command_runs
from core.studies.command import changed_lists, list_flags, opened, usual_preset
from core.studies.ranker_sets import NAMED

REFERENCES = frozenset({"ideal", "initial ranking", "random"})
TABLE = ["NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10"]
SEEDS, SET = 3, "table2"
LEVELS, DRAWS, RANKER = [0.0, 5.0, 20.0], 5, "setrank-imsab-init"
TOWARDS = ["released", "tuned"]
SIZED = ["setrank-imsab", "setrank-msab", "dlcm-without-init"]
INITIALS = ["setrank-imsab", "setrank-imsab-init", "setrank-imsab-multi-init"]
FOUR = ("lambdamart", "mart", "ranksvm", "rankboost")
SWAPS = ["oracle", "anti-oracle", "random"]


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
    if command_runs.is_of_runs(recipe):
        return command_runs.runs_command(recipe, facts)
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
    if command_runs.is_of_runs(recipe):
        return command_runs.runs_python(recipe, facts)
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
    if _towards(recipe, facts) != TOWARDS:
        words += ["--towards", ",".join(_towards(recipe, facts))]
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
    how = f"sizes={facts['sizes']!r}, towards={_towards(recipe, facts)!r}, seed={recipe['seed']}"
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
    """The rankers of a table as somebody would ask for them, each once: a set by its name."""
    given = dict.fromkeys(row["label"] for row in recipe["rows"])
    labels = [
        label for label in given if label not in REFERENCES and not label.startswith("initial: ")
    ]
    return next(([name] for name, own in NAMED.items() if list(own) == labels), labels)


def _towards(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """The presets whose differences were taken; older ablations noted those that have several."""
    return list(facts["towards"]) or [label for label, _ in recipe["rankers"][1:]]


def _seeds(recipe: Mapping[str, Any]) -> int:
    return max((int(row["seeds"]) for row in recipe["rows"]), default=1)


def _levels(recipe: Mapping[str, Any]) -> list[float]:
    return [float(level) for _, level in recipe["perturbations"]]


def _data(facts: Mapping[str, Any]) -> list[str]:
    return [] if facts["data"] == "sample" else ["--data", facts["data"]]


def _noted(facts: Mapping[str, Any]) -> None:
    if "sizes" not in facts or "towards" not in facts:
        raise UsageError("this ablation was stored without its sizes; run it again")


def set_size_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes a study of set size, flags at their defaults left out.

    Sizes are always said: their defaults are those that the lists of the data reach.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> rows = [{"label": "initial ranking", "size": None, "seeds": 1},
    ...         {"label": "dlcm-without-init", "size": 10, "seeds": 1}]
    >>> recipe = {"rows": rows, "sizes": [10, 20], "measures": ["NDCG@10"]}
    >>> set_size_command(recipe, {"data": "sample"})
    'shuffleproof study set-size --rankers dlcm-without-init --trained-on 10 --sizes 10,20'
    """
    words = ["shuffleproof", "study", "set-size"]
    rankers, trained_on, sizes = _asked(recipe), _trained_on(recipe), list(recipe["sizes"])
    if rankers != SIZED:
        words += ["--rankers", ",".join(rankers)]
    words += _data(facts)
    words += ["--trained-on", ",".join(map(str, trained_on))]
    words += ["--sizes", ",".join(map(str, sizes))]
    words += list_flags(_without_depth(facts))
    return shlex.join(words + _seeds_and_measures(recipe))


def set_size_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make a study of set size and print its finding; arguments as the command's."""
    preset = facts.get("preset", usual_preset(facts))
    said = {"initial": (f"lambdamart@{preset}",)} | changed_lists(_without_depth(facts))
    lists = ", ".join(f"{name}={value!r}" for name, value in said.items())
    sizes, measures = list(recipe["sizes"]), list(recipe["measures"])
    trained_on, data = _trained_on(recipe), repr(facts["data"])
    lines = [
        "from core.rankers.initial import ListRecipe",
        "from core.store.artefacts import default_store",
        "from core.studies import set_size, set_size_table",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import finished",
        "",
        f"lists, store = ListRecipe({lists}), default_store()",
        f"opening = set_size.opened({data}, {sizes!r}, lists, store, {preset!r})",
        "benches = finished(opening)",
        f"rankers = {_asked(recipe)!r}",
        f"measures = {measures!r}",
        f"plan = set_size.planned(benches, rankers, {trained_on!r}, measures, {_seeds(recipe)})",
        f"stored = finished(set_size.run(benches, plan, {data}))",
        "print(set_size_table.finding(StudyResult.open(stored.path), measures[0]))",
    ]
    return "\n".join(lines) + "\n"


def initial_rankings_command(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The command that makes a study of several initial rankings, defaults left out.

    Args:
        recipe: of the study.
        facts: of the study: `data`, `lists`, `preset`.

    Raises:
        UsageError: no flags say how the lists are made.

    >>> four = ["lambdamart@small", "mart@small", "ranksvm@small", "rankboost@small"]
    >>> rows = [{"label": "initial: oracle", "seeds": 1}, {"label": "dlcm", "seeds": 2}]
    >>> recipe = {"rows": rows, "initial": [*four, "oracle"], "measures": ["NDCG@10"]}
    >>> lists = {"initial": four, "depth": 40, "scores": "cross-fitted", "folds": 5, "seed": 0}
    >>> initial_rankings_command(recipe, {"data": "sample", "lists": lists})
    'shuffleproof study initial-rankings --rankers dlcm --swaps oracle --seeds 2'
    """
    words = ["shuffleproof", "study", "initial-rankings"]
    rankers, swaps = _asked(recipe), _swaps(recipe, facts)
    if rankers != INITIALS:
        words += ["--rankers", ",".join(rankers)]
    words += _data(facts)
    if swaps != SWAPS:
        words += ["--swaps", ",".join(swaps)]
    words += list_flags(_with_usual_initial(facts))
    return shlex.join(words + _seeds_and_measures(recipe))


def initial_rankings_python(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """The lines that make a study of several initial rankings; arguments as the command's."""
    how = f"{_swaps(recipe, facts)!r}, {list(recipe['measures'])!r}, {_seeds(recipe)}"
    lines = [
        "from core.rankers.initial import ListRecipe",
        "from core.studies import initial_rankings, initial_rankings_table",
        "from core.studies.result import StudyResult",
        "from core.studies.workbench import Workbench, finished",
        "",
        f"bench = finished(Workbench.opened({', '.join(opened(facts))}))",
        f"rankers = {_asked(recipe)!r}",
        f"plan = initial_rankings.planned(bench, rankers, {how})",
        "stored = finished(initial_rankings.run(bench, plan))",
        "result = StudyResult.open(stored.path)",
        "print(initial_rankings_table.finding(result, plan.measures[0]))",
    ]
    return "\n".join(lines) + "\n"


def _trained_on(recipe: Mapping[str, Any]) -> list[int]:
    """N0; where no ranker is trained on lists, any size that is tested on stands for it."""
    own = {int(row["size"]) for row in recipe["rows"] if row["size"] is not None}
    return sorted(own) or [40 if 40 in recipe["sizes"] else int(recipe["sizes"][0])]


def _without_depth(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts as if lists were cut as usual: a study of sizes says its sizes itself."""
    lists = facts.get("lists")
    return dict(facts) if lists is None else dict(facts) | {"lists": dict(lists) | {"depth": 40}}


def _with_usual_initial(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts as if the paper's four initial rankers, which need no flag, were the usual one."""
    preset = facts.get("preset", usual_preset(facts))
    lists = dict(facts["lists"])
    if list(lists["initial"]) == [f"{name}@{preset}" for name in FOUR]:
        lists["initial"] = [f"lambdamart@{preset}"]
    return dict(facts) | {"lists": lists}


def _swaps(recipe: Mapping[str, Any], facts: Mapping[str, Any]) -> list[str]:
    """What is put in an initial ranking's place at test time alone."""
    return list(recipe["initial"][len(facts["lists"]["initial"]) :])


def _seeds_and_measures(recipe: Mapping[str, Any]) -> list[str]:
    words = ["--seeds", str(_seeds(recipe))] if _seeds(recipe) != 1 else []
    if list(recipe["measures"]) != ["NDCG@10"]:
        words += ["--measures", ",".join(recipe["measures"])]
    return words
