"""A ranker under attack: what an order of the ranking, or of what is shown, is worth to it."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.argsort_descending import falling_order
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.experiment.score_reuse import scores_of_all
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate_many
from shuffleproof.core.perturb import permutations
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.perturb.worst_case import WorstOrders, most_rounds, search
from shuffleproof.core.progress import Progress, with_reports
from shuffleproof.core.rankers.base import Input, Ranker
from shuffleproof.core.rankers.theorems import theorem_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.invariance.examination import examine
from shuffleproof.core.studies.kinds.invariance.verdict import INVARIANT, verdict_of
from shuffleproof.core.studies.run import query_ids_of

READ: dict[str, frozenset[Input]] = {
    "ranking": frozenset({"order", "ranks"}),
    "shown": frozenset({"order"}),
}
"""What a ranker must read to see that the target was rearranged."""

PERMUTED = 10
"""Random orders of every list that a certificate rests on."""

LARGEST = 1e30
"""What an infinite score counts as where scores are averaged."""

PLATEAU = 1e-3
"""Weight of the smooth guide beside the measure, which hardly a step changes alone."""


@dataclass(frozen=True)
class Certificate:
    """Whether rearranging can hurt at all.

    Attributes:
        proven: the ranker reads nothing of it, and its verdict over real permutations is invariant.
        deviation: largest deviation of a score that they showed.
        permutations: lists that were really permuted and scored.
    """

    proven: bool
    deviation: float
    permutations: int


@dataclass(frozen=True)
class Attack:
    """The search for one ranker's worst order.

    Attributes:
        ranker: the ranker.
        base: the lists as they are.
        target: `ranking`: the first initial ranking and with it the order shown; `shown`: the
            order shown alone.
        measure: what is hurt.
    """

    ranker: Ranker
    base: JudgedLists
    target: str
    measure: Measure

    def __post_init__(self) -> None:
        """Refuse lists without the ranking that is to be rearranged."""
        if self.target == "ranking" and not self.base.lists.rankings:
            raise MissingRankingError("worst-case on the ranking", 1, 0)

    @cached_property
    def holders(self) -> Int64[np.ndarray, " places"]:
        """The candidate at each place of what is rearranged."""
        lists = self.base.lists
        if self.target == "shown":
            return np.arange(len(lists.rows))
        return falling_order(lists.offsets, lists.prior[:, 0], lists.rows)

    def part(self, chosen: Int64[np.ndarray, " chosen"]) -> "Attack":
        """The same attack on some of the lists."""
        base = JudgedLists(self.base.dataset, self.base.lists.select(chosen))
        return Attack(self.ranker, base, self.target, self.measure)

    def rearranged(self, order: Int64[np.ndarray, " places"]) -> CandidateLists:
        """The lists when the document at old place `order[p]` stands at place p.

        A place of the ranking keeps its prior score; other initial rankings stay. Documents whose
        prior scores tie are shown by data set row wherever they are moved.
        """
        lists = self.base.lists
        if self.target == "shown":
            return lists.shown_as(order)
        prior = lists.prior.copy()
        prior[self.holders[order], 0] = lists.prior[self.holders, 0]
        return lists.reranked(prior)

    @cached_property
    def certificate(self) -> Certificate:
        """Real permutations of every list, where the ranker declares to read nothing of it."""
        if self.ranker.reads & READ[self.target]:
            return Certificate(proven=False, deviation=0.0, permutations=0)
        lists = self.base.lists
        unread = np.zeros(len(lists.rows), dtype=np.float32)
        orders = [
            permutations.shuffled(
                lists.offsets, unread, 1.0, generator(index, "worst-case", "certificate")
            )
            for index in range(PERMUTED)
        ]
        place = np.argsort(self.holders)
        examined = examine(
            self.ranker, self.base, [self.rearranged(order) for order in orders],
            lambda candidates: self.rearranged(place[candidates]),
        )  # fmt: skip
        theorem = theorem_of(self.ranker)
        verdict, _ = verdict_of(
            examined, query_ids_of(self.base), None if theorem is None else theorem.plain()
        )
        deviation = max(
            (float(values[0].max(initial=0.0)) for values in examined.values), default=0.0
        )
        return Certificate(verdict == INVARIANT, deviation, PERMUTED * len(lists))

    def values(
        self, orders: Int64[np.ndarray, "orders places"]
    ) -> tuple[Float64[np.ndarray, "orders lists"], Float64[np.ndarray, "orders lists"]]:
        """The measure's value of each list under each order, and a guide without plateaus.

        The guide adds a thousandth of the covariance of standardised scores and gains; undefined
        values count as 0, no order changes them.
        """
        variants = [self.rearranged(order) for order in orders]
        scores = scores_of_all(self.ranker, self.base, variants)
        runs = list(zip(variants, scores, strict=True))
        measured = evaluate_many([self.measure], self.base.dataset, runs)[:, 0].astype(np.float64)
        measured = np.nan_to_num(measured.reshape(len(orders), len(self.base.lists)))
        guides = np.array([self._guide(*run) for run in runs]).reshape(measured.shape)
        return measured, measured + PLATEAU * guides

    def _guide(self, lists: CandidateLists, scores: np.ndarray) -> Float64[np.ndarray, " lists"]:
        owner, lengths = ragged.segment_ids(lists.offsets), np.maximum(lists.lengths, 1)
        gains = np.exp2(np.maximum(self.base.dataset.labels[lists.rows], 0)) - 1
        exact = np.nan_to_num(scores.astype(np.float64), posinf=LARGEST, neginf=-LARGEST)
        centred = exact - (np.bincount(owner, exact, len(lengths)) / lengths)[owner]
        spread = np.sqrt(np.bincount(owner, centred**2, len(lengths)) / lengths)
        product = np.bincount(owner, centred * gains, len(lengths)) / lengths
        return (
            product / np.where(spread > 0, spread, np.inf) / max(1.0, float(gains.max(initial=0)))
        )

    def find_worst(self, wanted: Search) -> Generator[Progress, None, WorstOrders]:
        """The worst orders found; 0 damage without a search where that is certified."""
        lists = self.base.lists
        steps = search(lists.offsets, self.values, wanted, floor=0.0)  # the floor of every measure
        rounds = most_rounds(lists.offsets, wanted)
        unit = f"rounds for {self.ranker.name}"
        return (yield from with_reports(steps, lambda count: Progress(count, rounds, unit)))

    def random_orders(
        self, unit: str, budget: int, draws: int, seed: int
    ) -> Int64[np.ndarray, "draws places"]:
        """Random orders of exactly so many steps: inversions, or exchanges with replacement."""
        offsets = self.base.lists.offsets
        unread = np.zeros(int(offsets[-1]), dtype=np.float32)
        arrange = permutations.inverted if unit == "inversions" else permutations.transposed
        orders = [
            arrange(offsets, unread, float(budget), generator(seed, unit, budget, draw))
            for draw in range(draws)
        ]
        return np.array(orders).reshape(draws, int(offsets[-1]))
