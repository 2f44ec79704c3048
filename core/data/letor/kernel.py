"""The compiled parser of LETOR lines: one call takes a block of whole lines into arrays.

It never allocates and never raises: it fills a `Sink` and stops with a code where the caller has
to act — more columns are needed, or a line is malformed — and is called again from that line.
"""

from typing import no_type_check

import numba
import numpy as np

from shuffleproof.core.data.letor.memory import (
    byte_at,
    integer_of,
    load,
    put_half,
    put_integer,
    put_single,
    put_word,
    word_of,
)
from shuffleproof.core.data.letor.numbers import (
    BAD,
    CLIPPED,
    COLON,
    FINE,
    HASH,
    MISSING,
    NINE,
    OVERFLOW,
    SPACE,
    UNDECIDED,
    ZERO,
    digits_in,
    eight_digits,
    number,
    short_number,
)
from shuffleproof.core.data.letor.sink import (
    BAD_CELL,
    BAD_END,
    BAD_LABEL,
    BAD_VALUE,
    BARE_RETURN,
    CLIPPINGS,
    COMMENT_END,
    DONE,
    HIGH_ID,
    INFINITE,
    LONG_LINE,
    MORE_COLUMNS,
    NEEDED_ID,
    NO_QUERY,
    NULL_CELL,
    NULLS,
    PATCHES,
    PATCHES_FULL,
    ROW,
    TWICE,
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
_U = np.uint64


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
    code, after = _take_cells(sink, rules, row, start)
    if code == UNORDERED:
        _rewind(sink.state, before)
        code, after = _take_unordered_cells(sink, rules, row, start)
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
        _note_patch(sink, -1 - row, address, after)
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


@no_type_check
@numba.njit(cache=True)
def _take_cells(sink: Addresses, rules: Rules, row: int, address: int) -> tuple[int, int]:
    """The cells of a row whose ids rise, to the '#' or line end; UNORDERED if they do not."""
    cells, width = sink.cells, rules.width
    words, masks, skips, places = sink.words, sink.masks, sink.skips, sink.places
    first = row * width
    column, place = 0, 0
    while True:
        if byte_at(address) == SPACE:
            address += 1
        if (load(address) & word_of(masks, place)) == word_of(words, place):
            new = integer_of(places, place)
            address += integer_of(skips, place)
        else:
            address = past_blanks(address)
            if not ZERO <= byte_at(address) <= NINE:
                break
            code, new, address = _column(sink, rules, place, address)
            if code != DONE:
                return code, address
        if new < column:
            return UNORDERED, address
        if column < new:
            _clear(cells, first + column, first + new)
        value, after, short = short_number(address)
        if not short:
            value, after, code = _value(sink, rules, first + new, address)
            if code != DONE:
                return code, address
        put_single(cells, first + new, value)
        column = new + 1
        place += 1
        address = after
    _clear(cells, first + column, first + width)
    return DONE, address


@no_type_check
@numba.njit(cache=True)
def _take_unordered_cells(sink: Addresses, rules: Rules, row: int, address: int) -> tuple[int, int]:
    """The cells of a row in any order of ids; an id that occurs twice is an error."""
    first = row * rules.width
    _clear(sink.cells, first, first + rules.width)
    while True:
        address = past_blanks(address)
        if not ZERO <= byte_at(address) <= NINE:
            return DONE, address
        code, column, after = _column(sink, rules, 0, address)
        if code != DONE:
            return code, address
        if integer_of(sink.stamps, column) == row + 1:
            return TWICE, address
        put_integer(sink.stamps, column, row + 1)
        value, address, code = _value(sink, rules, first + column, after)
        if code != DONE:
            return code, after
        put_single(sink.cells, first + column, value)


@no_type_check
@numba.njit(cache=True)
def _column(sink: Addresses, rules: Rules, place: int, address: int) -> tuple[int, int, int]:
    """(code, column of an id, address after its colon); remembers the token for this place."""
    word = load(address)
    bits = digits_in(word)
    if bits == _U(64):
        return HIGH_ID, 0, address
    length = np.int64(bits >> _U(3)) + 1
    if byte_at(address + length - 1) != COLON:
        return BAD_CELL, 0, address
    feature = np.int64(eight_digits(word, bits))
    if feature > rules.highest_id:
        return HIGH_ID, 0, address
    column = integer_of(sink.columns, feature)
    if column < 0:
        put_integer(sink.state, NEEDED_ID, feature)
        return MORE_COLUMNS, 0, address
    mask = ~_U(0) >> _U(64 - 8 * length)
    put_word(sink.words, place, word & mask)
    put_word(sink.masks, place, mask)
    put_integer(sink.skips, place, length)
    put_integer(sink.places, place, column)
    return DONE, column, address + length


@no_type_check
@numba.njit(cache=True)
def _value(sink: Addresses, rules: Rules, cell: int, address: int) -> tuple[np.float32, int, int]:
    """(value, address after, code) in any notation; keeps count of what is unusual."""
    value, after, status = number(address)
    if status == BAD:
        return value, after, BAD_VALUE
    if status == OVERFLOW:
        return value, after, INFINITE
    if status == MISSING:
        if not rules.nulls:
            return value, after, NULL_CELL
        put_integer(sink.state, NULLS, integer_of(sink.state, NULLS) + 1)
    elif status == CLIPPED:
        put_integer(sink.state, CLIPPINGS, integer_of(sink.state, CLIPPINGS) + 1)
    elif status == UNDECIDED:
        _note_patch(sink, cell, address, after)
    return value, after, DONE


@no_type_check
@numba.njit(cache=True)
def _note_patch(sink: Addresses, cell: int, start: int, end: int) -> None:
    """Leave a number to Python: the cell, or −1 − row for a label, and where its token lies."""
    used = integer_of(sink.state, PATCHES)
    put_integer(sink.patches, 3 * used + 0, cell)
    put_integer(sink.patches, 3 * used + 1, start)
    put_integer(sink.patches, 3 * used + 2, end)
    put_integer(sink.state, PATCHES, used + 1)


@no_type_check
@numba.njit(cache=True)
def _clear(cells: int, start: int, end: int) -> None:
    for cell in range(start, end):
        put_single(cells, cell, np.float32(0))
