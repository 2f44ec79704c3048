"""The data sets a person can name: what was ingested, the shipped sample, a folder of files.

A data set is filed under the digest of its files' bytes and of how they were read, so the same
files are parsed once and a changed file is another data set. A zip archive of a whole collection
is unpacked for a while; one of a single file is read where it lies, like any compressed file.
"""

import re
import shutil
import uuid
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shuffleproof.core.data import (
    display_texts,
    document_tables,
    layout,
    mapped_file,
)
from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.layout import FRACTIONS, Parts
from shuffleproof.core.data.letor.stream import BROKEN, Limits, MissingCells
from shuffleproof.core.errors import ArtefactError, DataError, ParameterError, no_file
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.store import locks
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey, file_digest, key_of
from shuffleproof.core.store.manifest import Artefact

KIND, SAMPLE = "data", layout.SAMPLE
KEEPS = "keeps"  # The fact that lists the contents for which a fold has a key of its own
SAMPLE_FOLDER = Path(__file__).resolve().parents[2] / "sample_data"
FOLDERS = {SAMPLE: SAMPLE_FOLDER, layout.SAMPLE_TEXTS: SAMPLE_FOLDER / layout.SAMPLE_TEXTS}
"""Folders of the data sets that ship, by name."""

CHECKED_FROM = 1 << 26
"""Bytes of an archive's files from which on the ratio of unpacked to packed is looked at."""


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading a data set from files."""

    # what NULL and NaN cells become: error, zero, mean, largest or missing
    missing: str = MissingCells.ERROR.value
    # of the queries for train, validation and test where one file is split
    fractions: tuple[float, float, float] = FRACTIONS
    seed: int = 0  # of that split
    # a side file of what documents say (`core.data.display_texts`); None: not known
    texts: Path | None = None
    # names of a table's columns by what they hold (query, label, document), where they
    # are none of the usual ones
    columns: tuple[tuple[str, str], ...] = ()


def ingest(
    place: Path | Parts,
    name: str | None,
    store: Store,
    reading: ReadingOptions | None = None,
    fold: int | None = None,
) -> Generator[Progress, None, list[Artefact]]:
    """Read files into the store and give them a name; K folds get `name-fold1` … `name-foldK`.

    Where one fold is wanted, the bare name then means the first of them; see `find`.

    Args:
        place: a file to split, a folder of parts or folds (see `layout`), a zip archive of such
            a folder, or named files.
        name: of the data set; None: none, it has only its key.
        store: destination.
        reading: options.
        fold: only this one of several, from 1 on; it gets the bare name.

    Raises:
        LetorError, DataError: malformed files; nothing is stored.
    """
    reading = reading or ReadingOptions()
    artefacts = []
    with _folds(place, store) as all_folds:
        if fold is not None and not 1 <= fold <= len(all_folds):
            raise ParameterError("fold", fold, f"1 to {len(all_folds)}, the folds that there are")
        folds = all_folds if fold is None else all_folds[fold - 1 : fold]
        for index, parts in enumerate(folds):
            yield Progress(index, len(folds), "folds")
            artefacts.append((yield from _store_fold(parts, store, reading)))
    several = len(artefacts) > 1
    for index, artefact in enumerate(artefacts, start=1):
        if name is not None:
            store.set_name(f"{name}-fold{index}" if several else name, artefact.key)
    yield Progress(len(folds), len(folds), "folds")
    return artefacts


def find(text: str, store: Store) -> Artefact:
    """The stored data set that a text names: a name, a key, a file or folder, or one that ships.

    Files and folders are ingested on the way, without a name. Of several folds it is the first;
    `core.data.layout.folds_of` tells them all.

    Raises:
        ArtefactError: nothing of that name.
        DataError: a folder that holds no data set.
    """
    path = FOLDERS.get(text) or Path(text)
    if text in store.names() or not (path.exists() or layout.fold_at(path)):
        first_fold = f"{text}-fold1"
        return store.resolve(first_fold if first_fold in store.names() else text, KIND)
    with _folds(path, store) as folds:
        fold = folds[0]
        if text in FOLDERS and isinstance(fold, Parts):  # what else lies in its folder is ours
            fold = replace(fold, unread=())
        if text != layout.SAMPLE_TEXTS:
            return run_to_end(_store_fold(fold, store, ReadingOptions()))
        reading = ReadingOptions(texts=path / "documents.csv")
        artefact = run_to_end(_store_fold(fold, store, reading))
    if display_texts.find(str(artefact.facts["fingerprint"]), store) is None:
        files = [
            display_texts.read_side_file(path / f"{kind}.csv", kind)
            for kind in display_texts.SHAPES
        ]
        display_texts.attach(artefact, store, files)
    return artefact


def resolve(text: str, store: Store) -> Fold:
    """The fold that a text names, memory-mapped, with the texts of its queries; see `find`."""
    artefact = find(text, store)
    try:
        fold = mapped_file.open_fold(artefact.path)
    except DataError as error:
        raise ArtefactError(str(artefact.key), error.finding, error.remedy) from error
    query_texts = display_texts.query_texts(str(artefact.facts["fingerprint"]), store)
    if query_texts:
        for part in fold.parts.values():
            texts = tuple(query_texts.get(query, "") for query in part.query_ids)
            # In place: a copy would lose the place that workers open it from
            object.__setattr__(part, "query_texts", texts)
    return fold


@contextmanager
def _folds(place: Path | Parts, store: Store) -> Iterator[Sequence[Path | Parts]]:
    """The folds at a place; those of an archive lie in the store until the block ends."""
    if isinstance(place, Parts):
        yield [place]
    elif place.is_dir():
        yield layout.find(place)
    elif place.is_file() and len(archive_members(place)) > 1:
        with _unpacked_folder(place, store) as folder, _folds(folder, store) as inside:
            match inside:
                case [Parts() as only]:
                    yield [replace(only, name=place.stem)]
                case _:
                    yield inside
    elif document_tables.has_parts(place):
        valid = (place,) if layout.VALID in document_tables.parts_in(place) else ()
        yield [Parts(place.stem, (place,), valid, (place,))]
    else:
        yield [layout.fold_at(place) or place]


@contextmanager
def _unpacked_folder(path: Path, store: Store) -> Iterator[Path]:
    """A folder of an archive's files in the store, removed at the end or by the next process."""
    folder = store.root / "incoming" / f"archive.{uuid.uuid4().hex}"
    with locks.hold_lock(folder.with_name(f"{folder.name}.lock")):
        folder.mkdir()
        try:
            unpack_archive(path, folder)
            yield folder
        except DataError as error:  # messages do not show temporary folders
            count = f"{len(archive_members(path))} files in the archive, "
            finding = count + error.finding if error.place == str(folder) else error.finding
            place = error.place.replace(str(folder), str(path))
            raise DataError(place, finding, error.remedy) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _files(parts: Path | Parts) -> dict[str, tuple[Path, ...]]:
    if isinstance(parts, Path):
        return {"whole": (parts,)}
    return {"train": parts.train, "valid": parts.valid, "test": parts.test}


def _key(parts: Path | Parts, reading: ReadingOptions) -> ArtefactKey:
    settings = {"missing": str(reading.missing)}
    if isinstance(parts, Path):
        settings |= {"fractions": repr(reading.fractions), "seed": str(reading.seed)}
    elif parts.train == parts.test and all(map(document_tables.has_parts, parts.train)):
        settings |= {"parts": "by rows"}
    if reading.columns:
        settings |= {"columns": repr(sorted(reading.columns))}
    digests = []
    known: dict[Path, str] = {}
    for part, files in _files(parts).items():
        for path in files:
            known[path] = known.get(path) or file_digest(path)
            digests += [f"{part}:{known[path]}"]
            groups = layout.group_file(path)
            digests += [] if groups is None else [f"groups:{file_digest(groups)}"]
    if reading.texts is not None:
        digests.append(f"texts:{file_digest(reading.texts)}")
    return key_of(KIND, settings, digests)


def _store_fold(
    parts: Path | Parts, store: Store, reading: ReadingOptions
) -> Generator[Progress, None, Artefact]:
    """The stored fold of some files, read if need be.

    A fold with names of features, absent cells or scattered rows has a key of its own.
    """
    for path in (parts, reading.texts):
        if isinstance(path, Path) and not path.exists():
            raise no_file(path)
    plain = _key(parts, reading)
    whole = whole_key(plain)
    if (artefact := store.find(whole) or store.find(plain)) is not None:
        return artefact
    with store.lock(plain):
        if (artefact := store.find(whole) or store.find(plain)) is not None:
            return artefact
        from shuffleproof.core.data import source  # noqa: PLC0415 (who reads files waits for Numba)

        loaded = yield from source.loading(
            parts, missing=reading.missing, seed=reading.seed, fractions=reading.fractions,
            columns=dict(reading.columns),
        )  # fmt: skip
        fold, notes = loaded.fold, loaded.notes
        if reading.texts is not None:
            fold, note = display_texts.with_texts(fold, reading.texts)
            notes = (*notes, note)
        datasets = fold.parts.values()
        holds = {
            "names": fold.train.feature_names is not None,
            "absent cells": any(one.absent is not None for one in datasets),
            "order of rows": any(one.source_rows is not None for one in datasets),
        }
        kept = [name for name, held in holds.items() if held]
        facts = facts_of(fold, loaded.name, notes) | {KEEPS: kept}
        files = {part: [path.name for path in paths] for part, paths in _files(parts).items()}
        recipe = {
            "files": files,
            "missing": str(reading.missing),
            "fractions": list(reading.fractions),
            "seed": reading.seed,
        }
        recipe |= {} if reading.texts is None else {"texts": reading.texts.name}
        recipe |= {"columns": dict(reading.columns)} if reading.columns else {}
        key = whole if kept else plain
        return store.add(key, recipe, lambda target: mapped_file.save_fold(fold, target), facts)


def facts_of(fold: Fold, name: str, notes: Sequence[str]) -> dict[str, Any]:
    """Facts of a stored fold: its name, its sizes, notes on reading it."""
    parts = {
        name: {"queries": part.queries, "documents": part.documents}
        for name, part in fold.parts.items()
    }
    return {
        "name": name,
        "notes": list(notes),
        "parts": parts,
        "queries": sum(part["queries"] for part in parts.values()),
        "documents": sum(part["documents"] for part in parts.values()),
        "features": len(fold.train.feature_ids),
        "fingerprint": fold.fingerprint,
    }


def whole_key(plain: ArtefactKey) -> ArtefactKey:
    """The key of a fold whose content is more than features, labels, ids and comments."""
    return key_of(KIND, {"keeps": "names, absent cells, order of rows"}, [plain.digest])


def archive_members(path: Path) -> list[zipfile.ZipInfo]:
    """The files in a zip archive but for what systems hide in it; none where it is no archive."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                return []
        with zipfile.ZipFile(path) as archive:
            return [member for member in archive.infolist() if _is_data(member)]
    except BROKEN:  # the reader says what is wrong with it
        return []


def unpack_archive(path: Path, folder: Path, limits: Limits | None = None) -> None:
    """Write an archive's files into an empty folder, which the caller removes, also after errors.

    Raises:
        DataError: damaged, encrypted, or growing like a decompression bomb.
    """
    limits, members = limits or Limits(), archive_members(path)
    limit = max(CHECKED_FROM, int(path.stat().st_size * limits.ratio))
    limit = min(limits.decoded_bytes, limit)
    if sum(member.file_size for member in members) > limit:
        reason = f"an archive that unpacks to more than {limit:,} bytes, as a decompression bomb"
        raise DataError(str(path), f"{reason} does", "If it is genuine, unpack it first.")
    for member in members:  # as some programs of Windows write folders
        member.filename = member.filename.replace("\\", "/")
    if len({member.filename for member in members}) < len(members):
        remedy = "Rename one of them and pack it again."
        raise DataError(str(path), "two files of one name in the archive", remedy)
    try:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder, members)
    except (*BROKEN, NotImplementedError) as error:
        raise DataError(
            str(path),
            f"an archive that cannot be unpacked ({error})",
            "Fetch it again, without a password, or unpack it elsewhere; nothing was stored.",
        ) from error


def _is_data(member: zipfile.ZipInfo) -> bool:
    parts = re.split(r"[/\\]", member.filename)
    dotted = any(part.startswith(".") and part not in {".", ".."} for part in parts)
    hidden = dotted or "__MACOSX" in parts
    return not member.is_dir() and not hidden
