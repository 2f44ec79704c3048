"""The words of a LETOR line that are no numbers: the query, the comment, blanks and line ends."""

from typing import no_type_check

import numba

from shuffleproof.core.data.letor.memory import (
    byte_at,
    integer_of,
    put_byte,
    put_integer,
)
from shuffleproof.core.data.letor.numbers import (
    HASH,
    NEWLINE,
    RETURN,
    SPACE,
    TAB,
)
from shuffleproof.core.data.letor.sink import (
    COMMENT_END,
    COMMENTED,
    DONE,
    LONG_QUERY,
    LONGEST_QUERY_ID,
    NO_QUERY,
    QUERY_LENGTH,
    RUN,
    Addresses,
)


@no_type_check
@numba.njit(cache=True)
def take_query(sink: Addresses, row: int, address: int) -> tuple[int, int]:
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
def take_comment(sink: Addresses, address: int) -> int:
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
def past_blanks(address: int) -> int:
    """The first address that holds neither a space nor a tab."""
    while byte_at(address) == SPACE or byte_at(address) == TAB:
        address += 1
    return address


@no_type_check
@numba.njit(cache=True)
def ends_line(address: int) -> bool:
    """Whether a line end, LF or CRLF, stands here."""
    character = byte_at(address)
    return character == NEWLINE or (character == RETURN and byte_at(address + 1) == NEWLINE)


@no_type_check
@numba.njit(cache=True)
def bare_return(address: int) -> bool:
    """Whether a carriage return stands before the end of this line."""
    while byte_at(address) != NEWLINE:
        if byte_at(address) == RETURN and byte_at(address + 1) != NEWLINE:
            return True
        address += 1
    return False


@no_type_check
@numba.njit(cache=True)
def next_line(address: int) -> int:
    """The address behind the next newline."""
    while byte_at(address) != NEWLINE:
        address += 1
    return address + 1
