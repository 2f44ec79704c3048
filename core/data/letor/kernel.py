"""The compiled parser of LETOR lines: one call takes a block of whole lines into arrays.

It never allocates and never raises: it fills a `Sink` and stops with a code where the caller has
to act — more columns are needed, or a line is malformed — and is called again from that line.
"""

from typing import no_type_check

import numba
import numpy as np

from shuffleproof.core.data.letor.cells import (
    note_patch,
    take_cells,
    take_unordered_cells,
)
from shuffleproof.core.data.letor.memory import (
    byte_at,
    integer_of,
    load,
    put_half,
    put_integer,
    put_single,
)
from shuffleproof.core.data.letor.numbers import (
    FINE,
    HASH,
    UNDECIDED,
    number,
)
from shuffleproof.core.data.letor.sink import (
    BAD_END,
    BAD_LABEL,
    BARE_RETURN,
    CLIPPINGS,
    COMMENT_END,
    DONE,
    LONG_LINE,
    NO_QUERY,
    NULLS,
    PATCHES,
    PATCHES_FULL,
    ROW,
    TWO_QUERIES,
    UNORDERED,
    Addresses,
    Rules,
)
from shuffleproof.core.data.letor.words import (
    bare_return,
    ends_line,
    next_line,
    past_blanks,
    take_comment,
    take_query,
)

_QID = np.uint64(int.from_bytes(b"qid:", "little"))
_FOUR_BYTES = np.uint64(0xFFFFFFFF)


@no_type_check
@numba.njit(cache=True, nogil=True)
def parse(sink: Addresses, rules: Rules, start: int, end: int) -> tuple[int, int]:
    """Read whole lines from address `start` up to `end`; the byte before `end` is a newline.

    Returns:
        (code, address of the line it stopped at, or `end`).
    """
    line = start
    while line < end:
        address = past_blanks(line)
        if ends_line(address) or byte_at(address) == HASH:
            if bare_return(address):
                return BARE_RETURN, line
            line = next_line(address)
            continue
        if integer_of(sink.state, PATCHES) + rules.width + 2 > rules.patches:
            return PATCHES_FULL, line
        before = _unusual(sink.state)
        code, line_end = _row(sink, rules, address)
        if code == DONE and line_end - line > rules.line_bytes:
            code = LONG_LINE
        if code != DONE:
            _rewind(sink.state, before)
            return code, line
        line = line_end
    return DONE, end


@no_type_check
@numba.njit(cache=True)
def _unusual(state: int) -> tuple[int, int, int]:
    return integer_of(state, NULLS), integer_of(state, CLIPPINGS), integer_of(state, PATCHES)


@no_type_check
@numba.njit(cache=True)
def _rewind(state: int, before: tuple[int, int, int]) -> None:
    put_integer(state, NULLS, before[0])
    put_integer(state, CLIPPINGS, before[1])
    put_integer(state, PATCHES, before[2])


@no_type_check
@numba.njit(cache=True)
def _row(sink: Addresses, rules: Rules, address: int) -> tuple[int, int]:
    """(code, address of the next line) of a row that starts at an address."""
    row = integer_of(sink.state, ROW)
    code, start = _head(sink, rules, row, address)
    if code != DONE:
        return code, start
    before = _unusual(sink.state)
    code, after = take_cells(sink, rules, row, start)
    if code == UNORDERED:
        _rewind(sink.state, before)
        code, after = take_unordered_cells(sink, rules, row, start)
    if code != DONE:
        return code, after
    comment = integer_of(sink.state, COMMENT_END)
    if byte_at(after) == HASH:
        after = take_comment(sink, after + 1)
        if after < 0:
            return BARE_RETURN, address
    elif not ends_line(after):
        return BAD_END, after
    put_integer(sink.state, ROW, row + 1)
    put_half(sink.comment_lengths, row, integer_of(sink.state, COMMENT_END) - comment)
    return DONE, next_line(after)


@no_type_check
@numba.njit(cache=True)
def _head(sink: Addresses, rules: Rules, row: int, address: int) -> tuple[int, int]:
    """(code, address behind it) of the label and, where rows carry one, the query."""
    value, after, status = number(address)
    if status == UNDECIDED:
        note_patch(sink, -1 - row, address, after)
    elif status != FINE:
        return BAD_LABEL, address
    put_single(sink.labels, row, value)
    address = past_blanks(after)
    tagged = (load(address) & _FOUR_BYTES) == _QID
    if tagged and rules.with_query:
        return take_query(sink, row, address + 4)
    if tagged:
        return TWO_QUERIES, address
    return (NO_QUERY if rules.with_query else DONE), address
