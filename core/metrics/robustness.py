"""Robustness of a ranker, from values at rising levels of a perturbation or over queries."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Real


@dataclass(frozen=True)
class WinTieLoss:
    """Numbers of queries with a higher, an equal and a lower value."""

    wins: int
    ties: int
    losses: int


def area_under_curve(
    levels: Real[np.ndarray, " levels"],
    values: Real[np.ndarray, "*curves levels"],
    reference: float | None = None,
) -> Float64[np.ndarray, "*curves"]:
    """Mean height of curves over their levels (trapezoids), divided by a reference if given.

    Args:
        levels: strictly rising.
        values: one per level on the last axis; any number of curves.
        reference: value that counts as 1, often the unperturbed one; None: absolute heights.

    >>> float(area_under_curve(np.array([0, 1, 3]), np.array([1.0, 0.5, 0.5])))
    0.5833333333333334
    """
    heights = values.astype(np.float64)
    if len(levels) == 1:
        mean = heights[..., 0]
    else:
        # Divided by the range of levels: an area in units of the measure
        mean = np.trapezoid(heights, levels, axis=-1) / (levels[-1] - levels[0])
    return np.asarray(mean if reference is None else mean / reference)


def conditional_value_at_risk(values: Real[np.ndarray, " queries"], share: float = 0.05) -> float:
    """Mean of the worst `share` of the queries; the last of them may count in part.

    NaN values are left out; NaN if none is left. Rockafellar & Uryasev 2000 (lower tail).

    >>> conditional_value_at_risk(np.array([0.0, 1.0, 2.0, 3.0]), share=0.375)
    0.3333333333333333
    """
    counted = np.sort(values[~np.isnan(values)].astype(np.float64))
    if not len(counted):
        return float("nan")
    amount = share * len(counted)
    # Whole queries weigh 1, the last one the remaining fraction: continuous in `share`
    weights = np.clip(amount - np.arange(len(counted)), 0.0, 1.0)
    return float(counted @ weights / amount)


def worst_query(values: Real[np.ndarray, " queries"]) -> int | None:
    """Index of the lowest value, the first of several; NaN is left out; None if none is left.

    Pass differences (after − before) to find the query with the largest loss.

    >>> worst_query(np.array([0.5, np.nan, -0.25]))
    2
    """
    counted = np.flatnonzero(~np.isnan(values))
    return int(counted[np.argmin(values[counted])]) if len(counted) else None


def win_tie_loss(
    before: Real[np.ndarray, " queries"],
    after: Real[np.ndarray, " queries"],
    tolerance: float = 0.0,
) -> WinTieLoss:
    """Numbers of queries that rose or fell by more than `tolerance`; NaN is left out.

    >>> win_tie_loss(np.array([0.0, 0.5, 0.5]), np.array([1.0, 0.5, 0.25]))
    WinTieLoss(wins=1, ties=1, losses=1)
    """
    change = after.astype(np.float64) - before.astype(np.float64)
    change = change[~np.isnan(change)]
    wins, losses = int((change > tolerance).sum()), int((change < -tolerance).sum())
    return WinTieLoss(wins, len(change) - wins - losses, losses)
