"""LETOR text (svmlight with `qid`) in: exact, streaming, every malformed line named.

    2 qid:10 1:0.03 2:0.66 46:1 #docid = GX001-02 inc = 1 prob = 0.1

Cells that a row leaves out are zero, and noted as absent; columns are the feature ids that occur
anywhere. Values that float32 rounds to infinity (Istella's 1.797e308) are cut to its largest
number and counted; infinity and anything beyond 1.8e308 is an error. `NULL` and `NaN` cells are an
error unless a policy is chosen, by which values that were cut are missing too. Rows of a query that
are scattered over the file are gathered, in file order, and counted.

Blocks of lines are parsed on two threads into chunks, which become one matrix at the end; a chunk
is dropped when it is copied, so that reading and splitting take at most 1.5 times the matrix and
16 MiB, for comments of up to a third of their features' bytes. A matrix of more than a fifth of the
free memory lies in a file. One that would outgrow a limit, the machine or its text many times over
is refused before it is made: see `letor.chunks`.
"""

import io
import json
import shutil
import tempfile
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias, cast

import numpy as np
from jaxtyping import Float32, Int32, Int64, UInt8

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset, names_of_ids
from shuffleproof.core.data.document_tables import ANY_PART, TableReading, is_table, rows_of
from shuffleproof.core.data.letor.chunks import (
    ABSENT,
    Chunk,
    MatrixLimit,
    Reading,
    documents_in,
    permute_rows,
)
from shuffleproof.core.data.letor.errors import check_size, group_sizes
from shuffleproof.core.data.letor.kernel import FAULTS, LARGEST
from shuffleproof.core.data.letor.stream import (
    START,
    BinaryFile,
    Limits,
    MissingCells,
    Source,
    blocks,
)
from shuffleproof.core.data.letor.write import NAMES_LINE, write
from shuffleproof.core.data.nameless_file import NamelessFile
from shuffleproof.core.data.text import TextColumn, span_type
from shuffleproof.core.errors import BadLinesError, DataError, LetorError
from shuffleproof.core.words import counted

SLAB = 1 << 12
"""Rows of the matrix that are changed at a time."""

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
    for _ in table.adding(source, groups=groups, name=name):
        pass
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
    if is_table(source, name):
        reading = TableReading(part=ANY_PART if all_parts else None)
        with closing(table.adding(source, name=name, reading=reading)) as read:
            next(read, None)
        return
    with closing(blocks(source, name, table.limits, documents=True)) as start:
        text = next((block.text for block in start), b"")
    for _ in table.add_text(io.BytesIO(text), name, with_query=with_query):
        pass
    if not table.rows:
        raise _no_documents(name)


Fillers: TypeAlias = Float32[np.ndarray, " features"]
Split = Callable[[int], Sequence[Int64[np.ndarray, " chosen"]]]
"""From the number of queries to the queries of each part; no query is in two."""


class _Gathered(NamedTuple):
    """The rows of all chunks, in the order wanted."""

    matrix: Float32[np.ndarray, "docs features"]
    labels: Float32[np.ndarray, " docs"]
    comments: TextColumn | None
    documents: TextColumn | None
    left_out: bool  # whether a row leaves out a cell


@dataclass
class LetorTable:
    """Rows of one or several files on their way to a data set: `adding` …, then `to_dataset`."""

    missing: MissingCells = MissingCells.ERROR
    limits: Limits = field(default_factory=Limits)
    columns: Mapping[str, str] | None = None
    """Names of a table's columns, where they are none of the usual ones."""

    def __post_init__(self) -> None:
        """Start empty."""
        self._chunks: deque[Chunk] = deque()
        self._spilled: IO[bytes] | None = None
        self._limit = MatrixLimit(self.limits)
        self._decoded = self._cell_bytes = self.rows = 0
        self._names: dict[int, str] = {}
        self._queries: dict[bytes, int] = {}
        self._run_starts, self._run_queries = array("q"), array("i")
        self._called, self.lacking = "", 0
        self.feature_ids: Int64[np.ndarray, " features"] = np.zeros(0, dtype=np.int64)

    def adding(
        self,
        source: Source | str,
        *,
        groups: Source | str | None = None,
        name: str | None = None,
        reading: TableReading | None = None,
    ) -> Generator[int, None, None]:
        """Append the rows of a file; yields the bytes of the file, as stored, read so far.

        A query id met in a file before is the same query.

        Args:
            source: see `read`.
            groups: see `read`.
            name: see `read`.
            reading: how rows of a table become documents.
        """
        source = Path(source) if isinstance(source, str) else source
        called = name or str(
            getattr(source, "name", source) if not isinstance(source, Path) else source
        )
        self._called, first_row = called, self.rows
        if is_table(source, called):
            yield from self._add_table(source, called, reading or TableReading())
        else:
            yield from self.add_text(source, called, with_query=groups is None)
        if self.rows == first_row and not (reading and reading.only):
            raise _no_documents(called)
        if groups is not None:
            start = first_row
            for size in group_sizes(groups, self.rows - first_row, called, self.limits):
                self._begin_query(start, str(len(self._queries) + 1).encode())
                start += size

    def add_text(self, source: Source, name: str, *, with_query: bool) -> Iterator[int]:
        """`adding` of LETOR text, whose rows name their queries or not."""
        if self.columns:
            finding = "LETOR text, which has no names of columns"
            raise DataError(name, finding, "Leave --columns away; it is for tables.")
        nulls = self.missing is not MissingCells.ERROR
        reading = Reading(name, self.limits, with_query, nulls, self._limit, self._decoded)
        faults: list[LetorError] = []
        read = blocks(source, name, self.limits, documents=True)
        for block, chunk, errors in reading.chunks(read):
            if block.first_line == 1:
                self._names |= names_in(block.text)
            faults += errors
            if len(faults) >= FAULTS:
                raise BadLinesError(faults[:FAULTS], more=True)
            self._decoded = reading.decoded + block.decoded
            self._take(chunk, name)
            yield block.stored
        if faults:
            raise BadLinesError(faults, more=False) if len(faults) > 1 else faults[0]

    def _add_table(self, source: Source, name: str, reading: TableReading) -> Iterator[int]:
        gaps = self.missing is not MissingCells.ERROR
        reading = replace(reading, columns=self.columns, gaps=gaps)
        with ExitStack() as stack:
            path = source if isinstance(source, Path) else _copied(source, stack)
            for chunk, names, stored in rows_of(path, name, reading):
                ids = chunk.feature_ids.tolist()
                if ids[-1] > self.limits.feature_id:
                    finding = f"a feature id above {self.limits.feature_id:,}"
                    raise DataError(name, finding, "Number the features from 1, or name them.")
                self._decoded += chunk.cells.nbytes
                self._take(chunk, name)
                if names is not None:
                    self._names |= dict(zip(ids, names, strict=True))
                yield stored

    def _take(self, chunk: Chunk, name: str) -> None:
        """Append the rows of a chunk.

        Raises:
            DataError: the matrix outgrows a limit, or there is no room for it.
        """
        if not len(chunk.labels):
            return
        if not np.array_equal(chunk.feature_ids, self.feature_ids):
            self.feature_ids = np.union1d(self.feature_ids, chunk.feature_ids)
        rows = self.rows + len(chunk.labels)
        bound = self._limit.bound(self._decoded)
        check_size(rows, len(self.feature_ids), bound, name)
        for row, query in chunk.runs:
            self._begin_query(self.rows + row, query)
        chunk.runs.clear()  # a query a row takes more memory than the rows
        self.rows = rows
        self._cell_bytes += chunk.cells.nbytes
        if self._cell_bytes > self._limit.in_memory:
            self._spill(chunk)
        self._chunks.append(chunk)

    def _begin_query(self, row: int, query: bytes) -> None:
        """Note that another query may begin at a row."""
        number = self._queries.setdefault(query, len(self._queries))
        if not self._run_queries or self._run_queries[-1] != number:
            self._run_starts.append(row)
            self._run_queries.append(number)

    def _spill(self, chunk: Chunk) -> None:
        """Keep the cells of a chunk in a file."""
        try:
            if self._spilled is None:
                self._spilled = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the table)
                weakref.finalize(self, self._spilled.close)
            self._spilled.write(chunk.cells.tobytes())
        except OSError as error:
            finding = f"no room for the feature matrix ({error.strerror})"
            raise DataError(tempfile.gettempdir(), finding, "Free some, or set TMPDIR.") from error
        chunk.cells = np.broadcast_to(np.float32(0), chunk.cells.shape)
        chunk.spilled = True

    def align(self, feature_ids: Int64[np.ndarray, " union"]) -> None:
        """Add zero columns, so that the columns are these ids, a rising superset of its own.

        Raises:
            DataError: too large a matrix.
        """
        self.lacking = len(feature_ids) - len(self.feature_ids)
        check_size(self.rows, len(feature_ids), self._limit.bound(self._decoded), self._called)
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
        parts = split(len(self._queries))
        chosen = np.concatenate(parts)
        order = np.concatenate([chosen, np.setdiff1d(np.arange(len(self._queries)), chosen)])
        runs = np.array(self._run_queries)
        lengths = np.diff(self._run_starts, append=self.rows).astype(np.int32)
        self._run_starts = array("q")
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order))
        owners = np.repeat(place[runs], lengths)  # the query of each row, by its place
        del lengths
        offsets = ragged.offsets_of(np.bincount(owners, minlength=len(order)).astype(np.int64))
        moved = bool((owners[1:] < owners[:-1]).any())
        sources = np.argsort(owners, kind="stable").astype(np.int32) if moved else None
        missing, clipped = (
            sum(getattr(chunk, name) for chunk in self._chunks) for name in ("missing", "clipped")
        )
        rows = self._gather(sources)
        matrix = rows.matrix
        if clipped and self.missing is not MissingCells.ERROR:
            cut = _replaced(matrix, lambda slab: np.abs(slab) == np.float32(LARGEST), np.nan)
            missing, clipped = missing + cut, max(0, clipped - cut)
        kept = missing and self.missing is MissingCells.MISSING
        absent = self._absent(matrix, nulls=bool(kept)) if rows.left_out or kept else None
        learnt_from = matrix[: int(offsets[len(parts[0])])]
        self.fillers = self._fillers_of(learnt_from) if fillers is None else fillers
        if missing and not kept:
            _replaced(matrix, np.isnan, self.fillers)
        names = [query.decode(errors="backslashreplace") for query in self._queries]
        datasets, end = [], 0
        for part in parts:
            start, end = end, end + len(part)
            here = slice(int(offsets[start]), int(offsets[end]))
            datasets.append(
                RankingDataset(
                    features=matrix[here],
                    labels=rows.labels[here],
                    offsets=offsets[start : end + 1] - offsets[start],
                    query_ids=tuple(names[query] for query in part.tolist()),
                    feature_ids=tuple(self.feature_ids.tolist()),
                    doc_ids=rows.documents and rows.documents.between(here),
                    comments=rows.comments and rows.comments.between(here),
                    feature_names=self.feature_names,
                    absent=None if absent is None else absent[here],
                    missing=absent is not None and self.missing is MissingCells.MISSING,
                    source_rows=sources if len(parts) == 1 else None,
                )
            )
        scattered = np.flatnonzero(np.bincount(runs, minlength=len(names)) > 1).tolist()
        gathered = tuple(names[query] for query in scattered)
        first, *others = datasets
        told = ParsedLetor(first, gathered, int(clipped), int(missing), self.lacking)
        return [told, *map(ParsedLetor, others)]

    def _gather(self, sources: Int32[np.ndarray, " docs"] | None) -> _Gathered:
        """The rows of all chunks in arrays; a chunk is dropped when it is copied.

        Args:
            sources: the row of the file for each place; None: they stand so already.
        """
        rows, width = self.rows, len(self.feature_ids)
        if 4 * rows * width > self._limit.in_memory:
            matrix = NamelessFile("feature matrix").array((rows, width), np.float32)
        else:
            matrix = np.empty((rows, width), dtype=np.float32)
        labels = np.empty(rows, dtype=np.float32)
        sizes = [len(chunk.comments) for chunk in self._chunks if chunk.comments is not None]
        blob = np.empty(sum(sizes), dtype=np.uint8)
        spans = np.empty((2, rows if sizes else 0), dtype=span_type(len(blob)))
        first = end = 0
        left_out = False
        if self._spilled is not None:
            self._spilled.seek(0)
        while self._chunks:
            chunk = self._chunks.popleft()
            where = slice(first, first + len(chunk.labels))
            cells = chunk.cells
            if chunk.spilled and self._spilled is not None:
                cells = np.fromfile(self._spilled, np.float32, cells.size).reshape(cells.shape)
            if len(chunk.feature_ids) < width:
                matrix.view(np.uint32)[where] = ABSENT
                matrix[where, np.searchsorted(self.feature_ids, chunk.feature_ids)] = cells
            else:
                matrix[where] = cells
            left_out |= chunk.absent or len(chunk.feature_ids) < width
            labels[where] = chunk.labels
            if sizes:
                ends = end + chunk.comment_ends
                starts = np.concatenate([[end], ends[:-1]])
                spans[:, where] = starts, ends
            if chunk.comments is not None:
                blob[end : end + len(chunk.comments)] = chunk.comments
                end += len(chunk.comments)
            first = where.stop
        if sources is not None:
            labels = labels[sources]
            for column in spans if sizes else ():
                column[:] = column[sources]
            permute_rows(matrix, sources.copy())
        comments = TextColumn(blob, spans[0], spans[1]) if sizes else None
        documents = comments and documents_in(comments)
        return _Gathered(matrix, labels, comments, documents, left_out)

    @staticmethod
    def _absent(
        matrix: Float32[np.ndarray, "docs features"], *, nulls: bool
    ) -> UInt8[np.ndarray, "docs bytes"] | None:
        """Bits of the cells that rows left out, which become 0; None: there are none.

        Args:
            matrix: to change.
            nulls: whether NULL and NaN cells count as left out.
        """
        absent = np.zeros((len(matrix), -(-matrix.shape[1] // 8)), dtype=np.uint8)
        for start in range(0, len(matrix), SLAB):
            slab = matrix[start : start + SLAB]
            left_out = slab.view(np.uint32) == ABSENT
            if nulls:
                left_out |= np.isnan(slab)
            absent[start : start + SLAB] = np.packbits(left_out, axis=1)
            slab[left_out] = 0
        return absent if absent.any() else None

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns; None: the files name none."""
        ids = self.feature_ids.tolist()
        if not self._names.keys() & set(ids):
            return None
        names = names_of_ids(ids)
        return tuple(self._names.get(at, name) for at, name in zip(ids, names, strict=True))

    def _fillers_of(self, matrix: Float32[np.ndarray, "docs features"]) -> Fillers:
        """Replacements of missing cells, by column."""
        width = matrix.shape[1]
        sums, counts, largest = np.zeros(width), np.zeros(width), np.full(width, -np.inf)
        if self.missing not in (MissingCells.MEAN, MissingCells.LARGEST):
            return np.zeros(width, dtype=np.float32)
        for start in range(0, len(matrix), SLAB):
            slab = matrix[start : start + SLAB]
            present = ~np.isnan(slab)
            sums += slab.sum(axis=0, dtype=np.float64, where=present)
            counts += present.sum(axis=0)
            largest = np.maximum(largest, slab.max(axis=0, initial=-np.inf, where=present))
        values = sums / np.maximum(counts, 1) if self.missing is MissingCells.MEAN else largest
        return np.where(counts > 0, values, 0.0).astype(np.float32)


def _replaced(
    matrix: Float32[np.ndarray, "docs features"],
    chosen: Callable[[np.ndarray], np.ndarray],
    value: Fillers | float,
) -> int:
    """Replace the chosen cells of a matrix, in place; the number of them.

    Args:
        matrix: to change.
        chosen: from some rows to their chosen cells.
        value: the new value, or one by column.
    """
    count = 0
    for start in range(0, len(matrix), SLAB):
        slab = matrix[start : start + SLAB]
        cells = chosen(slab)
        np.copyto(slab, value, where=cells)
        count += int(cells.sum())
    return count


def names_in(text: bytes) -> dict[int, str]:
    """The names of features by id in a first line `# feature names: ["bm25", …]`; none without."""
    if not text.startswith(NAMES_LINE):
        return {}
    try:
        names = json.loads(text[len(NAMES_LINE) : text.index(b"\n")])
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
