"""The flags of the studies that train: Tables 2, 3 and 4, and the ablation."""

import argparse
from collections.abc import Callable

from core.cli import flags_measures

TABLE = "NDCG@1,NDCG@3,NDCG@5,NDCG@10"
NAMED = (
    "comma-separated; also combinations (rrf:dlcm+mart, shuffled:dlcm), stored ones (name#digits), "
    "files (scores:, lightgbm:, xgboost: and a path) and module:function"
)
SIZED = "setrank-imsab,setrank-msab,dlcm-without-init"
INITIALS = "setrank-imsab,setrank-imsab-init,setrank-imsab-multi-init"
FOUR = "lambdamart,mart,ranksvm,rankboost"
INITIAL = "initial ranking"
SWAPS = "oracle,anti-oracle,random"


def add(
    command: Callable[[str, str, str], argparse.ArgumentParser],
    workbench: Callable[..., None],
    count: Callable[[str], int],
) -> None:
    """Add the commands.

    Args:
        command: (name, function that answers, summary) → a new command of `study`.
        workbench: adds the flags that say which data and lists, with the usual initial rankers.
        count: a whole number from 1 on, from text.
    """
    table = command("benchmark", "benchmark:study", "Table 2: every ranker over seeds and folds")
    table.add_argument("--seeds", type=count, default=3, help="of each ranker (default 3)")
    flags_measures.add(table, TABLE)
    table.add_argument("--against", default=INITIAL, help=f"baselines (default {INITIAL})")
    table.add_argument(
        "--rankers",
        default="table2",
        help="comma-separated; also table2 (default), pairwise, all, and combinations such as "
        "rrf:dlcm+mart or shuffled:dlcm, and rankers from outside: brought (scores#digits), files "
        "(scores:, lightgbm:, xgboost: and a path) and module:function",
    )
    marked(table)
    sizes = command("set-size", "set_size:study", "Table 3: train on N0, test on N1")
    sizes.add_argument("--rankers", default=SIZED, help=f"{NAMED} (default {SIZED})")
    sizes.add_argument(
        "--trained-on",
        help="candidates a list, comma-separated (default: the smallest of --sizes, and the next "
        "where it is no more than 100 and not the largest)",
    )
    sizes.add_argument(
        "--sizes",
        help="candidates tested on (N1); default 40,240,500 as far as lists are that long, else "
        "steps up to the longest",
    )
    many = command(
        "initial-rankings", "initial_rankings:study", "Table 4: none, one or many of them"
    )
    many.add_argument("--rankers", default=INITIALS, help=f"{NAMED} (default {INITIALS})")
    many.add_argument(
        "--swaps", default=SWAPS, help=f"put in the first one's place (default {SWAPS})"
    )
    for one in (sizes, many):
        one.add_argument("--seeds", type=count, default=1, help="of each ranker (default 1)")
        flags_measures.add(one)
    steps = command("ablation", "ablation:study", "paper against released code, step by step")
    steps.add_argument("--ranker", default="setrank-imsab-init", help="a neural ranker")
    steps.add_argument(
        "--sizes",
        help="a preset whose sizes all variants take, or own (default for the sample: small)",
    )
    steps.add_argument(
        "--towards",
        default="released,tuned",
        help="presets whose differences are taken one by one; claims: what DLCM's paper compares",
    )
    steps.add_argument("--levels", default="0,5,20", help="transpositions, comma-separated")
    steps.add_argument("--draws", type=count, default=5, help="draws a level (default 5)")
    for one in (table, sizes, steps):
        workbench(one)
    workbench(many, FOUR)


def marked(command: argparse.ArgumentParser) -> None:
    """Add the flags that say how rows of a table are compared with its baselines."""
    command.add_argument(
        "--test", default="paired t", choices=("paired t", "randomisation"), help="of the marks"
    )
    command.add_argument(
        "--marks", default="letters", choices=("letters", "daggers"),
        help="a b c (default), or + † ‡ as in the paper",
    )  # fmt: skip
