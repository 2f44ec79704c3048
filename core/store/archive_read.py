"""Opening a zip that somebody else made: bounded before it is read, one sentence for any damage."""

import lzma
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shuffleproof.core.errors import DataError
from shuffleproof.core.store import manifest, plain_json

MOST_FILES = 100_000
MOST_BYTES = 1 << 40
MOST_RATIO = 1_000
"""An archive that unpacks to more than so many times its own size is refused."""

MOST_DIRECTORY = 24 << 20
"""Bytes of the table of contents, which a zip is opened with."""

MOST_PARTS = 8
LONGEST_PART = 200
CHUNK = 1 << 20
REMEDY = "Give a file that the library exported, whole."

_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_TAIL = (1 << 16) + 22 + 20 + 56
_ENCRYPTED = 0x1


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with an archive, whatever the readers of zips raise.

    Raises:
        DataError: it is damaged or of a kind that the library does not write.
    """
    try:
        yield
    except (
        OSError, EOFError, RuntimeError, ValueError, KeyError, OverflowError, struct.error,
        zlib.error, lzma.LZMAError, zipfile.BadZipFile, zipfile.LargeZipFile,
    ) as error:  # fmt: skip
        said = getattr(error, "strerror", None) or str(error)  # an OSError's text names our folders
        found = said if said and said.isprintable() else type(error).__name__
        raise DataError(path.name, f"it cannot be read ({found[:120]})", REMEDY) from error


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive whose table of contents promises nothing that is too much.

    Raises:
        DataError: too many files or bytes, or names that do not stay inside.
    """
    _check_directory(path)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        packed = max(1, sum(entry.compress_size for entry in entries))
        if len(entries) > MOST_FILES or total > MOST_BYTES or total > MOST_RATIO * packed:
            raise DataError(path.name, f"{len(entries)} files of {total} bytes in all", REMEDY)
        for entry in entries:
            _check_entry(entry, path)
        seen = [entry.filename for entry in entries]
        if len(set(seen)) < len(seen):
            raise DataError(path.name, "two entries of one name", REMEDY)
        yield archive


def unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: Path, path: Path) -> None:
    """Write an entry below a folder, piece by piece.

    Raises:
        DataError: a file and a folder of one name.
    """
    target = room.joinpath(*entry.filename.split("/"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as out:
            shutil.copyfileobj(source, out, CHUNK)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        found = f"{entry.filename[:80]!r} is a file and a folder"
        raise DataError(path.name, found, REMEDY) from error


def _check_directory(path: Path) -> None:
    """Refuse a table of contents that is larger than that of so many files."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - _TAIL))
        tail = file.read()
    place, place_64 = tail.rfind(_END), tail.rfind(_END_64)
    size = int.from_bytes(tail[place + 12 : place + 16], "little") if place >= 0 else 0
    if place_64 >= 0:
        size = max(int.from_bytes(tail[place_64 + 40 : place_64 + 48], "little"), size % 0xFFFFFFFF)
    if size > MOST_DIRECTORY:
        raise DataError(path.name, f"a table of contents of {size:,} bytes", REMEDY)


def _check_entry(entry: zipfile.ZipInfo, path: Path) -> None:
    parts = entry.filename.split("/")
    unsafe = any(part in {"", ".", ".."} or len(part.encode("utf-8", "replace")) > LONGEST_PART
                 for part in parts)  # fmt: skip
    strange = "\\" in entry.filename or not entry.filename.isprintable()
    if unsafe or strange or len(parts) > MOST_PARTS:
        raise DataError(path.name, f"an entry {entry.filename[:80]!r}", REMEDY)
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(path.name, f"{entry.filename[:80]!r} is encrypted", REMEDY)
    read_whole = parts[-1] == manifest.MANIFEST or parts[-1].endswith(".json")
    if read_whole and entry.file_size > plain_json.MOST_BYTES:
        found = f"{entry.filename[:80]!r} of {entry.file_size:,} bytes"
        raise DataError(path.name, found, REMEDY)
