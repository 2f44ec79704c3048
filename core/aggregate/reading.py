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
by name, lest the order of the lines settle ties. Every file may be compressed. Parquet, Arrow and
JSON lines are read in a guarded process (`core.data.tables`).
"""

import csv
import re
import tokenize
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pandas as pd

from shuffleproof.core.aggregate.preferences import UNKNOWN, Preferences, built, labels_of, of_table
from shuffleproof.core.data import tables, trec
from shuffleproof.core.data.letor.read import LetorTable
from shuffleproof.core.data.letor.stream import (
    ARROW,
    JSON,
    PARQUET,
    STREAM,
    Limits,
    MissingCells,
    kind_of,
    text_lines,
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
from shuffleproof.core.parameters import CheckedParameters, parameter
from shuffleproof.core.words import counted

TABLES = (PARQUET, ARROW, STREAM, JSON)
LIMITS = Limits(line_bytes=1 << 24, decoded_bytes=1 << 35)
COLUMNS = ("query", "a", "b", "preference", "votes", "judge", "first")
FORMATS = ("pairs", "matrix", "rankings", "runs")
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

PROMPT = "prompt"  # The query's column beside `chosen`
VERDICT = re.compile(
    r"(?:[^\[\]]*\bverdict\b(?! is not)[^\[\]]*)?\[\[([^\[\]]*)\]\]\.?\s*", re.IGNORECASE
)
"""A verdict in double brackets, alone or at the end of a sentence that calls it one."""

MATRIX_FORM = "Give n × n numbers in [0, 1], NaN where a pair was not asked."
UNREADABLE = (
    ArithmeticError, EOFError, MemoryError, OSError, SyntaxError, ValueError, tokenize.TokenError,
)  # fmt: skip
"""Errors of NumPy at a damaged matrix."""

ONE_QUERY = "all"  # The query of pairs whose table names none
LOG = re.compile(r"--- (\S+) (\S+) (\S+)\s*$")
RESPONSE = "Response:"
LONGEST = 500  # Letters of a line in an error message


@dataclass(frozen=True)
class PreferenceFormat(CheckedParameters):
    """Options for reading preferences from files."""

    format: str = parameter("", "form of the files; empty: by their ends", choices=("", *FORMATS))
    direction: str = parameter(
        "", "numbers of the top in rankings; empty: refused", choices=("", "small", "large")
    )
    nulls: str = parameter(
        "", "an item that a ranker lacks: missing, or below its last; empty: refused where there "
        "are such", choices=("", "missing", "last"),
    )  # fmt: skip
    repeats: str = parameter(
        "error", "a pair with two preferences: an error, both counted as votes, or one of them",
        choices=("error", "votes", "first", "last"),
    )  # fmt: skip
    malformed: str = parameter(
        "error", "unreadable answers: an error, or left out and counted", choices=("error", "skip")
    )
    columns: Mapping[str, str] = field(default_factory=dict)
    """Names of our columns in the files, where they are others."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Preferences of words that are others than WORDS."""
    qrels: Path | None = None
    """Judgments (TREC): labels of items."""

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        for name in self.columns:
            if name not in COLUMNS:
                raise UnknownNameError("column", name, COLUMNS)
        for word, preference in self.values.items():
            if not 0 <= preference <= 1:
                raise ParameterError(f"values: {word}", preference, "between 0 and 1")


class Answer(NamedTuple):
    """One line: names as written; `stated` where the preference was."""

    query: str
    a: str
    b: str
    value: float
    votes: float
    judge: str
    first: str
    stated: bool


Grades = Mapping[str, Mapping[str, float]]


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
    grades: Grades = {} if reading.qrels is None else trec.read_qrels(reading.qrels)
    form = form_of(paths, reading)
    if form in {"pairs", "matrix"}:
        return _read_judgments(paths, form, reading, grades)
    return _read_rankings(paths, form, reading, grades)


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
    return "rankings" if re.match(r"\S+\s+qid:", first_line) else "pairs"


def _is_table(path: Path) -> bool:
    """Tell by its first bytes if a file is Parquet, Arrow or JSON lines."""
    with unpacked_file(path, str(path)) as file:
        return kind_of(file.head) in TABLES


def _first_line(path: Path) -> str:
    return next(_lines(path))[1]


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers."""
    return text_lines(path, str(path), LIMITS, FORM)


def _rows(path: Path) -> Generator[tuple[int, str, list[str]], None, None]:
    """Number, text and cells of every row of CSV, or of columns between blanks."""
    found = _lines(path)
    last = next(found)
    bare = re.sub(r'"[^"]*"', "", last[1])
    delimiter = next((mark for mark in "\t;," if mark in bare), "")
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


def _read_judgments(
    paths: Sequence[Path], form: str, reading: PreferenceFormat, grades: Grades
) -> Preferences:
    """Answers of all files, put together as one table."""
    rows: list[tuple[Any, ...]] = []
    notes, malformed = [], list[str]()
    for path in paths:
        for at, line, answer in (
            _matrix_answers(path) if form == "matrix" else answers(path, reading)
        ):
            if isinstance(answer, Answer):
                rows.append((*answer, path, at, line[:LONGEST]))
            elif reading.malformed == "error":
                remedy = f"{FORM} Mend the line, or leave such answers out: --malformed skip."
                raise LetorError(path, at, line, answer, remedy)
            else:
                malformed.append(f"{path.name}:{at}")
    frame = pd.DataFrame(rows, columns=[*Answer._fields, "path", "number", "line"], dtype=object)
    by_name = not all(frame["stated"] | (frame["first"] != ""))
    itself = frame["a"] == frame["b"]
    if itself.any():
        notes.append(f"Pairs of an item with itself, left out: {itself.sum():,}.")
    frame = frame[~itself]
    if frame.empty:
        raise DataError(str(paths[0]), "no preferences", FORM)
    items: dict[str, list[str]] = {}
    for query, of_query in frame.groupby("query", sort=False):
        names = list(dict.fromkeys(of_query[["a", "b"]].to_numpy().ravel()))
        # the winner stands first in each line, which must not settle ties
        items[str(query)] = sorted(names) if by_name else names
    frame["first"] = _first_shown(frame)
    frame, repeated = _once(frame, reading.repeats)
    if repeated:
        notes.append(f"pairs stated twice, the {reading.repeats} kept: {repeated:,}.")
    if malformed:
        examples = ", ".join(malformed[:5]) + (" …" if len(malformed) > 5 else "")
        notes.append(f"{counted(len(malformed), 'malformed answer')} left out ({examples}).")
    return of_table(frame, items, grades, notes=notes)


def _refuse(row: Any, finding: str, remedy: str) -> NoReturn:
    raise LetorError(row["path"], row["number"], row["line"], finding, remedy)


def _first_shown(frame: pd.DataFrame) -> np.ndarray:
    """0 where a was shown first, 1 where b was, UNKNOWN where it is not known."""
    first, wrong = frame["first"], -9
    names = [first == frame["b"], first == frame["a"]]
    found = np.select([*names, first == "a", first == "b", first == ""], [1, 0, 0, 1, -1], wrong)
    if (found == wrong).any():
        row = frame.iloc[int(np.argmax(found == wrong))]
        remedy = "It is a, b, or the name of one of the two."
        _refuse(row, f"first is {quoted(row['first'])}", remedy)
    return found


def _once(frame: pd.DataFrame, repeats: str) -> tuple[pd.DataFrame, int]:
    """The table with each stated pair once, unless repeats are votes, and how many were settled."""
    if repeats == "votes":
        return frame, 0
    turned = (frame["first"] == 1).to_numpy()
    key = frame[["query", "judge", "stated"]].assign(
        top=np.where(turned, frame["b"], frame["a"]),
        other=np.where(turned, frame["a"], frame["b"]),
        known=frame["first"] != UNKNOWN,
    )
    value = pd.Series(np.where(turned, 1 - frame["value"], frame["value"]), frame.index)
    before = value.groupby([key[name] for name in key]).transform("first")
    unlike = frame["stated"].astype(bool) & (value != before)
    if repeats == "error" and unlike.any():
        row, stated = frame[unlike].iloc[0], before[unlike].iloc[0]
        finding = f"a second preference of a pair that has {stated:g} already"
        _refuse(row, finding, "Say what it means: --repeats votes (both count), first or last.")
    if repeats == "error":
        return frame, 0
    dropped = key.duplicated(keep=repeats) & frame["stated"].astype(bool)  # type: ignore[arg-type]
    return frame[~dropped], int(unlike.sum())


def _matrix_answers(path: Path) -> Iterator[tuple[int, str, Answer]]:
    """The numbers of a matrix as answers; the row's item was shown first."""
    try:  # mapped: a header that promises more than the file holds takes no memory
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE as error:
        raise DataError(str(path), f"no NumPy matrix ({error})", MATRIX_FORM) from error
    if not isinstance(stored, np.ndarray):
        raise DataError(str(path), "an archive of matrices (.npz)", MATRIX_FORM)
    if stored.ndim != 2 or stored.shape[0] != stored.shape[1] or stored.dtype.kind not in "fiub":
        finding = f"an array of {stored.dtype} and shape {stored.shape}"
        raise DataError(str(path), finding, MATRIX_FORM)
    values = np.array(stored, dtype=np.float64)
    np.fill_diagonal(values, np.nan)
    bad = np.argwhere(~np.isnan(values) & ~((values >= 0) & (values <= 1)))
    if len(bad):
        row, column = bad[0].tolist()
        finding = f"{values[row, column]:g} at row {row}, column {column} (from 0)"
        raise DataError(str(path), finding, MATRIX_FORM)
    unknown = np.isnan(values) & np.isnan(values.T)
    lonely = np.flatnonzero(unknown.all(axis=1))
    if len(lonely):
        finding = f"item {lonely[0]} was never compared"
        raise DataError(str(path), finding, "Ask for one pair with it, or leave it out.")
    name = path.name.removesuffix(".npy")
    # rows in the order of the items, so that items have the order of the rows
    for row, column in np.argwhere(np.isfinite(values)).tolist():
        value = float(values[row, column])
        yield 0, "", Answer(name, str(row), str(column), value, 1.0, "", "a", stated=True)


def answers(
    path: Path, reading: PreferenceFormat
) -> Generator[tuple[int, str, Answer | str], None, None]:
    """Line number, line, and its judgments or its fault."""
    is_table = _is_table(path)
    if not is_table and LOG.match(_first_line(path)):
        yield from _log_answers(path)
        return
    fields, rows = _table_rows(path, reading) if is_table else _text_rows(path, reading)
    stated = "preference" in fields
    whole = {} if "query" in fields else {"query": ONE_QUERY}
    for at, line, cells in rows:
        if len(cells) != len(fields):
            finding = f"{counted(len(cells), 'column')} instead of {len(fields)}"
            raise LetorError(path, at, line, finding, FORM)
        cell = whole | {name: text for name, text in zip(fields, cells, strict=True) if name}
        yield at, line, _answer((path, at, line), cell, reading, stated=stated)


def _columns_of(names: Sequence[str], reading: PreferenceFormat) -> dict[str, str]:
    """Our columns by the names that a table has for them.

    >>> _columns_of(["Query", "model_a", "model_b", "turn"], PreferenceFormat())
    {'Query': 'query', 'model_a': 'a', 'model_b': 'b'}
    """
    found: dict[str, str] = {}
    for ours in COLUMNS:
        theirs = (ours, *OTHER_NAMES.get(ours, ()))
        if ours in reading.columns:
            theirs = (reading.columns[ours],)
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


Rows = Iterator[tuple[int, str, list[str]]]  # Number, text and cells of every row


def _text_rows(path: Path, reading: PreferenceFormat) -> tuple[list[str], Rows]:
    """Our columns, and the rows of CSV or of columns between blanks; names in front may lack."""
    rows: Rows = _rows(path)
    at, line, header = next(rows)
    columns = _columns_of(header, reading)
    fields = [columns.get(name, "") for name in header]
    if {"a", "b"} <= {*fields}:
        if len(set(header)) < len(header):
            raise LetorError(path, at, line, "two columns of one name", "Rename one of them.")
        return fields, rows
    headless = 3 <= len(header) <= 5 and not reading.columns and "query" not in fields
    named = len(header) > 3 and header[3][:1].isalpha()
    if not headless or (named and isinstance(_preference(header[3], reading), str)):
        raise _columns_error(f"{path}:{at}", header)
    return list(COLUMNS[: len(header)]), chain([(at, line, header)], rows)


def _table_rows(path: Path, reading: PreferenceFormat) -> tuple[list[str], Rows]:
    """Our columns, and the rows of Parquet, Arrow or JSON lines."""
    names = tables.names_of(path, str(path))
    columns = _columns_of(names, reading)
    if not {"a", "b"} <= {*columns.values()}:
        raise _columns_error(str(path), names)

    def rows() -> Rows:
        at = 0
        for batch, _ in tables.batches(path, str(path), [*columns]):
            for row in zip(*(batch.get(name, ()) for name in columns), strict=True):
                at += 1
                said = zip(columns.values(), row, strict=True)
                line = ", ".join(f"{name}={value!r}"[:40] for name, value in said)
                for name, value in zip(columns.values(), row, strict=True):
                    if isinstance(value, list | dict | bool | np.bool_):
                        finding = f"a {type(value).__name__} as {name}"
                        raise LetorError(path, at, line, finding, "Write texts or numbers.")
                missing = (value is None or value != value for value in row)  # noqa: PLR0124 (NaN)
                yield at, line, [
                    "" if no else str(value) for no, value in zip(missing, row, strict=True)
                ]  # fmt: skip

    return list(columns.values()), rows()


def _answer(
    place: tuple[Path, int, str],
    cell: Mapping[str, str],
    reading: PreferenceFormat,
    *,
    stated: bool,
) -> Answer | str:
    """Judgments of a line, or the fault of its preference.

    Args:
        place: file, number of the line, and its text.
        cell: the cells, by our names.
        reading: the format.
        stated: whether there is a column of preferences.
    """
    query, a, b = (cell.get(name, "") for name in ("query", "a", "b"))
    if not (query and a and b):
        raise LetorError(*place, "an empty query, a or b", FORM)
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
            raise LetorError(*place, finding, "Give how many answers it is the mean of.")
    if a == b and not stated:
        finding = f"{quoted(a)} against itself"
        raise LetorError(*place, finding, "A pair is of two items: leave the line out.")
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
    ended = VERDICT.fullmatch(text)
    verdict = ended[1].strip() if ended else text.strip("[] ")
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
    paths: Sequence[Path], form: str, reading: PreferenceFormat, grades: Grades
) -> Preferences:
    """Sets of rankings: a matrix of scores a query, higher is better."""
    if form == "rankings" and not reading.direction:
        finding = "is a small number the top, or a large one? The files do not say"
        raise DataError(str(paths[0]), finding, "Say --direction small or large.")
    letor = form == "rankings" and " qid:" in _first_line(paths[0])
    if letor:
        scores, own = _aggregation_sets(paths)
        grades = {**own, **grades}
    else:
        read_one = _run_scores if form == "runs" else _ranks
        scores = pd.concat([read_one(path) for path in paths], ignore_index=True)
    scores = _distinct(paths[0], scores)
    if form == "rankings" and reading.direction == "small":
        scores["score"] = -scores["score"]
    rankers = list(dict.fromkeys(scores["ranker"]))
    items: dict[str, list[str]] = {}
    rankings = []
    for query, of_query in scores.groupby("query", sort=False):
        items[str(query)] = names = list(dict.fromkeys(of_query["item"]))
        table = of_query.pivot(index="ranker", columns="item", values="score")  # noqa: PD010 (no pair is there twice)
        rankings.append(table.reindex(rankers, columns=names).to_numpy(np.float32))
        if len(names) < 2:
            finding = f"query {quoted(str(query))} has {counted(len(names), 'item')}"
            raise DataError(str(paths[0]), finding, "A preference is between two: leave it out.")
    empty = sum(int(np.isnan(table).all(axis=0).sum()) for table in rankings)
    missing = sum(int(np.isnan(table).sum()) for table in rankings)
    if missing and not reading.nulls:
        share = 100 * missing / sum(table.size for table in rankings)
        raise DataError(
            str(paths[0]),
            f"{share:.1f} % of the ranks are missing, and nothing says why",
            "Say --nulls last if each ranker returned its best items only, --nulls missing if it "
            "was never asked about the others.",
        )
    if reading.nulls == "last":
        rankings = [*map(_with_last, rankings)]
        empty = 0
    notes = (f"Items that no ranker ranks, never compared: {empty:,}.",) if empty else ()
    return built(
        list(items), list(items.values()), (), rankers,
        rankings=tuple(rankings), labels=labels_of(items, grades), notes=notes,
    )  # fmt: skip


def _with_last(table: np.ndarray) -> np.ndarray:
    """Scores with one below each ranker's last, which all items that it lacks share."""
    least = np.where(np.isnan(table), np.inf, table).min(axis=1, keepdims=True)
    below = np.where(np.isfinite(least), least, 0.0) - np.float32(1.0)
    return np.where(np.isnan(table), below, table)


def _aggregation_sets(paths: Sequence[Path]) -> tuple[pd.DataFrame, dict[str, dict[str, float]]]:
    """Scores of LETOR's aggregation sets, whose features are rankers, and grades of the items."""
    table = LetorTable(MissingCells.MISSING)
    for path in paths:
        for _ in table.adding(path):
            pass
    data = table.to_dataset().dataset
    names, rankers = trec.document_names(data), [*map(str, data.feature_ids)]
    queries = np.repeat(np.array(data.query_ids, dtype=object), np.diff(data.offsets))
    absent = data.absent_cells(np.arange(data.documents))
    cells = data.features if absent is None else np.where(absent, np.nan, data.features)
    grades: dict[str, dict[str, float]] = {}
    for query, name, label in zip(queries, names, data.labels.tolist(), strict=True):
        grades.setdefault(query, {})[name] = label
    frame = pd.DataFrame(
        {
            "query": np.repeat(queries, len(rankers)),
            "item": np.repeat(np.array(names, dtype=object), len(rankers)),
            "ranker": rankers * data.documents,
            "score": cells.ravel(),
        }
    )
    return frame, grades


def _run_scores(path: Path) -> pd.DataFrame:
    """The scores of a TREC run, whose ranker is called by its tag or else by the file."""
    run = trec.read_run(path)
    rows = [
        (query, item, run.tag or path.name, score)
        for query, retrieved in run.scores.items()
        for item, score in retrieved.items()
    ]
    return pd.DataFrame(rows, columns=["query", "item", "ranker", "score"])


def _ranks(path: Path) -> pd.DataFrame:
    """The ranks of a table of query, ranker, item, rank."""
    form = "A line reads: query, ranker, item, rank; or label qid:Q 1:RANK 2:NULL … #docid = D."
    rows = []
    for place, (at, line, row) in enumerate(_rows(path)):
        if place == 0 and row[0].casefold() == "query":
            continue
        if len(row) != 4:
            raise LetorError(path, at, line, f"{counted(len(row), 'column')}, not 4", form)
        query, ranker, item, rank = row
        try:
            value = np.nan if rank.upper() in {"NULL", "NAN", ""} else number(rank)
        except ValueError as error:
            finding = f"{quoted(rank)} where a number is due"
            raise LetorError(path, at, line, finding, form) from error
        rows.append((query, item, ranker, value))
    return pd.DataFrame(rows, columns=["query", "item", "ranker", "score"])


def _distinct(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Scores with each item of a ranker once."""
    frame = frame.drop_duplicates()
    twice = frame[frame.duplicated(["query", "item", "ranker"])]
    if len(twice):
        row = twice.iloc[0]
        finding = f"a second rank of {quoted(row['item'])} by {row['ranker']}"
        raise DataError(str(path), finding, "Keep one of the two; give each run its own tag.")
    return frame
