"""The jobs that take artefacts to another machine and from one."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from shuffleproof.core.errors import DataError, ShuffleproofError
from shuffleproof.core.store import archive
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.jobs_opened import Reports, text_of
from shuffleproof.core.studies.library import uploads

FOLDER = "exports"


def export(store: Store, *, keys: Sequence[str]) -> Reports:
    """Write artefacts and all that they need into one archive; result: artefact, file, bytes.

    Args:
        store: where they are; the archive lies in its folder `exports`.
        keys: of the artefacts, as printed.

    Raises:
        ArtefactError: one of them is not in the store (any more).
    """
    from shuffleproof.core.studies.library import entries as library  # noqa: PLC0415 (only who works pays for it)

    every = library.entries(store)
    wanted = [store.resolve(text).key for text in keys]
    chosen = [entry.artefact for entry in library.required(every, wanted)]
    out = exported(store, keys)
    out.parent.mkdir(parents=True, exist_ok=True)
    yield from archive.write(store, chosen, out)
    return {"artefact": text_of(wanted[0]), "file": out.name, "bytes": out.stat().st_size}


def exported(store: Store, keys: Sequence[str]) -> Path:
    """Where the archive of these artefacts lies, or would lie."""
    digest = key_of("export", {"keys": sorted(keys)}).digest
    return store.root / FOLDER / f"shuffleproof-{digest[:12]}.zip"


def import_archive(store: Store, *, upload: str, name: str) -> Reports:
    """Take the artefacts of an uploaded archive into the store; result: artefact, artefacts.

    Args:
        store: where they go.
        upload: what `uploads.spooled` returned.
        name: what the file was called.

    Raises:
        DataError: no archive of a library, or one that is damaged or made to harm.
    """
    from shuffleproof.core.studies.library import imports  # noqa: PLC0415 (only who works pays for it)

    folder = uploads.folder_of(store, upload)
    files = [path for path in folder.rglob("*") if path.is_file()]
    if len(files) != 1:
        raise DataError(name, f"{len(files)} files", "Give one archive that the library exported.")
    try:
        found = yield from imports.read(files[0], store)
    except ShuffleproofError as error:  # where the file lies for now is nobody's business
        raise ShuffleproofError(str(error).replace(f"{folder}/", "")) from error
    if not found:
        raise DataError(name, "nothing in it", "Export something first.")
    shutil.rmtree(folder, ignore_errors=True)
    keys = [text_of(artefact.key) for artefact in found]
    return {"artefact": keys[0], "artefacts": keys}
