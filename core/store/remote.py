"""A store in an object store (S3, or whatever else fsspec opens), with a folder here in front.

The truth is there: `artefacts/<key>/` with a manifest that is written last, and once, and the files
of who wrote it (`_files_of`); `records/`, `names/`, `presets/`, and what workers tell each other
(`claims/`, `shared/`). The folder here is an ordinary store whose file `remote.json` says the
address: what is made here goes there first and is filed here then, what lies there is copied here,
checked against its SHA-256, when it is asked for, and read memory-mapped. Jobs, locks and
unfinished work stay in the folder here alone. An address of a folder (`file://…`) names an ordinary
store too.
"""

import hashlib
import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import ArtefactError, UsageError
from shuffleproof.core.store import manifest, private
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import MANIFEST, REMOTE, Artefact

COPIES = "copies"
"""Folder of the user's own store in which the copies of remote stores lie."""

FRESH = 2.0
"""Seconds for which a listing is believed."""

PAGES = ("http://", "https://")

ANSWER = "Check the address, the network, the credentials and whether the bucket is there."


@dataclass(frozen=True)
class Remote:
    """The objects below one address.

    Attributes:
        url: the address, such as `s3://bucket/folder`.
        copy: the folder here.
    """

    url: str
    copy: Path

    @cached_property
    def _file_system(self) -> tuple[Any, str]:
        """The file system, which believes no old listing, and the path in it."""
        import fsspec  # noqa: PLC0415 (stores on a disk need none of it)

        if self.url.startswith(PAGES):
            raise UsageError(
                f"{self.url} is the address of a page, which nothing can be stored under: name a "
                "folder, or an address such as s3://bucket/store"
            )
        try:
            return fsspec.url_to_fs(self.url, use_listings_cache=False)
        except ImportError as error:
            of_s3 = self.url.startswith("s3")
            remedy = "pip install 'shuffleproof[s3]'" if of_s3 else "install it beside Shuffleproof"
            raise UsageError(f"{self.url}: {error}; {remedy}") from error
        except OSError as error:  # of those that connect at once
            raise ArtefactError(self.url, _silence(error), ANSWER) from error
        except ValueError as error:
            raise UsageError(
                f"{self.url} is no address of a store ({error}): name a folder, or an address such "
                "as s3://bucket/store"
            ) from error

    @property
    def folder(self) -> Path | None:
        """The folder that the address is of (`file://…`); None: it is of an object store."""
        files, root = self._file_system
        return Path(root) if _is_folder(files) else None

    def read(self, name: str) -> bytes | None:
        """The content of an object; None where there is none."""
        with self._connection() as (files, root):
            try:
                return bytes(files.cat_file(f"{root}/{name}"))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes) -> None:
        """Write an object, whole, in place of one of its name."""
        self._put(name, content, "overwrite")

    def create(self, name: str, content: bytes) -> bool:
        """Write an object that nobody else can have written; False: there is one."""
        try:
            self._put(name, content, "create")
        except FileExistsError:
            return False
        return True

    def remove(self, name: str) -> None:
        """Remove an object, or all below a folder; nothing where there is none."""
        with self._connection() as (files, root):
            paths = files.find(f"{root}/{name}")
            if not paths and not _is_folder(files):  # there, a folder may be empty
                paths = [f"{root}/{name}"]
            for path in paths:
                try:
                    files.rm_file(path)
                except FileNotFoundError:
                    continue

    def names(self, folder: str) -> list[str]:
        """The objects below a folder, by their path there, sorted."""
        with self._connection() as (files, root):
            start = f"{root}/{folder}/"
            return sorted(str(path)[len(start) :] for path in files.find(start))

    def listed(self, folder: str) -> frozenset[str]:
        """The same, as it was at most `FRESH` seconds ago."""
        now, cached = time.monotonic(), _LISTED.get((self.url, folder))
        if cached is None or now - cached[0] > FRESH:
            cached = _LISTED[self.url, folder] = (now, frozenset(self.names(folder)))
        return cached[1]

    def mirror(self, folder: str) -> None:
        """Let a folder of small files here be as it is there, `FRESH` seconds old at most."""
        now = time.monotonic()
        if now - _LISTED.get((self.url, f"{folder} here"), (-FRESH, frozenset()))[0] <= FRESH:
            return
        remote_files = {name: self.read(f"{folder}/{name}") for name in self.names(folder)}
        local_folder = self.copy / folder
        with manifest.disk_errors(folder, self.copy):
            local_folder.mkdir(parents=True, exist_ok=True)
            for path in local_folder.iterdir():
                if remote_files.get(path.name) is None:
                    path.unlink(missing_ok=True)
            for name, content in remote_files.items():
                path = local_folder / name
                if content is None or path.parent != local_folder:
                    continue
                if not path.is_file() or path.read_bytes() != content:
                    fresh = path.with_name(f".{name}.{os.getpid()}")
                    fresh.write_bytes(content)
                    fresh.replace(path)
        _LISTED[self.url, f"{folder} here"] = (now, frozenset())

    def push(self, key: ArtefactKey, content: Path) -> None:
        """Send an artefact there, its manifest last; nothing where it is there already.

        Of several who send it at once one is the first, with all of its files.
        """
        place = f"artefacts/{key}"
        if self.read(f"{place}/{MANIFEST}") is not None:
            return
        if self.folder is not None:
            from shuffleproof.core.store.artefacts import Store  # noqa: PLC0415 (it opens ours)

            Store(self.folder).copy_in(content, key)
            return
        described = (content / MANIFEST).read_bytes()
        own = f"{place}/{_files_of(described)}"
        with self._connection() as (files, root):
            for path in sorted(content.rglob("*")):
                name = path.relative_to(content).as_posix()
                if path.is_file() and name != MANIFEST:
                    files.put_file(str(path), f"{root}/{own}/{name}")
        if self.create(f"{place}/{MANIFEST}", described):
            kept = {MANIFEST, own.rpartition("/")[2]}
            for other in {name.partition("/")[0] for name in self.names(place)} - kept:
                self.remove(f"{place}/{other}")  # of who was killed, or comes second
        elif self.read(f"{place}/{MANIFEST}") != described:
            self.remove(own)

    def pull(self, key: ArtefactKey, into: Path) -> bool:
        """Copy an artefact into a new folder and check it; False: it is not there.

        Raises:
            ArtefactError: it is not what was stored, or the disk is full.
        """
        place = f"artefacts/{key}"
        content = self.read(f"{place}/{MANIFEST}")
        if content is None:
            return False
        if self.folder is None and self.names(own := f"{place}/{_files_of(content)}"):
            place = own  # earlier versions put files beside the manifest
        with manifest.disk_errors(str(key), self.copy):
            into.mkdir()
            (into / MANIFEST).write_bytes(content)
            manifest.read_manifest(into)  # names no file elsewhere
            for name in json.loads(content)["files"]:
                (into / name).parent.mkdir(parents=True, exist_ok=True)
                with self._connection() as (files, root):
                    files.get_file(f"{root}/{place}/{name}", str(into / name))
        manifest.check(into)
        return True

    def drop(self, key: ArtefactKey) -> bool:
        """Remove an artefact there, its manifest first; False: it was not there."""
        place = f"artefacts/{key}"
        existed = self.read(f"{place}/{MANIFEST}") is not None
        self.remove(f"{place}/{MANIFEST}")
        self.remove(place)
        _LISTED.pop((self.url, "artefacts"), None)
        return existed

    def artefacts(self) -> Iterator[Artefact]:
        """What is there, by key, unchecked; only `Store.find` copies their files.

        Manifests do not change and are kept here.
        """
        manifests = self.copy / "manifests"
        for name in sorted(self.listed("artefacts")):
            key, _, file = name.partition("/")
            if file != MANIFEST:
                continue
            if not (manifests / key / MANIFEST).is_file():
                content = self.read(f"artefacts/{name}")
                if content is None:
                    continue
                with manifest.disk_errors(key, self.copy):
                    (manifests / key).mkdir(parents=True, exist_ok=True)
                    fresh = manifests / key / f"{MANIFEST}.{os.getpid()}"
                    fresh.write_bytes(content)
                    fresh.replace(manifests / key / MANIFEST)
            try:
                yield manifest.listed_artefact(manifests / key)
            except ArtefactError:
                continue  # as `Store.artefacts` leaves out what cannot be read

    def _put(self, name: str, content: bytes, mode: str) -> None:
        with self._connection() as (files, root):
            if _is_folder(files):
                _put_file(Path(root), name, content, mode)
            else:
                files.pipe_file(f"{root}/{name}", content, mode=mode)

    @contextmanager
    def _connection(self) -> Iterator[tuple[Any, str]]:
        """The file system and its path; what goes wrong there in words.

        Raises:
            ArtefactError: it does not answer, or refuses.
        """
        opened = self._file_system
        try:
            yield opened
        except (FileExistsError, ArtefactError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in manifest.DISK_FULL:
                raise  # of the disk here
            # Whatever its library raises: what is meant to be missing is caught inside.
            raise ArtefactError(self.url, _silence(error), ANSWER) from error


_LISTED: dict[tuple[str, str], tuple[float, frozenset[str]]] = {}
"""Listings by address and folder, with their age."""


def _silence(error: Exception) -> str:
    return f"the object store does not answer as it should ({error})"


def _is_folder(files: Any) -> bool:
    """Whether an address is that of a folder on a disk (`file://…`)."""
    return "file" in files.protocol


def _files_of(described: bytes) -> str:
    """Below which name the files of an artefact lie in an object store, by its manifest.

    Who makes an artefact anew measures other times, so that files of two must not lie together.
    """
    return hashlib.sha256(described).hexdigest()[:16]


def _put_file(root: Path, name: str, content: bytes, mode: str) -> None:
    """Write a file that nobody sees half of; fsspec writes it in place, over one just made."""
    path, fresh = root / name, root / "incoming" / uuid.uuid4().hex
    for folder in (path.parent, fresh.parent):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        fresh.write_bytes(content)
        if mode == "create":
            os.link(fresh, path)
        else:
            fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def copy_of(url: str, store_folder: Path) -> Path:
    """The folder here in front of an address; made, and marked, when it is not there.

    Args:
        url: the address.
        store_folder: folder of the user's own store, below which it lies.

    Raises:
        ArtefactError: it cannot be made.
        UsageError: no address.
    """
    url = url.rstrip("/")
    folder = store_folder / COPIES / hashlib.sha256(url.encode()).hexdigest()[:16]
    Remote(url, folder)._file_system  # noqa: B018, SLF001 (refuses what is no address)
    if not (folder / REMOTE).is_file():
        with manifest.disk_errors(url, folder):
            private.make_private(store_folder)
            private.make_private(folder)
            fresh = folder / f"{REMOTE}.{uuid.uuid4().hex}"  # several may open it at once
            fresh.write_text(json.dumps({"url": url}), encoding="utf-8")
            fresh.replace(folder / REMOTE)
        remote_of.cache_clear()
    return folder


@cache
def remote_of(root: Path) -> Remote | None:
    """What the folder of a store is a copy of; None: nothing, it is the store itself.

    Raises:
        ArtefactError: its mark is damaged.
    """
    path = root / REMOTE
    if not path.is_file():
        return None
    try:
        marked: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Remote(str(marked["url"]), root)
    except (ValueError, KeyError, TypeError) as error:
        remedy = "Remove the folder: it holds copies alone, and unfinished work."
        raise ArtefactError(str(path), "does not say an address", remedy) from error
