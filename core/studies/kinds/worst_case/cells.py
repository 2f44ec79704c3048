"""The cells of a worst-case study: random orders, or the search."""

from collections.abc import Generator
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from shuffleproof.core.data import ragged
from shuffleproof.core.perturb.worst_case import Worst
from shuffleproof.core.perturb.worst_moves import inversions
from shuffleproof.core.progress import Progress
from shuffleproof.core.studies.cells import Cell
from shuffleproof.core.studies.kinds.worst_case.orders import Attack
from shuffleproof.core.studies.kinds.worst_case.plan import PART, RANDOM, Plan
from shuffleproof.core.studies.study import Found


def computed(attack: Attack, plan: Plan, cell: Cell) -> Generator[Progress, None, Found]:
    """Values and Kendall τ [budgets + 1, draws, queries] of a part, and the worst orders found.

    Args:
        attack: on one ranker, over all queries.
        plan: of the study.
        cell: which part, of random orders or of the search.
    """
    count = len(attack.base.lists)
    few = attack.part(np.arange(cell.part * PART, min(cell.part * PART + PART, count)))
    proof = attack.certificate
    facts: dict[str, Any] = {"queries": len(few.base.lists), **asdict(proof), "evaluated": 0}
    same = np.arange(int(few.base.lists.offsets[-1]))[None]
    as_is = few.values(same)[0]
    if cell.row.family == RANDOM:
        return facts, _random(few, plan, cell, as_is, proven=proof.proven)
    if proof.proven:
        values = np.repeat(as_is, len(plan.budgets) + 1, axis=0)
        orders = np.repeat(same, len(plan.budgets) + 1, axis=0)
    else:
        worst = yield from few.worst(plan.search, plan.seed + cell.part)
        values, orders = _with_random(few, plan, cell, worst)
        facts["evaluated"] = worst.evaluated
    return facts, {
        "values": values[:, None].astype(np.float32),
        "tau": _tau(orders, few.base.lists.offsets)[:, None].astype(np.float32),
        "orders": orders.astype(np.int32),
    }


def _random(
    few: Attack, plan: Plan, cell: Cell, as_is: Float64[np.ndarray, "one lists"], *, proven: bool
) -> dict[str, np.ndarray]:
    """Random orders of every budget; scored, unless it is proven that they change nothing."""
    values, taus = [np.repeat(as_is, plan.draws, axis=0)], [np.ones((plan.draws, as_is.shape[1]))]
    for budget in plan.budgets:
        orders = few.random_orders(plan.search.unit, budget, plan.draws, plan.seed + cell.part)
        values.append(values[0] if proven else few.values(orders)[0])
        taus.append(_tau(orders, few.base.lists.offsets))
    return {
        "values": np.stack(values).astype(np.float32),
        "tau": np.stack(taus).astype(np.float32),
    }


def _with_random(
    few: Attack, plan: Plan, cell: Cell, worst: Worst
) -> tuple[Float64[np.ndarray, "budgets lists"], Int64[np.ndarray, "budgets places"]]:
    """The worst orders of the budgets, random ones among them where they are worse than found."""
    steps = np.minimum([0, *plan.budgets], len(worst.values) - 1)
    values, orders = worst.values[steps], worst.orders[steps]
    owner = ragged.segment_ids(few.base.lists.offsets)
    for at, budget in enumerate(plan.budgets, start=1):
        drawn = few.random_orders(plan.search.unit, budget, plan.draws, plan.seed + cell.part)
        tried = zip([values[at - 1], *few.values(drawn)[0]], [orders[at - 1], *drawn], strict=True)
        for value, order in tried:
            better = value < values[at]
            values[at] = np.where(better, value, values[at])
            orders[at] = np.where(better[owner], order, orders[at])
    return values, orders


def _tau(
    orders: Int64[np.ndarray, "orders places"], offsets: Int64[np.ndarray, " bounds"]
) -> Float64[np.ndarray, "orders lists"]:
    """Kendall τ of each order with the first one; 1 for lists of fewer than two."""
    lengths = np.diff(offsets)
    pairs = np.maximum(lengths * (lengths - 1) / 2, 1)
    return 1 - 2 * inversions(orders, offsets) / pairs
