"""Attack on a ranker: its measure under reordered initial rankings or input orders."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.data.ragged import falling_order
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
"""Inputs of a ranker that make a rearranged target visible to it."""

PERMUTED = 10
"""Number of random orders of every list for a certificate."""

LARGEST = 1e30
"""Replacement of an infinite score in averages."""

PLATEAU = 1e-3
"""Weight of the smooth guide next to the measure, which few single steps change."""


@dataclass(frozen=True)
class Certificate:
    """Proof that rearranging cannot hurt, if there is one.

    Attributes:
        proven: True if the ranker does not read the target, and real permutations confirm it.
        deviation: largest deviation of a score under these permutations.
        permutations: number of permuted lists that were scored.
    """

    proven: bool
    deviation: float
    permutations: int


@dataclass(frozen=True)
class Attack:
    """Search for one ranker's worst order.

    Attributes:
        ranker: the ranker.
        base: the unperturbed lists.
        target: `ranking`: the first initial ranking and with it the input order; `shown`: only
            the input order.
        measure: the measure to reduce.
    """

    ranker: Ranker
    base: JudgedLists
    target: str
    measure: Measure

    def __post_init__(self) -> None:
        """Refuse lists without the ranking to rearrange."""
        if self.target == "ranking" and not self.base.lists.rankings:
            raise MissingRankingError("worst-case on the ranking", 1, 0)

    @cached_property
    def holders(self) -> Int64[np.ndarray, " places"]:
        """Candidate at each place of the target."""
        lists = self.base.lists
        if self.target == "shown":
            return np.arange(len(lists.rows))
        return falling_order(lists.offsets, lists.prior[:, 0], lists.rows)

    def part(self, chosen: Int64[np.ndarray, " chosen"]) -> "Attack":
        """Same attack on some of the lists."""
        base = JudgedLists(self.base.dataset, self.base.lists.select(chosen))
        return Attack(self.ranker, base, self.target, self.measure)

    def rearranged(self, order: Int64[np.ndarray, " places"]) -> CandidateLists:
        """Lists in which the document of old place `order[p]` is at place p.

        A place of the ranking keeps its prior score; other initial rankings do not change. Tied
        prior scores are ordered by data set row, so moves among them have no effect.
        """
        lists = self.base.lists
        if self.target == "shown":
            return lists.shown_as(order)
        # Documents exchange prior scores, so the set of scores by place is unchanged
        prior = lists.prior.copy()
        prior[self.holders[order], 0] = lists.prior[self.holders, 0]
        return lists.reranked(prior)

    @cached_property
    def certificate(self) -> Certificate:
        """Certificate by real permutations, if the ranker declares not to read the target."""
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
        # Inverse permutation: from a candidate to its place in the target
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
        """Measure of each list under each order, and a guide without plateaus.

        The guide adds PLATEAU times the covariance of standardised scores and gains. Undefined
        values count as 0; no order changes them.
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
        # Gains of NDCG, 2^label − 1
        gains = np.exp2(np.maximum(self.base.dataset.labels[lists.rows], 0)) - 1
        exact = np.nan_to_num(scores.astype(np.float64), posinf=LARGEST, neginf=-LARGEST)
        centred = exact - (np.bincount(owner, exact, len(lengths)) / lengths)[owner]
        spread = np.sqrt(np.bincount(owner, centred**2, len(lengths)) / lengths)
        product = np.bincount(owner, centred * gains, len(lengths)) / lengths
        return (
            product / np.where(spread > 0, spread, np.inf) / max(1.0, float(gains.max(initial=0)))
        )

    def find_worst(self, wanted: Search) -> Generator[Progress, None, WorstOrders]:
        """Worst orders found; no search and no damage if the certificate proves it."""
        lists = self.base.lists
        steps = search(lists.offsets, self.values, wanted, floor=0.0)  # the floor of every measure
        rounds = most_rounds(lists.offsets, wanted)
        unit = f"rounds for {self.ranker.name}"
        return (yield from with_reports(steps, lambda count: Progress(count, rounds, unit)))

    def random_orders(
        self, unit: str, budget: int, draws: int, seed: int
    ) -> Int64[np.ndarray, "draws places"]:
        """Random orders of exactly `budget` steps: inversions, or exchanges with replacement."""
        offsets = self.base.lists.offsets
        unread = np.zeros(int(offsets[-1]), dtype=np.float32)
        arrange = permutations.inverted if unit == "inversions" else permutations.transposed
        orders = [
            arrange(offsets, unread, float(budget), generator(seed, unit, budget, draw))
            for draw in range(draws)
        ]
        return np.array(orders).reshape(draws, int(offsets[-1]))
