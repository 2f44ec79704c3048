"""Files on their way in: written into the store at once, read by a job, cleared when it is over.

An upload is a folder named after the digest of its files' names and bytes, so that the same files
handed in twice are one upload and one job.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from shuffleproof.core.errors import DataError
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.store.artefacts import Store

CHUNK = 1 << 20
SHOWN_DIGITS = 32
NAME = re.compile(rf"[0-9a-f]{{{SHOWN_DIGITS}}}")
UNSAFE = re.compile(r"[^\w.,=@+() -]")
LONGEST_NAME = 100
KEPT_SECONDS = 3600.0
"""An upload that no job names yet stays at least so long."""


@runtime_checkable
class Readable(Protocol):
    """Anything to read bytes from: an open file, an uploaded one."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""


def spool(store: Store, files: Iterable[tuple[str, Readable]]) -> str:
    """Write files into the store and return the upload's name.

    Args:
        store: where they go.
        files: the name of each, which may lie in folders (`Fold1/train.txt`), and its bytes.

    Raises:
        DataError: no file, or two of one name.
    """
    (store.root / "uploads").mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix="new.", dir=store.root / "uploads"))
    try:
        digest = hashlib.sha256()
        for name, content in sorted(files, key=lambda file: file[0]):
            path = building / safe_name(name)
            if path.exists():
                raise DataError(name, "two files of this name", "Rename one of them.")
            path.parent.mkdir(parents=True, exist_ok=True)
            digest.update(f"{safe_name(name)}\0{_write(path, content)}\0".encode())
        if not any(building.iterdir()):
            raise DataError("upload", "no file", "Choose at least one.")
        upload = digest.hexdigest()[:SHOWN_DIGITS]
        if not (store.root / "uploads" / upload).is_dir():
            building.rename(store.root / "uploads" / upload)
        os.utime(store.root / "uploads" / upload)
        return upload
    finally:
        shutil.rmtree(building, ignore_errors=True)


def safe_name(name: str) -> Path:
    r"""A relative path that stays inside its folder, whatever a browser sent.

    >>> str(safe_name("../../etc/passwd"))
    'etc/passwd'
    >>> str(safe_name("C:\\data\\Fold 1/tra<i>n.txt"))
    'C_/data/Fold 1/tra_i_n.txt'
    """
    parts = [UNSAFE.sub("_", part).strip(" .")[-LONGEST_NAME:] for part in re.split(r"[/\\]", name)]
    return Path(*[part for part in parts if part] or ["unnamed"])


def folder_of(store: Store, upload: str) -> Path:
    """Folder of an upload's files.

    Raises:
        DataError: there is no such upload (any more).
    """
    folder = store.root / "uploads" / upload
    if not NAME.fullmatch(upload) or not folder.is_dir():
        raise DataError("upload", "the files are not in the store any more", "Upload them again.")
    return folder


def clear(store: Store, jobs: Jobs) -> None:
    """Remove the uploads that no waiting, running or failed job needs and that are an hour old."""
    unfinished = jobs.list("waiting", "running", "failed")
    needed = {job.parameters.get("upload") for job in unfinished}
    for folder in (store.root / "uploads").glob("*"):
        if folder.name not in needed and time.time() - folder.stat().st_mtime > KEPT_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def _write(path: Path, content: Readable) -> str:
    digest = hashlib.sha256()
    with path.open("xb") as file:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()
