"""The flags of `study perturbations` and `study worst-case`."""

import argparse
from collections.abc import Callable

from core.cli import flags_measures

LEVELS = "levels of every family, comma-separated; by default each family's own"
FAMILIES = (
    "comma-separated names of `list perturbations`, chains such as transpositions:5+shuffle-shown, "
    "gradient-sign@RANKER, or label-flips@0.9_0.1/0.2_0.8 (a row a grade)"
)
SEARCHED = "how it is searched: places, width, candidates, chains, rounds, hot, cold"
RANKERS = "comma-separated, each with @preset, or a Python callable `module:function`"


def add(
    command: Callable[[str, str, str], argparse.ArgumentParser],
    workbench: Callable[[argparse.ArgumentParser], None],
    count: Callable[[str], int],
) -> None:
    """Add both commands.

    Args:
        command: (name, function that answers, summary) → a new command of `study`.
        workbench: adds the flags that say which data and lists.
        count: a whole number from 1 on, from text.
    """
    many = command(
        "perturbations", "perturbations:perturbations", "anything that may happen to an input"
    )
    many.add_argument("--rankers", required=True, help=RANKERS)
    many.add_argument("--families", required=True, help=FAMILIES)
    many.add_argument("--levels", help=LEVELS)
    many.add_argument("--draws", type=count, default=5, help="draws a level (default 5)")
    flags_measures.add(many)
    workbench(many)
    worst = command("worst-case", "perturbations:worst_case", "the order that hurts most, searched")
    worst.add_argument("--rankers", required=True, help=RANKERS)
    worst.add_argument(
        "--target",
        choices=("ranking", "shown"),
        default="ranking",
        help="what is rearranged: the initial ranking, or the order shown alone",
    )
    worst.add_argument(
        "--unit",
        choices=("inversions", "exchanges"),
        default="inversions",
        help="what the budget counts: exchanges of neighbours, or of any two places",
    )
    worst.add_argument("--method", choices=("greedy", "beam", "annealing"), default="greedy")
    worst.add_argument("--budgets", default="1,2,5,10", help="steps a list, comma-separated")
    worst.add_argument("--measure", default="NDCG@10", help="what is hurt (default NDCG@10)")
    flags_measures.shared(worst)
    worst.add_argument(
        "--draws", type=count, default=10, help="random orders a budget (default 10)"
    )
    worst.add_argument("--queries", type=count, help="only the first so many test queries")
    worst.add_argument("--set", nargs="+", default=[], metavar="FIELD=VALUE", help=SEARCHED)
    worst.add_argument(
        "--map", metavar="QUERY", help="also what each single exchange costs in this query"
    )
    workbench(worst)
