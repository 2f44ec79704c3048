"""Tables of untrusted files as plain arrays: Parquet, Arrow (files and streams), JSON lines, CSV.

`read_table` reads a whole table and `batches` reads a table batch by batch; files may be packed
(.gz .bz2 .xz .zip). A crafted file can crash the library that reads it, or make it take all memory.
So the reader (`column_batches` and what is below it) runs in a disposable process
(`core.execution.worker_process`) with limits on memory and on time, which answers with plain
arrays, JSON, and refusals. The process that asks survives whatever the file does.
"""

import csv
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from shuffleproof.core.data.letor import stream
from shuffleproof.core.data.letor.stream import ARROW, CSV, JSON, PARQUET, STREAM
from shuffleproof.core.errors import DataError, no_file, shown
from shuffleproof.core.execution.worker_process import LATE, WorkerError, WorkerProcess

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

SERVER = "shuffleproof.core.data.tables:ReaderServer"
COLUMNS_OF = "shuffleproof.core.data.tables:column_batches"
"""Reader of a table, in the guarded process."""
SILENCE = 60.0  # Seconds between two answers at most
LEAST_MEMORY, MOST_MEMORY, SPARE_MEMORY = 640 << 20, 4 << 30, 256 << 20
DAMAGED = "Write the file again, or check it with the program that made it."
ROWS = 4096  # Rows of a batch at most; wide tables have fewer
CELLS = 1 << 22  # Cells of a batch at most
TEXT = 1 << 24  # Bytes of JSON lines of a batch, but for its last line
COLUMNS = (1 << 16) + 64  # Columns of a table at most
LINE = 1 << 24  # Bytes of a line of JSON or CSV at most
TABLE = 1 << 30  # Bytes of a table that `read_table` reads at most
RATIO, UNCHECKED = 250.0, 1 << 25
"""Bytes of all batches to those of the file at most, once there are UNCHECKED of them."""

INDEX = re.compile(r"__index_level_\d+__")
"""Names that pandas gives to an index without a name when it writes a table."""

LISTS = "features"  # A column of lists of numbers
DELIMITERS = (",", ";", "\t", "|")

Column = np.ndarray | list[Any]


class Batch(NamedTuple):
    """A batch of rows of a table."""

    # by name an array (int64, bool, or float64 with NaN for missing), or a list of values
    # with None for missing. Lists of LISTS are rows of a matrix if they have one length
    columns: dict[str, Column]
    share: float  # of the file that has been read, from 0 to 1


def read_table(
    path: Path,
    place: str,
    columns: Sequence[str] | None = None,
    texts: Collection[str] = (),
    most_bytes: int = TABLE,
) -> dict[str, Column]:
    """The columns of a table by name, read in a guarded process.

    Args:
        path: Parquet, Arrow, JSON lines or CSV, by its content; plain or packed.
        place: name of the file in errors.
        columns: names of the columns that are wanted, those of them that are there; None: all.
        texts: columns that stay texts in CSV, which says nothing of types.
        most_bytes: of all values.

    Returns:
        Columns as in `Batch`.

    Raises:
        DataError: no table, damaged, or beyond the bounds.
    """
    parts: dict[str, list[Column]] = {}
    for batch in batches(path, place, columns, texts, most_bytes):
        for name, values in batch.columns.items():
            parts.setdefault(name, []).append(values)
    return {name: _joined(values) for name, values in parts.items()}


def names_of(path: Path, place: str) -> list[str]:
    """The names of all columns of a table, by its first rows; arguments as `read_table`'s.

    Raises:
        DataError: no table, or damaged.
    """
    with closing(batches(path, place)) as read:
        return next((list(batch.columns) for batch in read), [])


def batches(
    path: Path,
    place: str,
    columns: Sequence[str] | None = None,
    texts: Collection[str] = (),
    most_bytes: int = TABLE,
) -> Generator[Batch, None, None]:
    """The rows of a table, some thousands at a time; arguments as `read_table`'s."""
    arguments = {
        "path": str(path), "place": place, "most_bytes": most_bytes, "texts": list(texts),
        "columns": None if columns is None else list(columns), "rows": ROWS,
    }  # fmt: skip
    with closing(answers(arguments, path, place)) as read:
        for facts, arrays in read:
            values = {
                name: json.loads(arrays[str(at)].tobytes()) if encoded else arrays[str(at)]
                for at, (name, encoded) in enumerate(facts["columns"])
            }
            yield Batch(values, facts["share"])


def _joined(parts: Sequence[Column]) -> Column:
    """The values of all batches of a column."""
    if all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
        return np.concatenate(cast("list[np.ndarray]", parts))
    lists = (part.tolist() if isinstance(part, np.ndarray) else part for part in parts)
    return [value for values in lists for value in values]


Answer = tuple[dict[str, Any], dict[str, np.ndarray]]  # Facts and arrays


def answers(arguments: Mapping[str, Any], path: Path, place: str) -> Generator[Answer, None, None]:
    """The answers of the reader in a process of its own, which ends with this generator.

    A large file gets more memory, for a page of each of many columns, say.

    Raises:
        DataError: the reader refuses the file, crashes, or goes beyond the limits.
    """
    if not path.exists():
        raise no_file(path)
    size = path.stat().st_size if path.is_file() else 0
    memory = max(LEAST_MEMORY, min(MOST_MEMORY, 2 * size + SPARE_MEMORY))
    for facts, arrays in _replies_of_process(arguments, place, memory):
        if "error" in facts:
            raise DataError(*map(_printable, facts["error"]))
        yield facts, arrays


def _replies_of_process(arguments: Mapping[str, Any], place: str, memory: int) -> Iterator[Answer]:
    worker = WorkerProcess(SERVER, SILENCE, threads=1, memory=memory, quiet=True)
    try:
        worker.ask("start", arguments=dict(arguments), memory=memory)
        while True:
            answer = worker.ask("read")
            facts = answer.pop("facts")
            if facts is None:
                return
            yield facts, answer
    except WorkerError as error:
        raise DataError(place, _end_in_words(error, memory), DAMAGED) from error
    except (LookupError, MemoryError, TypeError, ValueError) as error:
        raise DataError(place, "its reader gave an answer of another kind", DAMAGED) from error
    finally:
        worker.close()


def _end_in_words(error: WorkerError, memory: int) -> str:
    """The words for a process that ended in the middle of its work."""
    if error.kind == LATE:
        return f"its reader gave no answer within {SILENCE:.0f} s"
    if error.signal == "SIGKILL" or "SIGKILL" in error.finding:
        return "reading it took too much memory"
    if error.signal:
        return f"it crashed the library that reads it ({error.signal})"
    return f"reading it failed, or needs more than {memory >> 20} MiB of memory at a time"


def _printable(words: Any) -> str:
    """Words of a process that read an untrusted file, without control characters."""
    return "".join(
        letter if letter.isprintable() or letter == "\n" else ascii(letter)[1:-1]
        for letter in str(words)
    )


class ReaderServer:
    """The reader of one file, in the guarded process."""

    def __init__(self) -> None:
        """Prepare for libraries that crash or run out of memory."""
        import resource  # noqa: PLC0415 (only this process needs it)

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # allocations beyond the limit fail, where Arrow's own pool would abort
        os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
        self._replies: Iterator[Answer] = iter(())

    def start(self, arguments: Mapping[str, Any], memory: int) -> dict[str, Any]:
        """Begin to read."""
        self._replies = replies(arguments, memory)
        return {}

    def read(self) -> dict[str, Any]:
        """The next facts and arrays; without facts it was the last."""
        facts, arrays = next(self._replies, (None, {}))
        return {"facts": facts, **arrays}


def replies(arguments: Mapping[str, Any], memory: int) -> Iterator[Answer]:
    """The answers of the reader, and as last one its refusal, if any; for the guarded process."""
    place = str(arguments.get("place", "the file"))
    asked = dict(arguments)
    reader = resolve_name(asked.pop("reader", COLUMNS_OF))
    try:
        yield from reader(**asked)
    except DataError as error:
        yield {"error": [error.place, error.finding, error.remedy]}, {}
    except MemoryError:
        finding = f"reading it needs more than {memory >> 20} MiB of memory at a time"
        yield {"error": [place, finding, "Write it in smaller batches, or split it."]}, {}
    except RecursionError:
        yield {"error": [place, "it is nested too deep", DAMAGED]}, {}
    except Exception as error:  # noqa: BLE001 (whatever a crafted file makes its library raise)
        finding = f"a damaged file ({type(error).__name__}: {' '.join(str(error).split())[:400]})"
        yield {"error": [place, finding, DAMAGED]}, {}


def column_batches(  # noqa: PLR0913, PLR0917 (what is asked of the guarded process)
    path: str,
    place: str,
    columns: Sequence[str] | None,
    texts: Sequence[str],
    most_bytes: int,
    rows: int,
) -> Iterator[Answer]:
    """The batches of `batches`, in the guarded process."""
    reading, taken = Reading(columns, texts, rows), 0
    most_bytes = min(most_bytes, int(max(UNCHECKED, RATIO * Path(path).stat().st_size)))
    for frame, share in frames(Path(path), place, reading):
        arrays, listed = {}, []
        for at, name in enumerate(reading.chosen_columns([*frame.columns])):
            column = frame[name]
            values = _numbers(column)
            listed.append((name, values is None))
            if values is None:
                cells = column.astype(object).where(column.notna(), None).tolist()
                text = json.dumps(cells, default=_plain)
                values = np.frombuffer(text.encode(), dtype=np.uint8)
            arrays[str(at)] = values
            taken += values.nbytes
        if taken > most_bytes:
            finding = f"more than {most_bytes >> 20} MiB of values"
            raise DataError(place, finding, "Leave only the rows and columns that are needed.")
        yield {"columns": listed, "share": share}, arrays


def frames(path: Path, place: str, reading: "Reading") -> Iterator[tuple["pd.DataFrame", float]]:
    """The rows of a table by frames, with the share of the file read; for the guarded process."""
    packed = max(path.stat().st_size, 1)
    with stream.unpacked_file(path, place, seekable=True) as file:
        kind = stream.kind_of(file.head)
        if kind is None:
            finding = "neither Parquet nor Arrow, JSON lines or CSV"
            raise DataError(place, finding, "Write it as one of these.")
        for frame in _told(READERS[kind](file.stream, place, reading), place):
            stream.check_size(file, file.stream.tell(), place, stream.Limits())
            yield frame, min(1.0, file.consumed() / packed)


def _numbers(column: "pd.Series[Any]") -> np.ndarray | None:
    """A column of numbers, or of lists of as many numbers, as an array; None: something else."""
    if column.name == LISTS and column.dtype == object:
        return _matrix(column.tolist())
    empty = bool(column.isna().any())
    if column.dtype.kind not in "biuf" or (empty and column.dtype.kind in "biu"):
        return None  # missing ones among whole numbers: they stay exact
    if column.dtype.kind == "f":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy(dtype=bool if column.dtype.kind == "b" else np.int64)


def _matrix(cells: Sequence[Any]) -> np.ndarray | None:
    """Lists of as many numbers as a matrix; None: something else."""
    with suppress(ValueError, TypeError, OverflowError):
        values = np.array(cells)  # raises for lists of unlike lengths
        if values.ndim == 2 and values.dtype.kind in "iuf":
            return values.astype(np.float64)
    return None


def _plain(value: Any) -> Any:
    """A value that JSON does not have, as one that it has."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)


class Reading(NamedTuple):
    """Selection of a table: columns (None: all), those that stay texts, rows of a batch."""

    columns: Sequence[str] | None
    texts: Collection[str]
    rows: int

    def chosen_columns(self, names: Sequence[str]) -> list[str]:
        """The columns that are read, in the order of the table."""
        return [
            name
            for name in names
            if not INDEX.fullmatch(name) and (self.columns is None or name in self.columns)
        ]

    def batch_rows(self, width: int) -> int:
        """Number of rows of a batch of `width` columns."""
        return max(1, min(self.rows, CELLS // max(width, 1)))


def _told(frames: Iterator["pd.DataFrame"], place: str) -> Iterator["pd.DataFrame"]:
    """Frames; what their reader says of a damaged file as a sentence."""
    try:
        yield from frames
    except (ValueError, OSError, NotImplementedError) as error:  # as pandas and Arrow have them
        raise damage_error(place, str(error).partition("\n")[0][:200].rstrip(".")) from error


def _check_names(names: Sequence[Any], place: str) -> None:
    """Refuse too many columns, and two of one name."""
    if len(names) > COLUMNS:
        finding = f"{len(names):,} columns, where at most {COLUMNS:,} are read"
        raise DataError(place, finding, "Write the features as one column of lists.")
    known = set[Any]()
    for name in names:
        if name in known:
            raise DataError(place, f"two columns are called {shown(name)}", "Rename one of them.")
        known.add(name)


def _parquet(file: Any, place: str, reading: Reading) -> Iterator["pd.DataFrame"]:
    import pandas as pd  # noqa: PLC0415 (who reads tables pays for it)
    import pyarrow.parquet as pq  # noqa: PLC0415 (likewise)

    with pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 16) as table:
        _check_names(table.schema_arrow.names, place)
        wanted = reading.chosen_columns(table.schema_arrow.names)
        if not table.metadata.num_rows:
            yield pd.DataFrame(columns=wanted)
        at_once = reading.batch_rows(len(wanted))
        for batch in table.iter_batches(at_once, columns=wanted, use_threads=False):
            yield from _of_batch(batch.select(wanted), reading)


def _arrow(file: Any, place: str, reading: Reading) -> Iterator["pd.DataFrame"]:
    import pyarrow as pa  # noqa: PLC0415 (who reads tables pays for it)

    with pa.ipc.open_file(file) as table:
        _check_names(table.schema.names, place)
        for at in range(table.num_record_batches):
            yield from _of_batch(table.get_batch(at), reading)


def _stream(file: Any, place: str, reading: Reading) -> Iterator["pd.DataFrame"]:
    import pyarrow as pa  # noqa: PLC0415 (who reads tables pays for it)

    with pa.ipc.open_stream(file) as table:
        _check_names(table.schema.names, place)
        for batch in table:
            yield from _of_batch(batch, reading)


def _of_batch(batch: "pa.RecordBatch", reading: Reading) -> Iterator["pd.DataFrame"]:
    """The rows of a batch of Arrow, after all its offsets, lengths and texts were checked."""
    batch.validate(full=True)
    at_once = reading.batch_rows(batch.num_columns)
    for start in range(0, batch.num_rows, at_once):
        yield _frame(batch.slice(start, at_once))


def _frame(batch: "pa.RecordBatch") -> "pd.DataFrame":
    """A batch as a frame; nothing that the file says of pandas is believed."""
    import pandas as pd  # noqa: PLC0415 (who reads tables pays for it)
    import pyarrow as pa  # noqa: PLC0415 (likewise)

    exact = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}  # float64 would round
    fields = [
        field.with_type(pa.float64()) if pa.types.is_decimal(field.type) else field
        for field in batch.schema
    ]
    table = pa.Table.from_batches([batch]).cast(pa.schema(fields))
    frame: pd.DataFrame = table.to_pandas(types_mapper=exact.get, ignore_metadata=True)
    return frame


def _json(file: Any, place: str, reading: Reading) -> Iterator["pd.DataFrame"]:
    import pandas as pd  # noqa: PLC0415 (who reads tables pays for it)

    some: list[dict[str, Any]] = []
    size, number = 0, 0
    while line := file.readline(LINE):
        number, size = number + 1, size + len(line)
        if line.strip():
            some.append(_row(number, line, place))
        if len(some) >= reading.rows or (some and size > TEXT):
            yield pd.DataFrame(some)
            some, size = [], 0
    if some:
        yield pd.DataFrame(some)


def _row(number: int, line: bytes, place: str) -> dict[str, Any]:
    """The object of a line."""
    try:
        fields = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError as error:
        raise damage_error(place, f"line {number} is no JSON: it is nested too deep") from error
    except ValueError as error:  # its own text has a number of lines of its own
        why = str(getattr(error, "msg", error)).partition(";")[0]
        raise damage_error(place, f"line {number} is no JSON: {why}") from error
    if not isinstance(fields, dict):
        raise damage_error(place, f"line {number} is no object {{…}}")
    return fields


def damage_error(place: str, why: str) -> DataError:
    """The error of a table that cannot be read."""
    return DataError(place, f"a damaged table ({why})", "Write it again, or check it elsewhere.")


EMPTY = re.compile(r"\s*(?:null|nan|na|n/a|none)?\s*", re.IGNORECASE)
"""Cells of CSV that are empty where numbers are due."""

DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")


def _csv(file: Any, place: str, reading: Reading) -> Iterator["pd.DataFrame"]:
    import pandas as pd  # noqa: PLC0415 (who reads tables pays for it)

    text = io.TextIOWrapper(cast("Any", file), "utf-8-sig", newline="")
    try:
        start = next((line for line in iter(lambda: text.readline(LINE), "") if line.strip()), "")
        delimiter = max(DELIMITERS, key=start.count)
        lines = chain([start], iter(lambda: text.readline(LINE), ""))
        head = [name.strip() for name in next(csv.reader(lines, delimiter=delimiter), [])]
        if head and not head[0]:
            head[0] = "__index_level_0__"  # as DataFrame.to_csv writes its index
        _check_names(head, place)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows that are too long
            for frame in pd.read_csv(
                text, sep=delimiter, header=None, names=head, index_col=False, dtype="str",
                keep_default_na=False, engine="c", chunksize=reading.batch_rows(len(head)),
            ):  # fmt: skip
                columns = {
                    name: _texts(frame[name])
                    if name in reading.texts
                    else _cells(frame[name].to_numpy(object), comma=delimiter == ";")
                    for name in reading.chosen_columns(head)
                }
                yield pd.DataFrame(columns)
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error) as error:
        wide = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        why = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        if wide:  # the header is not among the lines that pandas counts
            why = f"row {wide[2]} has {wide[3]} cells, where {wide[1]} are due"
        raise damage_error(place, why) from error
    except pd.errors.EmptyDataError as error:
        raise DataError(place, "no rows", "A row is a document.") from error
    except UnicodeDecodeError as error:
        raise DataError(place, "CSV that is not UTF-8", "Save it as UTF-8.") from error
    finally:
        text.detach()  # who opened the file closes it


def _texts(column: "pd.Series[str]") -> Any:
    """Texts of CSV, None where a cell is empty."""
    return column.astype(object).where(column != "", None)


def _cells(texts: np.ndarray, *, comma: bool) -> Any:
    """A column of CSV: float64 where every cell is a number or empty, else texts."""
    with suppress(ValueError):
        return texts.astype(np.float64)
    filled = [None if EMPTY.fullmatch(text) else text for text in texts]
    if comma:
        filled = [
            text.replace(",", ".") if text and DECIMAL_COMMA.fullmatch(text) else text
            for text in filled
        ]
    with suppress(ValueError):
        return np.array([np.nan if text is None else float(text) for text in filled])
    return np.array(filled, dtype=object)


READERS: Mapping[str, Callable[[Any, str, Reading], Iterator["pd.DataFrame"]]] = {
    PARQUET: _parquet, ARROW: _arrow, STREAM: _stream, JSON: _json, CSV: _csv,
}  # fmt: skip
