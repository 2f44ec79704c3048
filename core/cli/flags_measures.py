"""The flags that say what is measured, under whose conventions, and with how many decimals."""

import argparse
from functools import partial

from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.parameters import chosen

DIGITS = 3


def add(command: argparse.ArgumentParser, default: str | None = "NDCG@10") -> None:
    """Add --measures and what goes with it.

    Args:
        command: the command.
        default: its measures; none: those that a stored study was asked for.
    """
    usual = "default: those of the study" if default is None else f"default {default}"
    command.add_argument("--measures", default=default, help=f"comma-separated ({usual})")
    shared(command, None if default is None else DIGITS)


def shared(command: argparse.ArgumentParser, digits: int | None = DIGITS) -> None:
    """Add the flags of how measures are meant and printed.

    Args:
        command: the command.
        digits: decimals of its tables; none: each table's own.
    """
    command.add_argument(
        "--conventions",
        choices=tuple(BUNDLES),
        type=partial(chosen, BUNDLES),
        help="whose conventions measures have that do not say their own; `list conventions`",
    )
    command.add_argument(
        "--digits", type=int, choices=range(1, 10), metavar="DIGITS", default=digits,
        help=f"decimals of tables for reading (default {digits or 'the table’s own'})",
    )  # fmt: skip
