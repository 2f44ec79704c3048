"""The message of every malformed line and group file."""

import math
from collections.abc import Sequence
from pathlib import Path

from shuffleproof.core.data.letor import sink
from shuffleproof.core.data.letor.stream import (
    LONE_RETURN,
    Block,
    Limits,
    Source,
    blocks,
    long_line,
)
from shuffleproof.core.errors import BadLinesError, DataError, LetorError, quoted

EXAMPLE = "A row reads: label qid:query feature:value … # comment."
MESSAGES = {
    sink.BAD_LABEL: ("the label is not a finite number", EXAMPLE),
    sink.NO_QUERY: (
        "no qid:… after the label",
        EXAMPLE + " Where group sizes stand in a file of their own, put it beside this one, "
        "named like it with .query or .group.",
    ),
    sink.TWO_QUERIES: (
        "qid:… although a group file is given",
        "Leave the group file away: the rows name their queries.",
    ),
    sink.LONG_QUERY: ("a query id of more than 255 bytes", EXAMPLE),
    sink.BAD_CELL: ("a cell that is not feature:value", EXAMPLE),
    sink.BAD_VALUE: ("a value that is not a number", "Write a decimal number after the colon."),
    sink.INFINITE: (
        "an infinite value, or one beyond 1.8e308",
        "Replace it; values beyond 3.4e38 are cut to that, larger ones mean nothing.",
    ),
    sink.TWICE: ("the same feature twice", "Keep one of the two cells."),
    sink.NULL_CELL: (
        "a NULL or NaN cell",
        "Choose what it means: zero, mean, largest or missing (--nulls).",
    ),
    sink.BARE_RETURN: LONE_RETURN,
    sink.BAD_END: ("something after the cells that is neither a cell nor # …", EXAMPLE),
}
IN_CELLS = {sink.BAD_CELL, sink.BAD_VALUE, sink.INFINITE, sink.NULL_CELL, sink.BAD_END}
"""What is wrong with one cell, which is quoted: it may stand far behind the start of its line."""

FAULTS = 20
"""Malformed lines that are named at once; the rest of the file is not read then."""


def line_error(code: int, block: Block, start: int, name: str, limits: Limits) -> LetorError:
    """The error of the line that starts at `start` of a block."""
    number, text = _line(block, start)
    if len(text) > limits.line_bytes:
        return long_line(name, number, text, limits)
    line = text.decode(errors="backslashreplace")
    if code == sink.HIGH_ID:
        return LetorError(
            name,
            number,
            line,
            f"a feature id above {limits.feature_id:,}",
            "A dense row that wide would not fit in memory; number the features from 1.",
        )
    if code == sink.BAD_END and b"\r" in text:
        code = sink.BARE_RETURN
    finding, remedy = MESSAGES[code]
    cell = _faulty_cell(text).decode(errors="backslashreplace") if code in IN_CELLS else ""
    return LetorError(
        name, number, line, f"{finding} ({quoted(cell)})" if cell else finding, remedy
    )


def _faulty_cell(line: bytes) -> bytes:
    """The first cell of a line that is no feature:number, cut to 40 bytes; empty if all are.

    >>> _faulty_cell(b"1 qid:7 1:0.5 2:x 3:1 # 9:y")
    b'2:x'
    """
    for cell in line.partition(b"#")[0].split()[1:]:
        feature, _, value = cell.partition(b":")
        if feature != b"qid" and not (feature.isdigit() and _is_finite(value)):
            return cell[:40]
    return b""


def _is_finite(text: bytes) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def merge_faults(faults: Sequence[LetorError], *, more: bool) -> LetorError:
    """The one error of the malformed lines of a file, one or several."""
    return faults[0] if len(faults) == 1 and not more else BadLinesError(faults, more=more)


def too_large(
    table: tuple[int, int], bound: tuple[int, str], block: Block, start: int, name: str
) -> LetorError:
    """The error of a table (rows, columns) that outgrows its bound: (bytes, which it is)."""
    (rows, width), (limit, reason) = table, bound
    number, text = _line(block, start)
    return LetorError(
        name,
        number,
        text.decode(errors="backslashreplace"),
        f"{width:,} feature columns for some {rows:,} documents, {rows * width * 4:,} bytes and "
        f"more than {limit:,}, {reason},",
        "Leave out features that few documents have, or split the file.",
    )


def check_size(table: tuple[int, int], bound: tuple[int, str], name: str) -> None:
    """Refuse a table (rows, columns) that outgrows its bound: (bytes, which it is).

    Raises:
        DataError: it does.
    """
    (rows, width), (limit, reason) = table, bound
    if rows * width * 4 > limit:
        finding = (
            f"{width:,} feature columns with those of the other parts for {rows:,} documents, "
            f"{rows * width * 4:,} bytes and more than {limit:,}, {reason}"
        )
        raise DataError(name, finding, "Leave out features that few documents have.")


def _line(block: Block, start: int) -> tuple[int, bytes]:
    before = block.buffer[:start].tobytes()
    text = block.buffer[start : block.end].tobytes().split(b"\n", 1)[0].rstrip(b"\r")
    return block.first_line + before.count(b"\n"), text


def group_sizes(groups: Source | str, rows: int, data_name: str, limits: Limits) -> Sequence[int]:
    """The sizes in a group file, one a line; they must add up to the rows of its data file.

    Raises:
        LetorError: a line that is no positive integer, or sizes that do not add up.
    """
    source = Path(groups) if isinstance(groups, str) else groups
    name = str(source if isinstance(source, Path) else getattr(source, "name", "group file"))
    sizes: list[int] = []
    number = 0
    for block in blocks(source, name, limits):
        for line in block.buffer[: block.end].tobytes().splitlines():
            number += 1
            text = line.strip()
            if not text:
                continue
            if not text.isdigit() or not 0 < len(text) < 19 or int(text) == 0:
                quoted_line = text.decode(errors="backslashreplace")
                finding = "a group size that is not a positive integer"
                raise LetorError(
                    name, number, quoted_line, finding, "Write the rows of one query a line."
                )
            sizes.append(int(text))
    if sum(sizes) != rows:
        finding = f"group sizes that add up to {sum(sizes):,} for the {rows:,} rows of {data_name}"
        raise LetorError(name, number, "", finding, "Check that the two files belong together.")
    return sizes
