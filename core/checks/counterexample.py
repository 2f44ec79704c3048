"""The smallest list and order that show that the order matters, found by leaving documents out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.experiment.score_floor import Floor, difference
from shuffleproof.core.metrics.passing import documents_passed
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.kinds.invariance.scoring import as_in

SECONDS = 10.0
"""After so long the smallest list found by then is taken."""

FEW = 6
"""Documents of a list whose exchanges of two are all tried."""

SHOWN = 8
"""Documents that are printed."""


@dataclass(frozen=True)
class Counterexample:
    """A list whose scores another order changes.

    Attributes:
        judged: the list alone, as it is shown.
        order: the place of each document of the other order in the first.
        before: its scores; as shown first.
        after: the scores of the same documents when they are shown in the other order.
        floor: what arithmetic may do to each.
    """

    judged: JudgedLists
    order: Int64[np.ndarray, " docs"]
    before: Float64[np.ndarray, " docs"]
    after: Float64[np.ndarray, " docs"]
    floor: Floor

    def sentence(self, whole: int) -> str:
        """The list, both orders and their scores in words.

        Args:
            whole: documents of the list before any was left out.
        """
        names, worst = documents(self.judged), int(difference(self.before, self.after).argmax())
        query = self.judged.dataset.query_ids[self.judged.lists.queries[0]]
        size = (
            f"{len(names)} of its {whole} documents" if len(names) < whole else f"{whole} documents"
        )
        first, second = (
            _row([names[at] for at in order], scores[order])
            for order, scores in (
                (np.arange(len(names)), self.before), (self.order, self.after),
            )
        )  # fmt: skip
        return (
            f"The smallest list that shows it is of query {query}, {size}:\n"
            f"  shown  {first}\n  shown  {second}\n"
            f"Document {names[worst]} has {self.before[worst]:.6g}, then {self.after[worst]:.6g}; "
            f"arithmetic explains a change of {self.floor.doubt[worst]:.2g} at most."
        )


def documents(judged: JudgedLists) -> list[str]:
    """What the documents of a single list are called: their ids, or their places in their query."""
    lists, dataset = judged.lists, judged.dataset
    if dataset.doc_ids is not None:
        return [dataset.doc_ids[row] for row in lists.rows.tolist()]
    first = dataset.offsets[lists.queries[0]]
    return [str(row - first + 1) for row in lists.rows.tolist()]


def smallest(
    ranker: Ranker, judged: JudgedLists, orders: Sequence[Int64[np.ndarray, " docs"]]
) -> Counterexample | None:
    """The smallest part of one list, with the plainest order, whose scores an order changes.

    Documents are left out for as long as the change stays (Zeller & Hildebrandt, 2002, simplified).

    Args:
        ranker: anything that scores.
        judged: the list.
        orders: some of which changed its answer: the place of each document in the list.

    Returns:
        None where no order changes it now.
    """
    end = perf_counter() + SECONDS
    found = next(filter(None, (_compared(ranker, judged, order) for order in orders)), None)
    size = len(judged.lists.rows) // 2
    while found is not None and size:
        for kept, order in _without(found.order, size):
            if perf_counter() > end:
                return found
            part = JudgedLists(judged.dataset, _part(found.judged.lists, kept))
            smaller = _compared(ranker, part, order)
            if smaller is not None:
                found = smaller
                break
        else:
            size //= 2
    if found is None or len(found.order) > FEW:
        return found
    for pair in combinations(range(len(found.order)), 2):
        order = np.arange(len(found.order))
        order[list(pair)] = pair[::-1]
        plain = _compared(ranker, found.judged, order)
        if plain is not None:
            return plain
    return found


def _without(
    order: Int64[np.ndarray, " docs"], size: int
) -> Iterator[tuple[Int64[np.ndarray, " kept"], Int64[np.ndarray, " kept"]]]:
    """The places that are left without each run of so many documents, and the order among them."""
    for first in range(0, len(order), size):
        kept = np.delete(np.arange(len(order)), np.s_[first : first + size])
        if len(kept) > 1:
            yield kept, np.searchsorted(kept, order[np.isin(order, kept)])


def _part(lists: CandidateLists, kept: Int64[np.ndarray, " kept"]) -> CandidateLists:
    """Some documents of a single list, with the ranks that they had."""
    return CandidateLists(
        np.array([0, len(kept)]), lists.queries, lists.rows[kept], lists.ranks[kept],
        lists.prior[kept],
    )  # fmt: skip


def _compared(
    ranker: Ranker, judged: JudgedLists, order: Int64[np.ndarray, " docs"]
) -> Counterexample | None:
    """What an order does to a list; None where arithmetic explains it."""
    lists = judged.lists
    if (order == np.arange(len(order))).all():
        return None
    shown = lists.shown_as(order)
    before = ranker.score(judged.dataset, lists).astype(np.float64)
    after = as_in(lists, shown, ranker.score(judged.dataset, shown).astype(np.float64))
    floor = score_floor.of_scores(lists.offsets, before)
    if not _beyond(lists, before, after, floor):
        return None
    own = score_floor.own_rounding(ranker, judged, np.arange(1), before)
    floor = floor.raised(own)
    beyond = _beyond(lists, before, after, floor)
    return Counterexample(judged, order, before, after, floor) if beyond else None


def _beyond(lists: CandidateLists, before: np.ndarray, after: np.ndarray, floor: Floor) -> bool:
    passed = documents_passed(lists.offsets, before, after, floor.doubt)
    return bool(passed.any() or (difference(before, after) > floor.effect).any())


def _row(names: Sequence[str], scores: np.ndarray) -> str:
    """Documents with their scores, a few of them."""
    told = [f"{name}: {score:.6g}" for name, score in zip(names, scores.tolist(), strict=True)]
    return ", ".join([*told[:SHOWN], *(["…"] if len(told) > SHOWN else [])])
