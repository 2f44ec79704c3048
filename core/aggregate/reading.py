"""Preferences read from files: tables of pairs, matrices, sets of rankings, TREC runs.

    pairs     query, a, b [, preference, votes, judge, first] as CSV, TSV, JSON lines, Parquet or
              Arrow; without preference a is preferred, and each line is an answer. Battles
              (model_a, model_b, winner) are pairs of one query if they name none. Without a line
              of names: three columns are query, a, b, a fourth is the preference, or votes of 1, 0
              and −1 with commas between. Judges' logs (`--- topic a b`, then two responses) too.
    matrix    n × n numbers as .npy, f(row, column) with the row's item shown first; NaN is missing.
    rankings  LETOR's aggregation sets, or query, ranker, item, rank.
    runs      TREC runs, a ranker each.

Where a preference is written and not who was shown first, it is a: (a, b) and (b, a) are two
answers. Where none is written the preferred item stands first in each line: items are then kept
by name, or as a file of items lists them, lest the order of the lines settle ties. Every file may
be compressed. Parquet, Arrow and JSON lines are read in a guarded process (`core.data.tables`).
"""

import csv
import re
import tokenize
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.aggregate.preferences import UNKNOWN, Preferences, built
from shuffleproof.core.data import tables, trec
from shuffleproof.core.data.letor.stream import (
    ARROW,
    JSON,
    PARQUET,
    STREAM,
    Limits,
    kind_of,
    lines,
    unpacked_file,
)
from shuffleproof.core.errors import (
    DataError,
    LetorError,
    ParameterError,
    UnknownNameError,
    no_file,
    quoted,
    shown,
)
from shuffleproof.core.numerals import number
from shuffleproof.core.words import counted

TABLES = (PARQUET, ARROW, STREAM, JSON)
LIMITS = Limits(line_bytes=1 << 24, decoded_bytes=1 << 35)
COLUMNS = ("query", "a", "b", "preference", "votes", "judge", "first")
FORMATS = ("pairs", "matrix", "rankings", "runs")
DIRECTIONS = ("small", "large")
REPEATS = ("error", "votes", "first", "last")
NULLS = ("missing", "last")
MALFORMED = ("error", "skip")
FORM = "A line reads: query, a, b, or query, a, b, preference in [0, 1]."
WORDS = {
    **dict.fromkeys(("a", "model_a", "a>b", "a>>b", "b<a", "b<<a"), 1.0),
    **dict.fromkeys(("b", "model_b", "b>a", "b>>a", "a<b", "a<<b"), 0.0),
    **dict.fromkeys(("tie", "same", "s", "=", "c", "a=b", "b=a", "draw"), 0.5),
    **dict.fromkeys(("tie (bothbad)", "bothbad", "both_bad", "both bad"), 0.5),
}
"""Preferences in words, in any case and in brackets, as judges and arenas write them."""

OTHER_NAMES = {
    "query": ("question_id", "query_id", "qid", "topic"),
    "a": ("model_a", "chosen"),
    "b": ("model_b", "rejected"),
    "preference": ("winner", "chosen", "preferred"),
}
"""Names that our columns have in published battles, in sets of chosen answers, in TREC's files."""

PROMPT = "prompt"
"""The query's column beside `chosen`."""

VERDICT = re.compile(r"\[\[([^\[\]]*)\]\]")
NEGATION = re.compile(
    r"(?:\b(?:not|never|neither|nor|no|cannot)\b|n['’]t\b)[^.:;!?]*\Z"
    r"|\b(?:loser|(?:wrong|worse|worst|weaker|inferior|incorrect|losing|rejected) (?!than\b)\w+)"
    r"[^.,;!?]*\Z",
    re.IGNORECASE,
)
"""A negation, or a word for the answer that lost, in the clause that ends here."""

MATRIX_FORM = "Give n × n numbers in [0, 1], NaN where a pair was not asked."
UNREADABLE = (
    ArithmeticError, EOFError, MemoryError, OSError, SyntaxError, ValueError, tokenize.TokenError,
)  # fmt: skip
"""Errors of NumPy at a damaged matrix."""

ONE_QUERY = "all"
"""The query of pairs whose table names none."""

LOG = re.compile(r"--- (\S+) (\S+) (\S+)\s*$")
RESPONSE = "Response:"


@dataclass(frozen=True)
class PreferenceFormat:
    """How files become preferences.

    Attributes:
        format: one of FORMATS; empty: by the files' ends.
        direction: of rankings: is a small number the top, or a large one; empty: refused.
        nulls: of rankings and runs: an item that a ranker lacks is missing, or below its last;
            empty: refused where there are such.
        repeats: a pair with two preferences: an error, both counted as votes, or one of them.
        malformed: an answer that cannot be read: an error, or left out and counted.
        columns: the files' names of our columns, where they are others.
        values: preferences of words that are others than WORDS.
        items: a file of query and item a line: all items that there are.
        qrels: judgments (TREC): labels of items.
    """

    format: str = ""
    direction: str = ""
    nulls: str = ""
    repeats: str = "error"
    malformed: str = "error"
    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    items: Path | None = None
    qrels: Path | None = None

    def __post_init__(self) -> None:
        """Check that each is one of what there is."""
        allowed = (
            ("format", FORMATS), ("direction", DIRECTIONS), ("nulls", NULLS),
            ("repeats", REPEATS), ("malformed", MALFORMED),
        )  # fmt: skip
        for name, choices in allowed:
            value = getattr(self, name)
            if value and value not in choices:
                raise ParameterError(name, value, "one of " + ", ".join(choices))
        for name in self.columns:
            if name not in COLUMNS:
                raise UnknownNameError("column", name, COLUMNS)
        for word, preference in self.values.items():
            if not 0 <= preference <= 1:
                raise ParameterError(f"values: {word}", preference, "between 0 and 1")


def read(paths: Sequence[Path], reading: PreferenceFormat | None = None) -> Preferences:
    """All preferences of these files together.

    Raises:
        LetorError: a malformed line, by file and number.
        DataError: a file that is missing, empty or of another form; a query of one item, an item
            that was never compared, an unknown one.
    """
    reading = reading or PreferenceFormat()
    for path in paths:
        if not path.is_file():
            raise no_file(path)
    listed_items = None if reading.items is None else _items_by_query(reading.items)
    labels = {} if reading.qrels is None else trec.read_qrels(reading.qrels)
    form = form_of(paths, reading)
    if form in {"pairs", "matrix"}:
        return _Judgments(reading, listed_items, labels).read(paths, form)
    return _read_rankings(paths, form, reading, listed_items, labels)


def form_of(paths: Sequence[Path], reading: PreferenceFormat) -> str:
    """The form of files: as stated, or by the ends of their names and their first lines."""
    if reading.format:
        return reading.format
    if all(path.suffix == ".npy" for path in paths):
        return "matrix"
    if _is_table(paths[0]):
        return "pairs"
    first_line = _first_line(paths[0])
    columns = first_line.split()
    if len(columns) >= 6 and columns[1].upper() == "Q0":
        return "runs"
    if re.match(r"\S+\s+qid:", first_line):
        return "rankings"
    return "pairs"


def _is_table(path: Path) -> bool:
    """Tell by its first bytes if a file is Parquet, Arrow or JSON lines."""
    with unpacked_file(path, str(path)) as file:
        return kind_of(file.head) in TABLES


def _first_line(path: Path) -> str:
    with closing(_lines(path)) as found:
        return next(found)[1]


def _lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """Lines that are not blank, with their numbers.

    Raises:
        DataError: an empty file, or one that is not UTF-8.
    """
    empty = True
    for at, line in lines(path, str(path), LIMITS):
        if line.strip():
            empty = False
            try:
                yield at, line.decode().rstrip("\r")
            except UnicodeDecodeError as error:
                finding = f"line {at} is not UTF-8"
                raise DataError(str(path), finding, "Save the file as UTF-8.") from error
    if empty:
        raise DataError(str(path), "no lines", FORM)


def _delimiter(line: str) -> str:
    """The mark between columns, outside quotes; empty: blanks."""
    bare = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in "\t;," if mark in bare), "")


def _rows(path: Path) -> Generator[tuple[int, str, list[str]], None, None]:
    """Number, text and cells of every row of CSV, or of columns between blanks.

    Raises:
        LetorError: quotes that do not end.
    """
    found = _lines(path)
    last = next(found)
    delimiter = _delimiter(last[1])
    every = chain([last], found)
    if not delimiter:
        yield from ((at, line, line.split()) for at, line in every)
        return

    def texts() -> Iterator[str]:
        nonlocal last
        for last in every:
            yield last[1] + "\n"

    csv.field_size_limit(LIMITS.line_bytes)
    try:
        for cells in csv.reader(texts(), delimiter=delimiter, strict=True):
            yield *last, [cell.strip() for cell in cells]
    except csv.Error as error:
        remedy = "Write it as pandas.DataFrame.to_csv does."
        raise LetorError(path, *last, f"no CSV ({error})", remedy) from error


def _items_by_query(path: Path) -> dict[str, dict[str, int]]:
    """The items of each query and their lines: its name and the item's, the last column, on each.

    A first line `query,item` is a header.
    """
    items: dict[str, dict[str, int]] = {}
    for at, line, columns in _rows(path):
        if len(columns) < 2:
            raise LetorError(path, at, line, "one column", "A line reads: query, item.")
        if (at, columns) != (1, ["query", "item"]):
            items.setdefault(columns[0], {}).setdefault(columns[-1], at)
    return items


@dataclass(frozen=True)
class Answer:
    """One line: names as written; `stated` where the preference was."""

    query: str
    a: str
    b: str
    value: float
    votes: float
    judge: str
    first: str
    stated: bool


class _Judgments:
    """Answers of all files put together."""

    def __init__(
        self,
        reading: PreferenceFormat,
        known: Mapping[str, Mapping[str, int]] | None,
        labels: Mapping[str, Mapping[str, int]],
    ) -> None:
        self.reading, self.known, self.labels = reading, known, labels
        self.queries: dict[str, int] = {}
        self.items: list[dict[str, int]] = []
        self.judges: dict[str, int] = {}
        self.rows: list[tuple[int, int, int, float, float, int, int]] = []
        self.seen: dict[tuple[int, ...], int] = {}
        self.where: dict[str, str] = {}
        self.malformed: list[str] = []
        self.again: Counter[str] = Counter()
        self.winners_first = False

    def read(self, paths: Sequence[Path], form: str) -> Preferences:
        """Every file; then what no line shows alone."""
        for path in paths:
            if form == "matrix":
                self._matrix(path)
            else:
                for at, line, answer in answers(path, self.reading):
                    self._add_answer(path, at, line, answer)
        for query, items in (self.known or {}).items():
            query_items = self.items[self._query_place(query)]
            for item in items:
                query_items.setdefault(item, len(query_items))
        self._check(paths)
        if self.winners_first:
            self._order_items()
        names = [list(items) for items in self.items]
        notes = [f"{kind}: {count:,}." for kind, count in self.again.items()]
        if self.malformed:
            examples = ", ".join(self.malformed[:5]) + (" …" if len(self.malformed) > 5 else "")
            count = counted(len(self.malformed), "malformed answer")
            notes.append(f"{count} left out ({examples}).")
        grades = tuple(
            np.array([self.labels.get(query, {}).get(item, np.nan) for item in query_items], float)
            for query, query_items in zip(self.queries, names, strict=True)
        )
        return built(
            list(self.queries), names, self.rows, list(self.judges),
            labels=grades if self.labels else (), notes=tuple(notes),
        )  # fmt: skip

    def _query_place(self, name: str) -> int:
        place = self.queries.setdefault(name, len(self.queries))
        if place == len(self.items):
            self.items.append({})
        return place

    def _add_answer(self, path: Path, at: int, line: str, answer: Answer | str) -> None:
        if isinstance(answer, str):
            if self.reading.malformed == "error":
                remedy = f"{FORM} Mend the line, or leave such answers out: --malformed skip."
                raise LetorError(path, at, line, answer, remedy)
            self.malformed.append(f"{path.name}:{at}")
            return
        self.winners_first |= not answer.stated and not answer.first
        if answer.a == answer.b:
            self.again["Pairs of an item with itself, left out"] += 1
            return
        query = self._query_place(answer.query)
        self.where.setdefault(answer.query, f"{path}:{at}")
        items = self.items[query]
        if self.known is not None:
            for name in (answer.a, answer.b):
                if name not in self.known.get(answer.query, ()):
                    finding = f"the unknown document {quoted(name)} of query {answer.query}"
                    remedy = f"Mend its name, or add it to {self.reading.items}."
                    raise LetorError(path, at, line, finding, remedy)
        a, b = (items.setdefault(name, len(items)) for name in (answer.a, answer.b))
        judge = UNKNOWN
        if answer.judge:
            judge = self.judges.setdefault(answer.judge, len(self.judges))
        shown_first = {"": UNKNOWN, "a": 0, "b": 1, answer.a: 0, answer.b: 1}.get(answer.first)
        if shown_first is None:
            finding = f"first is {quoted(answer.first)}"
            raise LetorError(path, at, line, finding, "It is a, b, or the name of one of the two.")
        row = (query, a, b, answer.value, answer.votes, judge, shown_first)
        if answer.stated and self._is_repeated(path, at, line, row):
            return
        self.rows.append(row)

    def _order_items(self) -> None:
        """Order the items of every query by name, or as they are listed."""
        places = []
        for name, query in self.queries.items():
            items = self.items[query]
            ordered = sorted(items) if self.known is None else self.known[name]
            self.items[query] = {item: place for place, item in enumerate(ordered)}
            places.append([self.items[query][item] for item in items])
        self.rows = [
            (query, places[query][a], places[query][b], value, votes, judge, shown_first)
            for query, a, b, value, votes, judge, shown_first in self.rows
        ]

    def _is_repeated(
        self, path: Path, at: int, line: str, row: tuple[int, int, int, float, float, int, int]
    ) -> bool:
        """Whether this preference was stated before; a second value is settled as was asked."""
        as_shown = (row[1], row[2]) if row[6] != 1 else (row[2], row[1])
        value = row[3] if row[6] != 1 else 1 - row[3]
        key = (row[0], *as_shown, row[5], row[6] != UNKNOWN)
        before = self.seen.setdefault(key, len(self.rows))
        if before == len(self.rows) or self.reading.repeats == "votes":
            return False
        old = self.rows[before]
        old_value = old[3] if old[6] != 1 else 1 - old[3]
        if old_value == value:
            return self.reading.repeats in {"first", "last"}
        if self.reading.repeats == "error":
            finding = f"a second preference of a pair that has {old_value:g} already"
            remedy = "Say what it means: --repeats votes (both count), first or last."
            raise LetorError(path, at, line, finding, remedy)
        self.again[f"pairs stated twice, the {self.reading.repeats} kept"] += 1
        if self.reading.repeats == "last":
            self.rows[before] = row
        return True

    def _matrix(self, path: Path) -> None:
        values = _matrix_of(path)
        bad = np.argwhere(~np.isnan(values) & ~((values >= 0) & (values <= 1)))
        if len(bad):
            row, column = bad[0].tolist()
            finding = f"{values[row, column]:g} at row {row}, column {column} (from 0)"
            raise DataError(str(path), finding, MATRIX_FORM)
        name = path.name.removesuffix(".npy")
        query = self._query_place(name)
        self.where[name] = str(path)
        items = None if self.known is None else self.known.get(name, {})
        if items is not None and len(items) != len(values):
            finding = (
                f"{counted(len(values), 'row')}, where {self.reading.items} lists {len(items)}"
            )
            raise DataError(str(path), finding, f"List each row's item of query {name}, in order.")
        for item in range(len(values)) if items is None else items:
            self.items[query].setdefault(str(item), len(self.items[query]))
        if not np.nan_to_num(np.diag(values)).any():
            np.fill_diagonal(values, np.nan)
        for row, column in np.argwhere(np.isfinite(values)).tolist():
            self.rows.append((query, row, column, float(values[row, column]), 1.0, UNKNOWN, 0))

    def _check(self, paths: Sequence[Path]) -> None:
        """No preference at all, a query of one item, and an item that no pair has."""
        if not self.rows:
            raise DataError(str(paths[0]), "no preferences", FORM)
        compared: list[set[int]] = [set() for _ in self.items]
        for query, a, b, *_ in self.rows:
            if a != b:
                compared[query] |= {a, b}
        for name, query in self.queries.items():
            place = self.where.get(name, str(paths[0]))
            items = self.items[query]
            if len(items) < 2:
                finding = f"query {quoted(name)} has {counted(len(items), 'item')}"
                raise DataError(place, finding, "A preference is between two: leave the query out.")
            uncompared = [item for item, at in items.items() if at not in compared[query]]
            if uncompared:
                if self.known is not None:
                    place = f"{self.reading.items}:{self.known[name][uncompared[0]]}"
                finding = f"item {quoted(uncompared[0])} of query {quoted(name)} was never compared"
                finding += f", nor were {len(uncompared) - 1} others" if len(uncompared) > 1 else ""
                raise DataError(place, finding, "Ask for one pair with it, or leave it out.")


def _matrix_of(path: Path) -> Float64[np.ndarray, "items items"]:
    """The numbers of a matrix.

    Raises:
        DataError: other content.
    """
    try:  # mapped: a header that promises more than the file holds takes no memory
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise DataError(str(path), f"no NumPy matrix ({error})", MATRIX_FORM) from error
    if not isinstance(values, np.ndarray):
        raise DataError(str(path), "an archive of matrices (.npz)", MATRIX_FORM)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.dtype.kind not in "fiub":
        finding = f"an array of {values.dtype} and shape {values.shape}"
        raise DataError(str(path), finding, MATRIX_FORM)
    return np.array(values, dtype=np.float64)


def answers(
    path: Path, reading: PreferenceFormat
) -> Generator[tuple[int, str, Answer | str], None, None]:
    """Line number, line and what it answers, or what is wrong with it."""
    if _is_table(path):
        yield from _table_answers(path, reading)
    elif LOG.match(_first_line(path)):
        yield from _log_answers(path)
    else:
        yield from _text_answers(path, reading)


def _columns_of(names: Sequence[str], reading: PreferenceFormat) -> dict[str, str]:
    """Our columns by the names that a table has for them.

    >>> _columns_of(["Query", "model_a", "model_b", "turn"], PreferenceFormat())
    {'Query': 'query', 'model_a': 'a', 'model_b': 'b'}
    """
    found: dict[str, str] = {}
    for ours in COLUMNS:
        theirs = (reading.columns.get(ours), ours, *OTHER_NAMES.get(ours, ()))
        if ours in reading.columns:
            theirs = theirs[:1]
        same = [name for one in theirs for name in names if one in {name, name.lower()}]
        free = [name for name in same if name not in found]  # a column has one meaning
        if free:
            found[free[0]] = ours
    if found.get("chosen") == "a" and PROMPT in names and "query" not in found.values():
        found.setdefault(PROMPT, "query")
    return {name: found[name] for name in names if name in found}


def _columns_error(place: str, names: Sequence[str]) -> DataError:
    finding = f"the columns {', '.join(map(shown, names[:8]))}"
    remedy = (
        f"{FORM} --columns a=NAME,b=NAME says what they are called; add query=NAME if there is one."
    )
    return DataError(place, finding, remedy)


def _text_answers(path: Path, reading: PreferenceFormat) -> Iterator[tuple[int, str, Answer | str]]:
    """The answers of CSV, or of columns between blanks; a first line of names is optional."""
    rows: Iterator[tuple[int, str, list[str]]] = _rows(path)
    at, line, header = next(rows)
    if len(set(header)) < len(header) and {"a", "b"} <= {*_columns_of(header, reading).values()}:
        raise LetorError(path, at, line, "two columns of one name", "Rename one of them.")
    columns = _columns_of(header, reading)
    fields = [columns.get(name, "") for name in header]
    if not {"a", "b"} <= {*fields}:
        headless = 3 <= len(header) <= 5 and not reading.columns and "query" not in fields
        named = len(header) > 3 and header[3][:1].isalpha()
        if not headless or (named and isinstance(_preference(header[3], reading), str)):
            raise _columns_error(f"{path}:{at}", header)
        fields = list(COLUMNS[: len(header)])
        rows = chain([(at, line, header)], rows)
    stated = "preference" in fields
    for at, line, cells in rows:
        if len(cells) != len(fields):
            finding = f"{counted(len(cells), 'column')} instead of {len(fields)}"
            raise LetorError(path, at, line, finding, FORM)
        cell = {name: text for name, text in zip(fields, cells, strict=True) if name}
        if "query" not in fields:
            cell["query"] = ONE_QUERY
        yield at, line, _answer(path, at, line, cell, reading, stated=stated)


def _table_answers(
    path: Path, reading: PreferenceFormat
) -> Iterator[tuple[int, str, Answer | str]]:
    """The answers of Parquet, Arrow or JSON lines."""
    names, at = tables.names_of(path, str(path)), 0
    columns = _columns_of(names, reading)
    if not {"a", "b"} <= {*columns.values()}:
        raise _columns_error(str(path), names)
    stated = "preference" in columns.values()
    for batch in tables.batches(path, str(path), [*columns]):
        ours = [columns[name] for name in batch]
        for row in zip(*batch.values(), strict=True):
            at += 1
            fields = dict(zip(ours, row, strict=True))
            line = ", ".join(f"{name}={value!r}"[:40] for name, value in fields.items())
            cell = {} if "query" in columns.values() else {"query": ONE_QUERY}
            for name, value in fields.items():
                if isinstance(value, list | dict | bool | np.bool_):
                    finding = f"a {type(value).__name__} as {name}"
                    raise LetorError(path, at, line, finding, "Write texts or numbers.")
                if value is not None and value == value:  # noqa: PLR0124 (NaN is missing)
                    cell[name] = str(value)
            yield at, line, _answer(path, at, line, cell, reading, stated=stated)


def _answer(  # noqa: PLR0913 (a line and where it stands)
    path: Path,
    at: int,
    line: str,
    cell: Mapping[str, str],
    reading: PreferenceFormat,
    *,
    stated: bool,
) -> Answer | str:
    """What a line says, or what is wrong with its preference."""
    query, a, b = (cell.get(name, "") for name in ("query", "a", "b"))
    if not (query and a and b):
        raise LetorError(path, at, line, "an empty query, a or b", FORM)
    value, votes = 1.0, 1.0
    if stated:
        preference = _preference(cell.get("preference", ""), reading, a, b)
        if isinstance(preference, str):
            return preference
        value, votes = preference
    if cell.get("votes"):
        try:
            votes = number(cell["votes"])
        except ValueError:
            votes = -1.0
        if not votes > 0:
            finding = f"votes are {quoted(cell['votes'])}"
            raise LetorError(path, at, line, finding, "Give how many answers it is the mean of.")
    if a == b and not stated:
        finding = f"{quoted(a)} against itself"
        raise LetorError(path, at, line, finding, "A pair is of two items: leave the line out.")
    shown_first = cell.get("first", "a" if stated else "")
    return Answer(query, a, b, value, votes, cell.get("judge", ""), shown_first, stated)


def _preference(  # noqa: PLR0911 (a line a form)
    text: str, reading: PreferenceFormat, a: str = "", b: str = ""
) -> tuple[float, float] | str:
    """A preference and its votes, or what is wrong.

    Args:
        text: a number, votes, a verdict in words, or the name of the item that won.
        reading: what other words mean.
        a: the one item.
        b: the other.

    >>> usual = PreferenceFormat()
    >>> [_preference(text, usual) for text in ("0.25", "1,-1,0,1", "tie", "[[A]]")]
    [(0.25, 1.0), (0.625, 4.0), (0.5, 1.0), (1.0, 1.0)]
    >>> _preference("red", usual, "blue", "red")
    (0.0, 1.0)
    """
    if text in reading.values:
        return reading.values[text], 1.0
    verdict = _verdict(text)
    word = WORDS.get(verdict.casefold().replace("≫", ">>"))
    by_name = {b: 0.0, a: 1.0}.get(text, {b: 0.0, a: 1.0}.get(verdict))
    if word is not None:
        if by_name not in {None, word}:
            return (
                f"{quoted(text)}, the name of an item and of the other side (--values says which)"
            )
        return word, 1.0
    votes = text.split(",")
    if len(votes) > 1 and set(votes) <= {"1", "0", "-1"}:
        return sum((int(vote) + 1) / 2 for vote in votes) / len(votes), float(len(votes))
    try:
        value = number(text)
    except ValueError:
        return f"the preference {quoted(text)}" if by_name is None else (by_name, 1.0)
    if not 0 <= value <= 1:
        return f"the preference {value:g} outside [0, 1] (a rank? then --format rankings)"
    return value, 1.0


def _verdict(text: str) -> str:
    """The one verdict in double brackets that a sentence states; else the text without brackets.

    >>> [_verdict(text) for text in ("[[A]]", "My final verdict is: [[A=B]].")]
    ['A', 'A=B']
    >>> [_verdict(text) for text in ("First [[A]], then [[B]]", "Surely not [[A]].")]
    ['First [[A]], then [[B', 'Surely not [[A]].']
    """
    found = [*VERDICT.finditer(text)]
    one = len({match[1].strip() for match in found}) == 1
    if one and not any(NEGATION.search(text[: match.start()]) for match in found):
        return found[0][1].strip()
    return text.strip("[] ")


def _log_answers(path: Path) -> Iterator[tuple[int, str, Answer | str]]:
    """A judge's log: a pair, its answer with the first shown first, its answer the other way."""
    pair: list[str] = []
    answer_count = 0
    for at, line in _lines(path):
        if match := LOG.match(line):
            pair, answer_count = list(match.groups()), 0
        elif pair and answer_count < 2 and line.startswith(RESPONSE):
            response = line.removeprefix(RESPONSE).strip()
            topic, a, b = pair[0], *(pair[1:] if answer_count == 0 else pair[:0:-1])
            answer_count += 1
            value = {"1": 1.0, "2": 0.0}.get(response)
            if value is None:
                yield at, line, f"the response {quoted(response)}"
            else:
                yield at, line, Answer(topic, a, b, value, 1.0, "", "a", stated=False)


def _read_rankings(
    paths: Sequence[Path],
    form: str,
    reading: PreferenceFormat,
    listed_items: Mapping[str, Mapping[str, int]] | None,
    qrels: Mapping[str, Mapping[str, int]],
) -> Preferences:
    """Sets of rankings: a matrix of scores a query."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    rankers: dict[str, int] = {}
    labels: dict[str, dict[str, float]] = {
        query: {item: float(grade) for item, grade in query_items.items()}
        for query, query_items in qrels.items()
    }
    for path in paths:
        if form == "runs":
            run = trec.read_run(path)
            name = path.name if run.tag in rankers or not run.tag else run.tag
            rankers.setdefault(name, len(rankers))
            for topic, retrieved in run.scores.items():
                for item, score in retrieved.items():
                    scores.setdefault(topic, {}).setdefault(item, {})[name] = score
        else:
            _add_rankings(path, scores, rankers, labels)
    _check_items(paths, reading, listed_items, scores)
    tables, items = [], []
    for query_items in scores.values():
        table = np.full((len(rankers), len(query_items)), np.nan, np.float32)
        for place, by_ranker in enumerate(query_items.values()):
            for ranker, score in by_ranker.items():
                table[rankers[ranker], place] = score
        tables.append(table)
        items.append(list(query_items))
    grades = tuple(
        np.array([labels.get(query, {}).get(item, np.nan) for item in query_items], float)
        for query, query_items in zip(scores, items, strict=True)
    )
    tables = _oriented(paths[0], form, reading, tables, grades if labels else ())
    empty = sum(int(np.isnan(table).all(axis=0).sum()) for table in tables)
    notes = (f"Items that no ranker ranks, never compared: {empty:,}.",) if empty else ()
    return built(
        list(scores), items, (), list(rankers),
        rankings=tuple(tables), labels=grades if labels else (), notes=notes,
    )  # fmt: skip


def _oriented(
    path: Path,
    form: str,
    reading: PreferenceFormat,
    tables: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """Scores, higher is better, with missing ones as was said.

    Raises:
        DataError: nobody said which end is the top, or what missing ranks mean.
    """
    if form == "rankings" and not reading.direction:
        raise _direction_error(path, tables, labels)
    sign = 1.0 if form == "runs" or reading.direction == "large" else -1.0
    scores = [sign * table for table in tables]
    if not reading.nulls and any(np.isnan(table).any() for table in scores):
        raise _nulls_error(path, scores)
    return list(map(_with_last, scores)) if reading.nulls == "last" else scores


def _with_last(table: np.ndarray) -> np.ndarray:
    """Scores with one below each ranker's last, which all items that it lacks share."""
    least = np.where(np.isnan(table), np.inf, table).min(axis=1, keepdims=True)
    below = np.where(np.isfinite(least), least, 0.0) - np.float32(1.0)
    return np.where(np.isnan(table), below, table)


def _nulls_error(path: Path, tables: Sequence[np.ndarray]) -> DataError:
    """The refusal of rankings with empty cells whose meaning nobody stated."""
    cells = sum(table.size for table in tables)
    empty = sum(int(np.isnan(table).sum()) for table in tables)
    finding = f"{100 * empty / cells:.1f} % of the ranks are missing, and nothing says why"
    remedy = (
        "Say --nulls last if each ranker returned its best items only, --nulls missing if it was "
        "never asked about the others."
    )
    return DataError(str(path), finding, remedy)


def _check_items(
    paths: Sequence[Path],
    reading: PreferenceFormat,
    listed_items: Mapping[str, Mapping[str, int]] | None,
    scores: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> None:
    for query, query_items in scores.items():
        if len(query_items) < 2:
            finding = f"query {quoted(query)} has {counted(len(query_items), 'item')}"
            raise DataError(str(paths[0]), finding, "A preference is between two: leave it out.")
        for item in query_items:
            if listed_items is not None and item not in listed_items.get(query, ()):
                finding = f"the unknown document {quoted(item)} of query {query}"
                remedy = f"Mend its name, or add it to {reading.items}."
                raise DataError(str(paths[0]), finding, remedy)


def _add_rankings(
    path: Path,
    scores: dict[str, dict[str, dict[str, float]]],
    rankers: dict[str, int],
    labels: dict[str, dict[str, float]],
) -> None:
    """One file of LETOR's aggregation sets, or of query, ranker, item, rank."""
    form = "A line reads: query, ranker, item, rank; or label qid:Q 1:RANK 2:NULL … #docid = D."
    letor = " qid:" in _first_line(path)
    rows = ((at, line, [line]) for at, line in _lines(path)) if letor else _rows(path)
    for place, (at, line, row) in enumerate(rows):
        if place == 0 and re.match(r"\W*query\W", line, re.IGNORECASE):
            continue
        if " qid:" in line:
            head, _, comment = line.partition("#")
            cells = head.split()
            query = cells[1].removeprefix("qid:")
            match = re.search(r"docid\s*=\s*(\S+)", comment)
            item = match[1] if match else f"{query}.{len(scores.get(query, ())) + 1}"
            rank_cells = [cell.partition(":")[::2] for cell in cells[2:]]
            labels.setdefault(query, {})[item] = _finite_number(path, at, line, cells[0], form)
        else:
            if len(row) != 4:
                raise LetorError(path, at, line, f"{counted(len(row), 'column')}, not 4", form)
            query, ranker, item, rank = row
            rank_cells = [(ranker, rank)]
        ranks_by_ranker = scores.setdefault(query, {}).setdefault(item, {})
        for ranker, rank in rank_cells:
            rankers.setdefault(ranker, len(rankers))
            if rank.upper() in {"NULL", "NAN", ""}:
                continue
            value = _finite_number(path, at, line, rank, form)
            if ranks_by_ranker.setdefault(ranker, value) != value:
                finding = f"a second rank of {quoted(item)} by {ranker}"
                raise LetorError(path, at, line, finding, "Keep one of the lines.")


def _finite_number(path: Path, at: int, line: str, text: str, form: str) -> float:
    try:
        return number(text)
    except ValueError as error:
        finding = f"{quoted(text)} where a number is due"
        raise LetorError(path, at, line, finding, form) from error


def _direction_error(
    path: Path, tables: Sequence[np.ndarray], labels: Sequence[np.ndarray]
) -> DataError:
    """What is told where nobody said which end is the top, with what labels propose."""
    finding = "is a small number the top, or a large one? The files do not say"
    if not labels:
        return DataError(
            str(path), finding, "Say --direction small or large; --qrels FILE lets it be proposed."
        )
    small, large = (propose_direction(tables, labels, sign) for sign in (-1.0, 1.0))
    better = "small" if small > large else "large"
    finding += f"; by the labels small = top has precision@1 {small:.3f}, large = top {large:.3f}"
    return DataError(str(path), finding, f"Say --direction {better} if that is what is meant.")


def propose_direction(
    tables: Sequence[np.ndarray], labels: Sequence[np.ndarray], sign: float
) -> float:
    """How often the item that a ranker has on top is relevant, on average over rankers and queries.

    Items that a ranker ties on top count alike.
    """
    hits: list[Any] = []
    for table, grades in zip(tables, labels, strict=True):
        scores = sign * np.asarray(table, float)
        hits += [
            np.mean(np.nan_to_num(grades[row == np.nanmax(row)]) > 0)
            for row in scores[np.isfinite(scores).any(axis=1)]
        ]
    return float(np.mean(hits)) if hits else 0.0
