"""Help texts in sections: `--help` has one line for each common flag, `--help-all` everything."""

import argparse
import shutil
from pathlib import Path
from textwrap import fill, shorten

from shuffleproof.core.cli.commands import OWN, SECTIONS

ROOT = "shuffleproof"
DEFAULT = " (default"


class HelpParser(argparse.ArgumentParser):
    """A parser that prints these help texts."""

    is_full = False

    def format_help(self) -> str:
        """Help of the common flags, or of all."""
        width = shutil.get_terminal_size().columns - 1
        needed = [_flag(one) for one in self._actions if one.required or not one.option_strings]
        usage = " ".join([self.prog, *needed, "[options]"])
        lines = [f"usage: {usage}", "", str(self.description), ""]
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in SECTIONS}
        for action in self._actions:
            for one in getattr(action, "_choices_actions", None) or [action]:
                name = (one.option_strings or [one.dest if self.prog == ROOT else ""])[0]
                title = next((key for key, names in SECTIONS.items() if name in names.split()), OWN)
                if self.is_full or name not in SECTIONS[title].partition("|")[2].split():
                    sections[title].append((f"  {_flag(one)}", _text(one, self.is_full)))
        wide = 2 + max(len(spelt) for rows in sections.values() for spelt, _ in rows)
        for title, rows in sections.items():
            lines += [f"{title}:"] if rows else []
            for spelt, text in rows:
                folded = fill(text, width - wide).replace("\n", "\n" + " " * wide)
                short = text if len(text) <= width - wide else text.partition(DEFAULT)[0]
                short = shorten(short, width - wide, placeholder=" …")
                lines.append(spelt.ljust(wide) + (folded if self.is_full else short))
        *above, examples = (self.epilog or "").split("\n\n")
        lines += [fill(part, width) for part in (above if self.is_full else above[:1])]
        return "\n".join([*lines, examples]).rstrip() + "\n"


def _flag(action: argparse.Action) -> str:
    """A flag or an argument with its value."""
    value = str(action.metavar or action.dest)
    if action.option_strings and not action.metavar:
        value = "FILE" if action.type is Path else value.upper()
    value += " …" if action.nargs in {"+", "*"} else ""
    value = f"[{value}]" if action.nargs == "?" else "" if action.nargs == 0 else value
    return f"{', '.join(action.option_strings)} {value}".strip()


def _text(action: argparse.Action, is_full: bool) -> str:  # noqa: FBT001 (as the parser has it)
    """The first clause of a flag's text, or all; with its choices before its default."""
    text, default, value = (action.help or "").replace("%%", "%").partition(DEFAULT)
    text = text if is_full else text.partition("; ")[0]
    choices = "" if action.metavar else ", ".join(map(str, action.choices or ()))
    return f"{text}{': ' * bool(choices)}{choices}{default}{value}"
