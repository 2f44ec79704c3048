"""Every file of a store digested whole, one artefact after the other, beside other work.

Opening an artefact digests its files of up to 1 MiB; a flipped byte of a larger one shows when
all of it is read. Here it is: `library verify` waits for it, a page lets it run in a thread.
"""

import threading
from collections.abc import Generator
from dataclasses import dataclass, field

from shuffleproof.core.errors import ArtefactError
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.store import manifest
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
    """What of the trials, searches and judges' answers that are kept here is not what was put.

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


@dataclass
class BackgroundVerification:
    """The artefacts of a store with files that opening leaves undigested, verified in a thread.

    Attributes:
        store: whose own and shipped artefacts are read.
        done: how many were read.
        total: how many there are; known once the thread has begun.
        damaged: those that are not as they were stored.
    """

    store: Store
    done: int = 0
    total: int = 0
    damaged: list[DamagedEntry] = field(default_factory=list)

    def start(self) -> "BackgroundVerification":
        """Begin; the thread ends with the process."""
        threading.Thread(target=self.run, name="verifying the store", daemon=True).start()
        return self

    def run(self) -> None:
        """Read them all, here and now."""
        large = [artefact for artefact in self.store.artefacts() if _has_large(artefact)]
        self.total = len(large)
        for artefact in large:
            self.damaged += run_to_end(verify_files(self.store, [artefact]))
            self.done += 1


def _has_large(artefact: Artefact) -> bool:
    try:
        sizes = [path.stat().st_size for path in artefact.path.rglob("*") if path.is_file()]
    except FileNotFoundError:  # removed meanwhile
        return False
    return max(sizes, default=0) > manifest.CHECKED_ON_FIND
