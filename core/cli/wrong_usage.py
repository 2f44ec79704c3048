"""What argparse says of wrong words, in ours: the culprit, what was meant, where it is told."""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from shuffleproof.core.numerals import WHOLE_WANTED
from shuffleproof.core.studies.registry import EVERY, kind_of

CHOICE = re.compile(r"argument (.+?): invalid choice: '?(.*?)'? \(choose from (.*)\)", re.DOTALL)
VALUE = re.compile(r"argument (.+?): invalid (?:_?)(\w+) value: (.*)", re.DOTALL)
KINDS = {"whole": WHOLE_WANTED, "number": "a decimal number"}
MOST_CHOICES = 30


class Parser(argparse.ArgumentParser):
    """A command's parser, whose errors name what was meant and where to read on."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse; words that a command does not know are told by itself, which knows its flags."""
        found, rest = super().parse_known_args(args, namespace)
        late = self.get_default("late")  # argparse gives an optional word up at the first flag
        if late and len(rest) == 1 and not rest[0].startswith("-") and vars(found)[late] is None:
            setattr(found, late, Path(rest.pop()))
        if rest and self._subparsers is None:
            flags = [word.partition("=")[0] for word in rest if word.startswith("-")]
            meant = (
                _meant(flags[0], self._option_string_actions) if flags else _list_of(rest[0], args)
            )
            self.error(f"not known here: {' '.join(rest)}{meant}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with 2; the flags stand in the help, and not above it."""
        self.exit(2, f"{self.prog}: {plain(message)}. `{self.prog} --help` tells what it takes\n")


def plain(message: str) -> str:
    """A message of argparse with what was meant.

    >>> plain("argument STUDY: invalid choice: 'crad' (choose from 'card', 'attention')")
    "STUDY: no 'crad' (did you mean card?); known: card, attention"
    >>> plain("argument --seed: invalid whole value: 'one'")
    "--seed: 'one' is not a whole number of at most 18 digits"
    """
    if told := CHOICE.fullmatch(message):
        known = [one.strip("'") for one in told[3].split(", ")]
        if len(known) > MOST_CHOICES:
            return f"{told[1]}: no {told[2]!r}; it must be {known[0]} to {known[-1]}"
        study = kind_of(told[2].casefold())
        meant = f" (did you mean study {study}?)" if "study" in known and study in EVERY else ""
        meant = meant or _meant(told[2], known)
        return f"{told[1]}: no {told[2]!r}{meant}; known: {', '.join(known)}"
    if told := VALUE.fullmatch(message):
        return f"{told[1]}: {told[3]} is not {KINDS.get(told[2], f'a {told[2]}')}"
    return message.removeprefix("argument ")


def _list_of(word: str, words: Sequence[str] | None) -> str:
    """What is said of a word that stands behind a flag's own, as in `--rankers dlcm mart`."""
    given = list(words or ())
    before = given[: given.index(word)] if word in given else []
    if len(before) < 2 or not before[-2].startswith("--"):
        return ""
    return f" ({before[-2]} takes one word, with commas: {before[-1]},{word})"


def _meant(word: str, known: Any) -> str:
    near = get_close_matches(word.casefold(), list(known), n=1)
    begun = [one for one in known if len(word) > 1 and one.startswith(word.casefold())]
    return f" (did you mean {(near or begun)[0]}?)" if near or begun else ""
