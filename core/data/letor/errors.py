"""The errors of malformed lines and group files: the parser says which line, this says why."""

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from shuffleproof.core.data.letor.kernel import LARGEST, LONGEST_QUERY_ID
from shuffleproof.core.data.letor.stream import LONE_RETURN, Limits, lines, long_line
from shuffleproof.core.errors import LetorError, quoted

EXAMPLE = "A row reads: label qid:query feature:value … # comment."
NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
MISSING = re.compile(rb"[+-]?(?:null|nan)", re.IGNORECASE)
INFINITE = re.compile(rb"[+-]?inf(?:inity)?", re.IGNORECASE)
NO_QUERY = (
    "no qid:… after the label",
    EXAMPLE + " If group sizes are in a separate file, put it beside this one, "
    "named like it with .query or .group.",
)
TWO_QUERIES = (
    "qid:… although a group file is given",
    "Leave the group file away: the rows name their queries.",
)
BEYOND = LARGEST + 2.0**103
"""From here on float32 rounds to infinity; below it, to its largest number."""

MOST = Decimal("1.8e308")
"""From here on a number is an error: .NET writes 1.79769313486232E+308 for its largest one."""


def value_of(token: bytes) -> float | None:
    """The value of a token, NaN for NULL and NaN; beyond float32 ±infinity; None: no number.

    >>> value_of(b"0.5"), value_of(b"null"), value_of(b"1.79769313486232E+308"), value_of(b"x")
    (0.5, nan, inf, None)
    """
    if MISSING.fullmatch(token):
        return math.nan
    if not NUMBER.fullmatch(token):
        return None
    value = float(token)
    if math.isinf(value) and abs(Decimal(token.decode())) >= MOST:
        return None
    return math.copysign(math.inf, value) if abs(value) >= BEYOND else float(np.float32(value))


def line_error(
    line: bytes, number: int, name: str, limits: Limits, *, with_query: bool
) -> LetorError:
    """The error of a malformed line."""
    if len(line) > limits.line_bytes:
        return long_line(name, number, line, limits)
    finding, remedy = _finding(line, limits, with_query=with_query)
    return LetorError(name, number, line.decode(errors="backslashreplace"), finding, remedy)


def _finding(  # noqa: PLR0911 (a finding each)
    line: bytes, limits: Limits, *, with_query: bool
) -> tuple[str, str]:
    """The finding and remedy of a malformed line."""
    if b"\r" in line:
        return LONE_RETURN
    label, *words = [word for word in re.split(rb"[ \t]+", line.partition(b"#")[0]) if word]
    value = value_of(label)
    if value is None or not math.isfinite(value):
        return "the label is not a finite number", EXAMPLE
    query = words[0] if words and words[0].startswith(b"qid:") else b""
    if with_query and len(query) < len(b"qid:1"):
        return NO_QUERY
    if query and not with_query:
        return TWO_QUERIES
    if len(query) > LONGEST_QUERY_ID + len(b"qid:"):
        return f"a query id of more than {LONGEST_QUERY_ID} bytes", EXAMPLE
    seen: set[int] = set()
    for word in words[with_query:]:
        found = _finding_of_cell(word, limits, seen)
        if found is not None:
            return found
    return "something that is no row", EXAMPLE


def _finding_of_cell(  # noqa: PLR0911 (likewise)
    word: bytes, limits: Limits, seen: set[int]
) -> tuple[str, str] | None:
    """The finding and remedy of a cell; None: it is sound."""
    digits, colon, text = word.partition(b":")
    cell = quoted(word[:40].decode(errors="backslashreplace"))
    if not word[:1].isdigit():
        return f"something after the cells that is neither a cell nor # … ({cell})", EXAMPLE
    if digits.isdigit() and int(digits[:20]) > limits.feature_id:
        remedy = "A dense row that wide would not fit in memory; number the features from 1."
        return f"a feature id above {limits.feature_id:,}", remedy
    if not (colon and digits.isdigit()):
        return f"a cell that is not feature:value ({cell})", EXAMPLE
    if int(digits) in seen:
        return "the same feature twice", "Keep one of the two cells."
    seen.add(int(digits))
    value = value_of(text)
    if value is None and (INFINITE.fullmatch(text) or NUMBER.fullmatch(text)):
        remedy = "Replace it; values beyond 3.4e38 are cut to that, larger ones mean nothing."
        return f"an infinite value, or one beyond 1.8e308 ({cell})", remedy
    if value is None:
        return f"a value that is not a number ({cell})", "Write a decimal number after the colon."
    if math.isnan(value):
        remedy = "Choose what it means: zero, mean, largest or missing (`ingest --nulls`)."
        return f"a NULL or NaN cell ({cell})", remedy
    return None


def group_sizes(groups: Path, rows: int, data_name: str, limits: Limits) -> Sequence[int]:
    """The sizes in a group file, one a line; they must add up to the rows of its data file.

    Raises:
        LetorError: a line that is no positive integer, or sizes that do not add up.
    """
    name, number = str(groups), 0
    sizes: list[int] = []
    for number, line in lines(groups, name, limits):
        text = line.strip()
        if not text:
            continue
        if not text.isdigit() or not 0 < len(text) < 19 or int(text) == 0:
            quoted_line = text.decode(errors="backslashreplace")
            finding = "a group size that is not a positive integer"
            remedy = "Write the rows of one query a line."
            raise LetorError(name, number, quoted_line, finding, remedy)
        sizes.append(int(text))
    if sum(sizes) != rows:
        finding = f"group sizes that add up to {sum(sizes):,} for the {rows:,} rows of {data_name}"
        raise LetorError(name, number, "", finding, "Check that the two files belong together.")
    return sizes
