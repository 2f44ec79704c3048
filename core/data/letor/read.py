"""LETOR text (svmlight with `qid`) in: exact, streaming, every malformed line named.

    2 qid:10 1:0.03 2:0.66 46:1 #docid = GX001-02 inc = 1 prob = 0.1

Cells that a row leaves out are zero, and noted as absent; columns are the feature ids that occur
anywhere. Values
that float32 rounds to infinity (Istella's 1.797e308) are cut to its largest number and counted;
infinity and anything beyond 1.8e308 is an error. `NULL` and `NaN` cells are an error unless a
policy is chosen, by which values that were cut are missing too: they stand for that. Rows of a
query that are scattered over the file are gathered, in file order, and counted.

Memory: reading takes at most 1.5 times the float32 matrix of what is read, scattered or not; a
matrix of more than a fifth of the free memory lies in a file, which the system pages out. What is
counted is everything beyond the program itself: matrix, labels, comments and document ids, bounds,
and what the reading needs on the way, for rows whose comment is up to about a third of their
features' bytes (MQ2008: 46 features, 49 bytes of comment). Splitting by query takes no more.
A matrix that would outgrow a limit, the machine or its text many times over is refused before it
is made: see `letor.table`.
"""

import json
import math
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TypeAlias, cast

import numpy as np
from jaxtyping import Float32, Int64

from shuffleproof.core.data.dataset import RankingDataset, names_of_ids
from shuffleproof.core.data.document_tables import ANY_PART, TableReading, is_table, rows_of
from shuffleproof.core.data.letor import errors as letor_errors
from shuffleproof.core.data.letor.kernel import parse
from shuffleproof.core.data.letor.numbers import BEYOND, LARGEST
from shuffleproof.core.data.letor.query_runs import Runs
from shuffleproof.core.data.letor.sink import (
    ABSENT,
    BAD_LABEL,
    CLIPPINGS,
    DONE,
    LEFT_OUT,
    LONG_LINE,
    MORE_COLUMNS,
    NEEDED_ID,
    NULLS,
    PATCHES,
    PATCHES_FULL,
    QUERY_LENGTH,
    ROW,
    RUN,
    MissingCells,
    Rules,
    addresses,
)
from shuffleproof.core.data.letor.stream import (
    START,
    BinaryFile,
    Block,
    Limits,
    Source,
    blocks,
    line_end,
)
from shuffleproof.core.data.letor.table import (
    GrowingTable,
    MatrixLimit,
    column_totals,
    cut_to_missing,
    fill_missing,
    mark_features,
)
from shuffleproof.core.data.letor.write import NAMES_LINE, write
from shuffleproof.core.errors import DataError, LetorError
from shuffleproof.core.words import counted

__all__ = [
    "LetorTable",
    "Limits",
    "MissingCells",
    "ParsedLetor",
    "Source",
    "read",
    "write",
]


@dataclass(frozen=True)
class ParsedLetor:
    """A data set and what had to be done to get it.

    Attributes:
        dataset: the data set.
        gathered: ids of the queries whose rows were not contiguous.
        clipped_cells: values beyond float32.
        missing_cells: NULL and NaN cells, filled or kept as missing.
        lacking: feature ids of the other parts that do not occur here.
    """

    dataset: RankingDataset
    gathered: tuple[str, ...] = ()
    clipped_cells: int = 0
    missing_cells: int = 0
    lacking: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know, in sentences."""
        notes = []
        if self.gathered:
            examples = ", ".join(self.gathered[:5])
            queries = counted(len(self.gathered), "query")
            notes.append(f"The rows of {queries} were scattered ({examples} …).")
        if self.clipped_cells:
            cells = counted(self.clipped_cells, "value was", "values were")
            notes.append(
                f"{cells} cut to the largest float32, 3.4e38; where such values stand for "
                "missing ones, --nulls says what else they become."
            )
        if self.missing_cells:
            cells = counted(self.missing_cells, "missing cell was", "missing cells were")
            notes.append(f"{cells} {'kept as missing' if self.dataset.missing else 'filled'}.")
        if self.lacking:
            notes.append(
                f"{self.lacking:,} of the {len(self.dataset.feature_ids):,} feature ids of all "
                "parts do not occur here: they are 0."
            )
        return tuple(notes)


def read(
    source: Source | str,
    *,
    groups: Source | str | None = None,
    missing: MissingCells | str = MissingCells.ERROR,
    name: str | None = None,
    limits: Limits | None = None,
) -> ParsedLetor:
    """Read one file, plain or compressed (.gz .bz2 .xz .zip, told by content).

    Args:
        source: a path, or a binary file that can seek.
        groups: LightGBM's group file: the number of rows of each query, one a line; the rows
            then carry no `qid`, and queries are named 1, 2, ….
        missing: what becomes of NULL and NaN cells.
        name: what errors call the file; its path by default.
        limits: what the file may ask for.

    Raises:
        LetorError: a malformed line, or the first twenty (`BadLinesError`).
        DataError: a damaged, empty or oversized file.
    """
    table = LetorTable(MissingCells(missing), limits or Limits())
    table.add(source, groups=groups, name=name)
    table.close()
    return table.to_dataset()


def check_start(  # noqa: PLR0913 (how a file is read, by name)
    source: Source,
    name: str,
    missing: MissingCells | str,
    *,
    with_query: bool,
    all_parts: bool = False,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Look at the first lines of a file, some 64 kB of text, as `read` would.

    Args:
        source: a path, or a binary file that can seek.
        name: what errors call it.
        missing: what becomes of NULL and NaN cells.
        with_query: whether rows name their queries; else a group file does.
        all_parts: whether a column `part` of a table may say several parts.
        columns: names of a table's columns, where they are none of the usual ones.

    Raises:
        LetorError: malformed ones among them.
        DataError: a damaged or empty file.
    """
    table = LetorTable(MissingCells(missing), Limits(block_bytes=START), columns)
    table.check_start(source, name, with_query=with_query, all_parts=all_parts)


Fillers: TypeAlias = Float32[np.ndarray, " features"]
Split = Callable[[int], Sequence[Int64[np.ndarray, " chosen"]]]
"""From the number of queries to the queries of each part; no query is in two."""


@dataclass
class LetorTable:
    """Rows of one or several files on their way to a data set: `add` …, `close`, `parsed`."""

    missing: MissingCells = MissingCells.ERROR
    limits: Limits = field(default_factory=Limits)
    columns: Mapping[str, str] | None = None
    """Names of a table's columns, where they are none of the usual ones."""

    def __post_init__(self) -> None:
        """Start empty."""
        self._names: dict[int, str] = {}
        self._room, self._decoded = MatrixLimit(self.limits), 0
        self._table = GrowingTable(self.limits, self._room.in_memory)
        self._called, self.lacking = "", 0
        self._runs = Runs()
        self._faults: list[LetorError] = []
        self.feature_ids: Int64[np.ndarray, " features"] = np.zeros(0, dtype=np.int64)

    def add(
        self,
        source: Source | str,
        *,
        groups: Source | str | None = None,
        name: str | None = None,
    ) -> None:
        """Append the rows of a file; a query id met in a file before is the same query."""
        for _ in self.adding(source, groups=groups, name=name):
            pass

    def adding(
        self,
        source: Source | str,
        *,
        groups: Source | str | None = None,
        name: str | None = None,
        reading: TableReading | None = None,
    ) -> Iterator[int]:
        """`add`, block by block: yields the bytes of the file, as stored, that are behind it.

        Args:
            source: see `add`.
            groups: see `add`.
            name: see `add`.
            reading: how rows of a table become documents.
        """
        source = Path(source) if isinstance(source, str) else source
        called = name or str(
            getattr(source, "name", source) if not isinstance(source, Path) else source
        )
        self._called = called
        first_row = self._table.file_start = self._table.rows
        self._faults.clear()
        if is_table(source, called):
            yield from self._add_table(source, called, reading or TableReading())
        else:
            yield from self._add_text(source, called, with_query=groups is None)
        if self._table.rows == first_row and not (reading and reading.only):
            raise _no_documents(called)
        self._table.sink.state[QUERY_LENGTH] = 0  # the next file starts a run of its own
        if groups is not None:
            self._name_groups(groups, first_row, called)

    def _add_text(
        self, source: Source, name: str, *, with_query: bool
    ) -> Generator[int, None, None]:
        if self.columns:
            finding = "LETOR text, which has no names of columns"
            raise DataError(name, finding, "Leave --columns away; it is for tables.")
        for block in blocks(source, name, self.limits, documents=True):
            if block.first_line == 1:
                self._names |= names_in(block)
            self._take(block, name, with_query=with_query)
            self._name_runs()
            yield block.stored
        if self._faults:
            raise letor_errors.merge_faults(self._faults, more=False)

    def _add_table(
        self, source: Source, name: str, reading: TableReading
    ) -> Generator[int, None, None]:
        gaps = self.missing is not MissingCells.ERROR
        reading = replace(reading, columns=self.columns, gaps=gaps)
        state = self._table.sink.state
        with ExitStack() as stack:
            path = source if isinstance(source, Path) else _copied(source, stack)
            for rows in rows_of(path, name, reading):
                if int(rows.feature_ids[-1]) > self.limits.feature_id:
                    finding = f"a feature id above {self.limits.feature_id:,}"
                    raise DataError(name, finding, "Number the features from 1, or name them.")
                self._decoded += rows.features.nbytes
                width = max(self._table.width, len(rows.feature_ids))
                size = self._table.rows + len(rows.labels), width
                most_bytes, reason = self._room.bound(self._decoded)
                letor_errors.check_size(size, (most_bytes, reason), name)
                first = self._table.rows
                self._table.append(rows, most_bytes)
                for start, query in zip(rows.starts.tolist(), rows.queries, strict=True):
                    self._runs.append(first + start, query)
                state = self._table.sink.state
                state[NULLS] += int(np.isnan(rows.features).sum())
                state[CLIPPINGS] += rows.clipped
                if rows.names is not None:
                    self._names |= dict(zip(rows.feature_ids.tolist(), rows.names, strict=True))
                yield rows.stored

    def check_start(
        self, source: Source, name: str, *, with_query: bool, all_parts: bool = False
    ) -> None:
        """As the function: the first block, of which nothing is kept."""
        read = (
            self._add_table(source, name, TableReading(part=ANY_PART if all_parts else None))
            if is_table(source, name)
            else self._add_text(source, name, with_query=with_query)
        )
        with closing(read):
            next(read, None)
        if self._faults:
            raise letor_errors.merge_faults(self._faults, more=False)
        if not self._table.rows:
            raise _no_documents(name)

    def _fault(self, code: int, block: Block, start: int, name: str) -> None:
        """Remember the malformed line at a place of a block; the last one to be told is raised."""
        self._faults.append(letor_errors.line_error(code, block, start, name, self.limits))
        if len(self._faults) == letor_errors.FAULTS:
            raise letor_errors.merge_faults(self._faults, more=True)

    def _take(self, block: Block, name: str, *, with_query: bool) -> None:
        table = self._table
        self._decoded += block.end
        most_bytes, _ = self._room.bound(self._decoded)
        before = table.rows
        self._check_matrix((before, table.width), block, 0, name)
        table.put_in_order(most_bytes)
        table.reserve(block, most_bytes)
        start = place = block.buffer.ctypes.data
        end = start + block.end
        while place < end:
            nulls = self.missing is not MissingCells.ERROR
            rules = Rules(
                table.width,
                self.limits.feature_id,
                self.limits.line_bytes,
                with_query,
                nulls,
                len(table.sink.patches),
            )
            code, place = parse(addresses(table.sink), rules, place, end)
            self._patch(block, name)
            if code == DONE:
                return
            if code == MORE_COLUMNS:
                self._widen(before, block, place - start, name)
            elif code != PATCHES_FULL:
                self._fault(code, block, place - start, name)
                place = start + line_end(block, place - start)
                table.sink.state[ROW] += code != LONG_LINE  # what it left is no start of another

    def _patch(self, block: Block, name: str) -> None:
        """Finish the numbers that the compiled parser could not decide."""
        sink, start = self._table.sink, block.buffer.ctypes.data
        for cell, first, last in sink.patches[: sink.state[PATCHES]].tolist():
            value = float(block.buffer[first - start : last - start].tobytes())
            if abs(value) >= BEYOND:
                if cell < 0:
                    self._fault(BAD_LABEL, block, first - start, name)
                    continue
                value = math.copysign(LARGEST, value)
                sink.state[CLIPPINGS] += 1
            if cell >= 0:
                sink.cells[cell] = np.float32(value)
            else:
                sink.labels[-1 - cell] = np.float32(value)
        sink.state[PATCHES] = 0

    def _widen(self, before: int, block: Block, line: int, name: str) -> None:
        """Columns for every new id of the rest of a block at once."""
        table = self._table
        marks = np.zeros(self.limits.feature_id + 1, dtype=np.bool_)
        marks[table.sink.state[NEEDED_ID]] = True
        mark_features(block.buffer, line, block.end, marks)
        new = np.flatnonzero(marks & (table.sink.columns < 0)).astype(np.int64)
        lately = block.buffer[: block.end].tobytes().find(b" %d:" % new[-1], line)
        last = max(line, lately)
        self._check_matrix((before, table.used + len(new)), block, last, name)
        table.admit(new, self._room.bound(self._decoded)[0])

    def _check_matrix(self, table: tuple[int, int], block: Block, line: int, name: str) -> None:
        """Refuse a matrix that may not become so large, before it takes the memory.

        Args:
            table: rows before the block, columns.
            block: what is read next.
            line: where in it the line starts that needs the room.
            name: of the file.
        """
        before, width = table
        self._table.expect(before, block, width)
        most_bytes, reason = self._room.bound(self._decoded)
        if self._table.needed * width * 4 > most_bytes:
            size = self._table.needed, width
            raise letor_errors.too_large(size, (most_bytes, reason), block, line, name)

    def _name_runs(self) -> None:
        """Give the runs of rows of the block just read their queries."""
        sink = self._table.sink
        runs = sink.runs[: sink.state[RUN]].tolist()
        text = sink.run_text[: runs[-1][2]].tobytes() if runs else b""
        for row, first, last in runs:
            self._runs.append(row, text[first:last])
        sink.state[RUN] = 0

    def _name_groups(self, groups: Source | str, first_row: int, name: str) -> None:
        sizes = letor_errors.group_sizes(groups, self._table.rows - first_row, name, self.limits)
        start = first_row
        for size in sizes:
            self._runs.append(start, str(self._runs.queries + 1).encode())
            start += size

    def close(self) -> None:
        """Put the columns in the order of their ids; no file can be added any more."""
        self.feature_ids = self._table.feature_ids
        self._table.close()
        state = self._table.sink.state
        if self.missing is not MissingCells.ERROR and state[CLIPPINGS]:
            count = cut_to_missing(self._table.matrix(), np.float32(LARGEST))
            state[NULLS] += count
            state[CLIPPINGS] = max(0, state[CLIPPINGS] - count)

    def align(self, feature_ids: Int64[np.ndarray, " union"]) -> None:
        """Add zero columns, so that the columns are these ids, a rising superset of its own.

        Raises:
            DataError: too large a matrix.
        """
        self.lacking = len(feature_ids) - len(self.feature_ids)
        if self.lacking:
            size = self._table.rows, len(feature_ids)
            letor_errors.check_size(size, self._room.bound(self._decoded), self._called)
            places = np.searchsorted(feature_ids, self.feature_ids).astype(np.int64)
            self._table.add_columns(places, len(feature_ids))
            self.feature_ids = feature_ids

    def to_dataset(self, fillers: Fillers | None = None) -> ParsedLetor:
        """The data set, missing cells filled and scattered queries gathered; ends the table."""
        return self.parsed_parts(lambda queries: [np.arange(queries)], fillers)[0]

    def parsed_parts(self, split: Split, fillers: Fillers | None = None) -> list[ParsedLetor]:
        """The data set in parts by query, which are views of one matrix; ends the table.

        Args:
            split: which queries each part has; what had to be done is told with the first.
            fillers: what the missing cells of each column become; by default as the present cells
                of the first part have it, then to be read from `fillers`.
        """
        table, state = self._table, self._table.sink.state
        parts = split(self._runs.queries)
        split_queries = np.concatenate(parts)
        unused = np.setdiff1d(np.arange(self._runs.queries), split_queries)
        arranged = self._runs.arranged(
            table.rows, np.concatenate([split_queries, unused]).astype(np.int64)
        )
        single = len(parts) == 1 and arranged.order is not None
        source_rows = arranged.order.copy() if single and arranged.order is not None else None
        comments, documents = table.finish(arranged.order)
        if state[NULLS] and self.missing is MissingCells.MISSING:
            fill_missing(table.matrix(), np.full(table.width, ABSENT, np.uint32).view(np.float32))
            state[LEFT_OUT] = 1
        absent = table.absent_cells()
        names, offsets = self._runs.names, arranged.offsets
        matrix, labels = table.matrix(), table.sink.labels
        learnt_from = matrix[: int(offsets[len(parts[0])])]
        self.fillers = self._fillers_of(learnt_from) if fillers is None else fillers
        if state[NULLS]:
            fill_missing(matrix, self.fillers)
        datasets, end = [], 0
        for part in parts:
            start, end = end, end + len(part)
            rows = slice(int(offsets[start]), int(offsets[end]))
            datasets.append(
                RankingDataset(
                    features=matrix[rows],
                    labels=labels[rows],
                    offsets=offsets[start : end + 1] - offsets[start],
                    query_ids=tuple(names[query] for query in part.tolist()),
                    feature_ids=tuple(self.feature_ids.tolist()),
                    doc_ids=None if documents is None else documents.between(rows),
                    comments=None if comments is None else comments.between(rows),
                    feature_names=self.feature_names,
                    absent=None if absent is None else absent[rows],
                    missing=absent is not None and self.missing is MissingCells.MISSING,
                    source_rows=source_rows,
                )
            )
        gathered = tuple(names[query] for query in arranged.scattered)
        counts = int(state[CLIPPINGS]), int(state[NULLS]), self.lacking
        return [ParsedLetor(datasets[0], gathered, *counts), *map(ParsedLetor, datasets[1:])]

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns; None: the files name none."""
        ids = self.feature_ids.tolist()
        if not self._names.keys() & set(ids):
            return None
        names = names_of_ids(ids)
        return tuple(self._names.get(at, name) for at, name in zip(ids, names, strict=True))

    def _fillers_of(self, matrix: Float32[np.ndarray, "docs features"]) -> Fillers:
        if self.missing not in (MissingCells.MEAN, MissingCells.LARGEST):
            return np.zeros(matrix.shape[1], dtype=np.float32)
        sums, counts, largest = column_totals(matrix)
        values = sums / np.maximum(counts, 1) if self.missing is MissingCells.MEAN else largest
        return np.where(counts > 0, values, 0.0).astype(np.float32)


def names_in(block: Block) -> dict[int, str]:
    """The names of features by id in a first line `# feature names: ["bm25", …]`; none without."""
    start = block.buffer[: len(NAMES_LINE)].tobytes()
    if start != NAMES_LINE:
        return {}
    line = block.buffer[len(NAMES_LINE) : line_end(block, 0)].tobytes()
    try:
        names = json.loads(line)
    except (ValueError, RecursionError):  # another comment
        return {}
    texts = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
    return dict(enumerate(names, start=1)) if texts and len({*names}) == len(names) else {}


def _copied(source: BinaryFile, stack: ExitStack) -> Path:
    """A file on the disk of what an open file holds, until the stack is closed."""
    source.seek(0)
    file = stack.enter_context(tempfile.NamedTemporaryFile())  # noqa: SIM115 (entered)
    shutil.copyfileobj(cast("IO[bytes]", source), file)
    file.flush()
    return Path(file.name)


def _no_documents(name: str) -> DataError:
    return DataError(
        name, "no documents", "LETOR text is expected (label qid:id 1:value), or a table's rows."
    )
