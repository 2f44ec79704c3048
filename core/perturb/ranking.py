"""Perturbations of the initial ranking: prior ranks change, and with them the order shown.

A ranking perturbation rearranges the places of a ranking, best first (ties stand by data set
row, so the order shown has no say), and leaves every place its prior score: the multiset of
prior scores stays, the documents' shares of it change.
"""

from dataclasses import dataclass, field
from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Float32, Int64

from core.data.falling import falling_order
from core.data.lists import CandidateLists
from core.errors import UsageError
from core.perturb.arrangements import Arrangement
from core.perturb.base import Change


@dataclass(frozen=True)
class RankingPerturbation:
    """Rearranges every initial ranking of the lists, each by its own draw.

    Attributes:
        family: the registry's name.
        level: strength in the family's unit.
        arrange: what moves where; see `arrangements`.
        unchanged: the level that leaves the lists as they are.
        unties: tied prior scores are first told apart by the smallest steps of float32, falling
            by data set row, so that the order that comes out is strict.
    """

    family: str
    level: float
    arrange: Arrangement = field(repr=False)
    unchanged: float = 0.0
    unties: bool = False
    changes: frozenset[Change] = frozenset({"ranking", "order"})

    def __str__(self) -> str:
        """As `registry.parse` reads it: `transpositions:5`."""
        return f"{self.family}:{self.level:g}"

    def __call__(self, lists: CandidateLists, generator: np.random.Generator) -> CandidateLists:
        """The lists under the perturbed rankings, shown by the first of them.

        Raises:
            UsageError: the lists carry no initial ranking.
        """
        if not lists.rankings:
            raise UsageError(
                f"{self} changes initial rankings and these lists carry none: "
                "name initial rankers when the lists are made, or change the order shown instead"
            )
        if self.level == self.unchanged:
            return lists
        prior = np.empty_like(lists.prior)
        for column in range(lists.rankings):
            holders = falling_order(lists.offsets, lists.prior[:, column], lists.rows)
            scores = lists.prior[holders, column]
            if self.unties:
                scores = strictly_falling(lists.offsets, scores)
            came_from = self.arrange(lists.offsets, scores, self.level, generator)
            prior[holders[came_from], column] = scores
        return lists.reranked(prior)


def strictly_falling(
    offsets: Int64[np.ndarray, " bounds"], scores: Float32[np.ndarray, " places"]
) -> Float32[np.ndarray, " places"]:
    """Falling scores with ties told apart by the smallest steps of float32.

    >>> ranks = strictly_falling(np.array([0, 3]), np.array([2, 1, 1], dtype=np.float32))
    >>> ranks[:2].tolist(), bool(ranks[2] < 1), float(np.float32(1) - ranks[2]) < 1e-7
    ([2.0, 1.0], True, True)
    """
    return _untied(offsets, scores.copy())


@numba.njit(cache=True)
@no_type_check
def _untied(offsets: np.ndarray, scores: np.ndarray) -> np.ndarray:
    for segment in range(len(offsets) - 1):
        for place in range(offsets[segment] + 1, offsets[segment + 1]):
            if scores[place] >= scores[place - 1]:
                scores[place] = np.nextafter(scores[place - 1], np.float32(-np.inf))
    return scores
