"""Artefacts as one file that another machine opens: a zip with their manifests, names and tags.

Nothing of an archive is believed: paths stay inside, sizes are bounded, every manifest must be
one, and every file must have the SHA-256 that its manifest says. All of it enters the store, or
nothing.
"""

import json
import re
import zipfile
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core.errors import ArtefactError, DataError
from shuffleproof.core.progress import Progress
from shuffleproof.core.store import archive_read, manifest, names, plain_json, tags
from shuffleproof.core.store.archive_read import REMEDY
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import ArtefactKey
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.store.tags import Tags

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


def read(
    path: Path, store: Store, check: Check | None = None
) -> Generator[Progress, None, list[Artefact]]:
    """Take the artefacts of an archive into a store; what is there already is kept.

    A name that means something else here gets ` 2`, ` 3`, … behind it. What came in says so from
    then on (`Artefact.imported`).

    Args:
        path: what `write` wrote.
        store: where they go.
        check: looks at the artefacts, unpacked beside the store, before any of them enters it.

    Raises:
        DataError: no such archive, or one that is damaged or made to harm; nothing was taken.
        ArtefactError: the disk is full or may not be written to.
    """
    with archive_read.explained(path), archive_read.opened(path) as archive:
        head = _head(archive, path)
        wanted = set(head["artefacts"])
        inside = [entry for entry in archive.infolist() if entry.filename.split("/")[0] in wanted]
        with manifest.explained(path.name, store.root), store.incoming("archive") as room:
            for done, entry in enumerate(inside):
                archive_read.unpack(archive, entry, room, path)
                yield Progress(done + 1, len(inside), "files")
            found = [_checked(room / text, path) for text in head["artefacts"]]
            if check is not None:
                check(found, store)
            taken = []
            for artefact in found:
                if store.find(artefact.key) is None:
                    manifest.note_import(artefact.path, path.name)
                taken.append(store.adopt(artefact.path, artefact.key))
    _labelled(head, taken, store)
    return taken


def _head(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """What the archive says of itself, each part of it looked at."""
    if HEAD not in archive.namelist():
        raise DataError(path.name, f"no {HEAD} in it", REMEDY)
    with archive.open(HEAD) as file:
        head = plain_json.parsed(file.read(plain_json.MOST_BYTES + 1))
    if not isinstance(head, dict) or "version" not in head:
        raise DataError(path.name, f"its {HEAD} does not describe an archive", REMEDY)
    if head["version"] != VERSION:
        found = f"an archive of version {str(head['version'])[:40]!r}, not {VERSION}"
        raise DataError(path.name, found, REMEDY)
    keys, called, tagged = (head.get(name, kind()) for name, kind in
                            (("artefacts", list), ("names", dict), ("tags", dict)))  # fmt: skip
    if not isinstance(keys, list) or not all(isinstance(one, str) for one in keys):
        raise DataError(path.name, f"artefacts in its {HEAD} are no list of keys", REMEDY)
    strange = [text for text in keys if not KEY.fullmatch(text)]
    if strange or len(set(keys)) < len(keys):
        found = f"{strange[0][:60]!r} is no key" if strange else "an artefact is named twice"
        raise DataError(path.name, f"{found}, in its {HEAD}", REMEDY)
    _check_labels(called, tagged, path)
    return {"artefacts": keys, "names": called, "tags": tagged}


def _check_labels(called: Any, tagged: Any, path: Path) -> None:
    if not isinstance(called, dict) or not all(isinstance(key, str) for key in called.values()):
        raise DataError(path.name, f"names in its {HEAD} are no table of keys", REMEDY)
    for name in called:
        if name in names.RESERVED or names.LIKE_A_KEY.fullmatch(name):
            remedy = "Rename the entry where it was exported, and export it again."
            raise DataError(path.name, f"an entry wants the name {name!r}, which is taken", remedy)
        if not names.NAME.fullmatch(name):
            raise DataError(path.name, f"{name[:60]!r} cannot be a name", REMEDY)
    lists = tagged.values() if isinstance(tagged, dict) else [None]
    if not all(isinstance(words, list) and all(tags.is_tag(one) for one in words)
               for words in lists):  # fmt: skip
        raise DataError(path.name, f"tags in its {HEAD} are no table of words", REMEDY)


def _checked(content: Path, path: Path) -> Artefact:
    """An unpacked artefact whose manifest is one and whose files are those of its manifest."""
    if not content.is_dir():
        raise DataError(path.name, f"{content.name} is named in it and not in it", REMEDY)
    try:
        artefact = manifest.listed(content)
        manifest.check(content)
    except ArtefactError as error:
        raise DataError(path.name, f"{content.name} is damaged: {error.found}", REMEDY) from error
    return artefact


def _labelled(head: dict[str, Any], found: Sequence[Artefact], store: Store) -> None:
    """Names and tags of what was taken."""
    keys: dict[str, ArtefactKey] = {str(artefact.key): artefact.key for artefact in found}
    for name, text in head["names"].items():
        if text in keys:
            store.set_name(_free(name, keys[text], store), keys[text])
    own = Tags(store.root)
    for text, words in head["tags"].items():
        if text in keys and words:
            own.put(keys[text], [*own.of(keys[text]), *words])


def _free(name: str, key: ArtefactKey, store: Store) -> str:
    """The name, or with a number behind it where it means something else here."""
    taken, number, free = store.names(), 1, name
    while taken.get(free, key) != key:
        number += 1
        free = f"{name[: 58 - len(str(number))]} {number}"
    return free
