"""The commands `study`, whose flags follow from each kind's question, and `check`."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

from shuffleproof.core.cli import flags
from shuffleproof.core.data.layout import SAMPLE
from shuffleproof.core.numerals import number
from shuffleproof.core.parameters import parameters
from shuffleproof.core.studies.question import QUERIES, Question, syntax_of
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, PREFERENCE_STUDIES, STUDIES

ANSWERS = {"benchmark": "studies:benchmark", "card": "check:card"}
"""What answers a question whose answer takes more than its sections."""

ANY = "studies:study"
"""What answers every other."""

BASELINE = "initial ranking"


def add(commands: flags.Commands) -> None:
    """Add `study` with a command a kind, and `check`."""
    group = commands.add_parser("study", help="run a study; finished trials are never repeated")
    studies = group.add_subparsers(required=True, metavar="STUDY")
    for kind, question in STUDIES.items():
        added = flags.command(studies, kind, ANSWERS.get(kind, ANY), question.summary)
        added.set_defaults(first="open:look_over")
        flags.fields(added, question)
        if any(field.names == "measures" for field in parameters(question)):
            flags.conventions(added)
        if kind in MORE:
            MORE[kind](added)
        if all(field.name != QUERIES for field in parameters(question)):
            help_ = "only the first so many test queries, of each fold"
            added.add_argument(f"--{QUERIES}", type=flags.count, help=help_)
        flags.dry_run(added, "studies:dry_run")
        flags.max_seconds(added, "; the same line without it goes on")
        flags.jobs(added)
        flags.workers(added)
        flags.workbench(added, ",".join(question.initial))
    for kinds, data in (
        (COLLECTION_STUDIES, "collection's name, a key, a folder"),
        (PREFERENCE_STUDIES, "set of preferences or a ranking data set, a file"),
    ):
        for kind, question in kinds.items():
            added = flags.command(studies, kind, "studies:listless", question.summary)
            flags.fields(added, question)
            flags.max_seconds(added, "; the same line without it goes on")
            flags.dry_run(added, "studies:dry_run")
            flags.workers(added)
            added.add_argument("--data", default=SAMPLE, help=f"a stored {data}, or `sample`")
    _check(commands)


def _check(commands: flags.Commands) -> None:
    check = flags.command(
        commands, "check", "check:check", "is a ranker worse than its stored card? for builds"
    )
    check.epilog = (
        "exit status: 0 no worse; 3 a regression (or what --fail-on names); 4 it cannot be told: "
        "not comparable, or an unreliable baseline; 1 and 2 wrong input or usage. A regression is "
        "a loss of --least or more that is beyond chance (max-T over all comparisons) "
        "and beyond the ranker's own noise; soft is one that is smaller, or not told from chance."
        f"\n\n{check.epilog}"
    )
    add, card = check.add_argument, "a file of `study card --out card.json`"
    add("--baseline", type=Path, required=True, metavar="card.json", help=card)
    flags.modules(check)
    add("--data", help="stored name, key, folder (default: the card's)")
    rankers = (
        "comma-separated, `new=old` for another name in the card (default: the card's, without"
    )
    add("--rankers", help=f"{rankers} functions and files)")
    fail_on = "soft: regressions and soft losses; nothing: status 0 (default regression)"
    kinds = ("regression", "soft", "nothing")
    add("--fail-on", choices=kinds, default=kinds[0], help=fail_on)
    add("--least", type=number, help="the smallest loss that is a regression (default 0.01)")
    add("--junit", type=Path, metavar="out.xml", help="write JUnit XML")
    add("--markdown", type=Path, metavar="out.md", help="write a summary for a pull request")
    add("--device", help="cuda or cpu (default: cuda where there is one)")
    flags.jobs(check)


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


def _of_benchmark(command: argparse.ArgumentParser) -> None:
    command.add_argument("--against", default=BASELINE, help=f"baselines (default {BASELINE})")
    flags.baselines(command)


def _of_card(command: argparse.ArgumentParser) -> None:
    help_ = "also write values by query, for `shuffleproof check --baseline card.json`"
    command.add_argument("--out", type=Path, metavar="card.json", help=help_)
    help_ = "with --out: comma-separated, NDCG at 1, 3, 5 or 10 (default NDCG@10)"
    command.add_argument("--measures", help=help_)


MORE: Mapping[str, Callable[[argparse.ArgumentParser], None]] = {
    "benchmark": _of_benchmark,
    "card": _of_card,
}
"""Flags of an answer that its question does not have."""
