"""Recorded answers in the store, filed under the digests of their files and of their groups."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from shuffleproof.core.rerank import calls, reading
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import file_digest, key_of
from shuffleproof.core.store.manifest import Artefact

READER = 1
"""Version of the reader, for the key: raise it when files are read in another way."""


def ingest(
    paths: Sequence[Path],
    name: str,
    store: Store,
    qrels: Path | None = None,
    groups: Mapping[str, str] | None = None,
) -> tuple[Artefact, list[reading.Group]]:
    """Read files of rerankings into the store, and name them.

    Args:
        paths: files or folders.
        name: of the answers.
        store: destination.
        qrels: judgments.
        groups: fields of groups for all files: a value, or the number of the part of the name.

    Raises:
        LetorError, DataError: a file that cannot be read; nothing is stored.
        UsageError: an unknown group.
    """
    files = reading.files_in(paths)
    digests = [file_digest(path) for path in (*files, *([qrels] if qrels else []))]
    recipe = {
        "files": [path.name for path in files], "qrels": qrels is not None,
        "groups": dict(groups or {}), "reader": READER,
    }  # fmt: skip
    key = key_of(calls.KIND, recipe, digests)
    with store.found_or_locked(key) as found:
        artefact = found or calls.add(reading.read(files, qrels, groups), key, recipe, store)
    store.set_name(name, artefact.key)
    return artefact, reading.groups_of(files, groups or {})
