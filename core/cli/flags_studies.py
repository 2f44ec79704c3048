"""The flags of `study`, by each kind's question, and those of measures, which others share."""

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from shuffleproof.core.data.layout import SAMPLE
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.numerals import number, whole
from shuffleproof.core.parameters import choice_named, parameters
from shuffleproof.core.studies.question import QUERIES, Question, syntax_of
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, PREFERENCE_STUDIES, STUDIES

ANSWERS = {
    "benchmark": "benchmark:study",
    "initial-rankings": "multi_ranking:study",
    "attention": "attention:study",
    "card": "check:card",
    "worst-case": "worst_case:study",
}
"""What answers a question whose answer takes more than its sections."""

ANY = "studies:study"
"""What answers every other."""

BASELINE = "initial ranking"
DIGITS = 3
Command = Callable[[str, str, str], argparse.ArgumentParser]


def add(
    command: Command,
    workbench: Callable[..., None],
    count: Callable[[str], int],
) -> None:
    """Add the commands.

    Args:
        command: (name, function that answers, summary) → a new command of `study`.
        workbench: adds the flags that say which data and lists, with the usual initial rankers.
        count: a whole number from 1 on, from text.
    """
    for kind, question in STUDIES.items():
        added = command(kind, ANSWERS.get(kind, ANY), question.summary)
        added.set_defaults(first="open:look_over")
        fields(added, question)
        if any(field.names == "measures" for field in parameters(question)):
            conventions(added)
        if kind in MORE:
            MORE[kind](added, count)
        if all(field.name != QUERIES for field in parameters(question)):
            added.add_argument(
                f"--{QUERIES}", type=count, help="only the first so many test queries, of each fold"
            )
        dry_run(added, "study")
        max_seconds(added, "; the same line without it goes on")
        jobs(added, count)
        add_worker_flags(added, count)
        workbench(added, ",".join(question.initial))
    for studies, data in (
        (COLLECTION_STUDIES, "collection's name, a key, a folder"),
        (PREFERENCE_STUDIES, "set of preferences or a ranking data set, a file"),
    ):
        for kind, question in studies.items():
            added = command(kind, "studies:listless", question.summary)
            fields(added, question)
            max_seconds(added, "; the same line without it goes on")
            dry_run(added, "listless_study")
            add_worker_flags(added, count)
            added.add_argument("--data", default=SAMPLE, help=f"a stored {data}, or `sample`")


def measures(command: argparse.ArgumentParser, default: str | None = "NDCG@10") -> None:
    """Add --measures and what goes with it.

    Args:
        command: the command.
        default: its measures; none: those that a stored study was asked for.
    """
    usual = "default: those of the study" if default is None else f"default {default}"
    command.add_argument("--measures", default=default, help=f"comma-separated ({usual})")
    conventions(command, None if default is None else DIGITS)


def conventions(command: argparse.ArgumentParser, digits: int | None = DIGITS) -> None:
    """Add the flags of how measures are meant and printed.

    Args:
        command: the command.
        digits: decimals of its tables; none: each table's own.
    """
    command.add_argument(
        "--conventions",
        choices=tuple(BUNDLES),
        type=partial(choice_named, BUNDLES),
        help="whose conventions measures have that do not say their own; `list conventions`",
    )
    command.add_argument(
        "--digits", type=whole, choices=range(1, 10), metavar="DIGITS", default=digits,
        help=f"decimals of tables for reading (default {digits or 'the table’s own'})",
    )  # fmt: skip


def fields(command: argparse.ArgumentParser, declared: type) -> None:
    """Add the flags of what declares its fields: a question, or how files are read."""
    for field in parameters(declared):
        for flag in syntax_of(field).flags(field):
            command.add_argument(
                f"--{flag.name}",
                required=flag.required,
                choices=flag.choices or None,
                type=partial(choice_named, flag.choices) if flag.choices else str,
                nargs="+" if flag.several else None,
                help=flag.help.replace("%", "%%"),
            )


def max_seconds(command: argparse.ArgumentParser, more: str = "") -> None:
    """Add `--max-seconds`, with what else its help says."""
    help_ = f"begin nothing after so many seconds and answer from what is finished{more}"
    command.add_argument("--max-seconds", type=_seconds, help=help_)


def dry_run(command: argparse.ArgumentParser, what: str) -> None:
    """Add `--dry-run`, which another function answers.

    Args:
        command: it is added to.
        what: that function of `core.cli.dry_run`.
    """
    command.add_argument(
        "--dry-run", action="store_const", dest="answer", const=f"dry_run:{what}",
        help="say what would be trained and run, what of it is stored and how long the rest takes "
        "here; make nothing",
    )  # fmt: skip


def _seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        seconds = number(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def add_worker_flags(command: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """Add the flags that say who makes what is missing."""
    command.add_argument(
        "--executor",
        metavar="WHERE",
        help="let workers make what is missing, on a store that all see: processes:4, "
        "ray[:ADDRESS], slurm[:PARTITION] (slurm:local tries it here)",
    )
    command.add_argument(
        "--workers", type=count, help="with --executor: how many (default: the cores; 8 elsewhere)"
    )


def jobs(command: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    """Add the flag that says how many calls of a function may be under way."""
    command.add_argument(
        "--jobs",
        type=count,
        help="calls of a module:function at the same time, each in a process of its own: for "
        "functions that wait on a network (default 1)",
    )


def given_of(arguments: argparse.Namespace) -> dict[str, object]:
    """The flags that were given, by their names."""
    values = {name.replace("_", "-"): value for name, value in vars(arguments).items()}
    return {name: value for name, value in values.items() if value is not None}


def question_of(kind: type[Question], arguments: argparse.Namespace, preset: str) -> Question:
    """The question that flags ask.

    Raises:
        ParameterError: a text that is none of its values.
    """
    given = given_of(arguments)
    values = {
        field.name: syntax_of(field).value(field, given, preset) for field in parameters(kind)
    }
    return kind(**values)


def _of_benchmark(command: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    del count
    command.add_argument("--against", default=BASELINE, help=f"baselines (default {BASELINE})")
    add_baseline_flags(command)


def _of_attention(command: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    command.add_argument("--query", help="one test query's list, not all of them")
    command.add_argument(
        "--change",
        default="shuffled:1",
        help="with --query: what happens to the list, as shuffled:7 or cut:0.2:0 "
        "(default shuffled:1)",
    )
    command.add_argument("--map", help="with --query: which weights --json holds")
    command.add_argument("--block", type=count, default=1, help="with --query (default 1)")
    command.add_argument("--head", type=count, help="with --query; by default the mean of all")


def _of_worst_case(command: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    del count
    command.add_argument(
        "--map", metavar="QUERY", help="also what each single exchange costs in this query"
    )


def _of_card(command: argparse.ArgumentParser, count: Callable[[str], int]) -> None:
    del count
    command.add_argument(
        "--out", type=Path, metavar="card.json",
        help="also write every query's values, for `shuffleproof check --baseline card.json`",
    )  # fmt: skip
    command.add_argument(
        "--measures",
        help="with --out: comma-separated, NDCG at 1, 3, 5 or 10 (default NDCG@10)",
    )


MORE: Mapping[str, Callable[[argparse.ArgumentParser, Callable[[str], int]], None]] = {
    "benchmark": _of_benchmark,
    "attention": _of_attention,
    "card": _of_card,
    "worst-case": _of_worst_case,
}
"""Flags of an answer that its question does not have."""


def add_baseline_flags(command: argparse.ArgumentParser) -> None:
    """Add the flags that say how rows of a table are compared with its baselines."""
    command.add_argument(
        "--test", default="paired t", choices=("paired t", "randomisation"), help="of the marks"
    )
    command.add_argument(
        "--marks", default="letters", choices=("letters", "daggers"),
        help="a b c (default), or + † ‡ as in the paper",
    )  # fmt: skip
