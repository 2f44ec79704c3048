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
"""Seconds after which the search stops with the smallest list so far."""

FEW = 6
"""Documents of a list whose exchanges of two are all tried."""

SHOWN = 8
"""Documents that are printed."""


@dataclass(frozen=True)
class Counterexample:
    """A list whose scores another order changes.

    Attributes:
        judged: the list alone, in its input order.
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
        original, changed = (
            _row([names[at] for at in order], scores[order])
            for order, scores in (
                (np.arange(len(names)), self.before), (self.order, self.after),
            )
        )  # fmt: skip
        return (
            f"The smallest list that shows it is of query {query}, {size}:\n"
            f"  shown  {original}\n  shown  {changed}\n"
            f"Document {names[worst]} has {self.before[worst]:.6g}, then {self.after[worst]:.6g}; "
            f"arithmetic explains a change of {self.floor.doubt[worst]:.2g} at most."
        )


def documents(judged: JudgedLists) -> list[str]:
    """Names of the documents of a single list: their ids, or their places in their query."""
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
    example = next(filter(None, (_compared(ranker, judged, order) for order in orders)), None)
    size = len(judged.lists.rows) // 2
    while example is not None and size:
        for places, order in _without(example.order, size):
            if perf_counter() > end:
                return example
            part = JudgedLists(judged.dataset, _part(example.judged.lists, places))
            smaller = _compared(ranker, part, order)
            if smaller is not None:
                example = smaller
                break
        else:
            size //= 2
    if example is None or len(example.order) > FEW:
        return example
    for pair in combinations(range(len(example.order)), 2):
        order = np.arange(len(example.order))
        order[list(pair)] = pair[::-1]
        plain = _compared(ranker, example.judged, order)
        if plain is not None:
            return plain
    return example


def _without(
    order: Int64[np.ndarray, " docs"], size: int
) -> Iterator[tuple[Int64[np.ndarray, " left"], Int64[np.ndarray, " left"]]]:
    """Remaining places without each run of `size` documents, and the order among them."""
    for first in range(0, len(order), size):
        places = np.delete(np.arange(len(order)), np.s_[first : first + size])
        if len(places) > 1:
            yield places, np.searchsorted(places, order[np.isin(order, places)])


def _part(lists: CandidateLists, places: Int64[np.ndarray, " left"]) -> CandidateLists:
    """Some documents of a single list, with the ranks that they had."""
    return CandidateLists(
        np.array([0, len(places)]), lists.queries, lists.rows[places], lists.ranks[places],
        lists.prior[places],
    )  # fmt: skip


def _compared(
    ranker: Ranker, judged: JudgedLists, order: Int64[np.ndarray, " docs"]
) -> Counterexample | None:
    """Effect of an order on a list; None if rounding explains it."""
    lists = judged.lists
    if (order == np.arange(len(order))).all():
        return None
    shown = lists.shown_as(order)
    before = ranker.score(judged.dataset, lists).astype(np.float64)
    after = as_in(lists, shown, ranker.score(judged.dataset, shown).astype(np.float64))
    floor = score_floor.of_scores(lists.offsets, before)
    if not _beyond(lists, before, after, floor):
        return None
    rounding = score_floor.own_rounding(ranker, judged, np.arange(1), before)
    floor = floor.raised(rounding)
    beyond = _beyond(lists, before, after, floor)
    return Counterexample(judged, order, before, after, floor) if beyond else None


def _beyond(lists: CandidateLists, before: np.ndarray, after: np.ndarray, floor: Floor) -> bool:
    passed = documents_passed(lists.offsets, before, after, floor.doubt)
    return bool(passed.any() or (difference(before, after) > floor.effect).any())


def _row(names: Sequence[str], scores: np.ndarray) -> str:
    """Documents with their scores, a few of them."""
    texts = [f"{name}: {score:.6g}" for name, score in zip(names, scores.tolist(), strict=True)]
    return ", ".join([*texts[:SHOWN], *(["…"] if len(texts) > SHOWN else [])])
