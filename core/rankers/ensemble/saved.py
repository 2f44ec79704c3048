"""Files of a combination, and the common part of combinations of a single ranker."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import Input, Ranker, one_line
from shuffleproof.core.rankers.combining import Pairwise, ShuffleOptions, SubsetOptions

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


@dataclass(frozen=True, eq=False)
class OfOneRanker:
    """A ranker made of one other, without its scores.

    Attributes:
        member: the other ranker.
        options: of the combination.
    """

    member: Ranker
    options: ShuffleOptions | Pairwise | SubsetOptions

    __repr__ = one_line

    @property
    def name(self) -> str:
        """Name of the combination, without the preset."""
        return f"{self.options.prefix}:{self.member.name}"

    @property
    def reads(self) -> frozenset[Input]:
        """Inputs of the member without the order; and the neighbours, which seed what is drawn."""
        return (self.member.reads - {"order"}) | {"neighbours"}

    @property
    def rankings(self) -> int:
        """As many initial rankings as the member reads."""
        return self.member.rankings

    def save(self, directory: Path) -> None:
        """Write `ranker.json`, and the member into a folder of its own."""
        save(self.options.kind, (self.member,), asdict(self.options), directory)
