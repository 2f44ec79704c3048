"""Comparison of two rankers: do they give the same lists the same order?

Scores may be on different scales. Rounding may swap documents whose scores are equal in float32,
so a list differs only if one ranker separates two documents by more than its rounding floor.
"""

from collections.abc import Generator
from dataclasses import asdict, dataclass
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
class Swap:
    """Two documents of a list that two rankers do not order alike.

    Attributes:
        query: of the list.
        documents: their names.
        scores: of both by the first ranker.
        other_scores: of both by the second one.
    """

    query: str
    documents: tuple[str, str]
    scores: tuple[float, float]
    other_scores: tuple[float, float]


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
        first: the first list that differs; None: none does.
    """

    ranker: str
    like: str
    lists: int
    same: int
    largest_difference: float
    tau: dict[str, float] | None
    first: Swap | None

    def plain(self) -> dict[str, Any]:
        """The fields of a JSON answer."""
        return asdict(self) | {"share": self.same / self.lists if self.lists else None}

    def sentence(self) -> str:
        """The answer in words."""
        names = display_names([self.ranker, self.like])
        ranker, like = names[self.ranker], names[self.like]
        if self.first is None:
            lists = counted(self.lists, "list")
            return f"{ranker} and {like} rank alike: all {lists} have the same order."
        differ = f"{self.lists - self.same:,} of {counted(self.lists, 'list')}"
        one, other = self.first.documents
        rows = (
            f"  {name}: {one} {number(scores[0], '.6g')}, {other} {number(scores[1], '.6g')}"
            for name, scores in ((ranker, self.first.scores), (like, self.first.other_scores))
        )
        return "\n".join([
            f"{ranker} and {like} do not rank alike: {differ} have another order.",
            f"The first is of query {self.first.query}; documents {one} and {other} swap or tie:",
            *rows,
        ])  # fmt: skip


def compare(
    bench: Workbench, name: str, like: str, judged: JudgedLists
) -> Generator[Progress, None, Likeness]:
    """Compare two rankers on some test lists of a workbench; they are trained if need be.

    Args:
        bench: whose data set the rankers are of.
        name: of the first ranker, as studies take it.
        like: of the second one.
        judged: the lists.

    Raises:
        ShuffleproofError: no such ranker, or one that cannot be made or has no scores.
    """
    scores = []
    for each in (name, like):
        identified = yield from bench.identified(RankerName.parse(each))
        scores.append(identified.ranker.score(judged.dataset, judged.lists))
    return likeness(name, like, judged, *scores)


def likeness(
    name: str, like: str, judged: JudgedLists, scores: Scores, other_scores: Scores
) -> Likeness:
    """The agreement of two rankers by their scores of the same lists."""
    offsets = judged.lists.offsets
    floors = [score_floor.of_scores(offsets, each).doubt for each in (scores, other_scores)]
    found: list[tuple[int, int, int]] = []
    for at, (start, end) in enumerate(pairwise(offsets.tolist())):
        inside = slice(start, end)
        pair = _swapped(
            (scores[inside], other_scores[inside]), (floors[0][inside], floors[1][inside])
        )
        found += [(at, *pair)] if pair else []
    first = _swap(judged, found[0], scores, other_scores) if found else None
    taus = kendall_tau(offsets, scores, other_scores)
    known = taus[~np.isnan(taus) & (judged.lists.lengths > 1)]
    tau = {"mean": float(known.mean()), "min": float(known.min())} if len(known) else None
    largest = score_floor.difference(scores, other_scores).max(initial=0.0)
    lists = len(judged.lists)
    return Likeness(name, like, lists, lists - len(found), float(largest), tau, first)


def _swap(
    judged: JudgedLists, found: tuple[int, int, int], scores: Scores, other_scores: Scores
) -> Swap:
    """The swap of a list and two places in it."""
    at, one, other = found
    alone = judged.lists.select(np.array([at]))
    names = documents(JudgedLists(judged.dataset, alone))
    rows = judged.lists.offsets[at] + np.array([one, other])
    return Swap(
        judged.dataset.query_ids[alone.queries[0]], (names[one], names[other]),
        tuple(scores[rows].tolist()), tuple(other_scores[rows].tolist()),
    )  # fmt: skip


def _swapped(
    scores: tuple[np.ndarray, np.ndarray], floors: tuple[np.ndarray, np.ndarray]
) -> tuple[int, int] | None:
    """Two documents of a list that are ordered or tied otherwise, by more than rounding explains.

    >>> none = np.zeros(3)
    >>> _swapped((np.array([3.0, 2.0, 1.0]), np.array([9.0, 1.0, 5.0])), (none, none))
    (1, 2)
    """
    values = [each.astype(np.float64) for each in scores]
    for one in range(len(values[0])):
        with np.errstate(invalid="ignore"):  # the difference of two −∞ is none
            apart = [np.nan_to_num(each[one] - each[one + 1 :]) for each in values]
        bounds = [floor[one] + floor[one + 1 :] for floor in floors]
        differs = np.sign(apart[0]) != np.sign(apart[1])
        differs &= (np.abs(apart[0]) > bounds[0]) | (np.abs(apart[1]) > bounds[1])
        if differs.any():
            return one, one + 1 + int(differs.argmax())
    return None
