"""Seeded ranking data with a known best ranking that only the whole list reveals.

One strong feature helps in half of the queries and harms in the other half. Which of the two holds
stands weakly in a second feature of each document and is certain only in that feature's mean over
the list: a ranker that scores documents alone cannot know it, one that reads the set can.

Every number is drawn and combined in integers (hundredths) from PCG64's raw stream, whose values
NumPy guarantees, so the same seed gives the same bytes on every machine.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.seeds import generator

FEATURES = (
    "strong: pulls up in half of the queries, down in the others",
    "hint: which of the two, weakly; its mean over the list has the sign for certain",
    "ordinary, weight 2",
    "ordinary, weight 1",
    "ordinary, weight 1, of large scale (0 … 8000)",
    "ordinary, weight 1 above zero and none below",
    "noise",
    "noise",
    "noise, as large as feature 5",
    "noise, two values",
)
"""What was planted in each column; feature ids are 1 … 10."""

STRONG, HINT, HEAVY, PLAIN, LARGE, BENT = range(6)
HINT_MEAN = 50
NOISE = 2
THRESHOLDS = (380, 560, 740, 920)
"""Noisy usefulness (in hundredths) from which on a document has grade 1, 2, 3, 4."""
HOPELESS = -3000
"""Added to the usefulness of one query in twelve, which so has no relevant document."""

SAMPLE_SEED = 2020
SAMPLE_QUERIES = (400, 100, 150)


def planted(
    queries: tuple[int, int, int] = SAMPLE_QUERIES, seed: int = SAMPLE_SEED, documents: int = 40
) -> Fold:
    """A fold with ten features and grades 0 … 4; rows within a query stand in random order.

    Args:
        queries: how many for training, validation and test; every query is drawn by itself.
        seed: of everything; the parts draw independently of each other.
        documents: the median list length; lengths vary by a tenth either way.

    >>> fold = planted((3, 1, 1), seed=1, documents=10)
    >>> fold.train.queries, fold.train.features.shape[1], fold.test.query_ids
    (3, 10, ('5',))
    """
    starts = np.concatenate([[0], np.cumsum(queries)])
    parts = [
        _part(range(starts[part] + 1, starts[part + 1] + 1), seed, documents) for part in range(3)
    ]
    return Fold(*parts)


def write_sample(directory: Path) -> None:
    """Write train, vali and test of the sample fold as gzipped LETOR text, the same every time."""
    fold = planted()
    directory.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", fold.train), ("vali", fold.valid), ("test", fold.test)):
        with (
            (directory / f"{name}.txt.gz").open("wb") as file,
            gzip.GzipFile("", "wb", 9, file, mtime=0) as packed,
        ):
            packed.write(letor_text(part).encode())


def letor_text(dataset: RankingDataset) -> str:
    """Planted data as LETOR text: values with two decimals at most, the document id commented."""
    lines = []
    owner = ragged.segment_ids(dataset.offsets)
    names = list(dataset.doc_ids or ())
    for row, values in enumerate(dataset.features):
        cells = (
            f"{feature}:{_short_text(float(value))}" for feature, value in enumerate(values, 1)
        )
        query = dataset.query_ids[owner[row]]
        lines.append(
            f"{dataset.labels[row]:.0f} qid:{query} {' '.join(cells)} #docid = {names[row]}"
        )
    return "\n".join(lines) + "\n"


def _part(numbers: range, seed: int, documents: int) -> RankingDataset:
    tables = [_query(number, seed, documents) for number in numbers]
    lengths = np.array([len(grades) for _, grades in tables], dtype=np.int64)
    hundredths = np.concatenate([table for table, _ in tables])
    ids = [
        f"D{number:04d}-{place:02d}"
        for number, length in zip(numbers, lengths, strict=True)
        for place in range(length)
    ]
    return RankingDataset(
        features=(hundredths / 100).astype(np.float32),
        labels=np.concatenate([grades for _, grades in tables]).astype(np.float32),
        offsets=ragged.offsets_of(lengths),
        query_ids=tuple(str(number) for number in numbers),
        feature_ids=tuple(range(1, len(FEATURES) + 1)),
        doc_ids=TextColumn.of(ids),
    )


def _query(
    number: int, seed: int, documents: int
) -> tuple[Int64[np.ndarray, "docs features"], Int64[np.ndarray, " docs"]]:
    """The features (in hundredths) and grades of one query."""
    bits = generator(seed, "planted", number).bit_generator
    spread = documents // 10
    length = documents - spread + int(_uniform_draws(bits, 2 * spread + 1, 1)[0])
    sign, shift, hopeless = (int(_uniform_draws(bits, bound, 1)[0]) for bound in (2, 201, 12))
    sign = 2 * sign - 1
    table = np.stack([_bell_draws(bits, length) for _ in FEATURES], axis=1)
    table[:, HINT] += sign * HINT_MEAN
    if table[:, HINT].sum() * sign <= 0:
        table[:, HINT] *= -1
        table[0, HINT] += sign
    for large in (LARGE, 8):
        table[:, large] = 100 * (table[:, large] + 400) * 10
    table[:, 9] = np.where(table[:, 9] > 0, 100, 0)
    noisy = _usefulness(table, sign) + NOISE * _bell_draws(bits, length) + shift - 100
    if hopeless == 0:
        noisy += HOPELESS
    return table, np.searchsorted(THRESHOLDS, noisy, side="right")


def _usefulness(
    table: Int64[np.ndarray, "docs features"], signs: Int64[np.ndarray, " docs"] | int
) -> Int64[np.ndarray, " docs"]:
    return (
        3 * signs * table[:, STRONG]
        + 2 * table[:, HEAVY]
        + table[:, PLAIN]
        + (table[:, LARGE] // 1000 - 400)
        + np.maximum(table[:, BENT], 0)
    )


def _bell_draws(bits: np.random.BitGenerator, size: int) -> Int64[np.ndarray, " drawn"]:
    """Sums of four uniform draws from −100 … 100: bell-shaped, deviation 116, at most 400."""
    return _uniform_draws(bits, 201, 4 * size).reshape(4, size).sum(axis=0) - 400


def _uniform_draws(
    bits: np.random.BitGenerator, bound: int, size: int
) -> Int64[np.ndarray, " drawn"]:
    """Integers 0 … bound − 1 from the upper half of raw 64-bit draws."""
    raw = np.asarray(bits.random_raw(size), dtype=np.uint64) >> np.uint64(32)
    return ((raw * np.uint64(bound)) >> np.uint64(32)).astype(np.int64)


def _short_text(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tests.synthetic DIRECTORY")
    write_sample(Path(sys.argv[1]))
