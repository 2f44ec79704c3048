"""Tables whose columns are declared once: for pages, terminal, files and report alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from shuffleproof.core.rankers.name import (
    FILES,
    Kind,
    RankerName,
    display_names,
    with_display_names,
)

DIGITS = 3
"""Decimals where nobody asks for others."""

VALUE, CHANGE = "f", "+f"
"""With the decimals that are asked for; the second with its sign."""

TEXT, FLAG, NAME = "", "yes", "name"
TAU, EFFECT, P, SHARE = ".2f", "+.2f", ".2g", ".1%"
COUNT, LEVEL, SHORT = ",.0f", "g", ".3g"
"""How numbers are written, as Python's `format` takes it; of texts nothing is changed."""

BOOTSTRAP = "95 % interval over queries (BCa)."
HOLM = "Paired t, adjusted by Holm."


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        key: its name in the frame, and in CSV, Parquet and JSON.
        label: what people read; without one the key.
        format: VALUE, CHANGE, TEXT, FLAG, NAME (labels of rankers), or how Python's `format` writes
            its numbers.
        help: what it is.
    """

    key: str
    label: str
    format: str = TEXT
    help: str = ""

    def spec(self, digits: int = DIGITS) -> str:
        """How `format` writes its numbers.

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
    low: str = "low", high: str = "high", spec: str = VALUE, words: str = BOOTSTRAP
) -> tuple[Column, Column]:
    """The two columns of an interval."""
    return Column(low, "from", spec, words), Column(high, "to", spec, words)


def of_people(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """A frame with the names of rankers where it has their labels."""
    labelled = [column.key for column in columns if column.format == NAME]
    return frame.assign(**{key: _labels_as_names(frame[key]) for key in labelled})


def with_file_names(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """A frame with labels of rankers as commands take them, behind one from a file what it is.

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
    """The names of columns in a frame."""
    return [column.key for column in columns]


@dataclass(frozen=True)
class Cell:
    """A cell that carries more than a text.

    Attributes:
        text: what stands in it.
        best: whether no other is better.
        marks: what it is marked with.
        spread: `± sd`, or empty.
    """

    text: str
    best: bool = False
    marks: str = ""
    spread: str = ""

    def __str__(self) -> str:
        """All of it, in plain letters."""
        return " ".join(filter(None, [self.text + "*" * self.best, self.marks, self.spread]))


@dataclass(frozen=True)
class Table:
    """A frame whose columns are declared, every one of them.

    Attributes:
        frame: the exact values.
        columns: of the frame, in the order in which people read them.
        title: what it shows.
        notes: what stands under it.
        groups: the heading that each row stands under; none: there are no headings.
        folded: whether it is shown to who asks.
    """

    frame: pd.DataFrame
    columns: Sequence[Column]
    title: str
    notes: Sequence[str] = ()
    groups: Sequence[str] = ()
    folded: bool = False

    def __post_init__(self) -> None:
        """Refuse a frame and columns that do not belong together.

        Raises:
            ValueError: a column that is declared nowhere, or that is declared and not there.
        """
        declared, present = set(keys(self.columns)), set(map(str, self.frame.columns))
        if declared != present:
            raise ValueError(
                f"table {self.title!r}: columns {sorted(declared ^ present)} are either in its "
                "frame or declared, not both"
            )

    def without(self, *names: str) -> "Table":
        """The table without columns, those that it does not have included."""
        columns = [column for column in self.columns if column.key not in names]
        return replace(self, frame=self.frame[keys(columns)], columns=columns)

    @property
    def with_display_names(self) -> "Table":
        """The table as people read it: by the names of rankers in headings, titles and notes.

        Cells keep the labels, which commands take; who shows them shows `display_names`.
        """
        columns = [
            replace(column, label=with_display_names(column.label)) for column in self.columns
        ]
        title, notes = with_display_names(self.title), (*map(with_display_names, self.notes),)
        return replace(self, columns=columns, title=title, notes=notes)


def wide_table(
    frame: pd.DataFrame, rows: Sequence[Column], across: str, value: Column, title: str
) -> Table:
    """A long frame as a table with a column for each of one column's values.

    Args:
        frame: a row a value.
        rows: what tells rows apart.
        across: the column whose values become columns.
        value: what stands in the cells.
        title: what it shows.
    """
    is_single = len(rows) == 1  # of several a pivot would make every combination
    pivoted = frame.pivot_table(value.key, keys(rows), across, sort=False, dropna=not is_single)
    columns = [
        Column(str(name), f"{name:g}" if isinstance(name, int | float) else str(name), value.format)
        for name in pivoted.columns
    ]
    pivoted.columns = pivoted.columns.map(str)
    return Table(pivoted.reset_index(), (*rows, *columns), title)


def levels(frame: pd.DataFrame, title: str, spec: str = VALUE, *, left: bool = True) -> Table:
    """A summary of one family and measure: rankers × levels.

    Args:
        frame: rows of a summary.
        title: what it shows.
        spec: how means are written.
        left: whether a last row says the Kendall τ that was left.
    """
    if left:
        means = frame.groupby("level", sort=False)["tau"].mean()
        taus = pd.DataFrame(
            {"ranker": "Kendall τ to the original", "level": means.index, "mean": means}
        )
        frame = pd.concat([frame, taus], ignore_index=True)
    return wide_table(frame, [RANKER], "level", Column("mean", "", spec), title)


def infer_columns(frame: pd.DataFrame, title: str, known: Iterable[Column] = ()) -> Table:
    """A table some of whose columns depend on what was asked: features, cells of a picture.

    Args:
        frame: the exact values.
        title: what it shows.
        known: the columns that may be there anyway.
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
