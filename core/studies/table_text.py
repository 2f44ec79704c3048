"""Tables as text: LaTeX, Markdown, HTML, aligned columns; and as CSV, Parquet and JSON, exact."""

import html as markup
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from numbers import Real
from typing import Any

import pandas as pd

from shuffleproof.core.data.csv_text import csv
from shuffleproof.core.numerals import finite
from shuffleproof.core.studies.sections import Details, Picture, Section
from shuffleproof.core.studies.tables import (
    DIGITS,
    FLAG,
    NAME,
    TEXT,
    Cell,
    Column,
    Table,
    of_people,
    with_file_names,
)
from shuffleproof.core.studies.terminal_width import fit_table, is_numeric, width
from shuffleproof.core.words import MISSING, number, one_line

WIDTH = 120
"""Letters of a line; a table that needs more is turned, a line a column."""

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "τ": r"$\tau$", "−": "$-$"}
    | {"–": "--", "±": r"$\pm$", "→": r"$\rightarrow$", "≤": r"$\leq$", "≥": r"$\geq$"}
)
DAGGERS = str.maketrans({"†": r"\dagger", "‡": r"\ddagger", "§": r"\S", "¶": r"\P", "‖": r"\Vert"})
NO_LABEL = re.compile(r"[^a-z0-9]+")
MARKDOWN = str.maketrans({character: f"\\{character}" for character in "|\\`*_<>[]"})


@dataclass(frozen=True)
class PrintedTable:
    """A table's texts: what stands above, and the rows with their heading."""

    heads: list[str]
    rows: list[tuple[str, list[Cell]]]
    numeric: list[bool]

    def rows_by_heading(self) -> Iterable[tuple[str, list[list[Cell]]]]:
        """The headings in turn, each with its rows."""
        for group, rows in groupby(self.rows, key=lambda row: row[0]):
            yield group, [cells for _, cells in rows]


def text_of(value: Any, column: Column, digits: int = DIGITS) -> str:
    """A cell as people read it.

    >>> text_of(-0.25, Column("loss", "Loss", "+f"), 2), text_of(True, Column("best", "Best", FLAG))
    ('−0.25', 'yes')
    """
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):  # noqa: PLR0124 (NaN)
        return MISSING
    if column.format == FLAG:
        return FLAG if value else ""
    if column.format in {TEXT, NAME} or not isinstance(value, Real):
        return one_line(str(value))
    return number(float(value), column.spec(digits))


def print_table(table: Table, digits: int = DIGITS, *, names: bool = True) -> PrintedTable:
    """The texts of a table.

    Args:
        table: what is printed.
        digits: decimals.
        names: whether rankers have their names for people; else those that commands take.
    """
    columns = table.visible_columns
    groups = list(table.groups) or [""] * len(table.frame)
    frame = (of_people if names else with_file_names)(table.frame, columns)
    values = [frame[column.key].tolist() for column in columns]
    rows = [
        (group, [_cell(value, column, digits) for value, column in zip(row, columns, strict=True)])
        for group, row in zip(groups, zip(*values, strict=True), strict=True)
    ]
    numeric = [column.format not in {TEXT, FLAG, NAME} for column in columns]
    return PrintedTable([one_line(column.label) for column in columns], rows, numeric)


def latex(table: Table, digits: int = DIGITS) -> str:
    """The table in LaTeX, with caption, label and notes below; needs the package booktabs.

    Numbers stand under each other: what follows them (marks, ± sd) has the same room in every row.
    """
    text = print_table(table, digits)
    layout = "".join("r" if right else "l" for right in text.numeric)
    tails = [max((_tail(row[at]) for _, row in text.rows), key=len, default="")
             for at in range(len(layout))]  # fmt: skip
    lines = [r"\begin{table}", r"\centering"]
    if title := one_line(table.title):
        name = "-".join(NO_LABEL.sub(" ", title.lower()).split())
        lines += [rf"\caption{{{title.translate(LATEX)}}}", rf"\label{{tab:{name}}}"]
    lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule"]
    lines.append(" & ".join(head.translate(LATEX) for head in text.heads) + r" \\")
    for group, rows in text.rows_by_heading():
        lines.append(r"\midrule")
        if group:
            words = one_line(group).translate(LATEX)
            lines.append(rf"\multicolumn{{{len(layout)}}}{{l}}{{\emph{{{words}}}}} \\")
        lines += [" & ".join(map(_latex, row, tails)) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    notes = [one_line(note).translate(LATEX) for note in table.notes if note]
    lines += [rf"\par\smallskip{{\footnotesize {note}}}" for note in notes]
    return "\n".join([*lines, r"\end{table}", ""])


def markdown(table: Table, digits: int = DIGITS) -> str:
    """The table in Markdown, its notes below it."""
    text = print_table(table, digits)
    lines = [[head.translate(MARKDOWN) for head in text.heads]]
    lines.append(["--:" if right else ":--" for right in text.numeric])
    for group, rows in text.rows_by_heading():
        if group:
            words = one_line(group).translate(MARKDOWN)
            lines.append([f"*{words}*", *[""] * (len(text.heads) - 1)])
        lines += [list(map(_markdown, row)) for row in rows]
    rows_ = [f"| {' | '.join(line)} |" for line in lines]
    notes = ["", *(f"{line}  " for line in table.notes)] if table.notes else []
    return "\n".join([*rows_, *notes, ""])


def html(table: Table, digits: int = DIGITS) -> str:
    """The table in HTML, its notes below it."""
    text = print_table(table, digits)
    heads = "".join(f"<th>{markup.escape(head)}</th>" for head in text.heads)
    lines = []
    for group, rows in text.rows_by_heading():
        if group:
            words = markup.escape(group)
            lines.append(f"<tr><td colspan='{len(text.heads)}'><i>{words}</i></td></tr>")
        lines += [f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>" for row in rows]
    notes = "".join(f"<p class='said'>{markup.escape(line)}</p>" for line in table.notes)
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f"<table>{body}</table>{notes}"


def terminal(table: Table, digits: int = DIGITS) -> str:
    r"""The table in aligned columns, its notes below it; a wide one is turned or folded.

    >>> frame = pd.DataFrame({"ranker": ["mart"], "mean": [0.25]})
    >>> print(terminal(Table(frame, (Column("ranker", ""), Column("mean", "NDCG", "f")), "")))
           NDCG
    mart  0.250
    """
    text = print_table(table, digits, names=False)
    lines = [(text.heads, False)]
    for group, rows in text.rows_by_heading():
        if group:
            lines.append(([f"{group}:", *[""] * (len(text.heads) - 1)], True))
        indent = "  " if group else ""
        lines += [([indent + str(row[0]), *map(str, row[1:])], False) for row in rows]
    cells = [line for line, _ in lines]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric, limit = text.numeric, width()
    if sum(widths) + 2 * len(widths) > (limit or WIDTH) and len(text.rows) < len(widths):
        cells = [list(column) for column in zip(*cells, strict=True)]
        if is_numeric(text.heads[1:]):  # levels, which the head of the names does not name
            cells[0][0] = ""
        numeric = [False, *[True] * (len(cells[0]) - 1)]
    return "\n".join([fit_table(cells, numeric, limit), *table.notes])


WRITERS: Mapping[str, Callable[[Table, int], str]] = {"tex": latex, "md": markdown}
EXACT = ("csv", "parquet", "json")
"""Endings of files of tables: for people, with labels and decimals; for machines, exact."""


def table_bytes(table: Table, ending: str, digits: int = DIGITS) -> bytes:
    """A table as the bytes of a file: csv, parquet, json (exact), tex, md (for people)."""
    if ending in WRITERS:
        return WRITERS[ending](table, digits).encode()
    return exact(table.frame, ending)


def exact(frame: pd.DataFrame, ending: str) -> bytes:
    """A frame as the bytes of a file, nothing rounded: csv, parquet, json (a record a row)."""
    if ending == "csv":
        return csv(frame).encode()
    if ending == "json":
        return json.dumps(records(frame), allow_nan=False).encode()
    content = io.BytesIO()
    frame.to_parquet(content, index=False)
    return content.getvalue()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """A frame's rows as plain dictionaries."""
    return [finite(row) for row in frame.to_dict("records")]


def terminal_text(sections: Iterable[Section], digits: int = DIGITS) -> str:
    """What a study says, for the terminal: a picture's numbers stand where it would."""
    parts: list[str] = []
    for section in sections:
        if isinstance(section, Table | Picture):
            tables = section.tables if isinstance(section, Picture) else [section]
            parts += [f"{_with_title(table, digits)}\n" for table in tables if not table.folded]
        elif not isinstance(section, Details):
            parts += [section.text] if section.text else []
    return "\n".join(parts).rstrip()


def _with_title(table: Table, digits: int) -> str:
    return "\n".join(filter(None, [table.title, terminal(table, digits)]))


def _cell(value: Any, column: Column, digits: int) -> Cell:
    return value if isinstance(value, Cell) else Cell(text_of(value, column, digits))


def _latex(cell: Cell, widest: str = "") -> str:
    """A cell, and the room of the widest tail of its column where its own is another."""
    text, tail = cell.text.translate(LATEX), _tail(cell)
    mean = rf"\textbf{{{text}}}" if cell.best else text
    if tail == widest:
        return mean + tail
    return rf"{mean}\rlap{{{tail}}}\phantom{{{widest}}}" if tail else rf"{mean}\phantom{{{widest}}}"


def _tail(cell: Cell) -> str:
    """What follows a number: its marks and ± sd."""
    spread = rf" {{\scriptsize$\pm${cell.spread[2:]}}}" if cell.spread else ""
    marks = cell.marks.translate(DAGGERS)
    return (rf"$^{{\mathrm{{{marks}}}}}$" if marks else "") + spread


def _markdown(cell: Cell) -> str:
    text = cell.text.translate(MARKDOWN)
    parts = [f"**{text}**" if cell.best else text, cell.marks, cell.spread]
    return " ".join(filter(None, parts))


def _html(cell: Cell) -> str:
    text = markup.escape(cell.text).replace(" %", "&nbsp;%")
    spread = f"<small>{cell.spread}</small>" if cell.spread else ""
    return " ".join(filter(None, [f"<b>{text}</b>" if cell.best else text, cell.marks, spread]))
