"""Study of aggregators under perturbed preferences: agreement of the order with the preferences.

Three things differ: agreement with the preferences, nearness to the order that contradicts them
least (Kemeny's), and agreement with the labels. Each is measured against the original preferences,
for any perturbed input of the aggregator. Quantities with a proven bound are measured against the
perturbed input.
"""

import hashlib
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int64

from shuffleproof.core.aggregate import kernels, planted, preference_store, scores
from shuffleproof.core.aggregate.consistency import agreement_of, of_pairs
from shuffleproof.core.aggregate.disturbances import (
    AS_IS,
    DISTURBANCES,
    Variant,
    calls_at,
)
from shuffleproof.core.aggregate.kemeny import Kemeny, kemeny
from shuffleproof.core.aggregate.preferences import Pairs, Preferences, pairs_of_matrix
from shuffleproof.core.aggregate.registry import AGGREGATORS, Aggregation, Terms, aggregate
from shuffleproof.core.compiled import compiled
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists
from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.pairs.function import (
    preferences_of,
)
from shuffleproof.core.seeds import generator
from shuffleproof.core.store.artefacts import Store
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import engine
from shuffleproof.core.studies.cells import Cell, CellPlan, by_cells
from shuffleproof.core.studies.kinds.preferences.question import PreferenceAggregation
from shuffleproof.core.studies.study import CellResult, Trial

if TYPE_CHECKING:
    from shuffleproof.core.studies.question import Scope

AGREEMENT, TAU, RELEVANCE, CORRECT = "agreement", "tau to best", "NDCG@10", "pair accuracy"
"""Agreement with the preferences, with their best order, and twice with the labels."""

CALLS, SHARE, LOSS, LABEL_LOSS, BEST, SECONDS = (
    "calls", "agreement of best", "loss of least", "errors of preferences", "best agreement",
    "seconds",
)  # fmt: skip
"""Further values per query: calls (pairs read). Relative to the aggregator's input: agreement as a
share of the best order's, loss as a multiple of the least. Errors on pairs of unequal grade are a
multiple of the preferences' errors. Then the best possible agreement, and seconds."""

STORED = (AGREEMENT, TAU, RELEVANCE, CORRECT, CALLS, SHARE, LOSS, LABEL_LOSS, BEST, SECONDS)
SCALE = "items"
"""Family of the rows on generated tournaments; their level is the size."""

EXACT = 15
"""Maximum component size, in items, for an exact search of the least loss."""

LARGE = {"kemeny": 100, "fuzzy-merge": 1000}
ALL_PAIRS = 1000
"""Maximum size of generated tournaments: for these aggregators, and for those that read all pairs.
"""

NEAR = 1e-9

Order: TypeAlias = Int64[np.ndarray, " items"]


@dataclass(frozen=True)
class Material:
    """Preferences to aggregate.

    Attributes:
        name: of the data.
        queries: their ids.
        pairs: preferences, by query.
        labels: grades, by query, NaN if missing; empty: no grades are known.
        origin: source of the preferences, in words.
    """

    name: str
    queries: tuple[str, ...]
    pairs: tuple[Pairs, ...]
    labels: tuple[Float64[np.ndarray, " items"], ...]
    origin: str

    @classmethod
    def of(cls, name: str, preferences: Preferences, queries: int | None) -> "Material":
        """Stored preferences, of the first `queries` queries."""
        places = range(
            preferences.queries if queries is None else min(queries, preferences.queries)
        )
        return cls(
            name, tuple(preferences.query_ids[place] for place in places),
            tuple(preferences.pairs(place) for place in places),
            tuple(preferences.labels[place] for place in places) if preferences.labels else (),
            "rankings" if preferences.rankings else "judgments",
        )  # fmt: skip

    @property
    def digest(self) -> str:
        """Hash of queries, preferences and labels."""
        digest = hashlib.sha256(repr((self.queries, bool(self.labels))).encode())
        for of_query in self.pairs:
            for array in (of_query.values, of_query.votes if of_query.weigh else np.zeros(0)):
                digest.update(np.ascontiguousarray(array).tobytes())
        if any(of_query.is_asymmetric.any() for of_query in self.pairs):
            digest.update(b"each pair counts once")  # older results defined agreement differently
        for grades in self.labels:
            digest.update(np.asarray(grades, np.float64).tobytes())
        return digest.hexdigest()

    @cached_property
    def best(self) -> tuple[Kemeny, ...]:
        """Best order found for every query."""
        return tuple(kemeny(pairs.means) for pairs in self.pairs)


@dataclass(frozen=True)
class Plan(CellPlan):
    """Full description of the study.

    Attributes:
        aggregators: their names.
        disturbances: their names.
        levels: of each disturbance; empty: its defaults.
        function: preference function, if the data is a ranking data set.
        draws: of each disturbance.
        seed: of the draws.
        queries: number of queries, from the first; None: all.
        sizes: of generated tournaments.
        material: digest of the preferences.
        measures: as text.
    """

    kind: str = field(default=PreferenceAggregation.kind, init=False)
    aggregators: tuple[str, ...]
    disturbances: tuple[str, ...]
    levels: tuple[float, ...]
    function: str
    draws: int
    seed: int
    queries: int | None
    sizes: tuple[int, ...]
    material: str
    measures: tuple[str, ...]
    stored: tuple[str, ...] = field(default=STORED, init=False)

    def cells(self) -> tuple[Cell, ...]:
        """Cells in order of work: unperturbed first, then disturbance by disturbance.

        >>> plan = Plan(("goa",), ("calls", "runs"), (1.0,), "", 2, 0, None, (100,), "", ())
        >>> [(cell.row.family, cell.row.level, cell.row.draw) for cell in plan.cells()]
        [('none', 0.0, 0), ('calls', 1.0, 0), ('calls', 1.0, 1), ('items', 100.0, 0)]
        """
        rows = [Trial(name, AS_IS, 0.0, draw) for draw in range(self.draws)
                for name in self.aggregators if draw == 0 or AGGREGATORS[name].random]  # fmt: skip
        for family in self.disturbances:
            names = [name for name in self.aggregators if family != "runs" or _runs(name)]
            rows += [
                Trial(name, family, level, draw)
                for level in self.levels or DISTURBANCES[family].levels
                for draw in range(self.draws)
                for name in names
                if draw == 0 or DISTURBANCES[family].drawn or AGGREGATORS[name].random
            ]
        rows += [
            Trial(name, SCALE, float(size), 0)
            for size in self.sizes
            for name in self.aggregators
            if size <= largest_timed(name)
        ]
        return tuple(Cell(row, 0, self._digest(row)) for row in rows)

    def _digest(self, row: Trial) -> str:
        """Key of a cell; it does not depend on other aggregators, disturbances and levels."""
        facts = {
            "kind": self.kind, "aggregator": row.ranker, "family": row.family, "level": row.level,
            "draw": row.draw, "seed": self.seed, "material": self.material,
            "queries": self.queries, "measures": list(self.stored),
        }  # fmt: skip
        return key_of("trial", facts).digest


def _runs(name: str) -> bool:
    """True if the number of QuickSort runs of an aggregator can be set."""
    return name in {"multi-quicksort", "rrf"}


def largest_timed(name: str) -> int:
    """Maximum number of items for which an aggregator is timed."""
    return LARGE.get(name, 5000 if AGGREGATORS[name].adaptive else ALL_PAIRS)


def open_preferences(
    question: PreferenceAggregation, scope: "Scope"
) -> Generator[Progress, None, Material]:
    """Preferences of a name, a key or a file; for a ranking data set those of a function.

    Raises:
        ArtefactError: no data of that name.
        LetorError, DataError: a malformed file.
    """
    store, data = scope.store, scope.data
    if data == planted.NAME and data not in store.names():
        return Material.of(data, planted.planted_preferences(), question.queries)
    if not is_data_set(data, store):
        return Material.of(
            data, preference_store.find(scope.pinned or data, store), question.queries
        )
    bench = yield from scope.open_workbench(lists_of())
    function = yield from bench.identified(question.ranker)
    base = bench.test_lists(question.queries)
    dataset, lists = base.dataset, base.lists
    matrices = preferences_of(function.ranker, dataset, lists)
    grades = dataset.labels[lists.rows].astype(np.float64)
    return Material(
        data, tuple(dataset.query_ids[query] for query in lists.queries.tolist()),
        tuple(pairs_of_matrix(np.asarray(matrix, np.float64)) for matrix in matrices),
        tuple(grades[start:end] for start, end in pairwise(lists.offsets.tolist())),
        question.function,
    )  # fmt: skip


def lists_of() -> ListRecipe:
    """Recipe of lists with all documents of a query, in the file's order."""
    return ListRecipe(("file-order",), depth=None)


def is_data_set(data: str, store: Store) -> bool:
    """True if a name or folder is a ranking data set."""
    names = store.names()
    if data in names:
        return names[data].kind == catalogue.KIND
    return f"{data}-fold1" in names or Path(data).is_dir()


def plan_of(material: Material, question: PreferenceAggregation) -> Plan:
    """Plan for these preferences."""
    measures = (AGREEMENT, TAU, *((RELEVANCE, CORRECT) if material.labels else ()))
    return Plan(**vars(question) | {"material": material.digest, "measures": measures})


def run(
    material: Material, question: PreferenceAggregation, store: Store
) -> Generator[Progress, None, Artefact]:
    """Perturb the preferences, order each query by every aggregator, and measure the orders."""
    plan = plan_of(material, question)
    work = _Work(material, question.seed)

    return (
        yield from engine.run(
            store, plan, list(material.queries), lambda: _facts(material),
            by_cells(plan, store.records, material.queries, partial(_compute, work)),
        )
    )  # fmt: skip


def _compute(work: "_Work", cell: Cell) -> Generator[Progress, None, CellResult]:
    values = yield from work.values(cell.row)
    sizes = [pairs.items for pairs in work.material.pairs]
    return {"queries": len(sizes), "set_size": float(np.mean(sizes))}, {"values": values}


def _facts(material: Material) -> dict[str, Any]:
    """Facts of the unperturbed preferences."""
    rows = [of_pairs(pairs) for pairs in material.pairs]
    summed = ("items", "pairs", "ties", "triads", "cyclic_triads", "asymmetric_pairs")
    consistency: dict[str, Any] = {name: sum(row[name] for row in rows) for name in summed}
    consistency["cyclic_rate"] = (
        consistency["cyclic_triads"] / consistency["triads"] if consistency["triads"] else 0.0
    )
    consistency["largest_component"] = max(row["largest_component"] for row in rows)
    consistency["exact_queries"] = sum(order.exact for order in material.best)
    return {
        "data": material.name, "queries": len(rows), "origin": material.origin,
        "consistency": consistency,
    }  # fmt: skip


class _Work:
    """Preferences, with the current disturbance, which several cells share."""

    def __init__(self, material: Material, seed: int) -> None:
        self.material, self.seed = material, seed
        self.at: tuple[str, float, int] | None = None
        self.shown: list[list[ShownPairs]] = []

    def values(
        self, row: Trial
    ) -> Generator[Progress, None, Float32[np.ndarray, "stored queries"]]:
        """STORED of every query, for a row."""
        stored_values = np.full((len(STORED), len(self.material.queries)), np.nan, np.float32)
        if row.family == SCALE:
            stored_values[[STORED.index(CALLS), STORED.index(SECONDS)]] = _calls_and_seconds(row)
            return stored_values
        entry = DISTURBANCES.get(row.family)
        # Cells of one disturbance follow each other, so only the last inputs stay in memory
        at = row.family, row.level, row.draw if entry is None or entry.drawn else 0
        if self.at != at:
            self.at = at
            self.shown = [
                list(self._variants(query, row)) for query in range(stored_values.shape[1])
            ]
        orders = []
        for query, variants in enumerate(self.shown):
            if query % 16 == 0:
                yield Progress(query, stored_values.shape[1], "queries")
            measured = (self._order_and_values(query, variant, row) for variant in variants)
            # Of several adversarial variants, the one with the lowest agreement counts
            order, stored_values[:, query] = min(
                measured, key=lambda outcome: np.nan_to_num(outcome[1][0])
            )
            orders.append(order)
        if self.material.labels:
            stored_values[STORED.index(RELEVANCE)] = self._relevance(orders)
        return stored_values

    def _relevance(self, orders: Sequence[Order]) -> Float32[np.ndarray, " queries"]:
        """NDCG@10 of every query; an item without a grade is not relevant."""
        dataset, lists = self._labelled_lists
        ranks = np.concatenate([-np.argsort(order).astype(np.float32) for order in orders])
        return evaluate([Measure.parse(RELEVANCE)], dataset, lists, ranks)[0]

    @cached_property
    def _labelled_lists(self) -> tuple[RankingDataset, CandidateLists]:
        """Items with their grades, as lists of documents without features."""
        grades = np.nan_to_num(np.concatenate(self.material.labels)).astype(np.float32)
        bounds = offsets_of(np.array([len(labels) for labels in self.material.labels]))
        rows = np.empty((len(grades), 0), np.float32)
        dataset = RankingDataset(rows, grades, bounds, self.material.queries, ())
        return dataset, CandidateLists.all_documents(dataset)

    @cached_property
    def _unperturbed(self) -> list["ShownPairs"]:
        """The original preferences."""
        return [ShownPairs.of(Variant.of(pairs)) for pairs in self.material.pairs]

    def _variants(self, query: int, row: Trial) -> "Iterator[ShownPairs]":
        pairs, best = self.material.pairs[query], self.material.best[query]
        entry = DISTURBANCES.get(row.family)
        if entry is None or entry.make is None:
            yield self._unperturbed[query]
            return
        name = self.material.queries[query]
        draws = generator(self.seed, "preferences", row.family, row.level, row.draw, name)
        yield from map(ShownPairs.of, entry.make(pairs, row.level, draws, best.order))

    def _order_and_values(
        self, query: int, shown: "ShownPairs", row: Trial
    ) -> tuple[Order, Float64[np.ndarray, " stored"]]:
        """Order, and its STORED values; NDCG is computed later for all queries together."""
        pairs, best = self.material.pairs[query], self.material.best[query]
        terms = Terms(seed=row.draw)
        if row.family == "calls":
            terms = replace(terms, calls=calls_at(row.level, pairs))
        elif row.family == "runs":
            terms = replace(terms, runs=int(row.level))
        start = time.perf_counter()
        aggregated = shown.stored_order(row.ranker, terms) or aggregate(
            row.ranker, shown.variant.pairs, terms
        )
        seconds = time.perf_counter() - start
        order, total = shown.variant.items[aggregated.order], float(np.nansum(pairs.means))
        agreement = agreement_of(pairs, order)
        grades = self.material.labels[query] if self.material.labels else None
        return order, np.array([
            np.nan if agreement is None else agreement,
            nearness(order, best.order),
            np.nan,
            np.nan if grades is None else correct(grades, order),
            aggregated.calls,
            *shown.bounded(aggregated, row.family),
            shown.errors(grades, order),
            1.0 - best.bound / total if total else np.nan,
            seconds,
        ])  # fmt: skip


@dataclass(frozen=True)
class ShownPairs:
    """Input of an aggregator, with the reference values of its bounds.

    Attributes:
        variant: the preferences.
        total: sum of their weights.
        most: upper bound on the agreement of any order.
        least: smallest loss of any order; NaN if it is not known exactly, or if a pair is missing
            or does not sum to 1, since the bounds do not apply then.
        best: best order, if it was searched.
    """

    variant: Variant
    total: float
    most: float
    least: float
    best: Order | None = None

    @classmethod
    def of(cls, variant: Variant) -> "ShownPairs":
        """Preferences with the best order, if it is found quickly."""
        pairs, weights = variant.pairs, variant.pairs.means
        total = float(np.nansum(weights))
        # Any order loses at least the lighter side of each pair
        loosest = float(np.nan_to_num(np.minimum(weights, weights.T)).sum()) / 2
        if pairs.items > EXACT:
            parts = scores.components(kernels.margins(weights) > 0)
            if np.bincount(parts).max() > EXACT:
                return cls(variant, total, total - loosest, np.nan)
        best = kemeny(weights)
        missing = pairs.count < pairs.items * (pairs.items - 1) // 2
        proven = not (missing or pairs.weigh or pairs.is_asymmetric.any())
        least = best.cost if proven else np.nan
        return cls(variant, total, total - best.bound, least, best.order)

    def stored_order(self, aggregator: str, terms: Terms) -> Aggregation | None:
        """Kemeny's order from the search for the bounds, instead of a second search; else None."""
        if aggregator != "kemeny" or terms.calls is not None or self.best is None:
            return None
        pairs = self.variant.pairs
        missing = pairs.items * (pairs.items - 1) // 2 - pairs.count
        return Aggregation(self.best, pairs.count, missing)

    def bounded(self, aggregation: Aggregation, family: str) -> tuple[float, float]:
        """Agreement as a share of the best order's, loss as a multiple of the least.

        Both are NaN for orders of only some pairs, for which no bound is proven.
        """
        if family == "calls" or not self.most:
            return np.nan, np.nan
        agreed = float(kernels.agreement(self.variant.pairs.means, aggregation.order))
        loss = self.total - agreed
        return agreed / self.most, loss / self.least if self.least > NEAR else np.nan

    def errors(self, grades: np.ndarray | None, order: Order) -> float:
        """Errors on pairs of unequal grade over those of the preferences; NaN unless two grades."""
        if grades is None or np.isnan(self.least) or len(np.unique(grades)) != 2:
            return np.nan
        item_grades = grades[self.variant.items]
        better = item_grades[:, None] > item_grades[None, :]
        # Weight of the preferences for the item of the lower grade
        wrong = float(self.variant.pairs.values.T[better].sum())
        _, inverted = _falling_and_rising(grades[order])
        return float(inverted / wrong) if wrong > NEAR else np.nan


def nearness(order: Order, best: Order) -> float:
    """Kendall's τ of two orders without ties; NaN for fewer than two items.

    >>> nearness(np.array([0, 1, 2]), np.array([2, 1, 0])), nearness(best := np.arange(3), best)
    (-1.0, 1.0)
    """
    items = len(order)
    if items < 2:
        return np.nan
    place = np.empty(items, np.int64)
    place[best] = np.arange(items)
    discordant, _ = _falling_and_rising(place[order].astype(np.float64))
    # τ = 1 − 2 · discordant / pairs, with n (n − 1) / 2 pairs
    return 1.0 - 4.0 * discordant / (items * (items - 1))


def correct(grades: np.ndarray, order: Order) -> float:
    """Share of pairs of unequal grade with the better item first; NaN without such pairs.

    >>> correct(np.array([0.0, 2.0, 1.0, np.nan]), np.array([1, 3, 0, 2]))
    0.6666666666666666
    """
    right, wrong = _falling_and_rising(grades[order])
    return right / (right + wrong) if right + wrong else np.nan


@compiled()
@no_type_check
def _falling_and_rising(values: np.ndarray) -> tuple[int, int]:
    """Number of pairs with the first value larger, and smaller; NaN counts as neither."""
    falling, rising = 0, 0
    for place in range(len(values)):
        for later in range(place + 1, len(values)):
            falling += values[place] > values[later]
            rising += values[place] < values[later]
    return falling, rising


def tournament(items: int) -> Pairs:
    """Noisy tournament of `items` items: preferences by usefulness, one in ten reversed."""
    draws = generator(0, "preferences", SCALE, items)
    values = 1.0 / (1.0 + np.exp(-8.0 * (useful := draws.random(items))[:, None] + 8.0 * useful))
    values = np.where(np.triu(draws.random(values.shape) < 0.1, 1), values.T, values)
    values = np.triu(values, 1) + np.tril(1.0 - np.triu(values, 1).T, -1)
    np.fill_diagonal(values, np.nan)
    return Pairs(values, np.ones(values.shape, np.float64))


def _calls_and_seconds(row: Trial) -> Float64[np.ndarray, "2 1"]:
    """Calls and seconds of an aggregator on a generated tournament, after a small warm-up."""
    aggregate(row.ranker, tournament(8))
    pairs = tournament(int(row.level))
    # computed before the clock starts: both are cached properties
    _ = pairs.weights, pairs.count
    start = time.perf_counter()
    aggregated = aggregate(row.ranker, pairs)
    return np.array([[aggregated.calls], [time.perf_counter() - start]], np.float64)
