"""Digests of all files of a store, compared with those that were stored: `library verify`.

Opening an artefact digests its files of up to 1 MiB; a flipped byte of a larger one shows when
all of it is read.
"""

from collections.abc import Generator

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.damaged_entries import DamagedEntry, size_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.store.records import Records

RECORDS = "records", "tunings", "judgments"
"""Folders of a store that hold records: of studies, of searches, of judges."""


def verify_files(
    store: Store, artefacts: list[Artefact]
) -> Generator[Progress, None, list[DamagedEntry]]:
    """Digest every file of these artefacts; yields one report each, returns what is damaged.

    Args:
        store: that they are of.
        artefacts: some of its own or shipped ones.
    """
    damaged = []
    for index, artefact in enumerate(artefacts):
        try:
            store.verify(artefact)
        except ArtefactError as error:
            if artefact.path.is_dir():  # and not removed meanwhile
                damaged.append(
                    DamagedEntry(artefact.path, "artefact", error.finding, artefact.size)
                )
        except FileNotFoundError:
            continue
        yield Progress(index + 1, len(artefacts), "artefacts")
    return damaged


def damaged_records(store: Store, only: str = "") -> list[DamagedEntry]:
    """Stored trials, searches and judges' answers whose content has changed.

    Args:
        store: whose files are read.
        only: the file of a record, as its entry is named; empty: all are read.
    """
    damaged = []
    for folder in RECORDS:
        records = Records(store.root / folder)
        for path in sorted(records.directory.glob("??/*.safetensors")):
            try:
                if only in {"", path.name}:
                    records.get(path.stem)
            except ArtefactError as error:
                damaged.append(DamagedEntry(path, "record", error.finding, size_of(path)))
    return damaged
