"""How bad can it get? The order within a budget that hurts each ranker most, query by query.

The initial ranking, or the order shown alone, is rearranged by at most k steps: exchanges of
neighbours that add one inversion each, or exchanges of any two places. The worst order found
stands beside the mean of random ones of the same budget. A ranker that reads nothing of what is
rearranged needs no search: its damage is 0, and real permutations prove that it is.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from core.data.lists import JudgedLists
from core.errors import ParameterError
from core.metrics.measure import Measure
from core.perturb.worst_case import Search
from core.progress import Progress
from core.rankers.base import Ranker
from core.store.keys import key_of
from core.store.manifest import Artefact
from core.studies import cells, underway
from core.studies.cells import Cell, Found
from core.studies.initial_ranking import INITIAL, InitialRanking
from core.studies.precomputed_scores import refuse
from core.studies.result import StudyResult
from core.studies.run import Memory, TrialRecords, query_ids_of
from core.studies.workbench import Identified, Workbench
from core.studies.worst_case_cells import assembled, computed
from core.studies.worst_case_plan import BUDGETS, RANDOM, Plan, check_budgets
from core.studies.worst_orders import Attack

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
    found: dict[str, Identified] = {}
    for name in names:
        found[name] = yield from bench.identified(name)
    rankers: dict[str, Ranker] = {INITIAL: InitialRanking()}
    rankers |= {label: one.ranker for label, one in found.items()}
    own = key_of("ranker", {"ranker": INITIAL}).digest
    rising = tuple(sorted(set(budgets)))
    plan = Plan(
        rankers=((INITIAL, own), *((label, one.digest) for label, one in found.items())),
        lists=key_of("lists", asdict(bench.recipe), (bench.fold.fingerprint,)).digest,
        initial=bench.recipe.initial,
        target=target,
        measure=str(Measure.parse(measure)),
        budgets=rising,
        search=Search(**asdict(search) | {"budget": max(rising, default=0)}),
        draws=draws,
        seed=seed,
        queries=queries,
    )
    lasting = all(one.lasting for one in found.values())
    records: TrialRecords = bench.store.records if lasting else Memory()
    return (yield from _run(bench, plan, rankers, records))


def _run(
    bench: Workbench, plan: Plan, rankers: Mapping[str, Ranker], records: TrialRecords
) -> Generator[Progress, None, Artefact]:
    key, base = key_of("study", plan.recipe()), bench.test_lists(plan.queries)
    with bench.store.lock(key):
        stored = bench.store.find(key)
        if stored is not None:
            return stored
        ids, facts = query_ids_of(base), _facts(bench, base, rankers)
        underway.announce(bench.store, key, plan, ids, facts)
        attacks = {
            label: Attack(ranker, base, plan.target, Measure.parse(plan.measure))
            for label, ranker in rankers.items()
        }
        work = plan.cells(len(ids))
        done = yield from cells.run_cells(
            work, records, lambda cell: computed(attacks[cell.row.ranker], plan, cell)
        )
        result = assembled(plan, done, ids, facts)
        if result is None:
            raise ParameterError("rankers", "nothing to search for", "at least one, and a query")
        orders = _orders(work, done)
        return bench.store.add(
            key, plan.recipe(), lambda place: _save(result, orders, place), dict(result.facts)
        )


def from_records(
    recipe: Mapping[str, Any],
    records: TrialRecords,
    query_ids: Sequence[str],
    facts: Mapping[str, Any],
) -> StudyResult | None:
    """What a study has found so far; None before its first row is whole."""
    plan = Plan.of(recipe)
    stored = {cell.digest: records.get(cell.digest) for cell in plan.cells(len(query_ids))}
    found = {digest: one for digest, one in stored.items() if one is not None}
    return assembled(plan, found, query_ids, facts)


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


def _save(result: StudyResult, orders: Mapping[str, np.ndarray], directory: Path) -> None:
    result.save(directory)
    save_file(dict(orders), directory / ORDERS)


def _facts(bench: Workbench, base: JudgedLists, rankers: Mapping[str, Ranker]) -> dict[str, Any]:
    return {
        "data": bench.name,
        "reads": {label: sorted(ranker.reads) for label, ranker in rankers.items()},
        "queries": len(base.lists),
        "candidates": int(base.lists.offsets[-1]),
        "set_size": float(base.lists.lengths.mean()) if len(base.lists) else 0.0,
        "lists": asdict(bench.recipe),
        "preset": bench.preset,
    }
