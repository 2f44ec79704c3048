"""Tables whose columns are declared once, for pages, terminal, files and report."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from shuffleproof.core.perturb import names as families
from shuffleproof.core.rankers.name import (
    FILES,
    Kind,
    RankerName,
    display_names,
    with_display_names,
)

DIGITS = 3
"""Default number of decimals."""

VALUE, CHANGE = "f", "+f"
"""Formats with the requested number of decimals; the second one with a sign."""

TEXT, FLAG, NAME = "", "yes", "name"
TAU, EFFECT, P, SHARE = ".2f", "+.2f", ".2g", ".1%"
COUNT, LEVEL, SHORT = ",.0f", "g", ".3g"
"""Format specifications of numbers for Python's `format`; texts are not changed."""

BOOTSTRAP = "95 % interval over queries (BCa)."
HOLM = "Paired t, adjusted by Holm."


@dataclass(frozen=True)
class Column:
    """Column of a table.

    Attributes:
        key: name in the frame, and in CSV, Parquet and JSON.
        label: displayed heading.
        format: VALUE, CHANGE, TEXT, FLAG, NAME (labels of rankers), or a format specification of
            Python for its numbers.
        help: description.
        detail: True if terminals show it with --verbose only.
    """

    key: str
    label: str
    format: str = TEXT
    help: str = ""
    detail: bool = False

    def spec(self, digits: int = DIGITS) -> str:
        """Format specification of its numbers.

        >>> Column("loss", "Loss", CHANGE).spec(4), Column("p", "p", P).spec(4)
        ('+.4f', '.2g')
        """
        return (
            self.format.replace("f", f".{digits}f")
            if self.format in {VALUE, CHANGE}
            else self.format
        )


RANKER = Column("ranker", "Ranker", NAME)
QUERIES = Column("n", "N", COUNT, "Queries that count.")


def bounds(
    low: str = "low",
    high: str = "high",
    spec: str = VALUE,
    words: str = BOOTSTRAP,
    *,
    detail: bool = False,
) -> tuple[Column, Column]:
    """Columns of an interval."""
    return Column(low, "CI low", spec, words, detail), Column(high, "CI high", spec, words, detail)


def of_people(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Frame with display names instead of labels of rankers and stored names of families."""
    labelled = [column.key for column in columns if column.format == NAME]
    named = {key: _labels_as_names(frame[key]) for key in labelled}
    if "family" in frame:
        named["family"] = frame["family"].astype(str).map(families.with_display_names)
    return frame.assign(**named)


def with_file_names(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Frame with labels of rankers as in commands, followed by the file name of imported ones.

    >>> from shuffleproof.core.rankers.name import remember_file_name
    >>> remember_file_name("77b0c2", "my scores.txt")
    >>> frame = pd.DataFrame({"ranker": ["scores#77b0", "mart@small"]})
    >>> with_file_names(frame, [RANKER])["ranker"].tolist()
    ['scores#77b0 (my scores.txt)', 'mart@small']
    """
    labelled = [column.key for column in columns if column.format == NAME]
    return frame.assign(**{key: frame[key].map(_with_file_name) for key in labelled})


def _with_file_name(label: Any) -> Any:
    name = RankerName.of(str(label))
    known = name.kind is Kind.STORED and name.head in FILES and name.display not in FILES
    return f"{label} ({name.display})" if known else label


def _labels_as_names(labels: pd.Series) -> pd.Series:
    names = display_names(map(str, labels.dropna()))
    return labels.map({label: with_display_names(label) if " " in label else name
                       for label, name in names.items()})  # fmt: skip


def keys(columns: Iterable[Column]) -> list[str]:
    """Names of columns in a frame."""
    return [column.key for column in columns]


@dataclass(frozen=True)
class Cell:
    """Cell with more than a text.

    Attributes:
        text: of the cell.
        best: True if no other cell is better.
        marks: significance marks.
        spread: `± sd`, or empty.
    """

    text: str
    best: bool = False
    marks: str = ""
    spread: str = ""

    def __str__(self) -> str:
        """Text, best and marks in plain letters."""
        return " ".join(filter(None, [self.text + "*" * self.best, self.marks, self.spread]))


@dataclass(frozen=True)
class Table:
    """Frame with a declaration of every column.

    Attributes:
        frame: the exact values.
        columns: of the frame, in display order.
        title: of the table.
        notes: lines below the table.
        groups: heading of each row; empty: no headings.
        folded: True if it is only shown on demand.
        detail: True if terminals show it with --verbose only.
    """

    frame: pd.DataFrame
    columns: Sequence[Column]
    title: str
    notes: Sequence[str] = ()
    groups: Sequence[str] = ()
    folded: bool = False
    detail: bool = False

    def __post_init__(self) -> None:
        """Refuse a frame with other columns than the declared ones.

        Raises:
            ValueError: a column is not declared, or is declared but missing.
        """
        declared, present = set(keys(self.columns)), set(map(str, self.frame.columns))
        if declared != present:
            raise ValueError(
                f"table {self.title!r}: columns {sorted(declared ^ present)} are either in its "
                "frame or declared, not both"
            )

    @property
    def brief(self) -> "Table":
        """Table without its detail columns and without columns that have no value."""
        detail = [column.key for column in self.columns if column.detail]
        return self.without(*detail, *self.frame.columns[self.frame.isna().all()])

    def without(self, *names: str) -> "Table":
        """Table without some columns; names that it lacks are ignored."""
        columns = [column for column in self.columns if column.key not in names]
        return replace(self, frame=self.frame[keys(columns)], columns=columns)

    @property
    def with_display_names(self) -> "Table":
        """Table with display names of rankers in headings, title and notes.

        Cells keep the labels, which commands accept; displays convert them by `display_names`.
        """
        columns = [
            replace(column, label=with_display_names(column.label)) for column in self.columns
        ]
        title, notes = with_display_names(self.title), (*map(with_display_names, self.notes),)
        return replace(self, columns=columns, title=title, notes=notes)


def wide_table(
    frame: pd.DataFrame, rows: Sequence[Column], across: str, value: Column, title: str
) -> Table:
    """Table with a column for each value of one column of a long frame.

    Args:
        frame: one row per value.
        rows: columns that identify the rows.
        across: the column whose values become columns.
        value: column of the cells.
        title: of the table.
    """
    is_single = len(rows) == 1  # a pivot of several columns would add every combination
    pivoted = frame.pivot_table(value.key, keys(rows), across, sort=False, dropna=not is_single)
    columns = [
        Column(str(name), f"{name:g}" if isinstance(name, int | float) else str(name), value.format)
        for name in pivoted.columns
    ]
    pivoted.columns = pivoted.columns.map(str)
    return Table(pivoted.reset_index(), (*rows, *columns), title)


def levels(frame: pd.DataFrame, title: str, spec: str = VALUE, *, left: bool = True) -> Table:
    """Summary of one family and measure: rankers × levels.

    Args:
        frame: rows of a summary.
        title: of the table.
        spec: format specification of the means.
        left: True for a last row with the Kendall τ to the original.
    """
    if left:
        means = frame.groupby("level", sort=False)["tau"].mean()
        taus = pd.DataFrame(
            {"ranker": "Kendall τ to the original", "level": means.index, "mean": means}
        )
        frame = pd.concat([frame, taus], ignore_index=True)
    return wide_table(frame, [RANKER], "level", Column("mean", "", spec), title)


def infer_columns(frame: pd.DataFrame, title: str, known: Iterable[Column] = ()) -> Table:
    """Table whose columns partly depend on the request: features, cells of a picture.

    Args:
        frame: the exact values.
        title: of the table.
        known: declarations of columns that may occur.
    """
    declared = {column.key: column for column in known}
    columns = [
        declared.get(str(name)) or _inferred_column(str(name), frame[name].dtype.kind)
        for name in frame
    ]
    return Table(frame, columns, title)


def _inferred_column(name: str, kind: str) -> Column:
    spec = {"f": SHORT, "i": COUNT, "u": COUNT, "b": FLAG}.get(kind, TEXT)
    return Column(name, name.replace("_", " "), spec)
