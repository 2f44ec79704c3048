"""The flags that commands share, and how a command is added."""

import argparse
from functools import partial
from pathlib import Path
from typing import TypeAlias

from shuffleproof.core.cli import examples
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.numerals import is_count, number, whole
from shuffleproof.core.parameters import choice_named, parameters
from shuffleproof.core.studies.question import syntax_of

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 (argparse names it nowhere else)
DIGITS = 3


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not is_count(text) or int(text) < 1:
        more = ", of at most 18 digits" if text.isdigit() and int(text) else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on{more}")
    return int(text)


def _place(text: str) -> Path | str:
    """A folder, or an address."""
    return text if "://" in text or not text else Path(text)


class FoldedHelp(argparse.HelpFormatter):
    """Folds paragraphs and leaves the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs, apart by an empty line; one of examples stays as it is."""
        parts = text.split("\n\n")
        paragraphs = (
            part
            if part.startswith("examples:")
            else super(FoldedHelp, self)._fill_text(part, width, indent)
            for part in parts
        )
        return "\n\n".join(paragraphs)


def command(
    commands: Commands,
    name: str,
    answer: str,
    summary: str,
) -> argparse.ArgumentParser:
    """Add a command, with the flags that all have.

    Args:
        commands: of the program, or of a group.
        name: of the command.
        answer: `module:function` below `core.cli` that answers it.
        summary: what it does, in a sentence.
    """
    added = commands.add_parser(name, help=summary, description=summary, formatter_class=FoldedHelp)
    called = added.prog.partition(" ")[2]
    added.set_defaults(answer=answer, command=called)
    added.epilog = examples.help_lines(called)
    added.add_argument("--json", action="store_true", help="answer in JSON on stdout")
    store = "folder of the store (default: your own)"
    added.add_argument("--store", type=_place, metavar="FOLDER", help=store)
    return added


def modules(command: argparse.ArgumentParser) -> None:
    """Add `--with`: modules of the user."""
    help_ = "import your module that registers rankers, measures or perturbations"
    command.add_argument("--with", dest="modules", action="append", metavar="MODULE", help=help_)


def workbench(command: argparse.ArgumentParser, initial: str = "lambdamart") -> None:
    """Add the flags that say which data and lists.

    Args:
        command: the command.
        initial: its usual initial rankers, for the help.
    """
    modules(command)
    command.add_argument("--data", default="sample", help="stored name, key, folder, or `sample`")
    lists(command, initial)


def lists(command: argparse.ArgumentParser, initial: str = "lambdamart") -> None:
    """Add the flags that say how candidate lists are made; arguments as those of `workbench`."""
    command.add_argument("--initial", help=f"initial rankers, comma-separated (default {initial})")
    command.add_argument("--depth", type=count, default=40, help="candidates a query (default 40)")
    command.add_argument("--scores", choices=("cross-fitted", "in-sample"), default="cross-fitted")
    command.add_argument("--preset", help="preset of rankers named without one")
    command.add_argument("--device", help="cuda or cpu (default: cuda where there is one)")


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
    named = partial(choice_named, BUNDLES)
    help_ = "of measures that do not state their own; `list conventions`"
    command.add_argument("--conventions", choices=tuple(BUNDLES), type=named, help=help_)
    help_ = f"decimals of printed tables (default {digits or 'the table’s own'})"
    command.add_argument(
        "--digits", type=whole, choices=range(1, 10), metavar="DIGITS", default=digits, help=help_
    )


def baselines(command: argparse.ArgumentParser) -> None:
    """Add the flags that say how rows of a table are compared with its baselines."""
    tests, marks = ("paired t", "randomisation"), ("letters", "daggers")
    command.add_argument("--test", default=tests[0], choices=tests, help="of the marks")
    help_ = "a b c (default), or + † ‡ as in the paper"
    command.add_argument("--marks", default=marks[0], choices=marks, help=help_)


def max_seconds(command: argparse.ArgumentParser, more: str = "") -> None:
    """Add `--max-seconds`, with what else its help says."""
    help_ = f"begin nothing after so many seconds and answer from what is finished{more}"
    command.add_argument("--max-seconds", type=seconds, help=help_)


def seconds(text: str) -> float:
    """A number of seconds above 0."""
    try:
        value = number(text)
    except ValueError:
        value = 0.0
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def dry_run(command: argparse.ArgumentParser, answer: str) -> None:
    """Add `--dry-run`, which another function answers, named as in `command`."""
    help_ = "print what would be made and how long that takes; make nothing"
    command.add_argument("--dry-run", action="store_const", dest="answer", const=answer, help=help_)


def workers(command: argparse.ArgumentParser) -> None:
    """Add the flag that says who makes what is missing."""
    help_ = "runs trainings and cells: processes:4, ray[:ADDRESS], slurm[:PARTITION]"
    command.add_argument("--executor", metavar="WHERE", help=help_)


def jobs(command: argparse.ArgumentParser) -> None:
    """Add the flag that says how many calls of a function may be under way."""
    help_ = "calls of a module:function at the same time, a process each (default 1)"
    command.add_argument("--jobs", type=count, help=help_)
