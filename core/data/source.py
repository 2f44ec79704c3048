"""Reading a collection: one file, split by query, or the parts of one or several folds.

The parts of a fold share their feature columns: every id that occurs in any of them.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from shuffleproof.core.data.dataset import Fold, RankingDataset
from shuffleproof.core.data.layout import FRACTIONS, TEST, TRAIN, VALID, Parts, group_file
from shuffleproof.core.data.letor.read import LetorTable, ParsedLetor, Split
from shuffleproof.core.data.letor.stream import Limits, MissingCells
from shuffleproof.core.errors import DataError, ParameterError, shown
from shuffleproof.core.progress import Progress
from shuffleproof.core.seeds import generator
from shuffleproof.core.words import counted

UNREAD = 20  # files that are not read and are named

HELD_OUT = (0.8, 0.2)


@dataclass(frozen=True)
class LoadedFold:
    """A fold, its name, and notes on reading it."""

    name: str
    fold: Fold
    notes: tuple[str, ...] = ()


def loading(
    place: Path | Parts,
    *,
    missing: MissingCells | str = MissingCells.ERROR,
    seed: int = 0,
    fractions: tuple[float, float, float] = FRACTIONS,
    columns: Mapping[str, str] | None = None,
) -> Generator[Progress, None, LoadedFold]:
    """Read the parts of a fold, or one file and split it by query; yields the bytes read.

    Options are those of `catalogue.ReadingOptions`; means and maxima are the training part's.
    Without validation files, a fifth of the training queries are split off.
    """
    whole = isinstance(place, Path)
    parts = Parts(place.name, (place,), (), ()) if isinstance(place, Path) else place
    if whole:
        _check_fractions(fractions)
    elif not (parts.train and parts.test):
        raise DataError(parts.name, "no training or no test file", "Name one of each.")

    def split(queries: int) -> list[Int64[np.ndarray, " chosen"]]:
        shares = fractions if whole else HELD_OUT
        return _queries_of_parts(queries, shares, seed, ", ".join(map(str, parts.train)))

    table = LetorTable(MissingCells(missing), Limits(), columns)
    parsed = yield from _read_parts(parts, table, None if parts.valid else split)
    fold = Fold(*(part.dataset for part in parsed))
    if whole:
        return LoadedFold(parts.name, fold, parsed[0].notes)
    notes = [parts.note] if parts.note else []
    for name, part in zip((TRAIN, VALID, TEST), parsed, strict=True):
        notes += [f"{name}: {note}" for note in part.notes]
    if not parts.valid:
        notes.append(
            f"No validation file: a fifth of the training queries were split off, seed {seed}."
        )
    if parts.unread:
        names = ", ".join(map(shown, parts.unread[:UNREAD]))
        more = f" and {len(parts.unread) - UNREAD} more" if len(parts.unread) > UNREAD else ""
        notes.append(f"Not read: {names}{more}.")
    return LoadedFold(parts.name, fold, tuple(notes))


def split(
    dataset: RankingDataset, seed: int, fractions: tuple[float, float, float] = FRACTIONS
) -> Fold:
    """A data set split at random by query; queries keep the order they had within a part.

    Raises:
        ParameterError: fractions that are not positive or add up to more than 1.
        DataError: fewer queries than parts.
    """
    _check_fractions(fractions)
    train, valid, test = _queries_of_parts(dataset.queries, fractions, seed, "the data set")
    return Fold(dataset.select(train), dataset.select(valid), dataset.select(test))


def _check_fractions(fractions: tuple[float, float, float]) -> None:
    if min(fractions) <= 0 or sum(fractions) > 1 + 1e-9:
        given = ",".join(f"{fraction:g}" for fraction in fractions)
        raise ParameterError("--split", given, "three fractions above 0, of at most 1 in all")


def _queries_of_parts(
    queries: int, fractions: Sequence[float], seed: int, place: str
) -> list[Int64[np.ndarray, " chosen"]]:
    """The queries of every part, drawn at random, in the order that they had."""
    if queries < len(fractions):
        finding = f"{counted(queries, 'query')} for {len(fractions)} parts"
        raise DataError(place, finding, "Give each part a file, or bring more queries.")
    order = generator(seed, "split", *fractions).permutation(queries)
    bounds = np.rint(np.cumsum([0.0, *fractions]) * queries).astype(int)
    for part in range(1, len(bounds)):  # at least one query each
        bounds[part] = max(bounds[part], bounds[part - 1] + 1)
    for part in range(len(bounds) - 1, 0, -1):
        bounds[part] = min(bounds[part], queries - (len(bounds) - 1 - part))
    return [np.sort(order[a:b]) for a, b in pairwise(bounds)]


def _read_parts(
    parts: Parts, empty: LetorTable, split: Split | None = None
) -> Generator[Progress, None, list[ParsedLetor]]:
    """Read parts with the same feature columns; missing cells are filled as the first has it.

    The first part is split by query where `split` says how, without a second matrix; its own first
    part then says what missing cells become. Yields the
    bytes read so far, of those of all files as they are stored.
    """
    groups = {TRAIN: parts.train, VALID: parts.valid, TEST: parts.test}
    groups = {part: files for part, files in groups.items() if files}
    read, tables = list[LetorTable](), dict[str, tuple[str, ...]]()
    every = [file for files in groups.values() for file in files]
    sizes = {file: file.stat().st_size if file.is_file() else 0 for file in every}
    bytes_before, total = 0, sum(sizes[file] for file in every)
    for part, files in groups.items():
        table = LetorTable(empty.missing, empty.limits, empty.columns)
        due = part if parts.test else None  # of one file, which is split, rows say what they like
        for file in files:
            for stored in table.adding(file, groups=group_file(file), part=due):
                yield Progress(min(bytes_before + stored, total), total, "bytes")
            bytes_before += sizes[file]
        read.append(table)
        tables |= table.columns_by_table
        for name, features in tables.items():  # features are numbered by their place
            first, expected = next(iter(tables.items()))
            if features != expected:
                ours, theirs = (", ".join(map(shown, some[:8])) for some in (features, expected))
                finding = f"its features are {ours}, those of {Path(first).name} {theirs}"
                raise DataError(name, finding, "Give all parts the same columns in the same order.")
    union = np.unique(np.concatenate([table.feature_ids for table in read]))
    for table in read:
        table.align(union)
    first_table, *further_tables = read
    parsed = [first_table.to_dataset()] if split is None else first_table.parsed_parts(split)
    return [*parsed, *(table.to_dataset(first_table.fillers) for table in further_tables)]
