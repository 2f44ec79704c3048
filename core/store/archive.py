"""Artefacts as one file that another machine opens: a zip with their manifests, names and tags.

Nothing of an archive is believed: paths stay inside, sizes are bounded, and every file must have
the SHA-256 that its manifest says before its artefact enters the store.
"""

import json
import shutil
import zipfile
from collections.abc import Generator, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from core.errors import ArtefactError, DataError, ParameterError
from core.progress import Progress
from core.store import manifest
from core.store.artefacts import Store
from core.store.keys import ArtefactKey
from core.store.manifest import Artefact
from core.store.tags import Tags

HEAD = "shuffleproof.json"
VERSION = 1
MOST_FILES = 100_000
MOST_BYTES = 1 << 40
MOST_RATIO = 1_000
"""An archive that unpacks to more than so many times its own size is refused."""

CHUNK = 1 << 20


def write(
    store: Store, artefacts: Sequence[Artefact], out: Path
) -> Generator[Progress, None, list[Artefact]]:
    """Write artefacts into one zip, whole or not at all; yields one report an artefact.

    Args:
        store: that they are in; their names and tags go along.
        artefacts: which ones, each once.
        out: the file; a part file beside it is renamed at the end.

    Raises:
        ArtefactError: an artefact is not as it was stored, or the disk is full.
    """
    part = out.with_name(f"{out.name}.part")
    keys = {artefact.key for artefact in artefacts}
    head = {
        "version": VERSION,
        "artefacts": [str(artefact.key) for artefact in artefacts],
        "names": {name: str(key) for name, key in store.names().items() if key in keys},
        "tags": {str(key): list(Tags(store.root).of(key)) for key in keys},
    }
    try:
        with (
            manifest.explained(out.name, out.parent),
            zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        ):
            archive.writestr(HEAD, json.dumps(head, indent=1, ensure_ascii=False))
            for index, artefact in enumerate(artefacts):
                store.verify(artefact)
                for path in sorted(artefact.path.rglob("*")):
                    if path.is_file():
                        inside = path.relative_to(artefact.path).as_posix()
                        archive.write(path, f"{artefact.key}/{inside}")
                yield Progress(index + 1, len(artefacts), "artefacts")
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return list(artefacts)


def read(path: Path, store: Store) -> Generator[Progress, None, list[Artefact]]:
    """Take the artefacts of an archive into a store; what is there already is kept.

    A name that means something else here gets ` 2`, ` 3`, … behind it.

    Args:
        path: what `write` wrote.
        store: where they go.

    Raises:
        DataError: no such archive, or one that is damaged or made to harm; the artefacts before
            the damaged one are in the store.
        ArtefactError: the disk is full.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            head = _head(archive, path)
            found = []
            for index, text in enumerate(head["artefacts"]):
                found.append(_taken(archive, str(text), path, store))
                yield Progress(index + 1, len(head["artefacts"]), "artefacts")
    except (OSError, zipfile.BadZipFile, EOFError, zipfile.LargeZipFile) as error:
        raise DataError(path.name, f"it cannot be read ({error})", _REMEDY) from error
    _labelled(head, found, store)
    return found


_REMEDY = "Give a file that the library exported."


def _head(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """What the archive says of itself, after a look at the sizes that it claims."""
    entries = archive.infolist()
    total = sum(entry.file_size for entry in entries)
    packed = max(1, sum(entry.compress_size for entry in entries))
    if len(entries) > MOST_FILES or total > MOST_BYTES or total > MOST_RATIO * packed:
        raise DataError(path.name, f"{len(entries)} files of {total} bytes in all", _REMEDY)
    try:
        head = json.loads(archive.read(HEAD))
        valid = head["version"] == VERSION and isinstance(head["artefacts"], list)
    except (KeyError, ValueError, TypeError) as error:
        raise DataError(path.name, f"no readable {HEAD} in it", _REMEDY) from error
    if not valid:
        raise DataError(path.name, f"an archive of version {head['version']}", _REMEDY)
    return dict(head)


def _taken(archive: zipfile.ZipFile, text: str, path: Path, store: Store) -> Artefact:
    """One artefact: unpacked beside the store, checked, and renamed into it."""
    inside = [entry for entry in archive.infolist() if entry.filename.startswith(f"{text}/")]
    if not inside:
        raise DataError(path.name, f"{text} is named in it and not in it", _REMEDY)
    with manifest.explained(text, store.root):
        store.root.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=store.root, prefix="unpacking-") as room:
            for entry in inside:
                _unpacked(archive, entry, Path(room), path)
            content = Path(room) / text
            try:
                manifest.check(content)
                artefact = manifest.read(content)
            except (ArtefactError, ParameterError) as error:
                raise DataError(path.name, f"{text} is damaged", _REMEDY) from error
            if str(artefact.key) != text:
                raise DataError(path.name, f"{text} says that it is {artefact.key}", _REMEDY)
            return store.adopt(content, artefact.key)


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: Path, path: Path) -> None:
    inside = PurePosixPath(entry.filename)
    unsafe = inside.is_absolute() or ".." in inside.parts or "\\" in entry.filename
    if unsafe or entry.is_dir():
        raise DataError(path.name, f"an entry {entry.filename!r}", _REMEDY)
    target = room.joinpath(*inside.parts)
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as source, target.open("xb") as out:
        shutil.copyfileobj(source, out, CHUNK)


def _labelled(head: dict[str, Any], found: Sequence[Artefact], store: Store) -> None:
    """Names and tags, as far as they are well formed and mean what is here."""
    keys: dict[str, ArtefactKey] = {str(artefact.key): artefact.key for artefact in found}
    names, tags = head.get("names", {}), head.get("tags", {})
    for name, text in names.items() if isinstance(names, dict) else ():
        if text in keys:
            store.set_name(_free(str(name), keys[text], store), keys[text])
    for text, words in tags.items() if isinstance(tags, dict) else ():
        if text in keys and isinstance(words, list) and words:
            own = Tags(store.root)
            own.put(keys[text], [*own.of(keys[text]), *map(str, words)])


def _free(name: str, key: ArtefactKey, store: Store) -> str:
    """The name, or with a number behind it where it means something else here."""
    taken, number, free = store.names(), 1, name
    while taken.get(free, key) != key:
        number += 1
        free = f"{name} {number}"
    return free
