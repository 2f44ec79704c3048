"""A store's folder is its owner's alone: made so, and existing ones are made so before writing."""

import os
import stat
from contextlib import suppress
from pathlib import Path

OWN = frozenset(
    {"artefacts", "names", "tags", "records", "workspaces", "locks", "incoming", "jobs", "uploads",
     "exports", "presets", "tunings", "shared",
     "claims", "copies", "judgments", "manifests"}
)  # fmt: skip
"""The folders of a store, by name."""

MODE = 0o700


def make_private(root: Path) -> None:
    """Make a store's folder if it is not there, and close it to others.

    In a folder that holds other things too, only the store's own folders become private.

    Raises:
        OSError: it cannot be made.
    """
    if not root.is_dir():
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=MODE, exist_ok=True)
    if not stat.S_IMODE(root.stat().st_mode) & 0o077:
        return
    inside = {entry.name for entry in os.scandir(root) if entry.is_dir()}
    for folder in [root] if inside <= OWN else [root / name for name in sorted(inside & OWN)]:
        with suppress(OSError):  # of another owner, who says who may look
            if stat.S_IMODE(folder.stat().st_mode) & 0o077:
                folder.chmod(MODE)
