"""The order in which artefacts came: a choice by it stays the same when later work comes."""

from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.manifest import Artefact

Arrival = tuple[bool, str, str]
"""Whether it came after the installation, when it came here, and its key."""


def arrival(store: Store, artefact: Artefact) -> Arrival:
    """Sort key by arrival, bundled artefacts first.

    Args:
        store: that they are of.
        artefact: one of them.
    """
    key = str(artefact.key)
    shipped = any((root / "artefacts" / key).is_dir() for root in store.bundled)
    when = artefact.imported.at if artefact.imported else artefact.created
    return not shipped, when, key
