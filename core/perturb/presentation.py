"""Perturbations of the presentation: the same documents and prior ranks in another order."""

from dataclasses import dataclass, field

import numpy as np

from core.data.lists import CandidateLists
from core.perturb.arrangements import Arrangement
from core.perturb.base import Change


@dataclass(frozen=True)
class PresentationPerturbation:
    """Shows the lists in another order; every document keeps its prior scores and ranks.

    Attributes:
        family: the registry's name.
        level: share of the positions that take part.
        arrange: what moves where; see `arrangements`.
        unchanged: the level that leaves the lists as they are.
    """

    family: str
    level: float
    arrange: Arrangement = field(repr=False)
    unchanged: float = 0.0
    changes: frozenset[Change] = frozenset({"order"})

    def __str__(self) -> str:
        """As `registry.parse` reads it: `reverse-shown:1`."""
        return f"{self.family}:{self.level:g}"

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists in another order."""
        if self.level == self.unchanged:
            return lists
        unread = np.zeros(len(lists.rows), dtype=np.float32)
        return lists.shown_as(self.arrange(lists.offsets, unread, self.level, generator))
