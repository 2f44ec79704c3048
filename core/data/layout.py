"""Parts of a folder's files, by their names.

A folder holds one file for each part (`train.txt`, `vali.txt.gz`, `set1.test.txt`, …), or one in
shards (`train-00000-of-00002.parquet`, …), folders `Fold1` … `FoldK` that do, or LETOR's five parts
`S1.txt` … `S5.txt`, of which five folds are made.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from shuffleproof.core.errors import DataError
from shuffleproof.core.store.artefacts import Store

SAMPLE, SAMPLE_TEXTS = "sample", "sample-texts"
SHIPPED = (SAMPLE, SAMPLE_TEXTS)
"""Names of the data sets that come with the program: of features, and of texts."""

TRAIN, VALID, TEST = "train", "valid", "test"
PART_WORDS = {
    word: part
    for part, words in {
        TRAIN: "train training",
        VALID: "val vali valid validate validation dev devel development",
        TEST: "test testing",
    }.items()
    for plain in words.split()
    for word in (plain, f"{plain}set", f"{plain}data")
}
"""Words of file names, and of tables' rows, that name a part."""

PACKED = ("", ".gz", ".bz2", ".xz", ".zip")
GROUP_SUFFIXES = (".query", ".group")
FOLDS = 5  # LETOR's parts, and as many folds: three parts to train on, one to validate, one to test
FRACTIONS = (0.6, 0.2, 0.2)  # Of a single file's queries, for training, validation and test
_FOLD = re.compile(r"(?i)fold[ _-]?[0-9]{1,6}")
_SHARD = re.compile(r"(.+)-([0-9]{1,6})-of-([0-9]{1,6})(\..*)?")
_NUMBERED = re.compile(r"([A-Za-z])([1-9])(\.[a-z0-9]+)*")


@dataclass(frozen=True)
class Parts:
    """The files of one fold; several files of a part are read one after the other."""

    name: str  # of the fold
    train: tuple[Path, ...]  # files to train on
    # files to validate on; none: a fifth of the training queries is split off
    valid: tuple[Path, ...]
    test: tuple[Path, ...]  # files to test on
    # how it was decided, where names alone do not say it
    note: str = field(default="", kw_only=True)
    # files of the folder that are no part and are not read
    unread: tuple[str, ...] = field(default=(), kw_only=True)


def find(path: Path) -> tuple[Parts, ...]:
    """The folds in a folder, without reading them; a folder in it that stands alone is entered.

    Raises:
        DataError: the folder holds no such files, or two for one part.
    """
    if not path.is_dir():
        raise DataError(str(path), "no such folder", "Check the path.")
    inside = visible_files(path)
    if len(inside) == 1 and inside[0].is_dir() and not _FOLD.fullmatch(inside[0].name):
        return find(inside[0])
    folds = [inner for inner in inside if inner.is_dir() and _FOLD.fullmatch(inner.name)]
    if folds:
        folds.sort(key=lambda inner: int(re.sub(r"[^0-9]", "", inner.name)))
        beside = _unread(inside, folds)
        return tuple(
            replace(parts, unread=parts.unread + beside) for parts in map(_parts_in, folds)
        )
    numbered = _numbered_files(inside)
    if numbered and not any(_words(inner) for inner in inside):
        beside = _unread(inside, [*numbered.values()])
        return tuple(replace(parts, unread=beside) for parts in _rotations(path, numbered))
    return (_parts_in(path),)


def folds_of(data: str, store: Store) -> list[str]:
    """Names to open, one per fold, in the folds' order.

    A stored name is its own single fold; `name` alone means all of
    `name-fold1` … where these are stored; a folder of `Fold1` … means its folders.
    A key or one of SHIPPED is a single fold.
    """
    names = store.names()
    if data in SHIPPED or data in names:
        return [data]
    numbered = {
        int(match[1]): name
        for name in names
        if (match := re.fullmatch(re.escape(data) + r"-fold([0-9]{1,6})", name))
    }
    if numbered:
        return [numbered[number] for number in sorted(numbered)]
    path = Path(data)
    folds = find(path) if path.is_dir() else ()
    return [str(path / parts.name) for parts in folds] if len(folds) > 1 else [data]


def fold_at(path: Path) -> Parts | None:
    """The fold that a path names although no such folder exists: `MQ2008/Fold2` of S1 … S5."""
    if path.exists() or not _FOLD.fullmatch(path.name) or not path.parent.is_dir():
        return None
    folds = {parts.name.lower(): parts for parts in find(path.parent)}
    return folds.get(path.name.lower())


def group_file(path: Path) -> Path | None:
    """The file of group sizes that lies beside a data file, if one does."""
    for suffix in GROUP_SUFFIXES:
        for packed in PACKED:
            candidate = path.with_name(_unpacked_name(path) + suffix + packed)
            if candidate.is_file():
                return candidate
    return None


def part_of(name: str) -> str | None:
    """The part that a file's name, or that of its group file, speaks of; None: none, or several.

    >>> part_of("set1.train.txt.gz"), part_of("vali.txt.query"), part_of("latest.txt")
    ('train', 'valid', None)
    """
    parts = _parts_named(name)
    return parts.pop() if len(parts) == 1 else None


def _parts_named(name: str) -> set[str]:
    return {PART_WORDS[word] for word in re.split(r"[^a-z]+", name.lower()) if word in PART_WORDS}


def visible_files(folder: Path) -> list[Path]:
    """Files of a folder without those of systems: `.DS_Store`, Spark's `_SUCCESS`."""
    return sorted(inner for inner in folder.iterdir() if not inner.name.startswith((".", "_")))


def _unpacked_name(path: Path) -> str:
    return path.name.removesuffix(path.suffix) if path.suffix in PACKED[1:] else path.name


def _words(path: Path) -> set[str]:
    """The parts that a data file's name speaks of."""
    if not path.is_file() or _unpacked_name(path).endswith(GROUP_SUFFIXES):
        return set()
    return _parts_named(_unpacked_name(path))


def _are_shards(paths: Sequence[Path]) -> bool:
    """True if files, sorted by name, are the shards of one."""
    shards = [shard for path in paths if (shard := _SHARD.fullmatch(path.name))]
    if not shards or len(shards) < len(paths) or len({each.group(1, 3, 4) for each in shards}) > 1:
        return False
    numbers, total = [int(shard[2]) for shard in shards], int(shards[0][3])
    if len(numbers) < total:
        finding = f"{len(numbers)} of the {total} files of {shards[0][1]}"
        raise DataError(str(paths[0].parent), finding, "Add those that are missing.")
    return numbers in ([*range(total)], [*range(1, total + 1)])


def _parts_in(folder: Path) -> Parts:
    files: dict[str, list[Path]] = {TRAIN: [], VALID: [], TEST: []}
    for path in visible_files(folder):
        for part in _words(path):
            files[part].append(path)
    unread = _unread(visible_files(folder), [path for paths in files.values() for path in paths])
    for part, paths in files.items():
        if not _are_shards(paths) and len(paths) > 1:
            names = ", ".join(path.name for path in paths[:4])
            remedy = "Keep one of them, or name the files of each part (--train, --valid, --test)."
            raise DataError(str(folder), f"several {part} files ({names})", remedy)
    if not (files[TRAIN] and files[TEST]):
        names = ", ".join(path.name for path in visible_files(folder)[:6]) or "nothing"
        raise DataError(
            str(folder),
            f"no train and test files, but {names}",
            "Name them train.txt, vali.txt and test.txt, or list the files of each part.",
        )
    parts = (tuple(files[TRAIN]), tuple(files[VALID]), tuple(files[TEST]))
    return Parts(folder.name, *parts, unread=unread)


def _unread(inside: Sequence[Path], read: Sequence[Path]) -> tuple[str, ...]:
    """The names in a folder of what is neither read nor a group file of that."""
    known = {*read, *filter(None, map(group_file, read))}
    return tuple(path.name for path in inside if path not in known)


def _numbered_files(inside: list[Path]) -> dict[int, Path]:
    """Files S1, S2, … by number; empty where they have several letters or a number twice."""
    files = [
        (match[1].upper(), int(match[2]), path)
        for path in inside
        if path.is_file()
        and not _unpacked_name(path).endswith(GROUP_SUFFIXES)
        and (match := _NUMBERED.fullmatch(path.name))
    ]
    numbers = {number: path for _, number, path in files}
    alike = len({letter for letter, _, _ in files}) == 1 and len(numbers) == len(files)
    return dict(sorted(numbers.items())) if alike and len(numbers) > 1 else {}


def _rotations(folder: Path, numbered: dict[int, Path]) -> tuple[Parts, ...]:
    """LETOR's folds: parts k, k + 1, k + 2 train, k + 3 validates, k + 4 tests, round the five."""
    files = list(numbered.values())
    if list(numbered) != list(range(1, FOLDS + 1)):
        names = ", ".join(path.name for path in files)
        raise DataError(
            str(folder),
            f"{len(files)} numbered parts ({names}), where LETOR's folds need S1 to S5",
            "Say which is which: --train FILE … --valid FILE --test FILE.",
        )
    folds = []
    for first in range(FOLDS):
        rotated = files[first:] + files[:first]
        stems = [path.name.partition(".")[0] for path in rotated]
        note = (
            f"LETOR's fold {first + 1} of {FOLDS}: {stems[0]}, {stems[1]} and {stems[2]} train, "
            f"{stems[3]} validates, {stems[4]} tests."
        )
        folds.append(
            Parts(f"Fold{first + 1}", tuple(rotated[:3]), (rotated[3],), (rotated[4],), note=note)
        )
    return tuple(folds)
