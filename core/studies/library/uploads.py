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
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Protocol, runtime_checkable

from shuffleproof.core.data.dataset import Fold
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import DataError, UnknownNameError
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.fit_cache import ALL_DOCUMENTS, quality
from shuffleproof.core.rankers.name import FILES, SCORES
from shuffleproof.core.rankers.outside import file_ranker
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact

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


def spooled(store: Store, files: Iterable[tuple[str, Readable]]) -> str:
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
            digest.update(f"{safe_name(name)}\0{_written(path, content)}\0".encode())
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
    """Where an upload's files lie.

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


def _written(path: Path, content: Readable) -> str:
    digest = hashlib.sha256()
    with path.open("xb") as file:
        while chunk := content.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
    return digest.hexdigest()


def bring(
    kind: str, path: Path, fold: Fold, store: Store, called: str = ""
) -> Generator[Progress, None, Artefact]:
    """Take a file of scores or a model file into the store, after it has answered once.

    Scores belong to the test part and are measured there only; a model is measured on the
    validation part, like every trained ranker.

    Args:
        kind: scores, lightgbm or xgboost.
        path: of the file.
        fold: the data set that it is brought to.
        store: where it is kept.
        called: the file's own name, for people.

    Raises:
        UnknownNameError: no such kind.
        DataError: a file that does not fit, or that its library cannot read.
    """
    if kind not in FILES:
        raise UnknownNameError("kind of file", kind, FILES)
    ranker = file_ranker.named(f"{kind}:{path}", fold.test)
    yield Progress(1, 2, "steps")
    part = fold.test if kind == SCORES else fold.valid
    judged = JudgedLists(part, CandidateLists.everything(part))
    measured = quality(ranker, judged)
    recipe = {
        "ranker": {"name": kind, "file": called or path.name, "sha256": ranker.source},
        "lists": ALL_DOCUMENTS,
    }
    key = key_of("ranker", recipe, (fold.train.fingerprint, fold.valid.fingerprint))
    facts = {
        "name": kind,
        "valid": {} if kind == SCORES else measured,
        "test": measured if kind == SCORES else {},
        "file": called or path.name,
        "merged": getattr(ranker, "merged", 0),
        "epochs": 0,
        "seconds": 0.0,
    }
    artefact = store.add(key, recipe, ranker.save, facts)
    yield Progress(2, 2, "steps")
    return artefact
