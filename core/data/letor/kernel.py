"""The compiled parser of LETOR text: one call takes a block of whole lines into arrays.

The value of a number is `float32(float64(token))`, each rounded to nearest even, as NumPy and
Python give it. Short decimals take one exact division (Clinger 1990); longer ones are bounded from
both sides. Python reads numbers whose bounds disagree, NULL, and anything else.
"""

from typing import NamedTuple, no_type_check

import numpy as np

from shuffleproof.core.compiled import compiled

FAULTS = 20  # Malformed lines that are noted; the rest of a block is then passed over
LONGEST_QUERY_ID = 255
ROWS, CELLS, RUNS, COMMENT_BYTES, COMMENTED, CLIPPED, PATCHES, BAD_LINES = range(8)
"""Places of `Arrays.counts`."""

LARGEST = float(np.finfo(np.float32).max)

_FINE, _CLIPPED, _UNDECIDED = range(3)
_SPACE, _TAB, _NEWLINE, _RETURN, _HASH, _COLON = 32, 9, 10, 13, 35, 58
_PLUS, _MINUS, _DOT, _ZERO, _LOWER_CASE, _E = 43, 45, 46, 48, 32, 101
_Q, _I, _D = b"qid"

_MOST_DIGITS = 19  # of a mantissa held in 64 bits
_LOWEST_POWER, _HIGHEST_POWER = -350, 308
_POWERS = np.array([float(f"1e{power}") for power in range(_LOWEST_POWER, _HIGHEST_POWER + 1)])
_EXACT_POWER, _EXACT = 22, 2**53
_SURELY_FINITE = 1.7976931348623e308
_SLACK = 2.0**-50  # relative error of mantissa × power in float64, generously


class Arrays(NamedTuple):
    """The output of `parse`, long enough for the block."""

    labels: np.ndarray  # f32 by row
    ends: np.ndarray  # i64 by row: end of its cells
    ids: np.ndarray  # i32 by cell: feature id
    values: np.ndarray  # f32 by cell
    runs: np.ndarray  # i64 [runs, 3]: first row of a query, start and end of its id in the text
    comments: np.ndarray  # u8: the comments of all rows, one behind the other
    comment_ends: np.ndarray  # u32 by row
    patches: np.ndarray  # i64 [patches, 3]: cell (−1 − row for a label), start and end of its token
    faults: np.ndarray  # i64: starts of malformed lines in the text
    stamps: np.ndarray  # i32 by feature id: start of the last line that has it, −1 at first
    counts: np.ndarray  # i64, by the names above


class Rules(NamedTuple):
    """Limits of lines."""

    highest_id: int
    line_bytes: int
    with_query: bool


def arrays_for(text_bytes: int, lines: int, highest_id: int) -> Arrays:
    """Arrays for the rows of a text; pages that are not used take no memory."""
    cells = text_bytes // 4 + 1
    return Arrays(
        labels=np.empty(lines, dtype=np.float32),
        ends=np.empty(lines, dtype=np.int64),
        ids=np.empty(cells, dtype=np.int32),
        values=np.empty(cells, dtype=np.float32),
        runs=np.empty((lines, 3), dtype=np.int64),
        comments=np.empty(text_bytes, dtype=np.uint8),
        comment_ends=np.empty(lines, dtype=np.uint32),
        patches=np.empty((cells + lines, 3), dtype=np.int64),
        faults=np.empty(FAULTS, dtype=np.int64),
        stamps=np.full(highest_id + 1, -1, dtype=np.int32),
        counts=np.zeros(8, dtype=np.int64),
    )


@no_type_check
@compiled(nogil=True)
def parse(text: np.ndarray, rules: Rules, out: Arrays) -> None:  # noqa: C901, PLR0912, PLR0915 (more functions compile longer)
    """Parse whole lines; the last byte of the text is a newline."""
    counts = out.counts
    row, query, query_end, place = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while place < len(text) and counts[BAD_LINES] < FAULTS:
        line, first_cell, end = place, counts[CELLS], counts[COMMENT_BYTES]
        place = _past_blanks(text, place)
        is_row = not (text[place] == _HASH or _ends_line(text, place))
        sound = True
        if is_row:
            start = place
            out.labels[row], place, status = _number(text, start)
            if status != _FINE:
                place = _leave_to_python(text, -1 - row, start, out.patches, counts)
            place = _past_blanks(text, place)
            if rules.with_query:
                start = place + 4
                sound = text[place] == _Q and text[place + 1] == _I and text[place + 2] == _D
                sound &= sound and text[place + 3] == _COLON
                if sound:
                    place, same = start, True
                    while text[place] > _SPACE and text[place] != _HASH:
                        same &= text[place] == text[query + place - start]
                        place += 1
                    if not same or place - start != query_end - query:
                        query, query_end = start, place
                        run = counts[RUNS]
                        out.runs[run, 0], out.runs[run, 1], out.runs[run, 2] = row, start, place
                        counts[RUNS] += 1
                    sound = 0 < place - start <= LONGEST_QUERY_ID
                    place = _past_blanks(text, place)
            digit, cell = np.int64(text[place]) - _ZERO, counts[CELLS]
            while sound and 0 <= digit <= 9:
                feature = np.int64(0)
                while 0 <= digit <= 9 and feature <= rules.highest_id:
                    feature = feature * 10 + digit
                    place += 1
                    digit = np.int64(text[np.uint64(place)]) - _ZERO
                sound = text[np.uint64(place)] == _COLON and feature <= rules.highest_id
                if sound and out.stamps[feature] != line:
                    out.stamps[feature] = line
                    out.ids[cell] = feature
                    start = place + 1
                    out.values[cell], place, status = _number(text, start)
                    counts[CLIPPED] += status == _CLIPPED
                    if status == _UNDECIDED:
                        place = _leave_to_python(text, cell, start, out.patches, counts)
                    cell += 1
                    place = _past_blanks(text, place)
                    digit = np.int64(text[np.uint64(place)]) - _ZERO
                else:
                    sound = False
            counts[CELLS] = cell
        commented = text[place] == _HASH
        if sound and commented:
            place += 1
            while not _ends_line(text, place):
                sound &= text[place] != _RETURN  # one that ends no line
                out.comments[end] = text[place]
                end += 1
                place += 1
        sound &= _ends_line(text, place)
        place += text[place] == _RETURN
        if not sound or place - line >= rules.line_bytes:
            out.faults[counts[BAD_LINES]] = line
            counts[BAD_LINES] += 1
            counts[CELLS] = first_cell
            place = line
            while text[place] != _NEWLINE:
                place += 1
        elif is_row:
            counts[COMMENTED] += commented
            counts[COMMENT_BYTES] = out.comment_ends[row] = end
            out.ends[row] = counts[CELLS]
            row += 1
        place += 1
    counts[ROWS] = row


@no_type_check
@compiled(nogil=True)
def _number(text: np.ndarray, start: int) -> tuple[np.float32, int, int]:  # noqa: C901 (likewise)
    """(value, place behind it, status) of a number."""
    place = start
    negative = text[place] == _MINUS
    if negative or text[place] == _PLUS:
        place += 1
    mantissa, digits, power = np.uint64(0), 0, 0
    for behind in range(2):  # before the dot, behind it
        first = place
        digit = np.uint64(text[np.uint64(place)]) - np.uint64(_ZERO)
        while digit <= np.uint64(9):
            mantissa = mantissa * np.uint64(10) + digit
            place += 1
            digit = np.uint64(text[np.uint64(place)]) - np.uint64(_ZERO)
        digits += place - first
        power = first - place
        if behind == 0:
            power = 0
            if text[np.uint64(place)] != _DOT:
                break
            place += 1
    known = 0 < digits <= _MOST_DIGITS
    if known and text[place] | _LOWER_CASE == _E:
        place += 1
        below = text[place] == _MINUS
        if below or text[place] == _PLUS:
            place += 1
        first, exponent = place, 0
        while 0 <= np.int64(text[place]) - _ZERO <= 9:
            exponent = min(exponent * 10 + np.int64(text[place]) - _ZERO, 100_000)
            place += 1
        power += -exponent if below else exponent
        known = place > first
    character = text[np.uint64(place)]
    ends = character == _SPACE or character == _NEWLINE  # noqa: PLR1714 (a set is slower)
    if not (known and (ends or character in (_TAB, _RETURN, _HASH))):
        return np.float32(0), place, _UNDECIDED
    sign = -1.0 if negative else 1.0
    if mantissa <= np.uint64(_EXACT) and -_EXACT_POWER <= power <= _EXACT_POWER:
        scale = _POWERS[abs(power) - _LOWEST_POWER]
        value = np.float64(mantissa) / scale if power < 0 else np.float64(mantissa) * scale
        return np.float32(sign * value), place, _FINE
    if not _LOWEST_POWER <= power <= _HIGHEST_POWER:
        return np.float32(0), place, _UNDECIDED
    near = np.float64(mantissa) * _POWERS[power - _LOWEST_POWER]
    low, high = np.float32(near * (1.0 - _SLACK)), np.float32(near * (1.0 + _SLACK))
    if low > LARGEST and near < _SURELY_FINITE:
        return np.float32(sign * LARGEST), place, _CLIPPED
    return np.float32(sign * low), place, _FINE if low == high <= LARGEST else _UNDECIDED


@no_type_check
@compiled(nogil=True)
def _leave_to_python(
    text: np.ndarray, cell: int, start: int, patches: np.ndarray, counts: np.ndarray
) -> int:
    """Note a cell (−1 − row: a label) whose token Python is to read; the place behind it."""
    place = start
    while text[place] > _SPACE and text[place] != _HASH:
        place += 1
    count = counts[PATCHES]
    patches[count, 0], patches[count, 1], patches[count, 2] = cell, start, place
    counts[PATCHES] += 1
    return place


@no_type_check
@compiled(nogil=True)
def _past_blanks(text: np.ndarray, place: int) -> int:
    while text[np.uint64(place)] == _SPACE or text[np.uint64(place)] == _TAB:
        place += 1
    return place


@no_type_check
@compiled(nogil=True)
def _ends_line(text: np.ndarray, place: int) -> bool:
    character = text[place]
    return character == _NEWLINE or (character == _RETURN and text[place + 1] == _NEWLINE)
