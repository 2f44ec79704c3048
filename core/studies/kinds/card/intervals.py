"""How sure the shares of a card are: one bootstrap over queries, in which rankers stay paired."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.metrics.robustness import area_under_curve
from shuffleproof.core.studies.result import CONFIDENCE, RESAMPLES

AT_ONCE = 2**22
"""Query counts held at a time."""


@dataclass(frozen=True, eq=False)
class Resampled:
    """Shares of every ranker over resampled queries; a row of a resample is of one set of queries.

    Attributes:
        kept: mean at the last level / mean on the lists as they are.
        area: under the curve, as `core.metrics.robustness.area_under_curve` of that mean.
        labels: of the rankers.
    """

    kept: Float64[np.ndarray, "resamples rankers"]
    area: Float64[np.ndarray, "resamples rankers"]
    labels: tuple[str, ...]

    def interval(self, what: str, label: str) -> tuple[float, float]:
        """The 95 % percentile interval of `kept` or `area` of a ranker."""
        return _interval(getattr(self, what)[:, self.labels.index(label)])

    def keeps_less_than(self, label: str) -> list[str]:
        """The rankers that keep a larger share beyond chance.

        Beyond chance: the 95 % interval of the paired difference lies above 0.
        """
        own = self.kept[:, self.labels.index(label)]
        differences = {other: self.kept[:, place] - own for place, other in enumerate(self.labels)}
        return [other for other, each in differences.items() if _interval(each)[0] > 0]


def resampled(
    values: Mapping[str, Float64[np.ndarray, "levels queries"]],
    distance: Float64[np.ndarray, " levels"],
    draws: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Resampled:
    """Draw queries with replacement and make every ranker's shares from each draw.

    Args:
        values: of each query at each level, by ranker, NaN where it is not counted; the first
            level is that of the lists as they are.
        distance: of the levels from the first, rising.
        draws: of the queries.
        resamples: how often.

    >>> values = {"a": np.array([[1.0, 0.5], [0.5, 0.25]])}
    >>> found = resampled(values, np.array([0.0, 1.0]), np.random.default_rng(0), 50)
    >>> found.interval("kept", "a"), found.interval("area", "a"), found.keeps_less_than("a")
    ((0.5, 0.5), (0.75, 0.75), [])
    """
    cube = np.stack(list(values.values()))
    rankers, levels, queries = cube.shape
    known = ~np.isnan(cube).reshape(-1, queries)
    filled = np.where(known, cube.reshape(-1, queries), 0.0)
    means = []
    each = max(1, AT_ONCE // max(queries, 1))
    for first in range(0, resamples, each):
        count = min(each, resamples - first)
        chosen = draws.integers(0, max(queries, 1), size=(count, queries))
        rows = np.arange(count)[:, None] * queries
        times = np.bincount((chosen + rows).ravel(), minlength=count * queries)
        weights = times.reshape(count, queries).astype(np.float64)
        with np.errstate(invalid="ignore"):  # a resample may hold none of a point's queries
            means.append((weights @ filled.T) / (weights @ known.T.astype(np.float64)))
    curves = np.concatenate(means).reshape(-1, rankers, levels)
    with np.errstate(invalid="ignore", divide="ignore"):  # nothing is kept of nothing
        kept = curves[..., -1] / curves[..., 0]
        area = area_under_curve(distance, curves) / curves[..., 0]
    return Resampled(kept, area, tuple(values))


def _interval(values: Float64[np.ndarray, " resamples"]) -> tuple[float, float]:
    """The percentiles that hold 95 % of what is defined; NaN where nothing is."""
    counted = np.round(values[np.isfinite(values)], 12)  # equal shares differ in their last bits
    if not len(counted):
        return float("nan"), float("nan")
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(counted, tails)
    return float(low), float(high)
