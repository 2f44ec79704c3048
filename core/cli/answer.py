"""Answers of commands, and their output: JSON or a plain table on stdout.

Every command's --json is one object: `schema` (the command), `version` and the answer's own keys,
lists under `rows`. A key may be added at any time; NaN is null.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shuffleproof.core.numerals import finite
from shuffleproof.core.studies.aligned_text import aligned
from shuffleproof.core.words import MISSING, number

MORE = "(--verbose prints the details)"
VERSION = 3
"""Of the answers' form: counted up where a key goes or changes its meaning, not where one comes."""


@dataclass(frozen=True)
class Answer:
    """A command's answer.

    Attributes:
        json: plain values by key, or rows; printed with --json, as `document` wraps them.
        text: printed without it; by default a table of `json`.
        exit_code: 0 done, 1 the work failed.
        details: printed below the text with --verbose.
        more: printed instead without it.
    """

    json: Any
    text: str = ""
    exit_code: int = 0
    details: str = ""
    more: str = MORE


def show(answer: Answer, command: str | None, *, verbose: bool = False) -> None:
    """Print an answer on stdout: as JSON if the command is named, else as text."""
    if command is not None:
        print(json.dumps(finite(document(command, answer.json)), indent=None, allow_nan=False))
        return
    print(answer.text or table(answer.json))
    if answer.details:
        print(f"\n{answer.details}" if verbose else answer.more)


def document(command: str, answer: Any) -> dict[str, Any]:
    """An answer with what tells which it is.

    >>> document("study card", {"result": "study-0"})
    {'schema': 'shuffleproof study card', 'version': 3, 'result': 'study-0'}
    >>> document("library list", [])
    {'schema': 'shuffleproof library list', 'version': 3, 'rows': []}
    """
    keys = answer if isinstance(answer, Mapping) else {"rows": answer}
    return {"schema": f"shuffleproof {command}", "version": VERSION, **keys}


def table(rows: Any) -> str:
    """Rows as an aligned table, as wide as the terminal at most; a mapping as a line a field."""
    if isinstance(rows, Mapping):
        pairs = [[str(key), _cell(value)] for key, value in rows.items()]
        return aligned(["", ""], pairs, [False, False])
    if not isinstance(rows, Sequence) or not rows:
        return "(none)"
    heads = list(rows[0])
    values = [[row.get(head) for head in heads] for row in rows]
    numeric = [
        all(value is None or isinstance(value, int | float) for value in column)
        for column in zip(*values, strict=True)
    ]
    return aligned(heads, [list(map(_cell, row)) for row in values], numeric)


def _cell(value: Any) -> str:
    if value is None:
        return MISSING
    if isinstance(value, float):
        return number(value, ".3g" if abs(value) < 1e-3 and value else ".3f")
    if isinstance(value, Mapping):
        return " ".join(f"{key}={_cell(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return " ".join(_cell(item) for item in value)
    return str(value)


def warn(text: str) -> None:
    """One line on stderr."""
    print(text, file=sys.stderr)
