"""The command line: all commands, each naming the function that answers it, and wrong usage."""

import argparse
import importlib
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

from shuffleproof.core.cli.answer import Answer, show, warn
from shuffleproof.core.cli.flags import add_commands
from shuffleproof.core.cli.help_text import ROOT, HelpParser
from shuffleproof.core.errors import (
    MissingPackageError,
    ShuffleproofError,
    UnknownNameError,
    closest,
)
from shuffleproof.core.execution.machine import restored
from shuffleproof.core.interrupts import status_of
from shuffleproof.core.numerals import WHOLE_WANTED
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.store.manifest import remedy_of
from shuffleproof.core.studies.registry import EVERY, kind_of, with_kind
from shuffleproof.core.user_code import import_module_of_user

LIBRARY = "Install this library of the system; OpenMP's, libgomp.so.1, is Debian's libgomp1."

CHOICE = re.compile(r"argument (.+?): invalid choice: '?(.*?)'? \(choose from (.*)\)", re.DOTALL)
VALUE = re.compile(r"argument (.+?): invalid (?:_?)(\w+) value: (.*)", re.DOTALL)
ADDRESS = re.compile(r"(?<![\w:])https?://")
"""Start of the address of an endpoint without its service."""

KINDS = {"whole": WHOLE_WANTED, "number": "a decimal number"}
CONTINUED = " Finished work is stored; run the command again to continue."
MOST_CHOICES = 30
EXAMPLES = "example: shuffleproof study initial-ranking --rankers lambdamart,dlcm"


SETTINGS = ("SHUFFLEPROOF_DEVICE", "SHUFFLEPROOF_FUNCTION_JOBS", "SHUFFLEPROOF_CALLS")
"""Environment variables that flags set for the time of a command."""


@restored(SETTINGS)
def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code.

    0 done · 1 wrong input or failed work · 2 wrong usage · 3 `doctor` found a problem, `check` a
    regression, `certify` an effect · 4 `check` or `certify` cannot tell · 130 stopped
    by Ctrl-C, 143 by SIGTERM. A defect of ours prints its traceback.
    """
    words = list(arguments)
    if words[:1] == ["study"]:
        words[1:] = with_kind(words[1:])
    chosen = argparse.Namespace(command="")
    try:
        chosen = parser().parse_args(words)
        _name_service(chosen)
        # A user's code may print: with --json only the answer goes to stdout
        with redirect_stdout(sys.stderr if chosen.json else sys.stdout):
            for module in getattr(chosen, "modules", None) or ():
                import_module_of_user(module)
            if "first" in chosen:
                function_at(chosen.first)(chosen)
            answer: Answer = function_at(chosen.answer)(chosen)
        _show(answer, chosen.command if chosen.json else None, verbose=chosen.verbose)
    except ShuffleproofError as error:
        warn(f"shuffleproof: {error}")
        return error.exit_code
    except KeyboardInterrupt as stop:
        # Certificates of user code are computed each time; only trainings can be continued
        rest = " Finished trainings are stored." if chosen.command == "certify" else CONTINUED
        warn(f"shuffleproof: stopped.{rest}")
        return status_of(stop)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except OSError as error:
        # A write that meets a full disk does not say where; it is the file that the command writes.
        place = error.filename or getattr(chosen, "out", None) or "the system"
        remedy = LIBRARY if "shared object" in str(error) else remedy_of(error)
        warn(f"shuffleproof: {place}: {error.strerror or error}. {remedy}".rstrip())
        return 1
    except Exception as error:  # noqa: BLE001 (the last border: the exit code is 1)
        _report_unexpected(error)
        return 1
    return answer.exit_code


def _name_service(chosen: argparse.Namespace) -> None:
    """Write the service of --api before the addresses of rankers."""
    if service := getattr(chosen, "api", None):
        for name in vars(chosen).keys() & {"ranker", "rankers"}:
            named = ADDRESS.sub(rf"{service}:\g<0>", getattr(chosen, name) or "")
            setattr(chosen, name, named or None)


def _report_unexpected(error: Exception) -> None:
    """Print the package that lacks, or the traceback of a defect."""
    missing = MissingPackageError.of(error)
    if missing is None:
        traceback.print_exc()
    warn(f"shuffleproof: {missing or 'internal error; please report the lines above.'}")


def _show(answer: Answer, command: str | None, *, verbose: bool) -> None:
    """Print an answer; its exit status stays where `| head` reads no further."""
    try:
        show(answer, command, verbose=verbose)
        sys.stdout.flush()
    except BrokenPipeError:  # what is left goes nowhere, also at the end of the process
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def function_at(place: str) -> Callable[[argparse.Namespace], Any]:
    """The function of the command line that `module:function` names."""
    module, _, name = place.partition(":")
    function: Callable[[argparse.Namespace], Any] = getattr(
        importlib.import_module(f"shuffleproof.core.cli.{module}"), name
    )
    return function


class Parser(HelpParser):
    """A command's parser, whose errors name what was meant and where to read on."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse; the command's own parser reports unknown words, since it knows its flags."""
        self.is_full = "--help-all" in (args or ())
        parsed, rest = super().parse_known_args(args, namespace)
        late = self.get_default("late")  # argparse gives an optional word up at the first flag
        if late and len(rest) == 1 and not rest[0].startswith("-") and vars(parsed)[late] is None:
            setattr(parsed, late, Path(rest.pop()))
        if rest and self._subparsers is None:
            flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
            meant = (
                _hint(flags[0], self._option_string_actions) if flags else _list_of(rest[0], args)
            )
            self.error(f"unknown: {' '.join(rest)}{meant}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Print the error and exit with 2; flags are listed only in the help."""
        self.exit(2, f"{self.prog}: {_plain(message)}. See `{self.prog} --help`\n")


def _plain(message: str) -> str:
    """A message of argparse with what was meant.

    >>> _plain("argument STUDY: invalid choice: 'crad' (choose from 'card', 'attention')")
    "STUDY: no 'crad' (did you mean card?)"
    >>> _plain("argument --seed: invalid whole value: 'one'")
    "--seed: 'one' is not a whole number of at most 18 digits"
    """
    if match := CHOICE.fullmatch(message):
        known = [option.strip("'") for option in match[3].split(", ")]
        if len(known) > MOST_CHOICES:
            return f"{match[1]}: no {match[2]!r}; it must be {known[0]} to {known[-1]}"
        study = kind_of(match[2].casefold())
        meant = f" (did you mean study {study}?)" if "study" in known and study in EVERY else ""
        meant = meant or _hint(match[2], known)
        several = [
            name for name in known if name not in EVERY or len(EVERY[name].command_words()) == 1
        ]
        few = several[: UnknownNameError.MOST]
        return f"{match[1]}: no {match[2]!r}" + (meant or f"; known: {', '.join(few)}")
    if match := VALUE.fullmatch(message):
        return f"{match[1]}: {match[3]} is not {KINDS.get(match[2], f'a {match[2]}')}"
    return message.removeprefix("argument ")


def _list_of(word: str, words: Sequence[str] | None) -> str:
    """Error about a word after a flag's value, as in `--rankers dlcm mart`."""
    given = list(words or ())
    before = given[: given.index(word)] if word in given else []
    if len(before) < 2 or not before[-2].startswith("--"):
        return ""
    return f" (separate values by commas: {before[-2]} {before[-1]},{word})"


def _hint(word: str, known: Iterable[str]) -> str:
    meant = closest(word, known)
    return f" (did you mean {meant}?)" if meant else ""


class _Version(argparse.Action):
    """Prints the version, which is looked up only then."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print it and end."""
        from importlib.metadata import version  # noqa: PLC0415 (only who asks waits for it)

        print(f"shuffleproof {version('shuffleproof')}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    root: argparse.ArgumentParser = Parser(
        prog=ROOT,
        description="Shuffle, truncate and corrupt the lists that a ranker sees; measure the loss.",
        epilog=(f"Store: {default_store().root} (change it by SHUFFLEPROOF_HOME).\n\n{EXAMPLES}"),
    )
    root.add_argument("--version", action=_Version, nargs=0, help="print the version")
    add_commands(root.add_subparsers(required=True, metavar="COMMAND"))
    return root


def flags_of(command: str) -> list[argparse.Action]:
    """The arguments of one command, `--help` left out.

    >>> [action.dest for action in flags_of("doctor")][:2]
    ['json', 'verbose']
    """
    actions = parser()._actions  # noqa: SLF001 (argparse tells them nowhere else)
    (commands,) = (
        action.choices for action in actions if action.dest == argparse.SUPPRESS and action.choices
    )
    chosen: argparse.ArgumentParser = dict(commands)[command]
    return [action for action in chosen._actions if "--help" not in "".join(action.option_strings)]  # noqa: SLF001 (likewise)
