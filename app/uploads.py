"""Drafts: files that a user is choosing, written to the store's disk, deleted if unused.

A draft belongs to one browser session. Its files leave the session's memory at once. A draft ends
when it is cleared or the session ends; after a crash, an upload's clean-up removes it an hour
later. Submission does not change a draft, so a refused form can be corrected and sent again.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from shuffleproof.core import jobs
from shuffleproof.core.data import document_tables
from shuffleproof.core.data.frames import columns_named
from shuffleproof.core.data.layout import GROUP_SUFFIXES, PACKED, group_file
from shuffleproof.core.data.letor import read as letor
from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.execution.jobs import Job
from shuffleproof.core.library import uploads
from shuffleproof.core.library.uploads import Readable, safe_name
from shuffleproof.core.store import names
from shuffleproof.core.store.artefacts import Store

CHUNK = 1 << 20
LARGEST = 1 << 34
"""Most bytes of one draft."""

SPARE = 1 << 28
"""Bytes of the disk that uploads leave free."""

PARTS = ("train", "valid", "test")
FOLDER, UNSORTED = "folder", "unsorted"


@lru_cache(maxsize=16)
def _has_parts(path: Path, changed: int) -> bool:
    """Cached `document_tables.has_parts`, which reads the first rows; pages call it every run."""
    del changed  # only part of the cache's key
    return document_tables.has_parts(path)


@lru_cache(maxsize=256)
def _fault(
    path: Path, changed: int, name: str, reading: tuple[str, str], *, with_query: bool
) -> str:
    """Fault in the first lines of a file, cached until the file changes; empty: none."""
    del changed
    try:
        missing, columns = reading[0], columns_named(reading[1])
        letor.check_start(path, name, missing, with_query=with_query, columns=columns)
    except ShuffleproofError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class DraftFile:
    """One file of a draft.

    Attributes:
        part: train, valid, test, folder, or unsorted (unclear from its name).
        name: displayed name; a relative path in a folder.
        bytes: size.
    """

    part: str
    name: str
    bytes: int


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading the files of a draft.

    Attributes:
        missing: policy for NULL and NaN cells.
        fractions: shares of queries by part, for the split of one file.
        seed: seed of that split.
        columns: names of a table's columns, written as for `--columns`.
    """

    missing: str = "error"
    fractions: tuple[float, float, float] = (0.6, 0.2, 0.2)
    seed: int = 0
    columns: str = ""


class Draft:
    """Files chosen so far, in a folder of the store."""

    def __init__(self, store: Store) -> None:
        """Make an empty folder, which is deleted with the last reference to this draft."""
        self.store = store
        parent = store.root / "uploads"
        parent.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="new.draft.", dir=parent))
        self._end = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def add(self, part: str, name: str, content: Readable) -> DraftFile:
        """Write one file, or nothing of it on failure.

        Raises:
            DataError: the part has a file of this name, the draft is too large, or the disk full.
        """
        path = self._path(part, name)
        if path.exists():
            raise DataError(
                path.name, "a file of this name is there already", "Rename one of them."
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        free = min(LARGEST - self.size, shutil.disk_usage(self.folder).free - SPARE)
        try:
            _write(path, content, free)
        except BaseException:  # also a rerun of Streamlit, which is no Exception
            path.unlink(missing_ok=True)
            raise
        return DraftFile(part, str(path.relative_to(self.folder / part)), path.stat().st_size)

    def files(self, *parts: str) -> list[DraftFile]:
        """Files of these parts (all by default), by part and name."""
        return [
            DraftFile(part, str(path.relative_to(self.folder / part)), path.stat().st_size)
            for part in parts or (*PARTS, FOLDER, UNSORTED)
            for path in sorted((self.folder / part).rglob("*"))
            if path.is_file()
        ]

    @property
    def only_file(self) -> DraftFile | None:
        """Only data file among those of parts, which is split by query; None: not exactly one."""
        data = [file for file in self.files(*PARTS, UNSORTED) if not is_group(file.name)]
        return data[0] if len(data) == 1 else None

    def names_parts(self) -> bool:
        """True if the only file chosen is a table that names the part of every row."""
        file = self.only_file
        try:
            if file is None:
                return False
            path = self.path(file)
            return _has_parts(path, path.stat().st_mtime_ns)
        except (DataError, OSError):
            return False  # `fault` reports it

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files())

    def remove(self, file: DraftFile) -> None:
        """Remove one file."""
        self._path(file.part, file.name).unlink(missing_ok=True)

    def move(self, file: DraftFile, part: str) -> None:
        """Move a file to another part.

        Raises:
            DataError: that part has a file of this name.
        """
        path = self._path(part, file.name)
        if path.exists():
            raise DataError(path.name, f"{part} has a file of this name", "Remove one of them.")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path(file.part, file.name).rename(path)

    def fault(self, file: DraftFile, missing: str, columns: str = "") -> str:
        """Fault in the first lines of a file, in a sentence; empty: none.

        Args:
            file: file of the draft.
            missing: policy for NULL and NaN cells.
            columns: as in `ReadingOptions`.
        """
        path = self._path(file.part, file.name)
        if is_group(file.name):
            return ""
        try:
            changed = path.stat().st_mtime_ns
        except OSError:  # removed meanwhile
            return ""
        with_query = group_file(path) is None
        return _fault(path, changed, file.name, (missing, columns), with_query=with_query)

    def path(self, file: DraftFile) -> Path:
        """Path of a file of the draft."""
        return self._path(file.part, file.name)

    def keep(self) -> None:
        """Mark the draft as used now."""
        with suppress(FileNotFoundError):
            os.utime(self.folder)

    def clear(self) -> None:
        """Remove all files and the folder; the draft ends."""
        self._end()

    @property
    def over(self) -> bool:
        """True if its folder is gone, by `clear` or after an unused hour."""
        return not self.folder.is_dir()

    def submitted(self, how: Sequence[str], name: str, reading: ReadingOptions) -> Job:
        """Submit the files of these parts under a name; an identical ended job runs again.

        Raises:
            ParameterError: an invalid name, or malformed columns.
            DataError: the name exists, or files are missing.
        """
        check_name(name, self.store)
        columns = columns_named(reading.columns)
        whole = how == PARTS and self.only_file is not None
        sources = (*PARTS, UNSORTED) if whole else how
        chosen = self.files(*sources)
        apart = how == PARTS and not whole
        _check_files(chosen, of_parts=apart)
        upload = self.spooled(*sources, apart=apart)
        parameters: dict[str, Any] = {"upload": upload, "name": name, "missing": reading.missing}
        if columns:
            parameters["columns"] = columns
        if apart:
            parameters["files"] = _by_part(chosen)
        if whole:
            parameters |= {"fractions": list(reading.fractions), "seed": reading.seed}
        job = jobs.submit(self.store, "ingest", parameters)
        if job.ended:  # repeat it, since the name may have changed; known files make that quick
            job = jobs.jobs_of(self.store).retry(job.id)
        jobs.start_waiting(self.store)
        return job

    def spooled(self, *parts: str, apart: bool = True) -> str:
        """Copy the files of these parts to an upload; the draft does not change.

        Args:
            parts: parts of the draft.
            apart: True to put each part into a folder of its name.

        Returns:
            Name of the upload, for jobs.

        Raises:
            DataError: no file.
        """
        with ExitStack() as opened:
            files = [
                (
                    f"{file.part}/{file.name}" if apart else file.name,
                    opened.enter_context(self._path(file.part, file.name).open("rb")),
                )
                for file in self.files(*parts)
            ]
            return uploads.spool(self.store, files)

    def _path(self, part: str, name: str) -> Path:
        inside = safe_name(name)
        return self.folder / part / (inside if part == FOLDER else inside.name)


def check_name(name: str, store: Store) -> None:
    """Check that a data set can have a name.

    Raises:
        ParameterError: the name is invalid.
        DataError: another data set has it, or its folds would.
    """
    if name in names.RESERVED or name in store.names():
        raise DataError(
            name, "the name exists already", "Choose another, or delete that data set first."
        )
    names.check(name)


def has_stored_files(store: Store, job: Job) -> bool:
    """True if the files of an ingestion still exist, so that it can be tried again."""
    try:
        uploads.folder_of(store, str(job.parameters.get("upload", "")))
    except DataError:
        return False
    return True


def discard(store: Store, job: Job) -> None:
    """Remove the files of an ended ingestion, unless another job needs them or could try again."""
    upload = str(job.parameters.get("upload", ""))
    others = jobs.jobs_of(store).list("waiting", "running", "failed", "cancelled")
    needed = {other.parameters.get("upload") for other in others if other.id != job.id}
    if job.ended and upload and upload not in needed:
        with suppress(DataError):  # gone already
            shutil.rmtree(uploads.folder_of(store, upload), ignore_errors=True)


def _write(path: Path, content: Readable, room: int) -> None:
    written = 0
    with path.open("xb") as file:
        while chunk := content.read(CHUNK):
            written += len(chunk)
            if written > room:
                raise DataError(
                    path.name,
                    f"no room for more than {max(room, 0):,} bytes",
                    "Remove other files, or free some disk space.",
                )
            file.write(chunk)


def _by_part(chosen: Sequence[DraftFile]) -> Mapping[str, list[str]]:
    """Data files of every part; group files are found next to them."""
    return {
        part: [
            f"{part}/{file.name}"
            for file in chosen
            if file.part == part and not is_group(file.name)
        ]
        for part in PARTS
    }


def is_group(name: str) -> bool:
    """True if a file of this name holds the group sizes of another."""
    return name.endswith(tuple(end + packed for end in GROUP_SUFFIXES for packed in PACKED))


def _check_files(chosen: Sequence[DraftFile], *, of_parts: bool) -> None:
    data = [file for file in chosen if not is_group(file.name)]
    if not data:
        raise DataError("files", "none chosen", "Choose them above; they stay until you leave.")
    for part in ("train", "test") if of_parts else ():
        if not any(file.part == part for file in data):
            remedy = "A part each for training and test is needed; validation can be split off."
            raise DataError("files", f"none for {part}", remedy)
