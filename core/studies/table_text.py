"""Tables as text (LaTeX, Markdown, HTML, aligned columns), and exact as CSV, Parquet and JSON."""

import html as markup
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from numbers import Real
from typing import Any

import pandas as pd

from shuffleproof.core.data.frames import csv
from shuffleproof.core.numerals import finite
from shuffleproof.core.studies.aligned_text import aligned, width
from shuffleproof.core.studies.sections import Details, Finding, Picture, Section
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
from shuffleproof.core.words import MISSING, number, one_line

WIDTH = 120
"""Letters of a line; a wider table is transposed."""

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"▲": r"$\blacktriangle$", "▼": r"$\blacktriangledown$", "τ": r"$\tau$", "−": "$-$"}
    | {"–": "--", "±": r"$\pm$", "→": r"$\rightarrow$", "≤": r"$\leq$", "≥": r"$\geq$"}
)
NO_LABEL = re.compile(r"[^a-z0-9]+")
NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
MARKDOWN = str.maketrans({character: f"\\{character}" for character in "|\\`*_<>[]"})


@dataclass(frozen=True)
class PrintedTable:
    """Texts of a table's cells.

    Attributes:
        heads: of the columns.
        rows: cells; a heading of rows is a row with a text only in its first cell.
        numeric: True for columns of numbers.
    """

    heads: list[str]
    rows: list[list[Cell]]
    numeric: list[bool]


def text_of(value: Any, column: Column, digits: int = DIGITS) -> str:
    """Text of a cell.

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
    """Texts of a table's cells.

    Args:
        table: the table to print.
        digits: number of decimals.
        names: True for display names of rankers; False for the names of commands.
    """
    columns = table.columns
    frame = (of_people if names else with_file_names)(table.frame, columns)
    values = zip(*(frame[column.key].tolist() for column in columns), strict=True)
    groups = list(table.groups) or [""] * len(table.frame)
    rows: list[list[Cell]] = []
    for group, members in groupby(zip(groups, values, strict=True), key=lambda row: row[0]):
        if group:
            rows.append([Cell(f"{one_line(group)}:"), *[Cell("")] * (len(columns) - 1)])
        rows += [
            [_cell(value, column, digits) for value, column in zip(row, columns, strict=True)]
            for _, row in members
        ]
    numeric = [column.format not in {TEXT, FLAG, NAME} for column in columns]
    return PrintedTable([one_line(column.label) for column in columns], rows, numeric)


def latex(table: Table, digits: int = DIGITS) -> str:
    """Table in LaTeX, with caption, label and notes below.

    It needs the packages booktabs and siunitx, whose `S` columns align numbers.
    """
    text = print_table(table, digits)
    cells = [
        [_latex(cell, right) for cell, right in zip(row, text.numeric, strict=True)]
        for row in text.rows
    ]
    heads: Any = {at: head.translate(LATEX) for at, head in enumerate(text.heads)}
    title = one_line(table.title)
    name = "-".join(NO_LABEL.sub(" ", title.lower()).split())
    written: str = (
        pd.DataFrame(cells, columns=range(len(text.heads)))
        .style.hide(axis="index")
        .format_index(heads.get, axis="columns")
        .to_latex(
            hrules=True,
            siunitx=True,
            column_format="".join("S" if right else "l" for right in text.numeric),
            position_float="centering",
            caption=title.translate(LATEX) or None,
            label=f"tab:{name}" if title else None,
        )
    )
    notes = [one_line(note).translate(LATEX) for note in table.notes if note]
    below = "".join(rf"\par\smallskip{{\footnotesize {note}}}" + "\n" for note in notes)
    return written.replace("\\end{table}", f"{below}\\end{{table}}")


def markdown(table: Table, digits: int = DIGITS) -> str:
    """Table in Markdown, with its notes below."""
    text = print_table(table, digits)
    lines = [[head.translate(MARKDOWN) for head in text.heads]]
    lines.append(["--:" if right else ":--" for right in text.numeric])
    lines += [list(map(_markdown, row)) for row in text.rows]
    rows = [f"| {' | '.join(line)} |" for line in lines]
    notes = ["", *(f"{line}  " for line in table.notes)] if table.notes else []
    return "\n".join([*rows, *notes, ""])


def html(table: Table, digits: int = DIGITS) -> str:
    """Table in HTML, with its notes below."""
    text = print_table(table, digits)
    heads = "".join(f"<th>{markup.escape(head)}</th>" for head in text.heads)
    rows = [f"<tr>{''.join(f'<td>{_html(cell)}</td>' for cell in row)}</tr>" for row in text.rows]
    notes = "".join(f"<p class='said'>{markup.escape(line)}</p>" for line in table.notes)
    body = f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f"<table>{body}</table>{notes}"


def terminal(table: Table, digits: int = DIGITS) -> str:
    r"""Table in aligned columns, with its notes below; a wide one is transposed.

    >>> frame = pd.DataFrame({"ranker": ["mart"], "mean": [0.25]})
    >>> print(terminal(Table(frame, (Column("ranker", ""), Column("mean", "NDCG", "f")), "")))
           NDCG
    mart  0.250
    """
    text = print_table(table, digits, names=False)
    heads, rows, numeric = text.heads, [list(map(str, row)) for row in text.rows], text.numeric
    turned = [*map(list, zip(heads, *rows, strict=True))]
    size = _width([heads, *rows])
    # Transposing helps only if there are fewer rows than columns, and no long names to repeat
    if size > (width() or WIDTH) and len(rows) < len(heads) and _width(turned) < size:
        heads, *rows = turned
        if all(numeric[1:]):  # levels, which the head of the names does not name
            heads[0] = ""
        numeric = [False, *[True] * (len(heads) - 1)]
    return "\n".join([aligned(heads, rows, numeric), *table.notes])


def _width(lines: Sequence[Sequence[str]]) -> int:
    """Letters of a line of aligned columns."""
    return sum(max(map(len, column)) + 2 for column in zip(*lines, strict=True))


WRITERS: Mapping[str, Callable[[Table, int], str]] = {"tex": latex, "md": markdown}
EXACT = ("csv", "parquet", "json")
"""File types of tables: WRITERS for reading, with labels and decimals; EXACT for programs."""


def table_bytes(table: Table, ending: str, digits: int = DIGITS) -> bytes:
    """Bytes of a table file: csv, parquet, json (exact), tex, md (for reading)."""
    if ending in WRITERS:
        return WRITERS[ending](table, digits).encode()
    return exact(table.frame, ending)


def exact(frame: pd.DataFrame, ending: str) -> bytes:
    """Bytes of a frame's file, without rounding: csv, parquet, json (a record per row)."""
    if ending == "csv":
        return csv(frame).encode()
    if ending == "json":
        return json.dumps(records(frame), allow_nan=False).encode()
    content = io.BytesIO()
    frame.to_parquet(content, index=False)
    return content.getvalue()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows of a frame as plain dictionaries."""
    return [finite(row) for row in frame.to_dict("records")]


def terminal_text(
    sections: Iterable[Section], digits: int = DIGITS, *, verbose: bool = True
) -> str:
    """Sections of a result as text for the terminal; tables replace pictures.

    Args:
        sections: in display order.
        digits: number of decimals.
        verbose: False for the headline, the main columns of the tables, and the conventions.
    """
    parts: list[str] = []
    for section in sections:
        if isinstance(section, Table | Picture):
            tables = section.tables if isinstance(section, Picture) else [section]
            parts += [
                f"{_with_title(table if verbose else table.brief, digits)}\n"
                for table in tables
                if verbose or not (table.folded or table.detail)
            ]
        elif isinstance(section, Details):
            parts += [section.title, *section.lines] if verbose else []
        elif section.text and (verbose or not isinstance(section, Finding)):
            parts.append(section.text)
    return "\n".join(parts).rstrip()


def _with_title(table: Table, digits: int) -> str:
    return "\n".join(filter(None, [table.title, terminal(table, digits)]))


def _cell(value: Any, column: Column, digits: int) -> Cell:
    return value if isinstance(value, Cell) else Cell(text_of(value, column, digits))


def _latex(cell: Cell, numeric: bool) -> str:  # noqa: FBT001
    """LaTeX cell; in an `S` column, text, marks and ± sd are put in braces."""
    value = cell.text.replace("−", "-").replace(",", "")
    text = value if numeric and NUMBER.fullmatch(value) else cell.text.translate(LATEX)
    tail = rf"$^{{\mathrm{{{cell.marks}}}}}$" if cell.marks else ""
    tail += rf" {{\scriptsize$\pm${cell.spread[2:]}}}" if cell.spread else ""
    if numeric and text == value and text:
        return (r"\bfseries " if cell.best else "") + text + (f" {{{tail}}}" if tail else "")
    text = rf"\textbf{{{text}}}{tail}" if cell.best else text + tail
    return f"{{{text}}}" if numeric and text else text


def _markdown(cell: Cell) -> str:
    text = cell.text.translate(MARKDOWN)
    parts = [f"**{text}**" if cell.best else text, cell.marks, cell.spread]
    return " ".join(filter(None, parts))


def _html(cell: Cell) -> str:
    text = markup.escape(cell.text).replace(" %", "&nbsp;%")
    spread = f"<small>{cell.spread}</small>" if cell.spread else ""
    return " ".join(filter(None, [f"<b>{text}</b>" if cell.best else text, cell.marks, spread]))
