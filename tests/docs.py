"""Reference parts of `docs/`, generated from the declarations: `make docs` rewrites them.

A part lies between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

import argparse
import re
from collections import Counter

from shuffleproof.core.aggregate.disturbances import DISTURBANCES
from shuffleproof.core.cli.arguments import parser
from shuffleproof.core.cli.rankers import names
from shuffleproof.core.studies.registry import EVERY
from tests.places import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))
PART = re.compile(r"(?<=<!-- generated: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)
SHARED = 5  # so many commands must have a flag for it to be listed once

COLUMNS = {
    "aggregators": "summary complexity calls",
    "conventions": "summary conventions source",
    "disturbances": "summary unit levels",
    "perturbations": "summary unit default_levels source",
    "rankers": "summary presets source",
    "studies": "question source",
}
"""Columns of tables of names; of others `summary source`."""


def rows_of(kind):
    """Rows of a table of names, as `shuffleproof list` has them."""
    if kind == "disturbances":
        return [vars(one) for one in DISTURBANCES.values()]
    if kind == "studies":
        lines = [" ".join(("study", *one.command_words())) for one in EVERY.values()]
        values = zip(lines, EVERY.values(), strict=True)
        return [{"name": name, "question": one.title, "source": one.source} for name, one in values]
    return names(argparse.Namespace(kind=kind, of=None)).json


def cell(column, value):
    """Value as the cell of a table: names and levels as code, summaries as sentences."""
    if column in {"name", "presets", "default_levels", "levels", "conventions"}:
        return code([value] if isinstance(value, str) else value)
    text = value[0] if isinstance(value, list) else value
    return sentence(text) if column == "summary" else escaped(text)


def sentence(text):
    """Text with a capital letter, unless it starts with a name, and a full stop."""
    first = text[:1] if re.match(r"\w*[A-Z_]", text) else text[:1].upper()
    return escaped(first + text[1:] + ("" if text.endswith((".", "?")) else "."))


def escaped(text):
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<")


def code(values):
    return ", ".join(f"`{one:g}`" if isinstance(one, float) else f"`{one}`" for one in values)


def table(head, rows):
    heads = [name.removeprefix("default_") for name in head]
    return "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(head), *rows))


def commands_of(above, name=""):
    """Name, summary and flags of every command below a parser."""
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                words = EVERY[word].command_words() if name == "study" else (word,)
                yield from commands_of(below, " ".join((name, *words)).strip())
            return
    yield name, above.description, [flag(one) for one in above._actions if one.dest != "help"]


def flag(action):
    """Name, meaning and choices of a flag or an argument."""
    ends = isinstance(action.choices, range) and (action.choices[0], action.choices[-1])
    choices = f"{ends[0]} to {ends[1]}" if ends else code(action.choices or ())
    name = action.option_strings[-1] if action.option_strings else action.metavar or action.dest
    text = sentence(action.help.replace("%%", "%")) if action.help else ""
    return code([name]), text, choices


def commands():
    """Flags of many commands once, then each command with its other flags."""
    found = list(commands_of(parser()))
    often = Counter(flag for *_, flags in found for flag in flags)
    shared = [flag for flag, count in often.items() if count >= SHARED]
    head = ["flag", "meaning", "choices"]
    text = f"### Flags of many commands\n{table(head, shared)}"
    for name, summary, flags in found:
        own = [flag for flag in flags if flag not in shared]
        text += f"\n### {name}\n{sentence(summary)}\n"
        text += f"\n{table(head, own)}" if own else ""
        text += f"\nAlso {', '.join(flag[0] for flag in flags if flag in shared)}.\n"
    return text


def _part(match):
    kind, marker = match.groups()
    if kind == "commands":
        return kind + marker + commands()
    columns = ["name", *COLUMNS.get(kind, "summary source").split()]
    rows = ([cell(one, row[one]) for one in columns] for row in rows_of(kind))
    return kind + marker + table(columns, rows)


def generated(text):
    """Text of a page whose generated parts are as the declarations are now."""
    return PART.sub(_part, text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(generated(page.read_text(encoding="utf-8")), encoding="utf-8")
