"""Parsers made of the table of commands, the types of flags, and the questions that flags ask."""

import argparse
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from shuffleproof.core.cli.commands import EXIT_STATUS, GROUPS, TABLE
from shuffleproof.core.metrics.bundles import BUNDLES
from shuffleproof.core.numerals import is_count, number, whole
from shuffleproof.core.parameters import choice_named, parameters
from shuffleproof.core.rankers.outside.signature import MORE, SIGNATURE
from shuffleproof.core.retrieval.recipe import Analysis, CollectionFormat
from shuffleproof.core.studies.question import Question, syntax_of
from shuffleproof.core.studies.registry import COLLECTION_STUDIES, EVERY, LISTLESS, STUDIES

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 (argparse names it nowhere else)
DIGITS = 3
SIZES = {"column": (480, 420), "page": (840, 400)}
"""Pixels: letters stay readable where the figure is as wide as a column or the page."""

LEAST_SIZE, MOST_SIZE = 100, 10_000
EXAMPLES = 3
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
FLAG = re.compile(
    r"(?P<name>\S+?)(?P<many>[?+*]?)(?P<required>!?)(?: (?!as |in |=)(?P<type>.*?))?"
    r"(?: as (?P<dest>\w+))?(?: in (?P<metavar>\S+))?(?: =(?P<default>.*))?"
)


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not is_count(text) or int(text) < 1:
        more = ", of at most 18 digits" if text.isdigit() and int(text) else ""
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on{more}")
    return int(text)


def duration(text: str, units: Mapping[str, float] = UNITS) -> float:
    """A length of time: seconds, or with a unit.

    >>> duration("90"), duration("10m"), duration("1.5h")
    (90.0, 600.0, 5400.0)
    """
    match = re.fullmatch(r"([0-9.]+)([a-z]?)", text.strip())
    try:
        value = number(match[1]) * units[match[2]] if match else 0.0
    except (ValueError, KeyError):
        value = 0.0
    if value <= 0:
        kind = "length of time, such as 90s, 10m or 2h" if len(units) > 1 else "number of seconds"
        raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}, above 0")
    return value


def path(text: str) -> Path:
    """The path of a file or folder, not empty."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty: name a file, or leave it out")
    return Path(text)


def size(text: str) -> tuple[int, int]:
    """Width and height of a figure.

    >>> size("640x360"), size("column")
    ((640, 360), (480, 420))
    """
    width, _, height = text.partition("x")
    if text in SIZES:
        return SIZES[text]
    if is_count(width) and is_count(height):
        pixels = int(width), int(height)
        if min(pixels) >= LEAST_SIZE and max(pixels) <= MOST_SIZE:
            return pixels
    reason = f"is not WIDTHxHEIGHT of {LEAST_SIZE} to {MOST_SIZE} pixels, column or page"
    raise argparse.ArgumentTypeError(f"{text!r} {reason}")


TYPES: Mapping[str, Mapping[str, Any]] = {
    "": {"type": str},
    "path": {"type": path},
    "count": {"type": count},
    "whole": {"type": whole},
    "number": {"type": number},
    "seconds": {"type": partial(duration, units={"": 1.0})},
    "duration": {"type": duration},
    "size": {"type": size},
    "port": {"type": whole, "choices": range(1, 65_536)},
    "digit": {"type": whole, "choices": range(1, 10)},
    "bundle": {"type": partial(choice_named, BUNDLES), "choices": tuple(BUNDLES)},
    "yes": {"action": "store_true"},
    "module": {"action": "append"},
}
"""Types of the table of commands, as argparse takes them."""

DECLARED = {"CollectionFormat": CollectionFormat, "Analysis": Analysis}


class Command(NamedTuple):
    """A command, or a group of flags, as the table has it."""

    answer: str
    settings: Mapping[str, str]
    summary: str
    lines: list[str]


@cache
def table() -> dict[str, Command]:
    """The table of commands, by name."""
    found: dict[str, Command] = {}
    name = ""
    for line in filter(str.strip, TABLE.splitlines()):
        if line.startswith(" "):
            found[name].lines.append(line.strip())
            continue
        head, _, summary = line.partition(" : ")
        words = head.split()
        settings = dict(word.split("=", 1) for word in words if "=" in word)
        answer = next((word for word in words if ":" in word and "=" not in word), "")
        name = " ".join(word for word in words if not {":", "="} & set(word))
        found[name] = Command(answer, settings, summary, [])
    return found


def add_commands(root: Commands) -> None:
    """Add every command of the table, and one for every kind of study."""
    groups: dict[str, Commands] = {}
    for name, command in table().items():
        group, _, rest = name.partition(" ")
        if name.startswith("&") or (group == "study" and group in groups):
            continue
        if rest and group not in groups:
            added = root.add_parser(group, help=GROUPS[group], description=GROUPS[group])
            metavar = "STUDY" if group == "study" else "ACTION"
            groups[group] = added.add_subparsers(required=True, metavar=metavar)
        if group == "study":
            for kind, question in EVERY.items():
                _add_study(groups[group], kind, question)
        else:
            _add(groups.get(group, root), name, command)


def _add(commands: Commands, name: str, command: Command) -> argparse.ArgumentParser:
    """Add a command with the flags that all have, and its own."""
    kind = EVERY.get(name.rpartition(" ")[2])
    is_alias = kind is not None and kind.command_words() != (kind.kind,)
    shown: dict[str, Any] = {} if is_alias else {"help": command.summary}
    description = command.summary[:1].upper() + command.summary[1:]
    added = commands.add_parser(
        name.rpartition(" ")[2], description=description, allow_abbrev=False, **shown,
    )  # fmt: skip
    lines = "\n".join(["examples:", *(f"  shuffleproof {line}" for line in examples_of(name))])
    added.epilog = EXIT_STATUS.get(name, "").format(SIGNATURE, MORE) + lines
    added.add_argument("--json", action="store_true", help="answer in JSON on stdout")
    added.add_argument("--verbose", "-v", action="store_true", help="print all details")
    added.add_argument("--help-all", action="help", help="show all flags and their texts")
    store = "folder of the store (default: your own)"
    added.add_argument("--store", type=_place, metavar="FOLDER", help=store)
    _add_lines(added, command.lines)
    added.set_defaults(answer=command.answer, command=name, **command.settings)
    return added


def _add_study(commands: Commands, kind: str, question: type[Question]) -> None:
    """Add a kind of study: the fields of its question, its own lines, and those of all studies."""
    usual = "studies:listless" if kind in LISTLESS else "studies:study"
    own = table().get(f"study {kind}", Command(usual, {}, "", []))
    settings = {} if kind in LISTLESS else {"first": "open:check_names"}
    command = own._replace(summary=question.summary, settings=settings, lines=[])
    added = _add(commands, f"study {kind}", command)
    add_fields(added, question)
    if kind in STUDIES and any(field.names == "measures" for field in parameters(question)):
        _add_lines(added, table()["&conventions"].lines)
    _add_lines(added, own.lines)
    data = "collection: name, key or folder"
    if kind not in COLLECTION_STUDIES:
        data = "preferences or data set: name, key or file"
    shared, value = (
        ("&listless", data) if kind in LISTLESS else ("&study", ",".join(question.initial))
    )
    _add_lines(added, table()[shared].lines, value)


def _add_lines(command: argparse.ArgumentParser, lines: Iterable[str], value: str = "") -> None:
    """Add flags and groups of flags.

    Args:
        command: the command.
        lines: as the table has them.
        value: of the group that they are, for `{}`.
    """
    for line in lines:
        group, _, given = line.replace("{}", value).partition(" ")
        if group == "&fields":
            add_fields(command, DECLARED[given])
        elif group.startswith("&"):
            _add_lines(command, table()[group].lines, given)
        elif group != "$" and group not in command._option_string_actions:  # noqa: SLF001 (argparse tells them nowhere else)
            _add_flag(command, line.replace("{}", value))


def _add_flag(command: argparse.ArgumentParser, line: str) -> None:
    text, _, help_ = line.partition(" : ")
    match = FLAG.fullmatch(text)
    if match is None:
        raise ValueError(f"no flag: {line!r}")
    parts = match.groupdict()
    name, kind, many = parts["name"], parts["type"] or "", parts["many"]
    is_flag = name.startswith("-")
    how = dict(TYPES.get(kind, {"choices": tuple(kind.split("|"))}))
    if kind.startswith("answer="):
        how = {"action": "store_const", "dest": "answer", "const": kind.removeprefix("answer=")}
    if parts["required"]:
        how["required"] = True
    if many:
        how["nargs"] = "+" if many == "*" and is_flag else many
        how |= {"default": []} if many == "*" and is_flag else {}
    if parts["default"] is not None:
        how["default"] = how.get("type", str)(parts["default"])
    how |= {key: parts[key] for key in ("dest", "metavar") if parts[key]}
    command.add_argument(name, help=help_ or "one of", **how)


def add_fields(command: argparse.ArgumentParser, declared: type) -> None:
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


def _place(text: str) -> Path | str:
    """A folder, or an address."""
    return text if "://" in text or not text else Path(text)


def examples_of(command: str) -> tuple[str, ...]:
    """Lines to try, without the program's name.

    >>> examples_of("study set-size")[:2]
    ('study set-size', 'study set-size --data mq2008 --preset small --queries 100')
    """
    kind = command.partition(" ")[2]
    own = (
        [line[2:] for line in table()[command].lines if line[0] == "$"]
        if command in table()
        else []
    )
    if kind not in EVERY:
        return tuple(own)
    flags = [flag for field in parameters(EVERY[kind]) for flag in syntax_of(field).flags(field)]
    required = [
        f"--{flag.name} {'transpositions,cut' if flag.name == 'families' else 'dlcm'}"
        for flag in flags
        if flag.required
    ]
    line = " ".join([command, *required])
    data = "--data mq2008 --preset small --queries 100"
    if kind in LISTLESS:
        data = "--data cranfield --seeds 4" if kind in COLLECTION_STUDIES else "--data judged"
    return tuple(dict.fromkeys([*own, line, f"{line} {data}", f"{line} --dry-run"]))[:EXAMPLES]


def question_of(kind: type[Question], arguments: argparse.Namespace, preset: str) -> Question:
    """The question that flags ask.

    Raises:
        ParameterError: a text that is none of its values.
    """
    values = {name.replace("_", "-"): value for name, value in vars(arguments).items()}
    given = {name: value for name, value in values.items() if value is not None}
    return kind(
        **{field.name: syntax_of(field).value(field, given, preset) for field in parameters(kind)}
    )
