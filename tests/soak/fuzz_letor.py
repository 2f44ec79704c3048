"""Hostile LETOR files, read twice: by the reader and by a slow one that knows nothing of it.

`python -m tests.soak.fuzz_letor 10000` runs the long version, with `--only N` one of them. The test
suite runs a slice.
"""

import gzip
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from shuffleproof.core.data.letor.chunks import UNCHECKED
from shuffleproof.core.data.letor.read import ParsedLetor
from shuffleproof.core.errors import DataError
from tests import loading
from tests.soak import fuzzing
from tests.soak.fuzzing import WrongError

LINES = 40
POLICIES = ("error", "zero", "mean", "largest")
TOKENS = (
    b"nan", b"NULL", b"inf", b"1e400", b"-", b":", b"qid:", b"qid:7", b"#", b"\0", b"\r", b"\n",
    b"1:", b":1", b"99999:1", b"70000:1", b"1e", b"--1", b"\xff\xfe", b"\xef\xbb\xbf", b" ", b"\t",
    b"9" * 400, b"0x1f", b"1_0", b"\xe2\x80\xae", b"<script>", b"qid:" + b"q" * 300,
    b"3.4028235e38", b"3.4028236e38", b"3.40282356779733661637539395458142568447e38", b"1e-46",
    b"-3.5e38", b"1.7976931348623158e308", b"\r\n", b"#\r", b"\xd9\xa3", b"+.5", b"5.", b"0:0",
    b" 65536:1 ", b" 60000:2 ", b"1:1 1:1", b"\x0b", b"\xc2\xa0", b"00000007:1", b"0007:1", b"-0",
)  # fmt: skip
NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
ABSENT = re.compile(rb"(?i)[+-]?(?:null|nan)")
LARGEST = float(np.finfo(np.float32).max)


class UnsoundError(Exception):
    """Why the slow reader does not take a file."""


def sound(generator: np.random.Generator) -> bytes:
    """A file of a few queries, with comments on half of its lines, in one of several shapes."""
    shape = generator.integers(0, 10)
    if shape == 0:
        return wide(generator)
    lines = []
    for row in range(LINES):
        ids = np.arange(1, 6) if shape > 2 else generator.choice(300, 5, replace=False)
        ids = np.sort(ids) if shape > 1 else ids
        cells = " ".join(f"{one}:{number(generator)}" for one in ids)
        comment = f" #docid = D{row}" if row % 2 else ""
        query = row // 5 if shape != 3 else generator.integers(0, 9)
        lines.append(f"{generator.integers(0, 3)} qid:{query} {cells}{comment}")
    end = {4: "\r\n", 5: "\r"}.get(int(shape), "\n")
    return (end.join(lines) + end).encode()


def number(generator: np.random.Generator) -> str:
    """A number in one of the notations of the field."""
    value = generator.random()
    ways = (f"{value:.4f}", f"{value * 300:.0f}", f"{value:.17g}", f"{-value:.6e}", f"{value}e-30")
    return ways[int(generator.integers(0, len(ways)))]


def wide(generator: np.random.Generator) -> bytes:
    """Rows that ask for far more columns than they have cells."""
    short = b"".join(
        b"1 qid:%d 1:1 %d:2\n" % (row // 9, generator.integers(1, 65537)) for row in range(300)
    )
    ids = np.sort(generator.choice(65536, int(generator.integers(1, 40000)), replace=False)) + 1
    long = b"0 qid:x " + b" ".join(b"%d:1" % one for one in ids.tolist()) + b"\n"
    rows = [b"1 qid:1 1:1\n" * int(generator.integers(1, 20000)), short, long]
    return b"".join(rows[place] for place in generator.permutation(3)[: generator.integers(1, 4)])


def attempt(generator: np.random.Generator, room: Path) -> None:
    """One file; see `fuzzing`."""
    text = fuzzing.packed(fuzzing.damaged(sound(generator), generator, TOKENS), generator)
    policy = POLICIES[int(generator.integers(0, 4))]
    path = room / "mutated.txt"
    path.write_bytes(text)
    expected = slowly(text, policy)
    try:
        found = loading.read(path, missing=policy)
    except DataError:
        if not isinstance(expected, str) and not mostly_empty(expected):
            raise WrongError("a sound file is refused") from None
        raise
    if isinstance(expected, str):
        raise WrongError(f"a file is read that is not sound: {expected}")
    compared(found, expected, policy)


def mostly_empty(expected: "Rows") -> bool:
    """Whether a matrix may be refused for its size, being not small."""
    return len(expected.labels) * len(expected.ids) * 4 > UNCHECKED


@dataclass
class Rows:
    """What the lines of a file say.

    Attributes:
        labels: as float32.
        queries: the id of each row.
        comments: of each row, None where it has none.
        cells: row, feature id and value of each cell; NaN where it is missing.
        clipped: cells beyond float32.
    """

    labels: list[float] = field(default_factory=list)
    queries: list[bytes] = field(default_factory=list)
    comments: list[bytes | None] = field(default_factory=list)
    cells: list[tuple[int, int, float]] = field(default_factory=list)
    clipped: int = 0

    @property
    def ids(self) -> list[int]:
        """The feature ids that occur."""
        return sorted({feature for _, feature, _ in self.cells})


def slowly(text: bytes, policy: str) -> Rows | str:
    """What the text says, cell by cell, or why it is not sound."""
    try:
        return rows_of(plain(text), policy)
    except UnsoundError as error:
        return str(error)


def plain(text: bytes) -> bytes:
    """The text unpacked, without a byte order mark."""
    if text.startswith(b"\x1f\x8b"):
        try:
            text = gzip.decompress(text)
        except (OSError, EOFError, zlib.error) as error:
            raise UnsoundError(str(error)) from error
    if text.startswith((b"BZh", b"\xfd7zXZ", b"PK\x03\x04", b"\xff\xfe", b"\xfe\xff")):
        raise UnsoundError("another format")
    if b"\0" in text[:4096]:
        raise UnsoundError("a zero byte")
    return text.removeprefix(b"\xef\xbb\xbf")


def rows_of(text: bytes, policy: str) -> Rows:
    """Every line that is neither blank nor a comment alone."""
    found = Rows()
    for line in text.split(b"\n"):
        body, mark, comment = line.removesuffix(b"\r").partition(b"#")
        if b"\r" in body + comment:
            raise UnsoundError("a bare carriage return")
        words = [word for word in re.split(rb"[ \t]", body) if word]
        if not words:
            continue
        found.labels.append(label(words[0]))
        if len(words) < 2 or not re.fullmatch(rb"(?s)qid:[^\0-\x20]{1,255}", words[1]):
            raise UnsoundError("no query")
        found.queries.append(words[1][4:])
        found.comments.append(comment if mark else None)
        cells(words[2:], found, policy)
    if not found.labels:
        raise UnsoundError("no documents")
    return found


def label(word: bytes) -> float:
    """A label as float32."""
    value = single(float(word)) if NUMBER.fullmatch(word) else np.inf
    if np.isinf(value):
        raise UnsoundError(f"label {word!r}")
    return value


def single(value: float) -> float:
    """A number rounded to float32."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def cells(words: list[bytes], found: Rows, policy: str) -> None:
    """Add the cells of a row."""
    row, met = len(found.labels) - 1, set()
    for word in words:
        name, colon, text = word.partition(b":")
        if not (colon and re.fullmatch(rb"[0-9]+", name) and int(name) <= 65536):
            raise UnsoundError(f"cell {word!r}")
        if int(name) in met:
            raise UnsoundError(f"{word!r} again")
        met.add(int(name))
        absent = policy != "error" and ABSENT.fullmatch(text)
        if not absent and not (NUMBER.fullmatch(text) and np.isfinite(float(text))):
            raise UnsoundError(f"value {word!r}")
        value = np.nan if absent else single(float(text))
        found.clipped += bool(np.isinf(value))
        found.cells.append((row, int(name), float(np.clip(value, -LARGEST, LARGEST))))


def compared(found: ParsedLetor, expected: Rows, policy: str) -> None:
    """Compare label by label and cell by cell, queries gathered in the order of the file."""
    data, queries = found.dataset, list(dict.fromkeys(expected.queries))
    places = {name: place for place, name in enumerate(queries)}
    owners = np.array([places[name] for name in expected.queries])
    order = np.argsort(owners, kind="stable")
    comments = [expected.comments[row] for row in order]
    rows, features, values = (
        (np.array(column) for column in zip(*expected.cells, strict=True))
        if (expected.cells)
        else (np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros(0))
    )
    at = np.argsort(order)[rows], np.searchsorted(expected.ids, features)
    absent = np.isnan(values)
    read = data.features[at]
    checks = {
        "features": data.feature_ids == tuple(expected.ids),
        "queries": data.query_ids
        == tuple(name.decode(errors="backslashreplace") for name in queries),
        "bounds": np.diff(data.offsets).tolist() == np.bincount(owners).tolist(),
        "labels": data.labels.tolist() == [expected.labels[row] for row in order],
        "comments": (data.comments is None and not any(one is not None for one in comments))
        or list(data.comments or ())
        == [(one or b"").decode(errors="backslashreplace") for one in comments],
        "numbers cut": found.clipped_cells == expected.clipped,
        "cells": (read[~absent] == values[~absent]).all(),
        "zeros": np.count_nonzero(data.features) == np.count_nonzero(read),
        "missing": found.missing_cells == absent.sum(),
        "filled": np.allclose(read[absent], fillings(features, values, len(order), policy)),
    }
    wrong = [name for name, right in checks.items() if not right]
    if wrong:
        raise WrongError(", ".join(wrong))


def fillings(features: np.ndarray, values: np.ndarray, rows: int, policy: str) -> list[float]:
    """What each missing cell becomes; cells that a row leaves out are zeros of its column."""
    filled = []
    for feature in features[np.isnan(values)].tolist():
        column = values[features == feature]
        present = column[~np.isnan(column)]
        zeros = rows - len(column)
        if policy == "zero" or not len(present) + zeros:
            filled.append(0.0)
        elif policy == "mean":
            filled.append(present.sum() / (len(present) + zeros))
        else:
            filled.append(max([*present.tolist(), *([0.0] if zeros else [])]))
    return filled


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__, 10_000)
