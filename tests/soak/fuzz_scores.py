"""Hostile files of scores, read twice: by the reader and by a slow one of its own.

`python -m tests.soak.fuzz_scores 1000`; the test suite runs a slice.
"""

from pathlib import Path

import numpy as np

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.errors import DataError
from shuffleproof.core.rankers.outside.file_ranker import FileScores
from tests.soak import fuzz_letor, fuzzing
from tests.soak.fuzz_letor import LARGEST, NUMBER, UnsoundError
from tests.soak.fuzzing import WrongError

TOKENS = (
    b"1_0\n", b"\xd9\xa3", b"nan", b"inf", b"1e400", b"3.5e38", b"1e-60", b"\n", b"\r", b"\r\n",
    b"\0", b"\xff", b"\xc2\xa0", b" 1", b",", b"\xef\xbb\xbf", b"9" * 300, b"-", b"e5", b"#", b"\t",
)  # fmt: skip
LENGTHS = (5, 1, 9, 0, 15)
ROWS = sum(LENGTHS)


def dataset() -> RankingDataset:
    """Lists of several lengths, without features."""
    return RankingDataset(
        features=np.zeros((ROWS, 0), dtype=np.float32),
        labels=np.zeros(ROWS, dtype=np.float32),
        offsets=np.concatenate([[0], np.cumsum(LENGTHS)]),
        query_ids=tuple(map(str, range(len(LENGTHS)))),
        feature_ids=(),
    )


def sound(generator: np.random.Generator) -> bytes:
    """A number a line; in most files they differ by less than single precision holds."""
    base = int(generator.choice([0, 1, 16777216, 2**53]))
    scale = ("", "e-60", "e10", "e-45")[int(generator.integers(0, 4))]
    lines = [f"{base + int(generator.integers(0, 9))}{scale}" for _ in range(ROWS)]
    end = ("\n", "\r\n", "\n\n")[int(generator.integers(0, 3))]
    return (end.join(lines) + end).encode()


def attempt(generator: np.random.Generator, room: Path) -> None:
    """One file, whole or damaged; see `fuzzing`."""
    text = sound(generator)
    if generator.integers(0, 3):
        text = fuzzing.damaged(text, generator, TOKENS)
    text = fuzzing.packed(text, generator)
    path = room / "scores.txt"
    path.write_bytes(text)
    expected = slowly(text)
    try:
        found = FileScores.read(f"scores:{path}", dataset()).scores
    except DataError:
        if not isinstance(expected, str):
            raise WrongError("a sound file is refused") from None
        raise
    if isinstance(expected, str):
        raise WrongError(f"a file is read that is not sound: {expected}")
    if not np.allclose(found, expected, rtol=1e-5, atol=1e-43):
        raise WrongError("scores")
    start = 0
    for length in LENGTHS:
        ours, exact = found[start : start + length], expected[start : start + length]
        if (np.sign(ours[:, None] - ours) != np.sign(exact[:, None] - exact)).any():
            raise WrongError("an order or a tie that the file does not have")
        start += length


def slowly(text: bytes) -> np.ndarray | str:
    """The numbers of a file, or why it is not sound."""
    try:
        lines = fuzz_letor.plain(text).split(b"\n")
    except UnsoundError as error:
        return str(error)
    words = [line.strip(b" \t\r") for line in lines]
    if not all(NUMBER.fullmatch(word) and abs(float(word)) <= LARGEST for word in words if word):
        return "a line that is no number"
    found = np.array([float(word) for word in words if word])
    return found if len(found) == ROWS else f"{len(found)} lines"


if __name__ == "__main__":
    fuzzing.main(attempt, __doc__)
