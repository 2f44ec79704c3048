"""The coset-permutation model (CPS) with Spearman's distance: rankers weighed by labelled queries.

An order is chosen from the top down. At stage k of n, item j is chosen with a probability that
falls exponentially in Σ θ_m d(m), where d(m) is the mean squared difference between ranker m's
ranks and those of all orders that go on with j. What differs between the items is
(n − k + 1) σ_m(j), so that the likeliest order is that of the weighted ranks Σ θ_m σ_m(j): Borda's
where all weights are one. Ranks are shares of the list here, so that long lists do not outvote
short ones; items that a ranker lacks share the mean of the ranks left.

Source: Qin, Geng & Liu: A new probabilistic model for rank aggregation. NIPS 2010.
"""

from typing import no_type_check

import numpy as np
from jaxtyping import Float32, Float64, Int64
from scipy.optimize import minimize
from scipy.stats import rankdata

from shuffleproof.core.aggregate import scores
from shuffleproof.core.aggregate.preferences import Preferences
from shuffleproof.core.compiled import compiled
from shuffleproof.core.errors import UsageError
from shuffleproof.core.seeds import generator

PARTS = 5
"""Parts of the queries, each ordered by weights that were fitted on the others."""

DRAWS = 5
"""Orders drawn among items of one grade, for each labelled query."""

RIDGE = 1e-3
"""Of the squared weights, beside the mean negative log-likelihood of a query."""

STEPS = 200

Weights = Float64[np.ndarray, " rankers"]


def orders(preferences: Preferences, seed: int) -> list[Int64[np.ndarray, " items"]]:
    """The order of each query by weights fitted on the labelled queries of other parts.

    Raises:
        UsageError: judgments of pairs instead of rankings, or too few queries with unequal labels.
    """
    if not preferences.rankings or not preferences.labels:
        raise UsageError(
            "cps learns how much to trust each ranker: it needs rankings with labels: add them "
            "by `ingest-preferences … --format rankings --qrels FILE`"
        )
    query_orders: list[Int64[np.ndarray, " items"]] = []
    queries = range(preferences.queries)
    labelled = [query for query in queries if len(np.unique(_grades(preferences, query))) > 1]
    if len(labelled) < PARTS:
        raise UsageError(
            f"cps needs {PARTS} queries with unequal labels, {len(labelled)} have: add more"
        )
    tables = [ranks(table) for table in preferences.rankings]
    weights = []
    for part in range(PARTS):
        rows, offsets = [], [0]
        for query in labelled:
            if query % PARTS == part:
                continue
            for draw in range(DRAWS):
                by_chance = generator(seed, "cps", query, draw).permutation(tables[query].shape[1])
                order = np.lexsort((by_chance, -_grades(preferences, query)))
                rows.append(tables[query].T[order])
                offsets.append(offsets[-1] + len(order))
        weights.append(fit_weights(np.concatenate(rows), np.array(offsets)))
    for query in queries:
        weighted = weights[query % PARTS] @ tables[query]
        query_orders.append(scores.by_falling_score(-weighted.round(scores.DIGITS)))
    return query_orders


def _grades(preferences: Preferences, query: int) -> Float64[np.ndarray, " items"]:
    """The grades of a query's items; one that nobody judged is not relevant."""
    return np.nan_to_num(preferences.labels[query])


def ranks(table: Float32[np.ndarray, "rankers items"]) -> Float64[np.ndarray, "rankers items"]:
    """The rank of each item by each ranker as a share of the list, NaN taking the mean of the rest.

    >>> ranks(np.array([[9, 7, 7, np.nan]], np.float32)).tolist()
    [[0.25, 0.625, 0.625, 1.0]]
    """
    ranked = rankdata(-table, axis=1, nan_policy="omit")
    counts = np.isfinite(ranked).sum(axis=1, keepdims=True)
    items = table.shape[1]
    return np.where(np.isnan(ranked), (counts + 1 + items) / 2, ranked) / items


def fit_weights(
    positions: Float64[np.ndarray, "rows rankers"], offsets: Int64[np.ndarray, " bounds"]
) -> Weights:
    """The likeliest weights θ for orders that are known.

    Args:
        positions: `ranks` of the items of all orders, the best item of an order first.
        offsets: order q is rows `offsets[q] … offsets[q + 1] − 1`.
    """
    queries = len(offsets) - 1

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = surprise(positions, offsets, weights)
        ridge = RIDGE * float(weights @ weights)
        return value / queries + ridge, slope / queries + 2 * RIDGE * weights

    start = np.zeros(positions.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x


@compiled()
@no_type_check  # the test run wraps every function that lacks it, and numba cannot take those
def surprise(
    positions: np.ndarray, offsets: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the log-likelihood of orders and its gradient; arguments as of `fit_weights`."""
    total, slope = 0.0, np.zeros(len(weights))
    for query in range(len(offsets) - 1):
        query_positions = positions[offsets[query] : offsets[query + 1]]
        weighted = query_positions @ weights
        items = len(query_positions)
        pull = np.zeros(items)
        for stage in range(items - 1):
            remaining = (items - stage) / items
            logits = -remaining * weighted[stage:]
            highest = logits.max()
            shares = np.exp(logits - highest)
            whole = shares.sum()
            total += highest + np.log(whole) - logits[0]
            pull[stage] += remaining
            pull[stage:] -= remaining * shares / whole
        slope += pull @ query_positions
    return total, slope
