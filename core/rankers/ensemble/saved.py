"""Files of a combination: a description, and a folder for every member."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Ranker

FAMILY = "ensemble"
FILE = "ranker.json"


def save(kind: str, members: Sequence[Ranker], options: Mapping[str, Any], directory: Path) -> None:
    """Write `ranker.json` and the members' folders.

    Args:
        kind: of combination.
        members: the rankers that it is made of.
        options: how they are combined, plain JSON values.
        directory: an empty one.
    """
    folders = [f"member-{place}" for place in range(len(members))]
    saved = {"family": FAMILY, "kind": kind, "options": dict(options), "members": folders}
    (directory / FILE).write_text(json.dumps(saved, indent=1), encoding="utf-8")
    for member, folder in zip(members, folders, strict=True):
        (directory / folder).mkdir()
        member.save(directory / folder)


def load_members(directory: Path) -> tuple[str, list[Ranker], dict[str, Any]]:
    """The kind, the members and the options that `save` wrote."""
    saved = json.loads((directory / FILE).read_text(encoding="utf-8"))
    members = [registry.load(directory / folder) for folder in saved["members"]]
    return saved["kind"], members, saved["options"]
