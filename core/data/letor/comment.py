"""The document that a LETOR comment names: `#docid = GX01 inc = 1 …` and `# docid = GX01`."""

from typing import no_type_check

import numba

from shuffleproof.core.data.letor.memory import byte_at

_LETTERS = int.from_bytes(b"docid", "little")
_LENGTH = 5
_SPACE, _TAB, _EQUALS, _LOWER_CASE = 32, 9, 61, 32


@no_type_check
@numba.njit(cache=True)
def document_name(text: int, start: int, end: int) -> tuple[int, int]:
    """(start, end) of the document id in a comment; equal if it names none.

    Args:
        text: the address of the bytes.
        start: where the comment starts.
        end: where it ends.
    """
    place = _past_blanks(text, start, end)
    if place + _LENGTH > end:
        return start, start
    for letter in range(_LENGTH):
        if byte_at(text + place) | _LOWER_CASE != (_LETTERS >> (8 * letter)) & 255:
            return start, start
        place += 1
    place = _past_blanks(text, place, end)
    if place == end or byte_at(text + place) != _EQUALS:
        return start, start
    first = _past_blanks(text, place + 1, end)
    last = first
    while last < end and byte_at(text + last) > _SPACE:
        last += 1
    return first, last


@no_type_check
@numba.njit(cache=True)
def _past_blanks(text: int, place: int, end: int) -> int:
    while place < end and (byte_at(text + place) == _SPACE or byte_at(text + place) == _TAB):
        place += 1
    return place
