"""Random mean against worst found, as a table."""

import numpy as np
import pandas as pd

from shuffleproof.core.metrics.significance import bootstrap_interval
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.worst_case.plan import RANDOM
from shuffleproof.core.studies.result import CONFIDENCE, RESAMPLES, StudyResult

COLUMNS = (
    "ranker", "budget", "as_is", "random", "worst", "random_damage", "worst_damage", "low", "high",
    "certified",
)  # fmt: skip


def table(result: StudyResult) -> pd.DataFrame:
    """Random mean against worst found, a row for every ranker and budget.

    Args:
        result: of this study.

    Returns:
        Columns COLUMNS: means of the measure as it is, over random orders and at the worst
        order found; the damages (as it is − that), the worst one with a bootstrap interval over
        queries; `certified`: proven to be 0 without a search. While a ranker is being searched
        its worst order is NaN.
    """
    method, measure = result.recipe["search"]["method"], result.recipe["measure"]
    summary = result.summary([measure])
    means = dict(
        zip(
            zip(summary.ranker, summary.family, summary.level, strict=True),
            summary["mean"],
            strict=True,
        )
    )
    rows = []
    for ranker, budget in [
        (ranker, budget)
        for ranker, _ in result.recipe["rankers"]
        for budget in result.recipe["budgets"]
    ]:
        if (ranker, RANDOM, float(budget)) not in means:
            continue
        points = [(RANDOM, 0.0), (RANDOM, float(budget)), (method, float(budget))]
        as_is, random, worst = (float(means.get((ranker, *point), np.nan)) for point in points)
        low, high = _interval(_damage(result, (ranker, method, float(budget))))
        rows.append(
            {
                "ranker": ranker, "budget": budget, "as_is": as_is,
                "random": random, "worst": worst,
                "random_damage": as_is - random,
                "worst_damage": as_is - worst, "low": low, "high": high,
                "certified": bool(result.facts["certificates"].get(ranker, {}).get("proven")),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _damage(result: StudyResult, point: tuple[str, str, float]) -> np.ndarray:
    """What is lost at a point, query by query; nothing while it is being searched."""
    ranker, method, budget = point
    rows = result.trials[(result.trials["ranker"] == ranker) & (result.trials["family"] == method)]
    if rows.empty:
        return np.zeros(0)
    measure = result.recipe["measure"]
    before, after = (result.per_query(ranker, method, level, measure) for level in (0.0, budget))
    return before - after


def _interval(damage: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of a mean damage over queries (BCa bootstrap)."""
    counted = damage[~np.isnan(damage)].astype(np.float64)
    if len(counted) < 2 or np.ptp(counted) == 0:
        mean = float(counted.mean()) if len(counted) else float("nan")
        return mean, mean
    draws = generator(0, "worst-case")
    low, high = bootstrap_interval(counted, draws, confidence=CONFIDENCE, resamples=RESAMPLES)
    return float(low), float(high)
