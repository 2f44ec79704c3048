"""Aligned text columns, as wide as the terminal; piped output is neither cut nor coloured."""

import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Literal

ENDLESS, GAP = 100_000, 2
"""Line width that is never folded, and the gap between columns, in letters."""

LONGEST_WORDS = (26, 18, 12)
"""Longest words that are not broken, in letters; the smaller values are for narrow terminals."""


def width() -> int | None:
    """Columns of the terminal of stdout, or of COLUMNS; None without either: lines are not cut."""
    has_width = sys.stdout.isatty() or os.environ.get("COLUMNS", "0") != "0"
    return shutil.get_terminal_size().columns if has_width else None


def aligned(heads: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[bool]) -> str:
    """Format columns, folded to the width of the terminal; empty heads are left out.

    >>> print(aligned(["name", "n"], [["a", "10"], ["b", "9"]], [False, True]))
    name   n
    a     10
    b      9
    """
    from rich.console import Console  # noqa: PLC0415 (only commands that print a table)
    from rich.table import Table as Grid  # noqa: PLC0415 (likewise)
    from rich.text import Text  # noqa: PLC0415 (likewise)

    cells = [list(heads), *map(list, rows)]
    limit = width() or ENDLESS
    grid = Grid(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=any(heads))
    for head, right, wide in zip(heads, numeric, _widths(cells, limit), strict=True):
        justify: Literal["left", "right"] = "right" if right else "left"
        grid.add_column(Text(head), justify=justify, overflow="fold", width=wide)
    for row in cells[1:]:
        grid.add_row(*map(Text, row))
    text = io.StringIO()
    Console(file=text, width=limit, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def _widths(cells: Sequence[Sequence[str]], limit: int) -> list[int | None]:
    """Widths within the limit that break only the longest words; else that of the first column."""
    first, *others = zip(*cells, strict=True)
    natural = [max(map(len, column)) for column in (first, *others)]
    words = [[word for cell in column for word in cell.split()] for column in others]
    for longest in LONGEST_WORDS:
        least = [min(max(map(len, column), default=0), longest) for column in words]
        widths, least = list(natural), [min(limit // 2, natural[0]), *least]
        # One letter at a time from the widest column that can still shrink
        while sum(widths) + GAP * (len(widths) - 1) > limit:
            giving = [at for at, wide in enumerate(widths) if wide > least[at]]
            if not giving:
                break
            widths[max(giving, key=widths.__getitem__)] -= 1
        else:
            return list(widths)
    return [natural[0], *[None] * len(others)]
