"""Which rows of a LETOR file belong to which query, kept as runs of neighbouring rows.

A run takes 8 bytes, so that even a file whose every row is a run of its own costs little beside
its matrix; queries are numbered as they are met.
"""

from array import array
from typing import NamedTuple, no_type_check

import numba
import numpy as np
from jaxtyping import Int32, Int64

from shuffleproof.core.data import ragged


class Arrangement(NamedTuple):
    """How rows are put query by query.

    Attributes:
        offsets: bounds of the queries in the order asked for.
        order: the row of the file for each place; None: they stand so already.
        scattered: the queries, as numbered, that had more than one run.
    """

    offsets: Int64[np.ndarray, " bounds"]
    order: Int32[np.ndarray, " docs"] | Int64[np.ndarray, " docs"] | None
    scattered: list[int]


class Runs:
    """The runs met so far, file after file."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._lengths = array("i")  # of all runs but the last
        self._queries = array("i")
        self._last_start = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The id of every query; bytes that are no UTF-8 show as escapes."""
        return tuple(query.decode(errors="backslashreplace") for query in self._numbers)

    @property
    def queries(self) -> int:
        """How many queries were met."""
        return len(self._numbers)

    def append(self, row: int, query: bytes) -> None:
        """The rows from this one on belong to a query; an id met before is the same query."""
        if self._queries:
            self._lengths.append(row - self._last_start)
        self._last_start = row
        self._queries.append(self._numbers.setdefault(query, len(self._numbers)))

    def arranged(self, rows: int, queries: Int64[np.ndarray, " chosen"]) -> Arrangement:
        """The rows put query by query, those of a query in the order of the file; ends the runs.

        Args:
            rows: how many there are.
            queries: every query once, in the order wanted.

        >>> runs = Runs()
        >>> for row, query in enumerate([b"a", b"b", b"a"]):
        ...     runs.append(row, query)
        >>> arrangement = runs.arranged(3, np.array([1, 0]))
        >>> arrangement.offsets.tolist(), arrangement.order.tolist(), arrangement.scattered
        ([0, 1, 3], [1, 0, 2], [0])
        >>> for row, query in enumerate([b"a", b"b"]):
        ...     runs.append(row, query)
        >>> runs.arranged(2, np.array([1, 0])).order.tolist()
        [1, 0]
        """
        if self._queries:
            self._lengths.append(rows - self._last_start)
        runs = np.frombuffer(self._lengths, np.int32), np.frombuffer(self._queries, np.int32)
        self._lengths, self._queries = array("i"), array("i")
        lengths, counts = _sizes(*runs, len(self._numbers))
        offsets = ragged.offsets_of(lengths[queries])
        scattered = np.flatnonzero(counts > 1).tolist()
        order = None
        if scattered or (np.diff(queries) < 0).any():
            starts = np.empty(len(queries), dtype=np.int64)
            starts[queries] = offsets[:-1]
            kind = np.int32 if rows <= np.iinfo(np.int32).max else np.int64
            order = _order(*runs, starts, np.empty(rows, dtype=kind))
        return Arrangement(offsets, order, scattered)


@no_type_check
@numba.njit(cache=True)
def _sizes(lengths: np.ndarray, queries: np.ndarray, names: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows, runs) of every query."""
    sizes, counts = np.zeros(names, dtype=np.int64), np.zeros(names, dtype=np.int64)
    for run in range(len(queries)):
        sizes[queries[run]] += lengths[run]
        counts[queries[run]] += 1
    return sizes, counts


@no_type_check
@numba.njit(cache=True)
def _order(
    lengths: np.ndarray, queries: np.ndarray, starts: np.ndarray, order: np.ndarray
) -> np.ndarray:
    """Fill `order`; `starts`, where each query begins, is used up."""
    row = 0
    for run in range(len(queries)):
        query = queries[run]
        for _ in range(lengths[run]):
            order[starts[query]] = row
            starts[query] += 1
            row += 1
    return order
