"""The flags of `study group-shuffles`."""

import argparse
from collections.abc import Callable

SHUFFLES = "1,2,4,8,16,32,64"


def add(
    command: Callable[[str, str, str], argparse.ArgumentParser],
    workbench: Callable[[argparse.ArgumentParser], None],
    count: Callable[[str], int],
) -> None:
    """Add the command.

    Args:
        command: (name, function that answers, summary) → a new command of `study`.
        workbench: adds the flags that say which data and lists.
        count: a whole number from 1 on, from text.
    """
    groups = command(
        "group-shuffles", "group_shuffles:study", "GSF's order dependence by its shuffles"
    )
    groups.add_argument("--rankers", default="gsf", help="comma-separated (default gsf)")
    groups.add_argument(
        "--shuffles", default=SHUFFLES, help=f"numbers S of shuffles (default {SHUFFLES})"
    )
    groups.add_argument(
        "--orders", type=count, default=8, help="random orders shown of a list (default 8)"
    )
    groups.add_argument("--queries", type=count, help="only the first so many test queries")
    workbench(groups)
