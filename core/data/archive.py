"""Zip archives that hold a whole collection: parts, folds or numbered parts, unpacked for a while.

An archive of one file is read where it lies, like any other compressed file.
"""

import re
import zipfile
from pathlib import Path

from shuffleproof.core.data.letor.stream import BROKEN, Limits
from shuffleproof.core.errors import DataError

CHUNK = 1 << 20
CHECKED_FROM = 1 << 26
"""Bytes from which on the ratio of unpacked to packed is looked at."""

LONGEST_NAME = 100


def members(path: Path) -> list[zipfile.ZipInfo]:
    """The files in a zip archive but for what systems hide in it; none where it is no archive."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                return []
        with zipfile.ZipFile(path) as archive:
            return [member for member in archive.infolist() if _is_data(member)]
    except BROKEN:  # the reader says what is wrong with it
        return []


def unpack(path: Path, folder: Path, limits: Limits | None = None) -> None:
    """Write an archive's files into a folder.

    Args:
        path: the archive.
        folder: an empty folder; who calls removes it, whatever happens.
        limits: how much may come out of it.

    Raises:
        DataError: damaged, encrypted, or growing like a decompression bomb.
    """
    try:
        _write_members(path, folder, limits or Limits())
    except FileExistsError as error:
        remedy = "Rename one of them and pack it again."
        raise DataError(str(path), "two files of one name in the archive", remedy) from error
    except (*BROKEN, NotImplementedError) as error:
        raise DataError(
            str(path),
            f"an archive that cannot be unpacked ({error})",
            "Fetch it again, without a password, or unpack it elsewhere; nothing of it was kept.",
        ) from error


def _is_data(member: zipfile.ZipInfo) -> bool:
    parts = re.split(r"[/\\]", member.filename)
    dotted = any(part.startswith(".") and part not in {".", ".."} for part in parts)
    hidden = dotted or "__MACOSX" in parts
    return not member.is_dir() and not hidden


def _write_members(path: Path, folder: Path, limits: Limits) -> None:
    ratio = max(CHECKED_FROM, int(path.stat().st_size * limits.ratio))
    limit, total = min(limits.decoded_bytes, ratio), 0
    with zipfile.ZipFile(path) as archive:
        for member in members(path):
            target = _target(folder, member.filename)
            with archive.open(member) as source, target.open("xb") as file:
                while chunk := source.read(CHUNK):
                    total += len(chunk)
                    if total > limit:
                        raise _bomb_error(path, limit)
                    file.write(chunk)


def _target(folder: Path, name: str) -> Path:
    parts = [part[-LONGEST_NAME:] for part in re.split(r"[/\\]", name)]
    target = folder.joinpath(*(part for part in parts if part not in {"", ".", ".."}))
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _bomb_error(path: Path, limit: int) -> DataError:
    reason = f"an archive that unpacks to more than {limit:,} bytes, as a decompression bomb does"
    return DataError(str(path), reason, "If it is genuine, unpack it first.")
