"""The manifest of a stored artefact: what it is, and size and SHA-256 of each of its files."""

import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.errors import ArtefactError
from core.store.keys import FORMAT, ArtefactKey

MANIFEST = "manifest.json"
CHECKED_ON_FIND = 1 << 20
"""Files of at most this many bytes (1 MiB) are digested whenever their artefact is opened."""

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_WRITABLE = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


@dataclass(frozen=True)
class Artefact:
    """One stored artefact.

    Attributes:
        key: what it is filed under.
        path: its directory; read it, never write into it.
        recipe: what made it, plain JSON values.
        facts: what is worth knowing without opening it (sizes, measured values).
        created: when it was stored, ISO 8601, UTC.
        size: bytes of all its files.
    """

    key: ArtefactKey
    path: Path
    recipe: Mapping[str, Any]
    facts: Mapping[str, Any]
    created: str
    size: int


def write(
    directory: Path, key: ArtefactKey, recipe: Mapping[str, Any], facts: Mapping[str, Any]
) -> None:
    """Digest the files of a finished directory, write its manifest, and force all to disk.

    Raises:
        ArtefactError: the directory already holds a file of the manifest's name.
    """
    if (directory / MANIFEST).exists():
        raise ArtefactError(str(key), f"holds a file {MANIFEST} of its own", "Rename that file.")
    files = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            files[path.relative_to(directory).as_posix()] = {
                "bytes": path.stat().st_size,
                "sha256": _digest(path),
            }
            _sync(path)
    content = {
        "format": FORMAT,
        "kind": key.kind,
        "digest": key.digest,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "recipe": recipe,
        "facts": facts,
        "files": files,
    }
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")
    _sync(directory / MANIFEST)
    _sync(directory)


def read(directory: Path) -> Artefact:
    """The artefact in a directory, its files unchecked.

    Raises:
        ArtefactError: the manifest is missing or cannot be read.
    """
    content = _content(directory)
    return Artefact(
        key=ArtefactKey(content["kind"], content["digest"]),
        path=directory,
        recipe=content["recipe"],
        facts=content["facts"],
        created=content["created"],
        size=sum(entry["bytes"] for entry in content["files"].values()),
    )


def check(directory: Path, digest_up_to: int | None = None) -> None:
    """Check that the files are the ones that were stored: sizes always, then digests.

    Args:
        directory: of the artefact.
        digest_up_to: digest only files of at most this many bytes; None digests all.

    Raises:
        ArtefactError: a file is missing, added, or not what was stored.
    """
    files = _content(directory)["files"]
    present = {
        path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()
    }
    for name in sorted(present ^ {MANIFEST, *files}):
        raise _broken(
            directory, f"{name} is {'not in its manifest' if name in present else 'gone'}"
        )
    for name, entry in files.items():
        size = (directory / name).stat().st_size
        if size != entry["bytes"]:
            raise _broken(directory, f"{name} has {size} bytes where {entry['bytes']} were stored")
        wanted = digest_up_to is None or size <= digest_up_to
        if wanted and _digest(directory / name) != entry["sha256"]:
            raise _broken(directory, f"{name} is not what was stored (its SHA-256 differs)")


def last_used(directory: Path) -> int:
    """When an artefact was last opened, nanoseconds since 1970; 0 when it is gone by now."""
    try:
        return (directory / MANIFEST).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def touch(directory: Path) -> None:
    """Note that an artefact is used now."""
    with suppress(OSError):  # only a hint for eviction; a read-only root goes without
        os.utime(directory / MANIFEST)


@contextmanager
def explained(key: str, place: Path) -> Iterator[None]:
    """Turn a full or read-only disk into an ArtefactError that says what to do."""
    try:
        yield
    except ArtefactError:
        raise
    except Exception as error:
        number = error.errno if isinstance(error, OSError) else None
        if number in DISK_FULL or os.strerror(errno.ENOSPC) in str(error):
            remedy = "Free some space or set SHUFFLEPROOF_HOME to a folder on a larger disk."
            raise ArtefactError(key, f"no space left to write under {place}", remedy) from error
        if number in NOT_WRITABLE:
            remedy = "Set SHUFFLEPROOF_HOME to a folder that you may write to."
            raise ArtefactError(key, f"{place} may not be written to ({error})", remedy) from error
        raise


def sync_directory(directory: Path) -> None:
    """Force a directory's entries to disk, so that a rename in it survives a power cut."""
    _sync(directory)


def _content(directory: Path) -> dict[str, Any]:
    try:
        content = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken(directory, f"its {MANIFEST} cannot be read ({error})") from error
    wanted = {"format", "kind", "digest", "created", "recipe", "facts", "files"}
    if not isinstance(content, dict) or not wanted <= content.keys():
        raise _broken(directory, f"its {MANIFEST} is not a manifest")
    return content


def _broken(directory: Path, found: str) -> ArtefactError:
    remedy = f"Remove the folder {directory}: what was in it will be made again when needed."
    return ArtefactError(directory.name, found, remedy)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
