"""A folder of artefacts filed under content keys, safe for several processes at once.

Layout of a root: `artefacts/<key>/` with the files and their manifest, `names/<name>` naming a
key, `records/` (see `records`), `workspaces/<key>/` of work under way, `locks/`, and `incoming/`
where artefacts are written before they are renamed. A folder in `incoming` belongs to a living
process as long as its lock is held; every `add` and `remove` clears the folders of dead ones.
"""

import errno
import json
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any

from shuffleproof.core.errors import (
    ArtefactError,
    UnknownNameError,
    UnknownRankerError,
    UsageError,
    closest,
)
from shuffleproof.core.store import locks, manifest, names, private
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact

if TYPE_CHECKING:
    from shuffleproof.core.store.records import Records

CALLED = {
    "data": "a data set", "collection": "a text collection", "study": "a study",
    "ranker": "a ranker",
}  # fmt: skip
"""What a kind of artefact is called in a sentence, where it is not its own word."""


def _identity(directory: Path) -> tuple[int, ...]:
    """Inode and time of the last change of a directory; empty if there is none."""
    try:
        facts = directory.stat()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return (facts.st_ino, facts.st_ctime_ns) if S_ISDIR(facts.st_mode) else ()


@dataclass(frozen=True)
class Store:
    """Artefacts under a root folder and, read-only, under bundled ones.

    Attributes:
        root: where artefacts are written; made when first needed.
        bundled: further roots of the same layout that are found but never written.
    """

    root: Path
    bundled: Sequence[Path] = ()

    def find(self, key: ArtefactKey) -> Artefact | None:
        """The artefact of a key, or None; files up to 1 MiB are digested, sizes always checked.

        Raises:
            ArtefactError: it is there but not as it was stored.
        """
        for root in (self.root, *self.bundled):
            directory = root / "artefacts" / str(key)
            while identity := _identity(directory):
                try:
                    artefact = manifest.read_manifest(directory)
                    manifest.check(directory, manifest.CHECKED_ON_FIND)
                except (ArtefactError, FileNotFoundError):
                    if _identity(directory) == identity:
                        raise
                    continue  # another process removed or replaced it meanwhile
                if artefact.key != key:
                    finding = "another digest begins alike"
                    raise ArtefactError(str(key), finding, f"See {directory}.")
                return artefact
        return None

    @contextmanager
    def lock(self, key: ArtefactKey) -> Iterator[None]:
        """Hold the key's lock: other processes and threads wait.

        Not re-entrant. The operating system releases it when its holder dies.

        Raises:
            ArtefactError: the disk is full or may not be written to.
        """
        with ExitStack() as stack:
            with manifest.disk_errors(str(key), self.root):
                private.make_private(self.root)
                stack.enter_context(locks.hold_lock(self._lock_path(key)))
            yield

    @contextmanager
    def found_or_locked(self, key: ArtefactKey) -> Iterator[Artefact | None]:
        """The artefact of a key, or None while the key's lock is held, to make it.

        Where it is there nothing is written: the store may be another's.

        Raises:
            ArtefactError: see `find` and `lock`.
        """
        found = self.find(key)
        if found is not None:
            yield found
            return
        with self.lock(key):
            yield self.find(key)

    def add(
        self,
        key: ArtefactKey,
        recipe: Mapping[str, Any],
        write: Callable[[Path], None],
        facts: Mapping[str, Any] | None = None,
    ) -> Artefact:
        """Store what `write` puts into an empty directory; all of it or nothing.

        An existing artefact is returned unchanged. The key's workspace is removed.

        Raises:
            ArtefactError: the disk is full or may not be written to, or the existing one is broken.
        """
        existing = self.find(key)
        if existing is None:
            with manifest.disk_errors(str(key), self.root), self.incoming(str(key)) as content:
                write(content)
                manifest.write(content, key, recipe, facts or {})
                existing = replace(manifest.read_manifest(content), path=self._directory(key))
                self._publish(content, key)
        self.end_workspace(key)
        return existing

    def adopt(self, directory: Path, key: ArtefactKey) -> Artefact:
        """Let a finished, checked directory of the same disk be the artefact of its key.

        An existing one does not change; the directory is consumed.

        Raises:
            ArtefactError: the disk is full or may not be written to.
        """
        existing = self.find(key)
        if existing is None:
            with manifest.disk_errors(str(key), self.root), self.lock(key):
                self._publish(directory, key)
            existing = manifest.read_manifest(self._directory(key))
        return existing

    def artefacts(self, kind: str | None = None) -> Iterator[Artefact]:
        """All artefacts (of a kind) by key, each once, unchecked; unreadable ones are left out."""
        yielded: set[ArtefactKey] = set()
        for root in (self.root, *self.bundled):
            for directory in sorted((root / "artefacts").glob("*")):
                try:
                    artefact = manifest.listed_artefact(directory)
                except ArtefactError:  # `core.store.damaged_entries` says what is wrong with it
                    continue
                if artefact.key not in yielded and kind in {None, artefact.key.kind}:
                    yielded.add(artefact.key)
                    yield artefact

    def _remedy(self, text: str, kind: str | None) -> str:
        """Suggestion for a misspelt name, as a sentence."""
        known = sorted(name for name, key in self.names().items() if kind in {None, key.kind})
        if meant := closest(text, [*known, *(["sample"] if kind == "data" else [])]):
            return f"Did you mean {meant}?"
        few = f"Known names: {', '.join(known[: UnknownNameError.MOST])}. " if known else ""
        return f"{few}`shuffleproof library list` shows the store {self.root}."

    def meant(self, text: str, kind: str | None = None) -> ArtefactKey:
        """The key meant by a name, a key as printed, or an unambiguous start of either.

        Raises:
            ArtefactError: nothing or several artefacts fit.
        """
        named = self.names().get(text)
        meant = [
            artefact.key
            for artefact in self.artefacts()
            if (artefact.key == named if named else _starts_with(artefact.key, text))
        ]
        fitting = [key for key in meant if kind in {None, key.kind}]
        if not fitting:
            what = CALLED.get(kind or "", kind or "artefact").removeprefix("a ")
            other = CALLED.get(meant[0].kind, meant[0].kind) if meant else ""
            file = ", file or folder" if kind == "data" else ""
            missing = f"no stored {what}{file} of this name"
            finding = f"it names {other}, no {what}" if meant else missing
            error = UnknownRankerError if kind == "ranker" else ArtefactError
            raise error(text, finding, self._remedy(text, kind))
        if len(fitting) > 1:
            candidates = ", ".join(str(key) for key in fitting)
            raise ArtefactError(text, f"could be any of {candidates}", "Give more digits.")
        return fitting[0]

    def resolve(self, text: str, kind: str | None = None) -> Artefact:
        """The artefact that a text means, as `meant` reads it.

        Raises:
            ArtefactError: nothing or several artefacts fit, or the one that fits is broken.
        """
        artefact = self.find(self.meant(text, kind))
        if artefact is None:
            raise ArtefactError(text, "was removed a moment ago", "Try again.")
        return artefact

    def verify(self, artefact: Artefact) -> None:
        """Check the size and the SHA-256 of every file.

        Raises:
            ArtefactError: a file is missing, added, or not what was stored.
        """
        manifest.check(artefact.path)

    def remove(self, key: ArtefactKey) -> None:
        """Remove an artefact with its names and workspace; processes reading it may go on.

        Raises:
            ArtefactError: it is not there, or is bundled.
        """
        if not self._remove_own(key):
            finding = "not in the store" if self.find(key) is None else "comes with the program"
            raise ArtefactError(
                str(key),
                finding,
                "Nothing was removed; `shuffleproof library list` names what can be.",
            )

    def workspace(self, key: ArtefactKey) -> Path:
        """A folder for work towards this artefact: it survives kills, `add` and `remove` end it.

        Raises:
            ArtefactError: the disk is full or may not be written to.
        """
        with manifest.disk_errors(str(key), self.root):
            private.make_private(self.root)
            folder = self.root / "workspaces" / str(key)
            folder.mkdir(parents=True, exist_ok=True)
        return folder

    def end_workspace(self, key: ArtefactKey) -> None:
        """Give up what was done towards an artefact."""
        shutil.rmtree(self.root / "workspaces" / str(key), ignore_errors=True)

    def set_name(self, name: str, key: ArtefactKey) -> None:
        """Let a name mean this artefact from now on.

        Raises:
            ParameterError: the name cannot be a file name, or means something by itself.
            ArtefactError: the artefact is not in the store.
        """
        names.check(name)
        if self.find(key) is None:
            raise ArtefactError(str(key), "not in the store", "Store it before naming it.")
        with manifest.disk_errors(str(key), self.root), self.incoming("name") as directory:
            entry = directory / "name"
            entry.write_text(json.dumps({"kind": key.kind, "digest": key.digest}))
            (self.root / "names").mkdir(exist_ok=True)
            entry.replace(self.root / "names" / name)

    def remove_name(self, name: str) -> None:
        """Let a name of this store mean nothing any more; what it meant stays.

        Raises:
            ParameterError: it is no name.
        """
        names.check(name)
        (self.root / "names" / name).unlink(missing_ok=True)

    def names(self) -> dict[str, ArtefactKey]:
        """Keys by name, sorted; a user's name hides a bundled one.

        Damaged names mean nothing; `core.store.damaged_entries` says what is wrong with them.
        """
        merged: dict[str, ArtefactKey] = {}
        for root in (*reversed(self.bundled), self.root):
            merged.update(names.names_in(root))
        return dict(sorted(merged.items()))

    @property
    def records(self) -> "Records":
        """Small results of finished trials, by digest."""
        from shuffleproof.core.store.records import Records  # noqa: PLC0415 (NumPy)

        return Records(self.root / "records")

    def _directory(self, key: ArtefactKey) -> Path:
        return self.root / "artefacts" / str(key)

    def _lock_path(self, key: ArtefactKey) -> Path:
        return self.root / "locks" / f"{key}.lock"

    def _remove_own(self, key: ArtefactKey) -> bool:
        """Remove an own artefact, its names and workspace; False when it is not there."""
        with manifest.disk_errors(str(key), self.root), self.incoming(str(key)) as directory:
            try:
                self._directory(key).rename(directory / "content")
            except FileNotFoundError:
                return False
        for name, named_key in names.names_in(self.root).items():
            if named_key == key:
                self.remove_name(name)
        self.end_workspace(key)
        return True

    def _publish(self, content: Path, key: ArtefactKey) -> None:
        target = self._directory(key)
        target.parent.mkdir(exist_ok=True)
        while True:
            try:
                content.rename(target)
            except OSError as error:
                if target.is_dir():
                    return  # another process was first; both made the same
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
            else:
                manifest.sync(target.parent)
                return

    @contextmanager
    def incoming(self, label: str) -> Iterator[Path]:
        """An empty folder of the store's disk; removed at the end, or when its process died.

        Raises:
            OSError: it cannot be made.
        """
        private.make_private(self.root)
        self._sweep()
        directory = self.root / "incoming" / f"{label}.{uuid.uuid4().hex}"
        with locks.hold_lock(directory.with_name(f"{directory.name}.lock")):
            directory.mkdir()
            try:
                yield directory
            finally:
                shutil.rmtree(directory, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove the folders of processes that died while writing."""
        for lock in (self.root / "incoming").glob("*.lock"):
            with locks.hold_lock(lock, patience=0.0) as orphaned:
                if orphaned:
                    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)


def default_store() -> Store:
    """The user's store: `SHUFFLEPROOF_HOME` or the platform's data folder, and the sample's.

    Raises:
        UsageError: SHUFFLEPROOF_HOME is an address or a file.
    """
    setting = os.environ.get("SHUFFLEPROOF_HOME")
    if setting:
        return store_at(setting, "SHUFFLEPROOF_HOME")
    return Store(_own_folder(), _bundled_roots())


def store_at(place: str | Path, setting: str = "--store") -> Store:
    """The store in a folder, with what is shipped.

    Args:
        place: the folder.
        setting: flag or variable that names it.

    Raises:
        UsageError: the text is empty, an address, or the path of a file.
    """
    if not str(place) or "://" in str(place):
        raise UsageError(f"{str(place)!r} is no place of a store: name a folder on a disk")
    path = Path(place).expanduser()
    if file := next((str(one) for one in (path, *path.parents) if one.is_file()), ""):
        raise UsageError(f"{setting} {place}: {file} is a file; name the folder of a store")
    return Store(path, _bundled_roots())


def _own_folder() -> Path:
    """The folder on this machine for a user's own data."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "shuffleproof"
    home = os.environ.get("XDG_DATA_HOME")
    return (Path(home) if home else Path.home() / ".local" / "share") / "shuffleproof"


def _bundled_roots() -> tuple[Path, ...]:
    sample = Path(__file__).resolve().parents[2] / "sample_data"
    return (sample,) if (sample / "artefacts").is_dir() else ()


def _starts_with(key: ArtefactKey, text: str) -> bool:
    return bool(text) and (
        f"{key.kind}-{key.digest}".startswith(text) or key.digest.startswith(text)
    )
