"""Artefacts as one file that another machine opens: a zip with their manifests and names.

Nothing of an archive is believed: paths stay inside, sizes are bounded, every manifest must be one,
and every file must have the SHA-256 that its manifest says. The store gets all of it, or nothing.
"""

import json
import lzma
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import ArtefactError, DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.store import manifest, names, plain_json
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact

HEAD = "shuffleproof.json"
VERSION = 1
KEY = re.compile(r"[a-z][a-z0-9-]{0,40}-[0-9a-f]{16}")

Check = Callable[[Sequence[Artefact], Store], None]
"""Raises DataError where an artefact of an archive is not what its key says."""


def write(
    store: Store, artefacts: Sequence[Artefact], out: Path
) -> Generator[Progress, None, list[Artefact]]:
    """Write artefacts into one zip, whole or not at all; yields one report an artefact.

    Args:
        store: that they are in; their names go along.
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
    }
    try:
        with (
            manifest.disk_errors(out.name, out.parent),
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


def read_archive(
    path: Path, store: Store, check: Check | None = None
) -> Generator[Progress, None, list[Artefact]]:
    """Import the artefacts of an archive into a store; existing ones do not change.

    A name that means something else here gets ` 2`, ` 3`, … behind it. What came in says so from
    then on (`Artefact.imported`).

    Args:
        path: what `write` wrote.
        store: where they go.
        check: looks at the artefacts, unpacked beside the store, before any of them enters it.

    Raises:
        DataError: no such archive, or one that is damaged or made to harm; nothing was imported.
        ArtefactError: the disk is full or may not be written to.
    """
    with archive_fault(path), open_archive(path) as archive:
        head = _head(archive, path)
        keys = set(head["artefacts"])
        inside = [entry for entry in archive.infolist() if entry.filename.split("/")[0] in keys]
        with manifest.disk_errors(path.name, store.root), store.incoming("archive") as room:
            for index, entry in enumerate(inside):
                unpack(archive, entry, room, path)
                yield Progress(index + 1, len(inside), "files")
            artefacts = [_checked_artefact(room / text, path) for text in head["artefacts"]]
            if check is not None:
                check(artefacts, store)
            adopted = []
            for artefact in artefacts:
                if store.find(artefact.key) is None:
                    manifest.note_import(artefact.path, path.name)
                adopted.append(store.adopt(artefact.path, artefact.key))
    _set_names(head, adopted, store)
    return adopted


def _head(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """Checked head of the archive."""
    if HEAD not in archive.namelist():
        raise DataError(path.name, f"no {HEAD} in it", REMEDY)
    with archive.open(HEAD) as file:
        head = plain_json.parse_json(file.read(plain_json.MOST_BYTES + 1))
    if not isinstance(head, dict) or "version" not in head:
        raise DataError(path.name, f"its {HEAD} does not describe an archive", REMEDY)
    if head["version"] != VERSION:
        finding = f"an archive of version {str(head['version'])[:40]!r}, not {VERSION}"
        raise DataError(path.name, finding, REMEDY)
    keys, called = head.get("artefacts", []), head.get("names", {})
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise DataError(path.name, f"artefacts in its {HEAD} are no list of keys", REMEDY)
    malformed = [text for text in keys if not KEY.fullmatch(text)]
    if malformed or len(set(keys)) < len(keys):
        finding = f"{malformed[0][:60]!r} is no key" if malformed else "an artefact is named twice"
        raise DataError(path.name, f"{finding}, in its {HEAD}", REMEDY)
    _check_names(called, path)
    return {"artefacts": keys, "names": called}


def _check_names(called: Any, path: Path) -> None:
    if not isinstance(called, dict) or not all(isinstance(key, str) for key in called.values()):
        raise DataError(path.name, f"names in its {HEAD} are no table of keys", REMEDY)
    for name in called:
        if name in names.RESERVED or names.LIKE_A_KEY.fullmatch(name):
            remedy = "Rename the entry where it was exported, and export it again."
            raise DataError(path.name, f"an entry wants the name {name!r}, already in use", remedy)
        if not names.NAME.fullmatch(name):
            raise DataError(path.name, f"{name[:60]!r} cannot be a name", REMEDY)


def _checked_artefact(content: Path, path: Path) -> Artefact:
    """An unpacked artefact whose manifest is one and whose files are those of its manifest."""
    if not content.is_dir():
        raise DataError(path.name, f"{content.name} is named in it and not in it", REMEDY)
    try:
        artefact = manifest.listed_artefact(content)
        manifest.check(content)
    except ArtefactError as error:
        raise DataError(path.name, f"{content.name} is damaged: {error.finding}", REMEDY) from error
    return artefact


def _set_names(head: dict[str, Any], artefacts: Sequence[Artefact], store: Store) -> None:
    """Set the names of the imported artefacts."""
    keys: dict[str, ArtefactKey] = {str(artefact.key): artefact.key for artefact in artefacts}
    for name, text in head["names"].items():
        if text in keys:
            store.set_name(_free_name(name, keys[text], store), keys[text])


def _free_name(name: str, key: ArtefactKey, store: Store) -> str:
    """The name, or with a number behind it where it means something else here."""
    named_keys, number, free = store.names(), 1, name
    while named_keys.get(free, key) != key:
        number += 1
        free = f"{name[: 58 - len(str(number))]} {number}"
    return free


MOST_FILES = 100_000
MOST_BYTES = 1 << 40
MOST_RATIO = 1_000
"""Largest ratio of unpacked to packed size; larger archives are refused."""

MOST_DIRECTORY = 24 << 20
"""Bytes of the table of contents, which a zip is opened with."""

MOST_PARTS = 8
LONGEST_PART = 200
CHUNK = 1 << 20
REMEDY = "Give a file that the library exported, whole."

_END, _END_64 = b"PK\x05\x06", b"PK\x06\x06"
_TAIL = (1 << 16) + 22 + 20 + 56
_ENCRYPTED = 0x1


@contextmanager
def archive_fault(path: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with an archive, whatever the readers of zips raise.

    Raises:
        DataError: it is damaged or of a kind that the library does not write.
    """
    try:
        yield
    except (
        OSError, EOFError, RuntimeError, ValueError, KeyError, OverflowError, struct.error,
        zlib.error, lzma.LZMAError, zipfile.BadZipFile, zipfile.LargeZipFile,
    ) as error:  # fmt: skip
        message = getattr(error, "strerror", None) or str(
            error
        )  # an OSError's text names our folders
        reason = message if message and message.isprintable() else type(error).__name__
        raise DataError(path.name, f"it cannot be read ({reason[:120]})", REMEDY) from error


@contextmanager
def open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive whose table of contents promises nothing that is too much.

    Raises:
        DataError: too many files or bytes, or names that do not stay inside.
    """
    _check_directory(path)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        packed = max(1, sum(entry.compress_size for entry in entries))
        if len(entries) > MOST_FILES or total > MOST_BYTES or total > MOST_RATIO * packed:
            raise DataError(path.name, f"{len(entries)} files of {total} bytes in all", REMEDY)
        for entry in entries:
            _check_entry(entry, path)
        filenames = [entry.filename for entry in entries]
        if len(set(filenames)) < len(filenames):
            raise DataError(path.name, "two entries of one name", REMEDY)
        yield archive


def unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: Path, path: Path) -> None:
    """Write an entry below a folder, piece by piece.

    Raises:
        DataError: a file and a folder of one name.
    """
    target = room.joinpath(*entry.filename.split("/"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, target.open("xb") as out:
            shutil.copyfileobj(source, out, CHUNK)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        finding = f"{entry.filename[:80]!r} is a file and a folder"
        raise DataError(path.name, finding, REMEDY) from error


def _check_directory(path: Path) -> None:
    """Refuse a table of contents that is too large for the allowed number of files."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        file.seek(max(0, end - _TAIL))
        tail = file.read()
    place, place_64 = tail.rfind(_END), tail.rfind(_END_64)
    size = int.from_bytes(tail[place + 12 : place + 16], "little") if place >= 0 else 0
    if place_64 >= 0:
        size = max(int.from_bytes(tail[place_64 + 40 : place_64 + 48], "little"), size % 0xFFFFFFFF)
    if size > MOST_DIRECTORY:
        raise DataError(path.name, f"a table of contents of {size:,} bytes", REMEDY)


def _check_entry(entry: zipfile.ZipInfo, path: Path) -> None:
    parts = entry.filename.split("/")
    unsafe = any(part in {"", ".", ".."} or len(part.encode("utf-8", "replace")) > LONGEST_PART
                 for part in parts)  # fmt: skip
    malformed = "\\" in entry.filename or not entry.filename.isprintable()
    if unsafe or malformed or len(parts) > MOST_PARTS:
        raise DataError(path.name, f"an entry {entry.filename[:80]!r}", REMEDY)
    if entry.flag_bits & _ENCRYPTED:
        raise DataError(path.name, f"{entry.filename[:80]!r} is encrypted", REMEDY)
    read_whole = parts[-1] == manifest.MANIFEST or parts[-1].endswith(".json")
    if read_whole and entry.file_size > plain_json.MOST_BYTES:
        finding = f"{entry.filename[:80]!r} of {entry.file_size:,} bytes"
        raise DataError(path.name, finding, REMEDY)
