"""The compiled parser of LETOR lines: one call takes a block of whole lines into arrays.

It never allocates and never raises: it fills a `Sink` and stops with a code where the caller has
to act — more columns are needed, or a line is malformed — and is called again from that line.
"""

from typing import no_type_check

import numba
import numpy as np

from core.data.letor_comment import document_name
from core.data.letor_numbers import (
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
    byte_at,
    digits_in,
    eight_digits,
    load,
    number,
    short_number,
)
from core.data.letor_sink import (
    BAD_CELL,
    BAD_END,
    BAD_LABEL,
    BAD_VALUE,
    CLIPPINGS,
    COMMENT_END,
    COMMENTED,
    DONE,
    HIGH_ID,
    INFINITE,
    LONG_LINE,
    LONG_QUERY,
    LONGEST_QUERY_ID,
    MORE_COLUMNS,
    NAMED,
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
    ZERO_BASED,
    Rules,
    Sink,
)

_QID = np.uint64(int.from_bytes(b"qid:", "little"))
_FOUR_BYTES = np.uint64(0xFFFFFFFF)
_U = np.uint64


@no_type_check
@numba.njit(cache=True, nogil=True)
def parse(sink: Sink, rules: Rules, start: int, end: int) -> tuple[int, int]:
    """Read whole lines from address `start` up to `end`; the byte before `end` is a newline.

    Returns:
        (code, address of the line it stopped at, or `end`).
    """
    line = start
    while line < end:
        address = _past_blanks(line)
        if _ends_line(address) or byte_at(address) == HASH:
            line = _next_line(address)
            continue
        if sink.state[PATCHES] + rules.width + 2 > len(sink.patches):
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
def _unusual(state: np.ndarray) -> tuple[int, int, int]:
    return state[NULLS], state[CLIPPINGS], state[PATCHES]


@no_type_check
@numba.njit(cache=True)
def _rewind(state: np.ndarray, before: tuple[int, int, int]) -> None:
    state[NULLS], state[CLIPPINGS], state[PATCHES] = before


@no_type_check
@numba.njit(cache=True)
def _row(sink: Sink, rules: Rules, address: int) -> tuple[int, int]:
    """(code, address of the next line) of a row that starts at an address."""
    row = sink.state[ROW]
    code, start = _head(sink, rules, row, address)
    if code != DONE:
        return code, start
    before = _unusual(sink.state)
    code, after = _cells(sink, rules, row, start)
    if code == UNORDERED:
        _rewind(sink.state, before)
        code, after = _unordered_cells(sink, rules, row, start)
    if code != DONE:
        return code, after
    if byte_at(after) == HASH:
        after = _comment(sink, row, after + 1)
    elif not _ends_line(after):
        return BAD_END, after
    sink.state[ROW] = row + 1
    sink.comment_bounds[row + 1] = sink.state[COMMENT_END]
    return DONE, _next_line(after)


@no_type_check
@numba.njit(cache=True)
def _head(sink: Sink, rules: Rules, row: int, address: int) -> tuple[int, int]:
    """(code, address behind it) of the label and, where rows carry one, the query."""
    value, after, status = number(address)
    if status == UNDECIDED:
        _patch(sink, -1 - row, address, after)
    elif status != FINE:
        return BAD_LABEL, address
    sink.labels[row] = value
    address = _past_blanks(after)
    tagged = (load(address) & _FOUR_BYTES) == _QID
    if tagged and rules.with_query:
        return _query(sink, row, address + 4)
    if tagged:
        return TWO_QUERIES, address
    return (NO_QUERY if rules.with_query else DONE), address


@no_type_check
@numba.njit(cache=True)
def _cells(  # noqa: C901 (the hot loop: a call for each branch would cost more than it clears)
    sink: Sink, rules: Rules, row: int, address: int
) -> tuple[int, int]:
    """The cells of a row whose ids rise, to the '#' or line end; UNORDERED if they do not."""
    cells, base, width = sink.cells, rules.base, rules.width
    words, masks, skips, ids = sink.words, sink.masks, sink.skips, sink.ids
    first = row * width
    column, place = 0, 0
    while True:
        if byte_at(address) == SPACE:
            address += 1
        if (load(address) & masks[place]) == words[place]:
            feature = ids[place]
            address += skips[place]
        else:
            address = _past_blanks(address)
            if not ZERO <= byte_at(address) <= NINE:
                break
            code, feature, address = _feature_id(sink, rules, place, address)
            if code != DONE:
                return code, address
        new = feature - base
        if new < column:
            return UNORDERED, address
        if new >= width:
            sink.state[NEEDED_ID] = feature
            return MORE_COLUMNS, address
        while column < new:
            cells[first + column] = np.float32(0)
            column += 1
        value, after, short = short_number(address)
        if not short:
            value, after, code = _value(sink, rules, first + new, address)
            if code != DONE:
                return code, address
        cells[first + new] = value
        column = new + 1
        place += 1
        address = after
    cells[first + column : first + width] = np.float32(0)
    return DONE, address


@no_type_check
@numba.njit(cache=True)
def _unordered_cells(sink: Sink, rules: Rules, row: int, address: int) -> tuple[int, int]:
    """The cells of a row in any order of ids; an id that occurs twice is an error."""
    first = row * rules.width
    sink.cells[first : first + rules.width] = np.float32(0)
    while True:
        address = _past_blanks(address)
        if not ZERO <= byte_at(address) <= NINE:
            return DONE, address
        code, feature, after = _feature_id(sink, rules, 0, address)
        if code != DONE:
            return code, address
        if feature - rules.base >= rules.width:
            sink.state[NEEDED_ID] = feature
            return MORE_COLUMNS, address
        if sink.stamps[feature] == row + 1:
            return TWICE, address
        sink.stamps[feature] = row + 1
        cell = first + feature - rules.base
        value, address, code = _value(sink, rules, cell, after)
        if code != DONE:
            return code, after
        sink.cells[cell] = value


@no_type_check
@numba.njit(cache=True)
def _feature_id(sink: Sink, rules: Rules, place: int, address: int) -> tuple[int, int, int]:
    """(code, id, address after its colon); remembers the token for this place in the row."""
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
    if feature < rules.base:
        return ZERO_BASED, 0, address
    sink.seen[feature] = 1
    mask = ~_U(0) >> _U(64 - 8 * length)
    sink.words[place], sink.masks[place] = word & mask, mask
    sink.skips[place], sink.ids[place] = length, feature
    return DONE, feature, address + length


@no_type_check
@numba.njit(cache=True)
def _value(sink: Sink, rules: Rules, cell: int, address: int) -> tuple[np.float32, int, int]:
    """(value, address after, code) in any notation; keeps count of what is unusual."""
    value, after, status = number(address)
    if status == BAD:
        return value, after, BAD_VALUE
    if status == OVERFLOW:
        return value, after, INFINITE
    if status == MISSING:
        if not rules.nulls:
            return value, after, NULL_CELL
        sink.state[NULLS] += 1
    elif status == CLIPPED:
        sink.state[CLIPPINGS] += 1
    elif status == UNDECIDED:
        _patch(sink, cell, address, after)
    return value, after, DONE


@no_type_check
@numba.njit(cache=True)
def _patch(sink: Sink, cell: int, start: int, end: int) -> None:
    used = sink.state[PATCHES]
    sink.patches[used, 0] = cell
    sink.patches[used, 1] = start
    sink.patches[used, 2] = end
    sink.state[PATCHES] = used + 1


@no_type_check
@numba.njit(cache=True)
def _query(sink: Sink, row: int, address: int) -> tuple[int, int]:
    """The query id at an address: a new run of rows where it differs from the row before."""
    query, length, same = sink.query, 0, True
    while byte_at(address + length) > SPACE and byte_at(address + length) != HASH:
        if length == LONGEST_QUERY_ID:
            return LONG_QUERY, address
        same &= query[length] == byte_at(address + length)
        query[length] = byte_at(address + length)
        length += 1
    if length == 0:
        return NO_QUERY, address
    state = sink.state
    if same and length == state[QUERY_LENGTH]:
        return DONE, address + length
    run = state[RUN]
    start = sink.runs[run - 1, 2] if run > 0 else 0
    sink.runs[run, 0], sink.runs[run, 1], sink.runs[run, 2] = row, start, start + length
    sink.run_text[start : start + length] = query[:length]
    state[RUN], state[QUERY_LENGTH] = run + 1, length
    return DONE, address + length


@no_type_check
@numba.njit(cache=True)
def _comment(sink: Sink, row: int, address: int) -> int:
    """Copy what follows '#'; note where it names a document. Returns the line end."""
    start = sink.state[COMMENT_END]
    end = start
    while byte_at(address) != NEWLINE:
        sink.comments[end] = byte_at(address)
        end += 1
        address += 1
    if end > start and sink.comments[end - 1] == RETURN:
        end -= 1
    sink.state[COMMENT_END] = end
    sink.state[COMMENTED] += 1
    named, name_end = document_name(sink.comments, start, end)
    sink.doc_starts[row], sink.doc_ends[row] = named, name_end
    sink.state[NAMED] += 1 if name_end > named else 0
    return address


@no_type_check
@numba.njit(cache=True)
def _past_blanks(address: int) -> int:
    while byte_at(address) == SPACE or byte_at(address) == TAB:
        address += 1
    return address


@no_type_check
@numba.njit(cache=True)
def _ends_line(address: int) -> bool:
    character = byte_at(address)
    return character == NEWLINE or (character == RETURN and byte_at(address + 1) == NEWLINE)


@no_type_check
@numba.njit(cache=True)
def _next_line(address: int) -> int:
    while byte_at(address) != NEWLINE:
        address += 1
    return address + 1
