"""Worst-case study: the most harmful order within a budget for each ranker, query by query.

The initial ranking, or only the input order, is rearranged by at most k steps: exchanges of
neighbours that add one inversion each, or exchanges of any two places. The worst order found is
compared with the mean of random orders of the same budget. A ranker that does not read the target
needs no search: its damage is 0, confirmed by real permutations.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64
from safetensors.numpy import load_file

from shuffleproof.core.data import ragged
from shuffleproof.core.experiment.precomputed_scores import refuse
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.search import Search
from shuffleproof.core.perturb.worst_case import WorstOrders
from shuffleproof.core.perturb.worst_moves import inversions
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cells
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.worst_case.orders import Attack
from shuffleproof.core.studies.kinds.worst_case.question import WorstCase
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import CellResult, DescribedPlan, Trial
from shuffleproof.core.studies.workbench import OpenRankers, Workbench, digests_of, with_initial

RANDOM = "random"
PART = 25
"""Queries per cell: the maximum that a killed search repeats."""


@dataclass(frozen=True)
class Plan(DescribedPlan):
    """Full description of a study; equal descriptions give equal results.

    Attributes:
        rankers: (label, digest).
        lists: digest of the candidate lists.
        initial: names of the initial rankers, for display.
        target: what is rearranged: `ranking` (and with it the input order) or `shown`.
        measure: the measure to reduce, as text.
        budgets: numbers of steps, in rising order.
        search: settings of the search; its budget is the largest one.
        draws: number of random orders per budget, for comparison.
        seed: of the draws.
        queries: number of test queries, from the first; None: all.
    """

    rankers: tuple[tuple[str, str], ...]
    lists: str
    initial: tuple[str, ...]
    target: str
    measure: str
    budgets: tuple[int, ...]
    search: Search
    draws: int
    seed: int
    queries: int | None
    kind: str = field(default=WorstCase.kind, init=False)
    measures: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Set the only measure of the study."""
        object.__setattr__(self, "measures", (self.measure,))

    def recipe(self) -> dict[str, Any]:
        """Description as plain JSON."""
        return super().recipe() | {"search": self.search.plain()}

    def cells(self, lists: int) -> list[Cell]:
        """Cells ranker by ranker, random orders before the search, in parts of the queries."""
        level = float(self.budgets[-1])
        return [
            Cell(Trial(label, family, level, 0), part, self._digest(digest, family, part))
            for label, digest in self.rankers
            for family in (RANDOM, self.search.method)
            for part in range(-(-lists // PART))
        ]

    @property
    def orders_per_list(self) -> int:
        """Maximum number of orders of one list that a ranker scores."""
        return 1 + self.draws * len(self.budgets) + self.search.orders(self.budgets[-1])

    def digests(self, lists: int) -> list[str]:
        """Keys of the cells for `lists` lists."""
        return [cell.digest for cell in self.cells(lists)]

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """Result of the rankers and families whose parts are all finished; None without any."""
        rows: list[tuple[dict[str, Any], np.ndarray]] = []
        proofs: dict[str, Any] = {}
        effort: dict[str, Any] = {}
        for row, parts in groupby(self.cells(len(query_ids)), key=lambda cell: cell.row):
            digests = [part.digest for part in parts]
            stored_parts = [finished[digest] for digest in digests if digest in finished]
            if len(stored_parts) < len(digests):
                continue
            first_facts = stored_parts[0][0]
            seconds = sum(part_facts["seconds"] for part_facts, _ in stored_parts)
            proofs[row.ranker] = {
                name: first_facts[name] for name in ("proven", "deviation", "permutations")
            }
            if row.family != RANDOM:
                evaluated = sum(part_facts["evaluated"] for part_facts, _ in stored_parts)
                effort[row.ranker] = {"evaluated": evaluated, "seconds": seconds}
            cube, tau = (
                np.concatenate([arrays[name] for _, arrays in stored_parts], axis=-1)
                for name in ("values", "tau")
            )
            for at, level in enumerate((0, *self.budgets)):
                for draw in range(1 if level == 0 else cube.shape[1]):
                    mean_tau = float(tau[at, draw].mean(dtype=np.float64))
                    trial = {
                        "ranker": row.ranker, "family": row.family, "level": float(level),
                        "draw": draw, "tau": mean_tau, "set_size": facts["set_size"],
                        "seconds": seconds / len(cube),
                    }  # fmt: skip
                    rows.append((trial, cube[at, draw][None]))
        all_facts = dict(facts) | {"certificates": proofs, "effort": effort}
        return StudyResult.of_rows(self.recipe(), rows, query_ids, all_facts)

    def _digest(self, ranker: str, family: str, part: int) -> str:
        facts = {
            "kind": self.kind, "ranker": ranker, "lists": self.lists,
            "part": [part, PART, self.queries], "target": self.target, "measure": self.measure,
            "budgets": list(self.budgets), "family": family,
            "unit": self.search.unit, "seed": self.seed,
        }  # fmt: skip
        facts |= {"draws": self.draws} | (
            {} if family == RANDOM else {"search": self.search.plain()}
        )
        return key_of("trial", facts).digest


ORDERS = "orders.safetensors"


def run(workbench: Workbench, question: WorstCase) -> Generator[Progress, None, Artefact]:
    """Train missing rankers, and search the worst order of every list.

    Raises:
        FixedScoresError: scores in a file.
    """
    refuse(question.rankers)
    identified = yield from workbench.identified_all(question.rankers)
    entered = with_initial(identified)
    rising, (measure,) = tuple(sorted(set(question.budgets))), question.measures
    plan = Plan(
        rankers=digests_of(entered),
        lists=workbench.lists_digest,
        initial=workbench.recipe.initial,
        target=question.target,
        measure=str(Measure.parse(measure)),
        budgets=rising,
        search=Search(**dict(question.search or {}) | {"budget": rising[-1]}),
        draws=question.draws,
        seed=question.seed,
        queries=question.queries,
    )
    rankers = OpenRankers(entered)
    base, records = workbench.test_lists(plan.queries), workbench.store.records
    ids = query_ids_of(base)

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
        """Search, and certify rankers that need no search."""
        attacks = {
            label: Attack(ranker, base, plan.target, Measure.parse(plan.measure))
            for label, ranker in rankers.items()
        }
        order = plan.cells(len(ids))
        results = yield from cells.run_cells(order, records, partial(compute_part, attacks, plan))
        result = plan.assemble(results, ids, facts)
        return result and replace(result, files={ORDERS: _orders(order, results)})

    def facts() -> dict[str, Any]:
        return workbench.facts(base, rankers) | {"set_size": base.lists.mean_length}

    return (yield from workbench.run(plan, ids, facts, work))


def worst_orders(artefact: Artefact, ranker: str) -> np.ndarray:
    """Worst orders that a stored study found for a ranker [budgets + 1, candidates].

    Entry p of an order is the old place (over the lists of the study, concatenated) of the document
    that is now at place p; the first row is the original order.
    """
    return load_file(artefact.path / ORDERS)[ranker]


def _orders(work: Sequence[Cell], results: Mapping[str, CellResult]) -> dict[str, np.ndarray]:
    """Worst orders by ranker, with the places of each part shifted to those of all lists."""
    by_ranker: dict[str, list[np.ndarray]] = {}
    for cell in work:
        if cell.row.family != RANDOM:
            parts = by_ranker.setdefault(cell.row.ranker, [])
            before = sum(part.shape[1] for part in parts)
            parts.append(results[cell.digest][1]["orders"] + np.int32(before))
    return {label: np.concatenate(parts, axis=1) for label, parts in by_ranker.items()}


def compute_part(
    attacks: Mapping[str, Attack], plan: Plan, cell: Cell
) -> Generator[Progress, None, CellResult]:
    """Values and Kendall τ [budgets + 1, draws, queries] of a part, and the worst orders found."""
    attack = attacks[cell.row.ranker]
    count = len(attack.base.lists)
    part = attack.part(np.arange(cell.part * PART, min(cell.part * PART + PART, count)))
    proof = attack.certificate
    facts: dict[str, Any] = {"queries": len(part.base.lists), **asdict(proof), "evaluated": 0}
    identity = np.arange(int(part.base.lists.offsets[-1]))[None]
    as_is = part.values(identity)[0]
    if cell.row.family == RANDOM:
        return facts, _random(part, plan, cell, as_is, proven=proof.proven)
    if proof.proven:
        values = np.repeat(as_is, len(plan.budgets) + 1, axis=0)
        orders = np.repeat(identity, len(plan.budgets) + 1, axis=0)
    else:
        worst = yield from part.find_worst(plan.search)
        values, orders = _with_random(part, plan, cell, worst)
        facts["evaluated"] = worst.evaluated
    return facts, {
        "values": values[:, None].astype(np.float32),
        "tau": _tau(orders, part.base.lists.offsets)[:, None].astype(np.float32),
        "orders": orders.astype(np.int32),
    }


def _random(
    part: Attack, plan: Plan, cell: Cell, as_is: Float64[np.ndarray, "one lists"], *, proven: bool
) -> dict[str, np.ndarray]:
    """Random orders of every budget; they are not scored if they are proven to change nothing."""
    values, taus = [np.repeat(as_is, plan.draws, axis=0)], [np.ones((plan.draws, as_is.shape[1]))]
    for budget in plan.budgets:
        orders = part.random_orders(plan.search.unit, budget, plan.draws, plan.seed + cell.part)
        values.append(values[0] if proven else part.values(orders)[0])
        taus.append(_tau(orders, part.base.lists.offsets))
    arrays = {"values": values, "tau": taus}
    return {name: np.stack(array).astype(np.float32) for name, array in arrays.items()}


def _with_random(
    part: Attack, plan: Plan, cell: Cell, worst: WorstOrders
) -> tuple[Float64[np.ndarray, "budgets lists"], Int64[np.ndarray, "budgets places"]]:
    """Worst orders of the budgets; a random order replaces the one found if it is worse."""
    steps = np.minimum([0, *plan.budgets], len(worst.values) - 1)
    values, orders = worst.values[steps], worst.orders[steps]
    owner = ragged.segment_ids(part.base.lists.offsets)
    for at, budget in enumerate(plan.budgets, start=1):
        drawn = part.random_orders(plan.search.unit, budget, plan.draws, plan.seed + cell.part)
        tried = zip([values[at - 1], *part.values(drawn)[0]], [orders[at - 1], *drawn], strict=True)
        # A smaller budget's order is also allowed, so damage never falls with the budget
        for value, order in tried:
            better = value < values[at]
            values[at] = np.where(better, value, values[at])
            orders[at] = np.where(better[owner], order, orders[at])
    return values, orders


def _tau(
    orders: Int64[np.ndarray, "orders places"], offsets: Int64[np.ndarray, " bounds"]
) -> Float64[np.ndarray, "orders lists"]:
    """Kendall τ of each order with the first one; 1 for lists of fewer than two documents."""
    lengths = np.diff(offsets)
    pairs = np.maximum(lengths * (lengths - 1) / 2, 1)
    # τ = 1 − 2 · inversions / pairs
    return 1 - 2 * inversions(orders, offsets) / pairs
