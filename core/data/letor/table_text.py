"""Tables of documents as LETOR text, block by block: Parquet, Arrow (Feather) and JSON lines.

Arrow's files and its streams are read, packed ones too.

A row is a document: a column for the query, one for the label (`core.data.frames.NAMES`), perhaps
one for the document's id and one `comment`; all others are features, 1 being the first, or one
column `features` holds lists of them. A column `part` says what the names of a folder's files say
elsewhere. Empty cells of features and values beyond float32 mean what NULL and such values mean in
text. The text is made while it is read, so that a table of any size takes no more memory than text
would.
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shuffleproof.core.data.layout import PART_WORDS, check_shards, visible_files
from shuffleproof.core.errors import DataError, quoted
from shuffleproof.core.words import counted

if TYPE_CHECKING:
    import pandas as pd

PARQUET, ARROW, STREAM, JSON = "parquet", "arrow", "arrow stream", "json"
UTF8_MARK = b"\xef\xbb\xbf"
HEADS = {
    b"PAR1": PARQUET, b"ARROW1": ARROW, b"\xff\xff\xff\xff": STREAM,
    b"{": JSON, UTF8_MARK + b"{": JSON,
}  # fmt: skip
"""By its first bytes what a file is; LETOR text begins with a number."""

SEQUENTIAL = (STREAM, JSON)
"""Kinds that are read from front to back, so that no copy is made of a packed file of them."""

ROWS = 4096
"""Of a table that are read at a time."""

LINE = 1 << 20
"""Bytes of a line of JSON at most."""

LISTS = "features"
PART = "part"


def kind_of(head: bytes) -> str | None:
    """What kind of table begins so; None: none.

    >>> kind_of(b"PAR1.."), kind_of(b"2 qid:1")
    ('parquet', None)
    """
    return next((kind for start, kind in HEADS.items() if head.startswith(start)), None)


def features_in(path: Path, name: str) -> tuple[str, ...] | None:
    """The names of a table's features, in their order; None where a file is no table.

    Raises:
        DataError: it is damaged.
    """
    from shuffleproof.core.data.frames import features_of  # noqa: PLC0415 (pandas)

    frame = next((frame for frame, _ in _same_columns(_frames_in(path, name), name)), None)
    if frame is None:
        return None
    names = features_of(frame)
    return tuple(name for name in names if name != PART or not _says_parts(frame))


def has_parts(path: Path) -> bool:
    """Whether a file is a table with a column `part`, which says what each row is for.

    Raises:
        DataError: it is damaged.
    """
    frame = next((frame for frame, _ in _frames_in(path, str(path))), None)
    return frame is not None and PART in frame.columns


def check_part(path: Path, name: str, part: str) -> None:
    """Refuse a table given for one part whose first rows say another; reading checks the others.

    Raises:
        DataError: they do, or it is damaged.
    """
    frame = next((frame for frame, _ in _same_columns(_frames_in(path, name), name)), None)
    if frame is not None and _says_parts(frame):
        _check_same_part(frame, name, part)


def start_of_parts(path: Path, name: str, *, gaps: bool) -> bytes | None:
    """The first rows of such a table as LETOR text, all parts together; None: no such table.

    Args:
        path: of the table.
        name: what errors call it.
        gaps: whether features may have empty cells, which become NULL.

    Raises:
        DataError: it is damaged, no table of documents, or names other parts.
    """
    frame = next((frame for frame, _ in _same_columns(_frames_in(path, name), name)), None)
    if frame is None or PART not in frame.columns:
        return None
    _parts_of(frame, name)
    return _lines_of(frame.drop(columns=PART), name, gaps=gaps)


def tables_of_parts(folder: Path) -> list[Path]:
    """The files of a folder, or of the only one in it, where all are such tables; else none."""
    files = visible_files(folder)
    if len(files) == 1 and files[0].is_dir():
        return tables_of_parts(files[0])
    try:
        return files if all(path.is_file() and has_parts(path) for path in files) else []
    except DataError:  # another JSON, or a damaged table: told by who reads the folder
        return []


def write_parts(path: Path, folder: Path, *, gaps: bool = True) -> None:
    """Write the rows of each part of such tables as LETOR text: train.txt, valid.txt, test.txt.

    Args:
        path: a table, or a folder of nothing else.
        folder: of the files that are made.
        gaps: whether features may have empty cells, which become NULL.

    Raises:
        DataError: one is damaged, no table of documents, names other parts or columns, has empty
            cells against `gaps`; all of them lack one of two parts; or files of shards are missing.
    """
    tables = tables_of_parts(path) if path.is_dir() else [path]
    check_shards(path, tables)
    written, columns = set[str](), list[str]()
    for table in tables:
        for frame, _ in _same_columns(_frames_in(table, str(table)), str(table), columns):
            columns = columns or [*frame.columns]
            parts = _parts_of(frame, str(table))
            for part, rows in frame.drop(columns=PART).groupby(parts, sort=False):
                with (folder / f"{part!s}.txt").open("ab") as text:
                    text.write(_lines_of(rows, str(table), gaps=gaps))
                written.add(str(part))
    for part in ("train", "test"):
        if part not in written:
            others = ", ".join(sorted(written)) or "nothing"
            remedy = f"Add such rows, or drop the column {PART}: queries are then split."
            raise DataError(str(path), f"no rows of part {part}, but of {others}", remedy)


def _parts_of(frame: "pd.DataFrame", name: str) -> "pd.Series[str]":
    """The part of every row.

    Raises:
        DataError: a row names none.
    """
    parts = frame[PART].map(_part)
    if parts.isna().any():
        row = frame.index[parts.isna()][0]
        finding = f"row {row} of column {PART} holds {quoted(str(frame[PART][row]))}"
        remedy = "It says train, valid or test of every row; call it otherwise if it does not."
        raise DataError(name, finding, remedy)
    return parts


def _says_parts(frame: "pd.DataFrame") -> bool:
    """Whether there is a column `part` that is no feature, since it holds no numbers."""
    return PART in frame.columns and frame[PART].dtype.kind not in "biuf"


def _check_same_part(frame: "pd.DataFrame", name: str, part: str | None) -> str:
    """The part of all rows.

    Args:
        frame: with a column of parts.
        name: what errors call it.
        part: that its rows must say; None: that of the first row.

    Raises:
        DataError: a row says another, or none.
    """
    parts = _parts_of(frame, name)
    due = part or next(iter(parts), "")
    if (parts != due).any():
        row = parts.index[parts != due][0]
        finding = f"row {row} of column {PART} says {parts[row]} in a file that is read as {due}"
        remedy = "Give it for the part that its rows say, or a table of several parts by itself."
        raise DataError(name, finding, remedy)
    return str(due)


def _part(value: Any) -> str | None:
    """The part that a cell names, by the words that name files of parts; None: none."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return PART_WORDS.get(text.strip().casefold()) if isinstance(text, str) else None


def _frames_in(path: Path, name: str) -> Iterator[tuple["pd.DataFrame", float]]:
    """The frames of a table; none of another file, or of one that cannot be read: reading tells.

    Raises:
        DataError: it is damaged, or grows like a decompression bomb.
    """
    from shuffleproof.core.data.letor import stream  # noqa: PLC0415 (which makes text of tables)

    with ExitStack() as stack:
        try:
            file = stack.enter_context(stream.unpacked_file(path, name))
        except (DataError, OSError):
            return
        kind = kind_of(file.head)
        if kind is None:
            return
        for frame in reader_errors(OPENERS[kind](file.stream), name):
            stream.check_size(file, file.stream.tell(), name, stream.Limits())
            yield frame


class TableText(io.RawIOBase):
    """The LETOR text of a table, to be read from its beginning to its end.

    Attributes:
        share: of its rows that were read, from 0 to 1, where their number is known.
    """

    def __init__(self, file: Any, kind: str, name: str, *, gaps: bool = False) -> None:
        """Open a table.

        Args:
            file: that can seek.
            kind: of the table.
            name: what errors call it.
            gaps: whether features may have empty cells, which become NULL.

        Raises:
            DataError: it is damaged.
        """
        super().__init__()
        self.share = 0.0
        self._name, self._held, self._gaps = name, b"", gaps
        self._blocks = self._text(OPENERS[kind], file)

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer; how many bytes it took, 0 at the end.

        Raises:
            DataError: it is damaged, or no table of documents.
        """
        while not self._held:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._held = block
        took = min(len(buffer), len(self._held))
        buffer[:took] = self._held[:took]
        self._held = self._held[took:]
        return took

    def _text(
        self, opened: Callable[[Any], Iterator[tuple["pd.DataFrame", float]]], file: Any
    ) -> Iterator[bytes]:
        frames = reader_errors(opened(file), self._name)
        part: str | None = None
        for rows, share in _same_columns(frames, self._name):
            self.share, frame = share, rows
            if _says_parts(rows):  # in a file that is given for one of them
                part = _check_same_part(rows, self._name, part)
                frame = rows.drop(columns=PART)
            yield _lines_of(frame, self._name, gaps=self._gaps)


def _same_columns(
    frames: Iterator[tuple["pd.DataFrame", float]], name: str, columns: Sequence[str] = ()
) -> Iterator[tuple["pd.DataFrame", float]]:
    """Frames whose rows are numbered from 1 on and have the same columns in the same order.

    Lists of features are columns.

    Args:
        frames: of one table.
        name: of the table.
        columns: by default those of the first frame.

    Raises:
        DataError: other columns, or lists of different lengths.
    """
    first = 1
    for rows, share in frames:
        rows.index = np.arange(first, first + len(rows))
        first += len(rows)
        frame = _spread(rows, name)
        columns = columns or [*map(str, frame.columns)]
        if sorted(map(str, frame.columns)) != sorted(columns):
            odd = sorted(set(columns) ^ set(map(str, frame.columns)))
            finding = f"rows {frame.index[0]} to {frame.index[-1]} differ in column {odd[0]}"
            raise DataError(name, finding, "Give every row the same columns.")
        yield frame[[*columns]], share


def _lines_of(frame: "pd.DataFrame", name: str, *, gaps: bool) -> bytes:
    """Rows as LETOR text."""
    from shuffleproof.core.data.frames import dataset_of  # noqa: PLC0415 (pandas)
    from shuffleproof.core.data.letor.write import lines  # noqa: PLC0415 (only tables need it)

    dataset = dataset_of(name, frame, {}, text=True, gaps=gaps)
    return b"".join(lines(dataset, name, finite=False))


def reader_errors(frames: Iterator[Any], name: str) -> Iterator[Any]:
    """Frames; what their reader says of a damaged file as a sentence.

    Raises:
        DataError: it is damaged.
    """
    try:
        yield from frames
    except (ValueError, OSError) as error:  # as pandas and Arrow have them
        finding = f"a damaged table ({str(error).splitlines()[0][:200]})"
        raise DataError(name, finding, "Write it anew, or check it elsewhere.") from error


def _parquet(file: Any) -> Iterator[tuple["pd.DataFrame", float]]:
    import pyarrow.parquet as pq  # noqa: PLC0415 (only tables need it)

    with pq.ParquetFile(file) as table:
        total, done = max(1, table.metadata.num_rows), 0
        for batch in table.iter_batches(ROWS):
            done += batch.num_rows
            yield batch.to_pandas(), done / total


def _arrow(file: Any) -> Iterator[tuple["pd.DataFrame", float]]:
    import pyarrow as pa  # noqa: PLC0415 (only tables need it)

    with pa.ipc.open_file(file) as table:
        for at in range(table.num_record_batches):
            batch = table.get_batch(at)
            for start in range(0, batch.num_rows, ROWS):
                part = batch.slice(start, ROWS)
                yield (
                    part.to_pandas(),
                    (at + (start + ROWS) / batch.num_rows) / (table.num_record_batches + 1),
                )


def _stream(file: Any) -> Iterator[tuple["pd.DataFrame", float]]:
    import pyarrow as pa  # noqa: PLC0415 (only tables need it)

    with pa.ipc.open_stream(file) as table:
        for batch in table:
            for start in range(0, batch.num_rows, ROWS):
                yield batch.slice(start, ROWS).to_pandas(), 0.0


def _json(file: Any) -> Iterator[tuple["pd.DataFrame", float]]:
    import pandas as pd  # noqa: PLC0415 (only tables need it)

    lines = enumerate(iter(lambda: file.readline(LINE), b""), start=1)
    filled = (_row(number, line) for number, line in lines if line.strip())
    while rows := [*islice(filled, ROWS)]:
        yield pd.DataFrame(rows), 0.0


def _row(number: int, line: bytes) -> dict[str, Any]:
    """The object of a line."""
    try:
        fields = json.loads(line)
    except ValueError as error:
        why = getattr(error, "msg", error)  # its own text has a number of lines of its own
        raise ValueError(f"line {number} is no JSON: {why}") from error
    if not isinstance(fields, dict):
        raise ValueError(f"line {number} is no object {{…}}")  # noqa: TRY004 (the file's fault)
    return fields


OPENERS = {PARQUET: _parquet, ARROW: _arrow, STREAM: _stream, JSON: _json}


def _spread(frame: "pd.DataFrame", name: str) -> "pd.DataFrame":
    """A column of lists as so many columns.

    Raises:
        DataError: a list of another length than the first, or with something else than numbers.
    """
    if LISTS not in frame.columns or not len(frame):
        return frame
    import pandas as pd  # noqa: PLC0415 (only tables need it)

    lists: list[np.ndarray] = []
    for row, values in frame[LISTS].items():
        try:
            lists.append(np.asarray(values, dtype=np.float64))
        except (ValueError, TypeError) as error:
            finding = f"row {row} of column {LISTS} holds no list of numbers"
            raise DataError(name, finding, "Give every document a list of numbers.") from error
        if lists[-1].shape != lists[0].shape:
            finding = f"row {row} of column {LISTS} holds {counted(lists[-1].size, 'number')}"
            finding += f", row {frame.index[0]} {lists[0].size}"
            raise DataError(name, finding, "Give every document as many features.")
    cells = np.stack(lists)
    if cells.ndim != 2:
        return frame
    wide = pd.DataFrame(cells, index=frame.index, columns=range(1, cells.shape[1] + 1))
    return pd.concat([frame.drop(columns=LISTS), wide.add_prefix(f"{LISTS} ")], axis=1)
