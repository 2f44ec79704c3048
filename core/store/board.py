"""What workers tell each other: assignments, and how many units of each were done."""

import os
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from shuffleproof.core.store import manifest, private
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.remote import Remote

FOLDER = "shared"
UNITS = ".units"


@runtime_checkable
class Board(Protocol):
    """Assignments, each a text under a name; names are in the order of time."""

    def post(self, text: str) -> str:
        """Put an assignment up, whole, and return its name."""

    def names(self) -> list[str]:
        """Those that are up, the oldest first."""

    def read(self, name: str) -> str | None:
        """What one says; None: it was taken back."""

    def take_back(self, name: str) -> None:
        """Take an assignment away with its count; nothing where it is gone."""

    def count(self, name: str) -> None:
        """One unit more was done of an assignment that is still there."""

    def units(self, name: str) -> int:
        """How many were done."""


@dataclass(frozen=True)
class FolderBoard:
    """Assignments as files, for workers that see one disk.

    Attributes:
        path: of the folder.
    """

    path: Path

    def post(self, text: str) -> str:
        """Write a file and rename it."""
        name = _name()
        with manifest.explained(name, self.path.parent):
            private.make(self.path.parent)
            self.path.mkdir(exist_ok=True)
            fresh = self.path / f"{name}.new"
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self.path / name)
        return name

    def names(self) -> list[str]:
        """The names of its files."""
        return sorted(path.name for path in self.path.glob("*.json"))

    def read(self, name: str) -> str | None:
        """The text of a file."""
        try:
            return (self.path / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def take_back(self, name: str) -> None:
        """Remove the file and its counter."""
        for file in (name, f"{name}{UNITS}"):
            (self.path / file).unlink(missing_ok=True)

    def count(self, name: str) -> None:
        """Write a byte at the end of the counter, which is written whole."""
        if (self.path / name).exists():
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            counter = os.open(self.path / f"{name}{UNITS}", flags, 0o600)
            os.write(counter, b".")
            os.close(counter)

    def units(self, name: str) -> int:
        """The bytes of the counter."""
        try:
            return (self.path / f"{name}{UNITS}").stat().st_size
        except FileNotFoundError:
            return 0


@dataclass(frozen=True)
class ObjectBoard:
    """Assignments as objects of an object store, an object more for each unit.

    Attributes:
        remote: the object store.
    """

    remote: Remote

    def post(self, text: str) -> str:
        """Write an object."""
        name = _name()
        self.remote.write(f"{FOLDER}/{name}", text.encode())
        return name

    def names(self) -> list[str]:
        """The objects that are no units."""
        return [name for name in self.remote.names(FOLDER) if "/" not in name]

    def read(self, name: str) -> str | None:
        """The text of an object."""
        content = self.remote.read(f"{FOLDER}/{name}")
        return None if content is None else content.decode()

    def take_back(self, name: str) -> None:
        """Remove the object, and those of its units."""
        self.remote.remove(f"{FOLDER}/{name}")
        self.remote.remove(f"{FOLDER}/{name}{UNITS}")

    def count(self, name: str) -> None:
        """Write an object."""
        if self.read(name) is not None:
            self.remote.write(f"{FOLDER}/{name}{UNITS}/{uuid.uuid4().hex}", b".")

    def units(self, name: str) -> int:
        """The number of its objects."""
        return len(self.remote.names(f"{FOLDER}/{name}{UNITS}"))


def board_of(store: Store) -> Board:
    """Where the assignments of a store are put up."""
    return ObjectBoard(store.remote) if store.remote else FolderBoard(store.root / FOLDER)


def _name() -> str:
    return f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.json"
