"""The flags of the studies of trained rankers: Figure 3, certificates, cards, attention."""

import argparse
from collections.abc import Callable

from core.cli import flags_measures

LEVELS = "levels of each family, comma-separated; by default the family's own"
RANKERS = "comma-separated, each with @preset, or a Python callable `module:function`"


def add(
    command: Callable[[str, str, str], argparse.ArgumentParser],
    workbench: Callable[[argparse.ArgumentParser], None],
    count: Callable[[str], int],
) -> None:
    """Add the commands.

    Args:
        command: (name, function that answers, summary) → a new command of `study`.
        workbench: adds the flags that say which data and lists.
        count: a whole number from 1 on, from text.
    """
    figure = command(
        "initial-ranking", "studies:initial_ranking", "Figure 3: a worse initial ranking"
    )
    figure.add_argument("--families", default="transpositions", help="comma-separated")
    figure.add_argument("--levels", help=LEVELS)
    figure.add_argument("--draws", type=count, default=10, help="draws a level (default 10)")
    flags_measures.add(figure)
    invariance = command("invariance", "studies:invariance", "certificates by real permutations")
    invariance.add_argument("--permutations", type=count, default=20, help="a query (default 20)")
    cards = command("card", "card:study", "one card of robustness a ranker")
    cards.add_argument("--families", default="transpositions", help="comma-separated")
    cards.add_argument("--draws", type=count, default=5, help="draws a level (default 5)")
    weights = command(
        "attention", "attention:study", "what every head looks at, over all test queries"
    )
    weights.add_argument("--queries", type=count, help="only the first so many test queries")
    weights.add_argument(
        "--dead-below",
        type=float,
        default=0.1,
        help="an induced point is dead below so many times its fair share (default 0.1)",
    )
    weights.add_argument("--query", help="one test query's list, not all of them")
    weights.add_argument(
        "--change",
        default="shuffled:1",
        help="with --query: what happens to the list, as shuffled:7 or cut:0.2:0 "
        "(default shuffled:1)",
    )
    weights.add_argument("--map", help="with --query: which weights --json holds")
    weights.add_argument("--block", type=count, default=1, help="with --query (default 1)")
    weights.add_argument("--head", type=count, help="with --query; by default the mean of all")
    for one in (figure, invariance, cards, weights):
        one.add_argument("--rankers", required=True, help=RANKERS)
        workbench(one)
