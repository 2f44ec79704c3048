"""Perturbations of the presentation: the same documents and prior ranks in another order."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32, Shaped

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.perturb.base import Change, NeedsData
from shuffleproof.core.perturb.permutations import Arrangement

ORDER: frozenset[Change] = frozenset({"order"})


@dataclass(frozen=True)
class PresentationPerturbation:
    """Shows the lists in another order; every document keeps its prior scores and ranks.

    Attributes:
        family: the registry's name.
        level: share of the positions that take part, or the family's own unit.
        arrange: what moves where; see `arrangements`.
        unchanged: the level that leaves the lists as they are.
    """

    family: str
    level: float
    arrange: Arrangement = field(repr=False)
    unchanged: float = 0.0
    changes: frozenset[Change] = ORDER

    def __str__(self) -> str:
        """As `registry.parse` reads it: `reverse-shown:1`."""
        return f"{self.family}:{self.level:g}"

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists in another order."""
        if self.level == self.unchanged:
            return lists
        unread = np.zeros(len(lists.rows), dtype=np.float32)
        return lists.shown_as(self.arrange(lists.offsets, unread, self.level, generator))


@dataclass(frozen=True)
class SortedPresentation(NeedsData):
    """Shows the lists sorted by something that the data set knows of each document.

    Attributes:
        family: the registry's name.
        level: 1 = rising keys first, −1 = falling ones, 0 = as they are; equal keys stay as shown.
        keys: of every candidate.
    """

    family: str
    level: float
    keys: Callable[[JudgedLists], np.ndarray] = field(repr=False)
    changes: frozenset[Change] = ORDER

    def __str__(self) -> str:
        """As `registry.parse` reads it: `label-shown:1`."""
        return f"{self.family}:{self.level:g}"

    def disturbed(self, judged: JudgedLists, generator: np.random.Generator) -> JudgedLists:
        """The lists in the order of their keys; nothing is drawn."""
        del generator
        if self.level == 0:
            return judged
        keys = np.unique(self.keys(judged), return_inverse=True)[1].astype(np.int64)
        order = ragged.order_within(judged.lists.offsets, keys * round(self.level))
        return JudgedLists(judged.dataset, judged.lists.shown_as(order))


def label_keys(judged: JudgedLists) -> Float32[np.ndarray, " candidates"]:
    """Minus the label: the most relevant document is shown first."""
    return -judged.dataset.labels[judged.lists.rows]


def id_keys(judged: JudgedLists) -> Shaped[np.ndarray, " candidates"]:
    """The document's id where the data set names them, else its row."""
    ids, rows = judged.dataset.doc_ids, judged.lists.rows
    if ids is None or not len(rows):
        return rows
    return np.array([ids[row] for row in rows.tolist()])
