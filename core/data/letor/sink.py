"""What the LETOR parser fills, what it is told, and why it may stop."""

from enum import StrEnum
from typing import NamedTuple

import numpy as np

# Why `parse` stopped. The first four are no errors.
DONE, MORE_COLUMNS, PATCHES_FULL, UNORDERED = range(4)
(BAD_LABEL, NO_QUERY, TWO_QUERIES, LONG_QUERY, BAD_CELL, BAD_ID, BAD_VALUE, INFINITE) = range(5, 13)
(HIGH_ID, TWICE, NULL_CELL, BAD_END, LONG_LINE, BARE_RETURN) = range(13, 19)

# Places in `Sink.state`.
ROW, COMMENT_END, RUN, QUERY_LENGTH, NULLS, CLIPPINGS, PATCHES, NEEDED_ID, COMMENTED, LEFT_OUT = (
    range(10)
)
STATES = 10

ABSENT = 0x7FA5A5A5
"""The bits of a cell that a row leaves out, until reading ends: a NaN that no text means."""

LONGEST_QUERY_ID = 255


class Sink(NamedTuple):
    """Where rows go; every array is long enough for the block at hand."""

    cells: np.ndarray  # f32, row-major, `width` a row
    labels: np.ndarray  # f32
    comments: np.ndarray  # u8
    comment_lengths: np.ndarray  # u32
    runs: np.ndarray  # i64 [runs, 3], a block's: first row, start and end of its id in run_text
    run_text: np.ndarray  # u8
    query: np.ndarray  # u8, the query id of the row before
    columns: np.ndarray  # i64 by feature id: its column, −1 where it has none
    stamps: np.ndarray  # i64 by column: 1 + the last unordered row that held it
    words: np.ndarray  # u64 by place in the row: the last "12:" read there
    masks: np.ndarray  # u64, the bytes of the word that belong to it
    skips: np.ndarray  # i64, its length
    places: np.ndarray  # i64, the column of its id
    patches: np.ndarray  # i64 [patches, 3]: cell (or −1 − row for labels), token start and end
    state: np.ndarray  # i64 by the names above


class MissingCells(StrEnum):
    """What becomes of a NULL or NaN cell.

    Where smaller is better, as in MQ2007-agg's ranks, `largest` says what a missing rank means.
    `missing` keeps the cell absent, like one that a line of LETOR text leaves out.
    """

    ERROR = "error"
    ZERO = "zero"
    MEAN = "mean"
    LARGEST = "largest"
    MISSING = "missing"


class Rules(NamedTuple):
    """What a block is read under."""

    width: int  # columns of a row, with those kept for ids to come
    highest_id: int
    line_bytes: int
    with_query: bool  # rows carry qid:
    nulls: bool  # NULL and NaN are allowed
    patches: int  # how many fit in the sink


class Addresses(NamedTuple):
    """Where the arrays of a `Sink` lie, in its order."""

    cells: int
    labels: int
    comments: int
    comment_lengths: int
    runs: int
    run_text: int
    query: int
    columns: int
    stamps: int
    words: int
    masks: int
    skips: int
    places: int
    patches: int
    state: int


def addresses(sink: Sink) -> Addresses:
    """The addresses; good until an array of the sink is resized."""
    return Addresses(*(array.__array_interface__["data"][0] for array in sink))
