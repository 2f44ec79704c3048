"""How bad can it get? The order within a budget that hurts each ranker most, query by query.

The initial ranking, or the order shown alone, is rearranged by at most k steps: exchanges of
neighbours that add one inversion each, or exchanges of any two places. The worst order found
stands beside the mean of random ones of the same budget. A ranker that reads nothing of what is
rearranged needs no search: its damage is 0, and real permutations prove that it is.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from shuffleproof.core.errors import ParameterError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.worst_case import Search
from shuffleproof.core.progress import Progress
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies import cells, engine
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.worst_case.cells import computed
from shuffleproof.core.studies.kinds.worst_case.orders import Attack
from shuffleproof.core.studies.kinds.worst_case.plan import BUDGETS, RANDOM, Plan, check_budgets
from shuffleproof.core.studies.precomputed_scores import refuse
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.run import query_ids_of
from shuffleproof.core.studies.study import Found, TrialRecords
from shuffleproof.core.studies.workbench import Workbench, digests_of, with_initial

ORDERS = "orders.safetensors"


def run(  # noqa: PLR0913 (what a study of it asks for)
    bench: Workbench,
    names: Sequence[str],
    search: Search,
    *,
    budgets: Sequence[int] = BUDGETS,
    target: str = "ranking",
    measure: str = "NDCG@10",
    draws: int = 10,
    seed: int = 0,
    queries: int | None = None,
) -> Generator[Progress, None, Artefact]:
    """Train what is missing, search; yields progress, returns the stored result.

    Args:
        bench: the data and its lists.
        names: rankers, as `Workbench.identified` takes them.
        search: method and unit; its budget is replaced by the largest of `budgets`.
        budgets: numbers of steps.
        target: what is rearranged: `ranking` or `shown`.
        measure: what is hurt.
        draws: random orders a budget.
        seed: of everything drawn.
        queries: only the first so many test queries.

    Raises:
        UnknownNameError: no such ranker or measure.
        ParameterError: no such target, or budgets below 1.
        NotAskedAgainError: scores in a file.
    """
    check_budgets(budgets)
    refuse(names)
    found = yield from bench.identified_all(names)
    entered = with_initial(found)
    rising = tuple(sorted(set(budgets)))
    plan = Plan(
        rankers=digests_of(entered),
        lists=bench.lists_digest,
        initial=bench.recipe.initial,
        target=target,
        measure=str(Measure.parse(measure)),
        budgets=rising,
        search=Search(**asdict(search) | {"budget": max(rising, default=0)}),
        draws=draws,
        seed=seed,
        queries=queries,
    )
    rankers = {label: one.ranker for label, one in entered.items()}
    return (yield from _run(bench, plan, rankers, bench.records(found)))


def _run(
    bench: Workbench, plan: Plan, rankers: Mapping[str, Ranker], records: TrialRecords
) -> Generator[Progress, None, Artefact]:
    base = bench.test_lists(plan.queries)
    ids = query_ids_of(base)

    def work(facts: dict[str, Any]) -> Generator[Progress, None, StudyResult | None]:
        """Search, and certify who needs no search."""
        attacks = {
            label: Attack(ranker, base, plan.target, Measure.parse(plan.measure))
            for label, ranker in rankers.items()
        }
        order = plan.cells(len(ids))
        done = yield from cells.run_cells(
            order, records, lambda cell: computed(attacks[cell.row.ranker], plan, cell)
        )
        result = plan.assembled(done, ids, facts)
        return result and replace(result, files={ORDERS: _orders(order, done)})

    def facts() -> dict[str, Any]:
        return bench.facts(base, rankers) | {"set_size": base.lists.mean_length}

    return (yield from engine.run(bench.store, plan, ids, facts, work))


def swap_map(
    bench: Workbench, ranker: Ranker, query: str, target: str = "ranking", measure: str = "NDCG@10"
) -> np.ndarray:
    """What every single exchange of two places costs a ranker in one query [length, length].

    Args:
        bench: the data and its lists.
        ranker: the ranker.
        query: its id.
        target: `ranking` or `shown`.
        measure: what is hurt.

    Raises:
        ParameterError: the test part has no such query.
    """
    check_query(bench, query)
    ids = query_ids_of(bench.prepared.test)
    whole = Attack(ranker, bench.prepared.test, target, Measure.parse(measure))
    return whole.part(np.array([ids.index(query)])).swap_map()


def check_query(bench: Workbench, query: str) -> None:
    """Refuse a query that the test part lacks.

    Raises:
        ParameterError: no such query.
    """
    ids = query_ids_of(bench.prepared.test)
    if query not in ids:
        some = ", ".join(ids[:3])
        raise ParameterError("query", query, f"one of the {len(ids)} test queries ({some}, …)")


def worst_orders(artefact: Artefact, ranker: str) -> np.ndarray:
    """The worst orders that a stored study found for a ranker [budgets + 1, candidates].

    Entry p of an order is the old place (over all lists, those of the study one after the other)
    of the document that now stands at place p; the first row is the order as it is.
    """
    return load_file(artefact.path / ORDERS)[ranker]


def _orders(work: Sequence[Cell], done: Mapping[str, Found]) -> dict[str, np.ndarray]:
    """The worst orders by ranker, the parts' places made those of all lists."""
    found: dict[str, list[np.ndarray]] = {}
    for cell in work:
        if cell.row.family != RANDOM:
            parts = found.setdefault(cell.row.ranker, [])
            before = sum(part.shape[1] for part in parts)
            parts.append(done[cell.digest][1]["orders"] + np.int32(before))
    return {label: np.concatenate(parts, axis=1) for label, parts in found.items()}
