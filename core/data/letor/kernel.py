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
    put_byte,
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
    NEWLINE,
    NINE,
    OVERFLOW,
    RETURN,
    SPACE,
    TAB,
    UNDECIDED,
    ZERO,
    digits_in,
    eight_digits,
    number,
    short_number,
)
from shuffleproof.core.data.letor.sink import (
    ABSENT,
    BAD_CELL,
    BAD_END,
    BAD_LABEL,
    BAD_VALUE,
    BARE_RETURN,
    CLIPPINGS,
    COMMENT_END,
    COMMENTED,
    DONE,
    HIGH_ID,
    INFINITE,
    LEFT_OUT,
    LONG_LINE,
    LONG_QUERY,
    LONGEST_QUERY_ID,
    MORE_COLUMNS,
    NEEDED_ID,
    NO_QUERY,
    NULL_CELL,
    NULLS,
    PATCHES,
    PATCHES_FULL,
    QUERY_LENGTH,
    ROW,
    RUN,
    TWICE,
    TWO_QUERIES,
    UNORDERED,
    Addresses,
    Rules,
)
from shuffleproof.core.data.letor.vectors import THIRTY_TWO, newlines_at

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
        address = _past_blanks(line)
        if _ends_line(address) or byte_at(address) == HASH:
            if _bare_return(address):
                return BARE_RETURN, line
            line = _next_line(address)
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
@numba.njit(cache=True, nogil=True)
def newlines(buffer: np.ndarray, end: int) -> int:
    """How many lines end in `buffer[:end]`."""
    address = buffer.ctypes.data
    last, count = address + end, 0
    while address + THIRTY_TWO <= last:
        count += newlines_at(address)
        address += THIRTY_TWO
    while address < last:
        count += byte_at(address) == NEWLINE
        address += 1
    return count


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
        after = _take_comment(sink, after + 1)
        if after < 0:
            return BARE_RETURN, address
    elif not _ends_line(after):
        return BAD_END, after
    put_integer(sink.state, ROW, row + 1)
    put_half(sink.comment_lengths, row, integer_of(sink.state, COMMENT_END) - comment)
    return DONE, _next_line(after)


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
    address = _past_blanks(after)
    tagged = (load(address) & _FOUR_BYTES) == _QID
    if tagged and rules.with_query:
        return _take_query(sink, row, address + 4)
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
            address = _past_blanks(address)
            if not ZERO <= byte_at(address) <= NINE:
                break
            code, new, address = _column(sink, rules, place, address)
            if code != DONE:
                return code, address
        if new < column:
            return UNORDERED, address
        if column < new:
            _leave_out(sink, first + column, first + new)
        value, after, short = short_number(address)
        if not short:
            value, after, code = _value(sink, rules, first + new, address)
            if code != DONE:
                return code, address
        put_single(cells, first + new, value)
        column = new + 1
        place += 1
        address = after
    _leave_out(sink, first + column, first + width)
    return DONE, address


@no_type_check
@numba.njit(cache=True)
def _take_unordered_cells(sink: Addresses, rules: Rules, row: int, address: int) -> tuple[int, int]:
    """The cells of a row in any order of ids; an id that occurs twice is an error."""
    first = row * rules.width
    _leave_out(sink, first, first + rules.width)
    while True:
        address = _past_blanks(address)
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
def _leave_out(sink: Addresses, start: int, end: int) -> None:
    """Mark cells that a row does not write."""
    if start < end:
        put_integer(sink.state, LEFT_OUT, 1)
    for cell in range(start, end):
        put_half(sink.cells, cell, ABSENT)


@no_type_check
@numba.njit(cache=True)
def _take_query(sink: Addresses, row: int, address: int) -> tuple[int, int]:
    """The query id at an address: a new run of rows where it differs from the row before."""
    query, length, unchanged = sink.query, 0, True
    while byte_at(address + length) > SPACE and byte_at(address + length) != HASH:
        if length == LONGEST_QUERY_ID:
            return LONG_QUERY, address
        unchanged &= byte_at(query + length) == byte_at(address + length)
        put_byte(query, length, byte_at(address + length))
        length += 1
    if length == 0:
        return NO_QUERY, address
    state = sink.state
    if unchanged and length == integer_of(state, QUERY_LENGTH):
        return DONE, address + length
    run = integer_of(state, RUN)
    start = integer_of(sink.runs, 3 * run - 1) if run > 0 else 0
    put_integer(sink.runs, 3 * run, row)
    put_integer(sink.runs, 3 * run + 1, start)
    put_integer(sink.runs, 3 * run + 2, start + length)
    for place in range(length):
        put_byte(sink.run_text, start + place, byte_at(query + place))
    put_integer(state, RUN, run + 1)
    put_integer(state, QUERY_LENGTH, length)
    return DONE, address + length


@no_type_check
@numba.njit(cache=True)
def _take_comment(sink: Addresses, address: int) -> int:
    """Copy what follows '#'. Returns the line end, or −1 for a carriage return before it."""
    start = integer_of(sink.state, COMMENT_END)
    end, returns = start, 0
    while byte_at(address) != NEWLINE:
        returns += byte_at(address) == RETURN
        put_byte(sink.comments, end, byte_at(address))
        end += 1
        address += 1
    if end > start and byte_at(sink.comments + end - 1) == RETURN:
        end -= 1
        returns -= 1
    if returns > 0:
        return -1
    put_integer(sink.state, COMMENT_END, end)
    put_integer(sink.state, COMMENTED, integer_of(sink.state, COMMENTED) + 1)
    return address


@no_type_check
@numba.njit(cache=True)
def _past_blanks(address: int) -> int:
    """The first address that holds neither a space nor a tab."""
    while byte_at(address) == SPACE or byte_at(address) == TAB:
        address += 1
    return address


@no_type_check
@numba.njit(cache=True)
def _ends_line(address: int) -> bool:
    """Whether a line end, LF or CRLF, stands here."""
    character = byte_at(address)
    return character == NEWLINE or (character == RETURN and byte_at(address + 1) == NEWLINE)


@no_type_check
@numba.njit(cache=True)
def _bare_return(address: int) -> bool:
    """Whether a carriage return stands before the end of this line."""
    while byte_at(address) != NEWLINE:
        if byte_at(address) == RETURN and byte_at(address + 1) != NEWLINE:
            return True
        address += 1
    return False


@no_type_check
@numba.njit(cache=True)
def _next_line(address: int) -> int:
    """The address behind the next newline."""
    while byte_at(address) != NEWLINE:
        address += 1
    return address + 1
