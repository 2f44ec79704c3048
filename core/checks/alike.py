"""Comparison of two rankers: do they give the same lists the same order?

Scores may be on different scales. Rounding may swap documents whose scores are equal in float32,
so a list differs only if one ranker separates two documents by more than its rounding floor.
"""

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.checks.counterexample import documents
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.name import RankerName, display_names
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted, number

Scores = Float32[np.ndarray, " candidates"]


@dataclass(frozen=True)
class Likeness:
    """Agreement of two rankers.

    Attributes:
        ranker: the first.
        like: the second.
        lists: that both scored.
        same: of these, lists of the same order.
        largest_difference: of the scores of a document, which says nothing on other scales.
        tau: mean and smallest Kendall τ-b over the lists where both order something; None: none.
        first: of the first list that differs, the query and two documents with their scores by
            both rankers; None: no list differs.
    """

    ranker: str
    like: str
    lists: int
    same: int
    largest_difference: float
    tau: dict[str, float] | None
    first: dict[str, Any] | None

    def plain(self) -> dict[str, Any]:
        """The fields of a JSON answer."""
        return vars(self) | {"share": self.same / self.lists if self.lists else None}

    def sentence(self) -> str:
        """The answer in words."""
        names = display_names([self.ranker, self.like])
        ranker, like = names[self.ranker], names[self.like]
        lists = counted(self.lists, "list")
        if self.first is None:
            return f"{ranker} and {like} rank alike: all {lists} have the same order."
        one, other = self.first["documents"]
        rows = (
            f"  {name}: {one} {number(scores[0], '.6g')}, {other} {number(scores[1], '.6g')}"
            for name, scores in (
                (ranker, self.first["scores"]), (like, self.first["other_scores"]),
            )
        )  # fmt: skip
        differ = f"{self.lists - self.same:,} of {lists} have another order"
        where = f"The first is of query {self.first['query']}, where these documents swap or tie:"
        return "\n".join([f"{ranker} and {like} do not rank alike: {differ}.", where, *rows])


def compare(
    bench: Workbench, name: str, like: str, judged: JudgedLists
) -> Generator[Progress, None, Likeness]:
    """Compare two rankers on some test lists of a workbench; they are trained if need be.

    Raises:
        ShuffleproofError: no such ranker, or one that cannot be made or has no scores.
    """
    scores: list[Scores] = []
    for each in (name, like):
        identified = yield from bench.identified(RankerName.parse(each))
        scores.append(identified.ranker.score(judged.dataset, judged.lists))
    offsets = judged.lists.offsets
    floors = [score_floor.of_scores(offsets, each).doubt for each in scores]
    swaps = []
    for at, (start, end) in enumerate(pairwise(offsets.tolist())):
        values, bounds = ([each[start:end] for each in both] for both in (scores, floors))
        if (swap := _swapped(values, bounds)) is not None:
            swaps.append((at, start + np.array(swap)))
    first = None
    if swaps:
        at, places = swaps[0]
        alone = JudgedLists(judged.dataset, judged.lists.select(np.array([at])))
        first = {
            "query": judged.dataset.query_ids[alone.lists.queries[0]],
            "documents": [documents(alone)[place - offsets[at]] for place in places],
            "scores": scores[0][places].tolist(),
            "other_scores": scores[1][places].tolist(),
        }
    taus = kendall_tau(offsets, *scores)
    known = taus[~np.isnan(taus) & (judged.lists.lengths > 1)]
    tau = {"mean": float(known.mean()), "min": float(known.min())} if len(known) else None
    largest = float(score_floor.difference(*scores).max(initial=0.0))
    lists = len(judged.lists)
    return Likeness(name, like, lists, lists - len(swaps), largest, tau, first)


def _swapped(scores: list[np.ndarray], floors: list[np.ndarray]) -> tuple[int, int] | None:
    """Two documents of a list that are ordered or tied otherwise, by more than rounding explains.

    >>> none = np.zeros(3)
    >>> _swapped([np.array([3.0, 2.0, 1.0]), np.array([9.0, 1.0, 5.0])], [none, none])
    (1, 2)
    """
    values = [each.astype(np.float64) for each in scores]
    for one in range(len(values[0])):
        with np.errstate(invalid="ignore"):  # the difference of two −∞ is none
            apart = [np.nan_to_num(each[one] - each[one + 1 :]) for each in values]
        clear = [
            np.abs(difference) > floor[one] + floor[one + 1 :]
            for difference, floor in zip(apart, floors, strict=True)
        ]
        differs = (np.sign(apart[0]) != np.sign(apart[1])) & (clear[0] | clear[1])
        if differs.any():
            return one, one + 1 + int(differs.argmax())
    return None
