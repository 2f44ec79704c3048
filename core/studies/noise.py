"""Noise of a ranker: changes of its scores on unchanged lists, compared with perturbations.

The unperturbed lists are scored several times. If the scores differ by more than rounding, every
change by a perturbation is compared, query by query, with these changes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.experiment.score_floor import same_within_floor
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.metrics.significance import paired_t
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.studies.result import StudyResult

REPEATS = 2


SIGNIFICANT = 0.05


LEAST = 5e-4
"""Smallest noise of a measure that is reported."""


class Noise:
    """Noise of one ranker on the lists of a study, in one measure.

    Args:
        ranker: anything that scores.
        base: the unperturbed lists.
        before: its scores of them.
        measures: of the study; the first with a cutoff of 10, else the first, is compared.
    """

    def __init__(
        self, ranker: Ranker, base: JudgedLists, before: np.ndarray, measures: Sequence[Measure]
    ) -> None:
        lists = base.lists
        at_ten = (at for at, measure in enumerate(measures) if measure.cutoff == 10)
        self._at = next(at_ten, 0)
        measure = measures[self._at]
        repeats = [ranker.score(base.dataset, lists) for _ in range(REPEATS)]
        self.steady = all(same_within_floor(lists.offsets, before, scores) for scores in repeats)
        self._before = _values(measure, base, before)
        self._changes: Float64[np.ndarray, " queries"] = np.zeros(len(lists))
        if not self.steady:
            changes = [np.abs(_values(measure, base, scores) - self._before) for scores in repeats]
            self._changes = np.mean(changes, axis=0)

    def facts(self, values: list[Any]) -> dict[str, Any]:
        """Noise facts of a trial; empty for a deterministic ranker.

        Args:
            values: of every draw [measures, queries].

        Returns:
            `noise`, the mean change by the same order, and `noise_p`, the p value that the draws
            change no more than that (paired t over queries).
        """
        if self.steady:
            return {}
        order_changes = np.mean(
            [np.abs(draw_values[self._at] - self._before) for draw_values in values], axis=0
        )
        test = paired_t(order_changes, self._changes)
        if np.isnan(test.p_value):  # fewer than two queries: no test is possible
            return {"noise": float(np.nansum(self._changes)), "noise_p": 1.0}
        p_value = test.p_value if test.difference > 0 else 1.0
        return {"noise": float(np.nanmean(self._changes)), "noise_p": float(p_value)}


def within_noise(result: StudyResult, ranker: str, family: str, level: float) -> str:
    """Note that a change is within a ranker's own noise; empty if it is not.

    >>> import pandas as pd
    >>> trial = {"ranker": "r", "family": "cut", "level": 1.0, "noise": 0.02, "noise_p": 0.4}
    >>> values = np.zeros((1, 1, 1), dtype=np.float32)
    >>> within_noise(StudyResult({}, pd.DataFrame([trial]), values, ("q",), {}), "r", "cut", 1.0)
    'within its own noise (the same order changes it by 0.020; paired t, p 0.4)'
    """
    trials = result.trials
    if "noise_p" not in trials:
        return ""
    of_point = (trials.ranker == ranker) & (trials.family == family) & (trials.level == level)
    point_trials = trials[of_point]
    if point_trials.empty or not float(point_trials["noise_p"].astype(float).max()) > SIGNIFICANT:
        return ""
    noise, p = (float(point_trials[name].astype(float).max()) for name in ("noise", "noise_p"))
    if noise < LEAST:
        return ""
    words = f"the same order changes it by {noise:.3f}; paired t, p {p:.2g}"
    return f"within its own noise ({words})"


def _values(measure: Measure, base: JudgedLists, scores: np.ndarray) -> np.ndarray:
    return evaluate([measure], base.dataset, base.lists, scores)[0].astype(np.float64)
