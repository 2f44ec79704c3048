"""LETOR text (svmlight with `qid`) in: exact, streaming, every malformed line named.

    2 qid:10 1:0.03 2:0.66 46:1 #docid = GX001-02 inc = 1 prob = 0.1

Cells that a row leaves out are zero, and noted as absent; columns are the feature ids that occur
anywhere. Values that float32 rounds to infinity (Istella's 1.797e308) are cut to its largest
number and counted; infinity and anything beyond 1.8e308 is an error. `NULL` and `NaN` cells are an
error unless a policy is chosen, by which values that were cut are missing too. Rows of a query that
are scattered over the file are gathered, in file order, and counted.

Two threads parse blocks of lines into chunks, which are appended to one growing matrix. So reading
and splitting take at most 1.5 times the matrix, for comments of up to a third of their features'
bytes. A matrix that would outgrow a limit, the memory or its text many times over
is refused before it is made: see `letor.chunks`.
"""

import io
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np
from jaxtyping import Float32, Int64, UInt8

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import RankingDataset, names_of_ids
from shuffleproof.core.data.document_tables import is_table, rows_of
from shuffleproof.core.data.letor.chunks import (
    ABSENT,
    Chunk,
    GrowingArray,
    MatrixLimit,
    Reading,
    documents_in,
    group_sizes,
)
from shuffleproof.core.data.letor.kernel import FAULTS, LARGEST
from shuffleproof.core.data.letor.stream import START, Limits, MissingCells, Source, blocks
from shuffleproof.core.data.letor.write import NAMES_LINE
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.errors import BadLinesError, DataError, LetorError
from shuffleproof.core.words import counted

SLAB = 1 << 12  # Rows of the matrix that are changed at a time


@dataclass(frozen=True)
class ParsedLetor:
    """A data set and what had to be done to get it."""

    dataset: RankingDataset  # the data set
    gathered: tuple[str, ...] = ()  # ids of the queries whose rows were not contiguous
    clipped_cells: int = 0  # values beyond float32
    missing_cells: int = 0  # NULL and NaN cells, filled or kept as missing
    lacking: int = 0  # feature ids of the other parts that do not occur here

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user, in sentences."""
        notes = []
        if self.gathered:
            examples = ", ".join(self.gathered[:5])
            queries = counted(len(self.gathered), "query")
            notes.append(f"The rows of {queries} were scattered ({examples} …).")
        if self.clipped_cells:
            cells = counted(self.clipped_cells, "value was", "values were")
            notes.append(
                f"{cells} cut to the largest float32, 3.4e38. If such values mean "
                "missing, choose a replacement with --nulls."
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


def check_start(
    path: Path,
    name: str,
    missing: MissingCells | str,
    *,
    with_query: bool,
    columns: Mapping[str, str] | None = None,
) -> None:
    """Look at the first lines of a file, some 64 kB of text, as a table would.

    Args:
        path: of the file.
        name: what errors call it.
        missing: what becomes of NULL and NaN cells.
        with_query: rows name their queries; else a group file does.
        columns: names of a table's columns, where they are none of the usual ones.

    Raises:
        LetorError: malformed ones among them.
        DataError: a damaged or empty file.
    """
    table = LetorTable(MissingCells(missing), Limits(block_bytes=START), columns)
    if is_table(path, name):
        with closing(table.adding(path, name=name)) as read:
            next(read, None)
        return
    with closing(blocks(path, name, table.limits, documents=True)) as start:
        text = next((block.text for block in start), b"")
    for _ in table.add_text(io.BytesIO(text), name, with_query=with_query):
        pass
    if not table.rows:
        raise _no_documents(name)


Fillers: TypeAlias = Float32[np.ndarray, " features"]
Split = Callable[[int], Sequence[Int64[np.ndarray, " chosen"]]]
"""From the number of queries to the queries of each part; no query is in two."""


@dataclass
class LetorTable:
    """Rows of one or several files on their way to a data set: `adding` …, then `to_dataset`."""

    missing: MissingCells = MissingCells.ERROR
    limits: Limits = field(default_factory=Limits)
    columns: Mapping[str, str] | None = None
    """Names of a table's columns, where they are none of the usual ones."""

    def __post_init__(self) -> None:
        """Start empty."""
        self._limit = MatrixLimit(self.limits)
        self._cells = GrowingArray(np.float32)
        self._columns = self.feature_ids = np.zeros(0, dtype=np.int64)
        self._waiting: list[Chunk] = []  # of other columns than the matrix
        self._labels, self._owners = GrowingArray(np.float32), GrowingArray(np.int32)
        self._comments, self._comment_ends = GrowingArray(np.uint8), GrowingArray(np.uint32)
        self._decoded = self.rows = self._missing = self._clipped = 0
        self._commented = self._left_out = False
        self._names: dict[int, str] = {}
        self.columns_by_table: dict[str, tuple[str, ...]] = {}
        self._queries: dict[bytes, int] = {}
        self._scattered, self._last_query = set[bytes](), -1
        self._called, self.lacking = "", 0

    def adding(
        self,
        path: Path,
        *,
        groups: Path | None = None,
        name: str | None = None,
        part: str | None = None,
    ) -> Generator[int, None, None]:
        """Append the rows of a file; yields the bytes of the file, as stored, read so far.

        A query id met in a file before is the same query.

        Args:
            path: LETOR text, plain or compressed (.gz .bz2 .xz .zip, by content), or a table.
            groups: LightGBM's group file: the number of rows of each query, one a line; the rows
                then carry no `qid`, and queries are named 1, 2, ….
            name: what errors call the file; its path by default.
            part: the part whose rows are read, where a column of a table says parts; None: all.

        Raises:
            LetorError: a malformed line, or the first twenty (`BadLinesError`).
            DataError: a damaged, empty or oversized file.
        """
        called = name or str(path)
        self._called, first_row = called, self.rows
        if is_table(path, called):
            yield from self._add_table(path, called, part)
        else:
            yield from self.add_text(path, called, with_query=groups is None)
        if self.rows == first_row:
            raise _no_documents(called)
        if groups is not None:
            sizes = group_sizes(groups, self.rows - first_row, called, self.limits)
            names = (str(len(self._queries) + 1).encode() for _ in sizes)
            numbers = [self._queries.setdefault(name, len(self._queries)) for name in names]
            self._owners.append(np.repeat(np.array(numbers, dtype=np.int32), sizes))

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

    def _add_table(self, path: Path, name: str, part: str | None) -> Iterator[int]:
        gaps = self.missing is not MissingCells.ERROR
        for chunk, columns, named, stored in rows_of(
            path, name, self.columns or {}, part, gaps=gaps
        ):
            self.columns_by_table[name] = columns
            ids = chunk.feature_ids.tolist()
            if ids[-1] > self.limits.feature_id:
                finding = f"a feature id above {self.limits.feature_id:,}"
                raise DataError(name, finding, "Number the features from 1, or name them.")
            self._decoded += chunk.cells.nbytes
            self._take(chunk, name)
            if named:
                self._names |= dict(zip(ids, columns, strict=True))
            yield stored

    def _take(self, chunk: Chunk, name: str) -> None:
        """Append the rows of a chunk."""
        if not len(chunk.labels):
            return
        if not np.array_equal(chunk.feature_ids, self.feature_ids):
            self.feature_ids = np.union1d(self.feature_ids, chunk.feature_ids)
        rows = self.rows + len(chunk.labels)
        self._limit.check(rows, len(self.feature_ids), self._decoded, name)
        self.rows = rows
        self._labels.append(chunk.labels)
        self._note_queries(chunk)
        self._comment_ends.append(self._comments.length + chunk.comment_ends)
        if chunk.comments is not None:
            self._commented = True
            self._comments.append(chunk.comments)
        self._missing += chunk.missing
        self._clipped += chunk.clipped
        self._waiting.append(chunk)
        waiting = sum(chunk.cells.size for chunk in self._waiting)
        if len(self.feature_ids) == len(self._columns) or waiting > self._cells.length:
            self._append_waiting()

    def _note_queries(self, chunk: Chunk) -> None:
        """Append the query of each row."""
        numbers = []
        for _, query in chunk.runs:
            if query in self._queries and self._queries[query] != self._last_query:
                self._scattered.add(query)
            self._last_query = self._queries.setdefault(query, len(self._queries))
            numbers.append(self._last_query)
        if numbers:
            lengths = np.diff([row for row, _ in chunk.runs], append=len(chunk.labels))
            self._owners.append(np.repeat(np.array(numbers, dtype=np.int32), lengths))

    def _append_waiting(self) -> None:
        """Append the chunks that wait to the matrix, widened to all columns first."""
        ids, before = self.feature_ids, self._columns
        width, old = len(ids), len(before)
        rows = self._cells.length // max(old, 1)
        if width > old and rows:
            self._left_out = True
            self._cells.resize(rows * width)
            cells, places = self._cells.array(), np.searchsorted(ids, before)
            for start in reversed(range(0, rows, SLAB)):  # from the end, so that none is lost
                stop = min(start + SLAB, rows)
                slab = cells[start * old : stop * old].reshape(-1, old).copy()
                wide = cells[start * width : stop * width].reshape(-1, width)
                wide.view(np.uint32)[:] = ABSENT
                wide[:, places] = slab
            del cells, wide
        self._columns = ids
        for chunk in self._waiting:
            wide = chunk.cells
            if len(chunk.feature_ids) < width:
                wide = np.full((len(chunk.labels), width), ABSENT, np.uint32).view(np.float32)
                wide[:, np.searchsorted(ids, chunk.feature_ids)] = chunk.cells
            self._cells.append(wide)
            self._left_out |= chunk.absent or len(chunk.feature_ids) < width
        self._waiting.clear()

    def align(self, feature_ids: Int64[np.ndarray, " union"]) -> None:
        """Add zero columns, so that the columns are these ids, a rising superset of its own.

        Raises:
            DataError: too large a matrix.
        """
        self.lacking = len(feature_ids) - len(self.feature_ids)
        self._limit.check(self.rows, len(feature_ids), self._decoded, self._called)
        self.feature_ids = feature_ids

    def to_dataset(self, fillers: Fillers | None = None) -> ParsedLetor:
        """The data set, missing cells filled and scattered queries gathered; ends the table."""
        return self.parsed_parts(lambda queries: [np.arange(queries)], fillers)[0]

    def parsed_parts(self, split: Split, fillers: Fillers | None = None) -> list[ParsedLetor]:
        """The data set in parts by query, which are views of one matrix; ends the table.

        `split` gives the queries of each part; notes come with the first part. `fillers` has a
        value for the missing cells of each column. By default they come from the present cells of
        the first part, and `fillers` holds them afterwards.
        """
        self._append_waiting()
        parts = split(len(self._queries))
        chosen = np.concatenate(parts)
        order = np.concatenate([chosen, np.setdiff1d(np.arange(len(self._queries)), chosen)])
        place = np.empty(len(order), dtype=np.int32)
        place[order] = np.arange(len(order))
        owners = self._owners.array()  # the query of each row, by its number
        np.take(place, owners, out=owners)  # by its place
        offsets = ragged.offsets_of(np.bincount(owners, minlength=len(order)).astype(np.int64))
        moved = bool((owners[1:] < owners[:-1]).any())
        sources = np.argsort(owners, kind="stable").astype(np.int32) if moved else None
        del owners, self._owners
        matrix = self._cells.array().reshape(self.rows, -1)
        labels, comments = self._labels.array(), None
        columns = [labels, *matrix.T]
        if self._commented:
            blob, ends = self._comments.array(), self._comment_ends.array()
            comments = TextColumn(blob, np.concatenate([np.zeros(1, ends.dtype), ends[:-1]]), ends)
            columns += [comments.starts, comments.ends]
        if sources is not None:
            for column in columns:  # no second matrix
                column[:] = column[sources]
        if len(parts) > 1:
            sources = None
        documents = comments and documents_in(comments)
        missing, clipped = self._missing, self._clipped
        if clipped and self.missing is not MissingCells.ERROR:
            cut = _replaced(matrix, lambda slab: np.abs(slab) == np.float32(LARGEST), np.nan)
            missing, clipped = missing + cut, max(0, clipped - cut)
        kept = missing and self.missing is MissingCells.MISSING
        absent = self._absent(matrix, nulls=bool(kept)) if self._left_out or kept else None
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
                    labels=labels[here],
                    offsets=offsets[start : end + 1] - offsets[start],
                    query_ids=tuple(names[query] for query in part.tolist()),
                    feature_ids=tuple(self.feature_ids.tolist()),
                    doc_ids=documents and documents.take(here),
                    comments=comments and comments.take(here),
                    feature_names=self.feature_names,
                    absent=None if absent is None else absent[here],
                    missing=absent is not None and self.missing is MissingCells.MISSING,
                    source_rows=sources,
                )
            )
        gathered = tuple(
            name
            for query, name in zip(self._queries, names, strict=True)
            if query in self._scattered
        )
        first, *others = datasets
        told = ParsedLetor(first, gathered, int(clipped), int(missing), self.lacking)
        return [told, *map(ParsedLetor, others)]

    @staticmethod
    def _absent(
        matrix: Float32[np.ndarray, "docs features"], *, nulls: bool
    ) -> UInt8[np.ndarray, "docs bytes"] | None:
        """Bits of the cells that rows left out, which become 0; None: there are none."""
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
    """Replace the chosen cells of a matrix, in place; the number of them."""
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


def _no_documents(name: str) -> DataError:
    return DataError(
        name, "no documents", "LETOR text is expected (label qid:id 1:value), or a table's rows."
    )
