"""Unreadable entries of a store: listed, removed by name, and otherwise ignored."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.store import manifest, names
from shuffleproof.core.store.artefacts import Store


@dataclass(frozen=True)
class DamagedEntry:
    """A folder or file of a store that is not what the store writes there.

    Attributes:
        path: what to remove.
        what: artefact, name, record or preset.
        found: what is wrong with it.
        size: bytes of its files.
    """

    path: Path
    what: str
    found: str
    size: int

    @property
    def name(self) -> str:
        """Name for removing it."""
        return self.path.name


def damaged_entries(store: Store) -> list[DamagedEntry]:
    """Everything of a store's own folders that is left out of its lists, by place."""
    return [
        DamagedEntry(path, kind, finding, size_of(path))
        for path, kind, finding in _unreadable_entries(store.root)
    ]


def remove(store: Store, entry: DamagedEntry) -> int:
    """Remove it, and return the bytes that are free now.

    Raises:
        ArtefactError: the store may not be written to.
    """
    with manifest.disk_errors(entry.name, store.root):
        if entry.path.is_dir() and not entry.path.is_symlink():
            shutil.rmtree(entry.path)
        else:
            entry.path.unlink(missing_ok=True)
    return entry.size


def size_of(place: Path) -> int:
    """Bytes of a file, or of all files of a folder; links count as nothing."""
    total = 0
    for path in place.rglob("*") if place.is_dir() else (place,):
        with suppress(OSError):  # removed meanwhile
            total += path.stat(follow_symlinks=False).st_size if path.is_file() else 0
    return total


def _unreadable_entries(root: Path) -> Iterator[tuple[Path, str, str]]:
    places = {
        "artefact": ("artefacts", manifest.listed_artefact),
        "name": ("names", names.key_named),
    }
    for kind, (folder, reader) in places.items():
        for path in sorted((root / folder).glob("*")):
            if path.suffix == ".part":  # being written
                continue
            try:
                reader(path)
            except FileNotFoundError:  # removed meanwhile
                continue
            except ArtefactError as error:
                yield path, kind, error.finding
