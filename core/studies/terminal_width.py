"""Tables as wide as the terminal: long texts are folded, what is left over stands below.

A piped table is as wide as it is, a line a row for `grep` and `awk`, unless COLUMNS says a width.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

GAP = "  "
LONGEST_WORD = 26
"""Letters of a word that is not broken: a key as printed is shorter."""

_NUMBER = re.compile(r"[-−+±\d.,:%…–\s\[\]<>=a-d]*")
Rows = Sequence[Sequence[str]]


def width() -> int | None:
    """Columns of the terminal that stdout is, or that COLUMNS says; None: neither."""
    has_width = sys.stdout.isatty() or os.environ.get("COLUMNS", "0") != "0"
    return shutil.get_terminal_size().columns if has_width else None


def is_numeric(cells: Sequence[str]) -> bool:
    """Whether the cells of a column, its head left out, are numbers.

    >>> is_numeric(["0.1 ab", "–"]), is_numeric(["dlcm"]), is_numeric([""]), is_numeric(["cab"])
    (True, False, False, False)
    """
    has_digits = any(letter.isdigit() for cell in cells for letter in cell)
    return has_digits and all(_NUMBER.fullmatch(cell) for cell in cells)


def fit_table(rows: Rows, right: Sequence[bool], limit: int | None) -> str:
    """Rows whose columns stand under each other, no line longer than the limit.

    Texts are folded by words. Columns that do not fit even so stand in a further table below, with
    those columns in front that tell its rows apart, or with their numbers.

    Args:
        rows: the first is the head.
        right: which columns are aligned to the right.
        limit: letters of a line; None: any.

    >>> print(fit_table([["name", "what"], ["a", "one of many"]], [False, False], 12))
    name  what
    a     one of
          many
    """
    natural = _widths(rows)
    if limit is None or _total(natural) <= limit:
        return _aligned(rows, right, natural)
    filled = [index for index, cells in enumerate(zip(*rows[1:], strict=True)) if any(cells)]
    rows, right = _of_columns(rows, filled), [right[index] for index in filled]
    least = _least(rows, limit)
    if _total(least) <= limit:
        return _aligned(rows, right, _spread(_widths(rows), least, limit))
    return "\n\n".join(_blocks(rows, right, limit))


def _blocks(rows: Rows, right: Sequence[bool], limit: int) -> list[str]:
    """The columns in as many tables as it takes, the rows of each told apart by its first ones."""
    least = _least(rows, limit)
    front = _key_columns(rows)
    if _total(least[:front]) > limit * 0.6:
        numbers = ["#", *(str(number) for number in range(1, len(rows)))]
        rows = [[number, *row] for number, row in zip(numbers, rows, strict=True)]
        right, least, front = [True, *right], [len(numbers[-1]), *least], 1
    at, blocks = front, []
    while at < len(least):
        columns = list(range(front))
        while at < len(least) and (
            len(columns) == front
            or _total([*(least[column] for column in columns), least[at]]) <= limit
        ):
            columns.append(at)
            at += 1
        part = _of_columns(rows, columns)
        room = [least[column] for column in columns[:-1]]
        bounds = [*room, min(least[columns[-1]], max(limit - _total(room) - len(GAP), 1))]
        widths = _spread(_widths(part), bounds, limit)
        blocks.append(_aligned(part, [right[column] for column in columns], widths))
    return blocks


def _key_columns(rows: Rows) -> int:
    """How many of the first columns tell every row apart; all of them where none do."""
    for count in range(1, len(rows[0])):
        if len({tuple(row[:count]) for row in rows}) == len(rows):
            return count
    return len(rows[0])


def _of_columns(rows: Rows, columns: Sequence[int]) -> list[list[str]]:
    return [[row[index] for index in columns] for row in rows]


def _widths(rows: Rows) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _least(rows: Rows, limit: int) -> list[int]:
    """What each column cannot be narrower than: its longest word; of the first its longest cell."""
    cap = min(LONGEST_WORD, max(limit // 3, 1))
    front, *later = zip(*rows, strict=True)
    words = [list(front), *([word for cell in column for word in cell.split()] for column in later)]
    return [min(max(map(len, column_words), default=1), cap) for column_words in words]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * max(len(widths) - 1, 0)


def _spread(natural: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    """Widths within the limit: the widest column that can be narrower gives first."""
    widths = [
        max(natural_width, small) for natural_width, small in zip(natural, least, strict=True)
    ]
    while _total(widths) > limit:
        giving = [index for index, wide in enumerate(widths) if wide > least[index]]
        if not giving:
            break
        widest = max(giving, key=widths.__getitem__)
        widths[widest] -= 1
    return widths


def _aligned(rows: Rows, right: Sequence[bool], widths: Sequence[int]) -> str:
    lines = []
    for row in rows:
        folded = [_wrapped(cell, wide) for cell, wide in zip(row, widths, strict=True)]
        for place in range(max(map(len, folded))):
            parts = [cell[place] if place < len(cell) else "" for cell in folded]
            line = GAP.join(
                part.rjust(wide) if to_right else part.ljust(wide)
                for part, wide, to_right in zip(parts, widths, right, strict=True)
            )
            lines.append(line.rstrip())
    return "\n".join(lines)


def _wrapped(cell: str, wide: int) -> list[str]:
    if len(cell) <= wide:
        return [cell]
    indent = cell[: len(cell) - len(cell.lstrip())]
    return textwrap.wrap(
        cell, wide, break_on_hyphens=False, initial_indent="", subsequent_indent=indent[: wide // 2]
    )
