"""Unneeded files of a store and their sizes; nothing is deleted automatically.

Trials are records under content keys, so that studies share them and killed ones go on. A record
that no stored study and no study under way would ask for is of a study that was deleted.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shuffleproof.core.data import catalogue, display_texts, examination
from shuffleproof.core.errors import JobError
from shuffleproof.core.execution.jobs import Jobs
from shuffleproof.core.library import uploads
from shuffleproof.core.library.entries import STRANGE
from shuffleproof.core.library.entries import damaged_entries as undescribed
from shuffleproof.core.store import locks, manifest, plain_json
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.damaged_entries import damaged_entries, size_of
from shuffleproof.core.studies.engine import plan_of, running_studies
from shuffleproof.core.studies.registry import EVERY

YOUNG_SECONDS = 3600.0
"""What changed within the hour may belong to work under way and is left alone."""

ABANDONED_SECONDS = 30 * 86_400.0
"""Age at which untouched work counts as abandoned."""

LITTLE = 0.05
"""Megabytes that are not worth a word."""

MOST_HEAD = 1 << 27
"""Bytes of what a stored study says of itself."""


@dataclass(frozen=True)
class Waste:
    """Something that can go.

    Attributes:
        path: a file or folder.
        what: the reason why it is unneeded, as a plural.
        size: bytes.
    """

    path: Path
    what: str
    size: int


def waste(store: Store) -> list[Waste]:
    """Everything that can go, by why and where; damaged artefacts are deleted by name instead."""
    now = _clock(store.root)
    removable = [
        *_records(store, now), *_left_behind(store, now), *_earlier(store),
        *_uploads(store, now),
        *_names(store), *_examinations(store),
    ]  # fmt: skip
    return sorted(removable, key=lambda item: (item.what, str(item.path)))


def nothing_found(store: Store) -> str:
    """Message if nothing can be deleted; stopped work takes space too."""
    stopped = size_of(store.root / "workspaces") / 1e6
    kept = f", {stopped:,.1f} MB for work that was stopped: kept for a month, it goes on when asked"
    return "Nothing can go: all of it is needed" + (kept if stopped >= LITTLE else "") + "."


def clean(found: list[Waste], store: Store) -> None:
    """Remove it.

    Raises:
        ArtefactError: the store may not be written to.
    """
    for item in found:
        with manifest.disk_errors(item.path.name, store.root):
            if item.path.is_dir() and not item.path.is_symlink():
                shutil.rmtree(item.path)
            else:
                item.path.unlink(missing_ok=True)


def _records(store: Store, now: float) -> Iterator[Waste]:
    """Trials that no study needs; empty if the trials of a study cannot be listed."""
    needed = _needed_records(store)
    for path in (store.root / "records").glob("[0-9a-f][0-9a-f]/*.safetensors"):
        if needed is not None and path.stem not in needed and _age(path, now) > YOUNG_SECONDS:
            yield Waste(path, "trials of no study", size_of(path))


def _needed_records(store: Store) -> set[str] | None:
    """The records that studies would ask for; None where one of them cannot say."""
    needed: set[str] = set()
    unreadable = {artefact.name for artefact in undescribed(store)}
    studies = [(artefact.recipe, _query_ids(artefact.path)) for artefact in store.artefacts("study")
               if str(artefact.key) not in unreadable]  # fmt: skip
    studies += [
        (study.recipe, study.query_ids) for kind in EVERY for study in running_studies(store, kind)
    ]
    for recipe, ids in studies:
        digests = None if ids is None else _digests(recipe, len(ids))
        if digests is None:
            return None
        needed.update(digests)
    return needed


def _digests(recipe: Mapping[str, Any], lists: int) -> Iterable[str] | None:
    if "runs" in recipe:  # runs were compared as they came: no trial was made
        return ()
    try:
        return plan_of(recipe).digests(lists)
    except STRANGE:
        return None


def _query_ids(path: Path) -> tuple[str, ...] | None:
    try:
        return tuple(plain_json.read_json(path / "study.json", MOST_HEAD)["query_ids"])
    except (*STRANGE, OSError):
        return None


def _left_behind(store: Store, now: float) -> Iterator[Waste]:
    """Leftovers of killed processes and earlier versions, and archives that pages wrote."""
    root = store.root
    for path in [*root.glob("unpacking-*"), *(root / "records" / "incoming").glob("*")]:
        if _age(path, now) > YOUNG_SECONDS:
            yield Waste(path, "unfinished files of killed processes", size_of(path))
    for path in (root / "incoming").glob("*"):
        if path.suffix != ".lock" and _is_free(path.with_name(f"{path.name}.lock")):
            yield Waste(path, "unfinished files of killed processes", size_of(path))
    for path in (root / "workspaces").glob("*"):
        stored = (root / "artefacts" / path.name).is_dir()
        if _age(path, now) > (YOUNG_SECONDS if stored else ABANDONED_SECONDS):
            yield Waste(path, "work that ended, or was given up a month ago", size_of(path))
    for path in (root / "exports").glob("*"):
        if _age(path, now) > YOUNG_SECONDS:
            yield Waste(path, "archives that a page wrote (it writes them again)", size_of(path))


EARLIER = ("claims", "shared", "copies", "manifests")
"""Folders by which workers of earlier versions found each other, and copies of object stores."""


def _earlier(store: Store) -> Iterator[Waste]:
    for path in (store.root / name for name in EARLIER):
        if path.is_dir():
            yield Waste(path, "what earlier versions kept for workers", size_of(path))


def _uploads(store: Store, now: float) -> Iterator[Waste]:
    """Uploads that no job needs; empty if the jobs cannot be read."""
    try:
        unfinished = Jobs(store.root).list("waiting", "running", "failed")
    except JobError:
        return
    needed = {job.parameters.get("upload") for job in unfinished}
    for path in (store.root / "uploads").glob("*"):
        if path.name not in needed and _age(path, now) > uploads.KEPT_SECONDS:
            yield Waste(path, "uploads that no job needs", size_of(path))


def _names(store: Store) -> Iterator[Waste]:
    """Names that are damaged or of artefacts that are gone, and tags of earlier versions."""
    stored = {str(artefact.key) for artefact in store.artefacts()}
    stored |= {item.name for item in damaged_entries(store) if item.what == "artefact"}
    for item in damaged_entries(store):
        if item.what != "artefact":
            yield Waste(item.path, "damaged names", item.size)
    for name, key in store.names().items():
        path = store.root / "names" / name
        if str(key) not in stored and path.exists():
            yield Waste(path, "names of what is gone", size_of(path))
    for path in (store.root / "tags").glob("*"):
        yield Waste(path, "tags of earlier versions", size_of(path))


def _examinations(store: Store) -> Iterator[Waste]:
    """Of data sets that are gone."""
    fingerprints = {
        artefact.facts.get("fingerprint") for artefact in store.artefacts(catalogue.KIND)
    }
    of_data = {examination.KIND: "examinations", display_texts.KIND: "texts"}
    for kind, noun in of_data.items():
        for artefact in store.artefacts(kind):
            is_gone = artefact.recipe.get("of") not in fingerprints
            if is_gone and artefact.path.parent == store.root / "artefacts":
                yield Waste(artefact.path, f"{noun} of data sets that are gone", artefact.size)


def _is_free(lock: Path) -> bool:
    if not lock.exists():
        return True
    with locks.hold_lock(lock, patience=0.0) as free:
        return free


def _clock(folder: Path) -> float:
    """The time by the disk's clock, which all who write there share: ours may be wrong."""
    with suppress(OSError), tempfile.TemporaryFile(dir=folder) as file:
        return os.fstat(file.fileno()).st_mtime
    return time.time()  # nothing can be written there, nor removed


def _age(path: Path, now: float) -> float:
    """Seconds since anything directly in it changed; 0 where it is gone."""
    with suppress(OSError):
        inside = [child.stat().st_mtime for child in path.iterdir()] if path.is_dir() else []
        return now - max([path.stat().st_mtime, *inside])
    return 0.0
