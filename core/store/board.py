"""What workers tell each other: assignments, how many units of each were done, and how far.

In an object store they claim units here too; on a disk that all see, by `core.execution.claims`.
"""

import os
import shutil
import time
import uuid
from collections.abc import MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from shuffleproof.core.store import manifest, private
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.remote import Remote

FOLDER = "shared"
UNITS = ".units"
LINES = ".lines"
EAR = "ear"
MARK = "mark"
LOGS = f"{FOLDER}/slurm"
"""Where jobs of Slurm write, in a folder for each assignment."""

ReadPositions = MutableMapping[str, int]
"""How much of what each worker told was heard before."""

CLAIMS = "claims"


@runtime_checkable
class Board(Protocol):
    """Assignments, each a text under a name; names are in the order of time."""

    def post(self, name: str, text: str) -> None:
        """Put an assignment up, whole.

        Args:
            name: of `name_for`.
            text: what it says.
        """

    def names(self) -> list[str]:
        """The names of all assignments, the oldest first."""

    def read(self, name: str) -> str | None:
        """The text of an assignment; None where it was taken back."""

    def finish(self, name: str) -> None:
        """Remove an assignment, all of which is done, with its count; nothing where it is gone."""

    def take_back(self, name: str) -> None:
        """Remove it with all lines about it."""

    def count(self, name: str) -> None:
        """Count one more unit as done, if the assignment is still there."""

    def units(self, name: str) -> int:
        """The number of units done."""

    def listen(self, name: str) -> None:
        """Keep, from now on, the lines that workers write about an assignment."""

    def tell(self, name: str, worker: str, line: str) -> None:
        """Write one line to who asked; nothing where nobody listens."""

    def hear(self, name: str, heard: ReadPositions) -> list[str]:
        """The lines written since the last call, those of a worker in their order."""

    def mark(self) -> str:
        """A text of this store alone, by which a worker notices that it has opened another."""


@dataclass(frozen=True)
class FolderBoard:
    """Assignments as files, for workers that see one disk.

    Attributes:
        path: of the folder.
    """

    path: Path

    def post(self, name: str, text: str) -> None:
        """Write a file and rename it."""
        with manifest.disk_errors(name, self.path.parent):
            self._make_folder()
            fresh = self.path / f"{name}.new"
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(self.path / name)

    def _make_folder(self) -> None:
        if not self.path.parent.is_dir():
            private.make_private(self.path.parent)
        self.path.mkdir(exist_ok=True)

    def names(self) -> list[str]:
        """The names of its files."""
        return sorted(path.name for path in self.path.glob("*.json"))

    def read(self, name: str) -> str | None:
        """The text of a file."""
        try:
            return (self.path / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def finish(self, name: str) -> None:
        """Remove the file and its counter."""
        for file in (name, f"{name}{UNITS}"):
            (self.path / file).unlink(missing_ok=True)

    def take_back(self, name: str) -> None:
        """Remove the file and all beside it."""
        self.finish(name)
        shutil.rmtree(self.path / f"{name}{LINES}", ignore_errors=True)

    def count(self, name: str) -> None:
        """Write a byte at the end of the counter, which is written whole."""
        if (self.path / name).exists():
            with manifest.disk_errors(name, self.path):
                _append(self.path / f"{name}{UNITS}", b".")

    def units(self, name: str) -> int:
        """The bytes of the counter."""
        try:
            return (self.path / f"{name}{UNITS}").stat().st_size
        except FileNotFoundError:
            return 0

    def listen(self, name: str) -> None:
        """Make a folder for their files."""
        with manifest.disk_errors(name, self.path):
            (self.path / f"{name}{LINES}").mkdir(exist_ok=True)

    def tell(self, name: str, worker: str, line: str) -> None:
        """Write the line at the end of the worker's own file."""
        with suppress(FileNotFoundError), manifest.disk_errors(name, self.path):
            _append(self.path / f"{name}{LINES}" / worker, f"{line}\n".encode())

    def hear(self, name: str, heard: ReadPositions) -> list[str]:
        """The whole lines that the files have more than before."""
        lines = list[str]()
        for path in sorted((self.path / f"{name}{LINES}").glob("*")):
            with path.open("rb") as file:
                file.seek(heard.get(path.name, 0))
                fresh = file.read()
            end = fresh.rfind(b"\n") + 1
            heard[path.name] = heard.get(path.name, 0) + end
            lines += fresh[:end].decode(errors="replace").splitlines()
        return lines

    def mark(self) -> str:
        """The text of a file, which the first who asks writes."""
        path = self.path / MARK
        with manifest.disk_errors(MARK, self.path.parent):
            self._make_folder()
            fresh = self.path / f"{MARK}.{uuid.uuid4().hex}"
            if not path.exists():
                try:
                    fresh.write_text(uuid.uuid4().hex, encoding="ascii")
                    os.link(fresh, path)
                except FileExistsError:
                    pass  # another was quicker
                finally:
                    fresh.unlink(missing_ok=True)
        return path.read_text(encoding="ascii")


@dataclass(frozen=True)
class ObjectBoard:
    """Assignments as objects of an object store, an object more for each unit.

    Attributes:
        remote: the object store.
    """

    remote: Remote

    def post(self, name: str, text: str) -> None:
        """Write an object."""
        self.remote.write(f"{FOLDER}/{name}", text.encode())

    def names(self) -> list[str]:
        """The objects that are no units."""
        return [name for name in self.remote.names(FOLDER) if name.endswith(".json")]

    def read(self, name: str) -> str | None:
        """The text of an object."""
        content = self.remote.read(f"{FOLDER}/{name}")
        return None if content is None else content.decode(errors="replace")

    def finish(self, name: str) -> None:
        """Remove the object, and those of its units."""
        self.remote.remove(f"{FOLDER}/{name}")
        self.remote.remove(f"{FOLDER}/{name}{UNITS}")

    def take_back(self, name: str) -> None:
        """Remove all objects of it."""
        self.finish(name)
        self.remote.remove(f"{FOLDER}/{name}{LINES}")

    def count(self, name: str) -> None:
        """Write an object."""
        if self.read(name) is not None:
            self.remote.write(f"{FOLDER}/{name}{UNITS}/{uuid.uuid4().hex}", b".")

    def units(self, name: str) -> int:
        """The number of its objects."""
        return len(self.remote.names(f"{FOLDER}/{name}{UNITS}"))

    def listen(self, name: str) -> None:
        """Write an object that stands for somebody who listens."""
        self.remote.write(f"{FOLDER}/{name}{LINES}/{EAR}", b".")

    def tell(self, name: str, worker: str, line: str) -> None:
        """Write an object."""
        place = f"{FOLDER}/{name}{LINES}"
        if self.remote.read(f"{place}/{EAR}") is not None:
            self.remote.write(f"{place}/{worker}/{time.time_ns():020d}", line.encode())

    def hear(self, name: str, heard: ReadPositions) -> list[str]:
        """The objects that were not read before."""
        place = f"{FOLDER}/{name}{LINES}"
        fresh = [
            object_name
            for object_name in self.remote.names(place)
            if object_name not in heard and object_name != EAR
        ]
        heard.update(dict.fromkeys(fresh, 1))
        read = (self.remote.read(f"{place}/{object_name}") for object_name in fresh)
        return [content.decode(errors="replace") for content in read if content is not None]

    def mark(self) -> str:
        """Its address, which is the same everywhere."""
        return self.remote.url


def folder_seen_by_all(store: Store) -> Path | None:
    """The folder of a store, named by its path or as `file://…`; None: it is an object store."""
    return store.remote.folder if store.remote else store.root


def board_of(store: Store) -> Board:
    """Where the assignments of a store are put up."""
    folder = folder_seen_by_all(store)
    if folder is None and store.remote:
        return ObjectBoard(store.remote)
    return FolderBoard((folder or store.root) / FOLDER)


def name_for(board: Board, whose: str = "") -> str:
    """A name for an assignment that nothing else has.

    Args:
        board: where it is to be put up.
        whose: who asks, such as a job: earlier assignments of theirs, which nobody takes back, go.
    """
    for old in board.names():
        if whose and old.endswith(f"-{whose}.json"):
            board.take_back(old)
    return f"{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{f'-{whose}' if whose else ''}.json"


def asker(name: str) -> str:
    """The claim that who put an assignment up holds as long as they wait for it."""
    return f"asker-{name}"


def _append(path: Path, content: bytes) -> None:
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, content)
    finally:
        os.close(file)


@dataclass(frozen=True)
class ObjectClaims:
    """Claims as objects; who lives writes a new count of beats.

    Between looking at an object and removing it another worker may have been at it: then both
    make the unit, which is the same.

    Attributes:
        remote: the object store.
    """

    remote: Remote

    def create(self, name: str, text: str) -> bool:
        """Write an object that nobody else can have written."""
        return self.remote.create(f"{CLAIMS}/{name}", f"{text}\n0".encode())

    def names(self) -> list[str]:
        """The names of its objects."""
        return self.remote.names(CLAIMS)

    def read_claim(self, name: str) -> tuple[str, str] | None:
        """What it says, with the count of beats."""
        content = self.remote.read(f"{CLAIMS}/{name}")
        if content is None:
            return None
        text = content.decode(errors="replace")
        return text, text.partition("\n")[0]

    def buried(self, name: str, old: object) -> bool:
        """Remove it while it still says the same."""
        claim = self.read_claim(name)
        if claim and claim[0] != old:
            return False
        self.remote.remove(f"{CLAIMS}/{name}")
        return True

    def touch(self, name: str, text: str) -> None:
        """Write it anew while it is the owner's."""
        claim = self.read_claim(name)
        if claim and claim[1] == text:
            beats = int(str(claim[0]).rpartition("\n")[2]) + 1
            self.remote.write(f"{CLAIMS}/{name}", f"{text}\n{beats}".encode())

    def given_back(self, name: str, text: str) -> None:
        """Remove it where it is the owner's."""
        claim = self.read_claim(name)
        if claim and claim[1] == text:
            self.remote.remove(f"{CLAIMS}/{name}")
