"""Measures of trec_eval that are plain functions of one ranked list.

Arguments: the measure with its conventions, the grades in ranked order, and the grades of all
documents of the query, highest first. A grade below 0 means not judged. Formulas: trec_eval 10,
file `m_<name>.c` of each measure. `user_measures.EvaluatedMeasure` averages them over ties.
"""

from collections.abc import Callable, Mapping

import numpy as np

from shuffleproof.core.metrics.measure import Measure

ListFunction = Callable[[Measure, np.ndarray, np.ndarray], float]
ROUNDING = 1e-5
"""trec_eval's smoothing of the share of relevant documents in infAP (INFAP_EPSILON)."""


def positions_read(measure: Measure, judged: np.ndarray) -> int | None:
    """Number of first positions that the value depends on; None: all.

    >>> positions_read(Measure("Rprec"), np.array([2.0, 1.0, 0.0])), positions_read(
    ...     Measure("Success", 5), np.array([1.0]))
    (2, 5)
    """
    if measure.name == "Rprec":
        return _cut(measure, judged)
    return measure.cutoff


def _relevant(measure: Measure, grades: np.ndarray) -> np.ndarray:
    return grades >= measure.relevant


def _total(measure: Measure, judged: np.ndarray) -> int:
    return int(_relevant(measure, judged).sum())


def _cut(measure: Measure, judged: np.ndarray) -> int:
    # trec_eval rounds fractions of a tenth or more up: .2 · 3 documents = .6 is position 1
    return int(measure.multiple * _total(measure, judged) + 0.9)


def _r_precision(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    cut = _cut(measure, judged)
    return float(_relevant(measure, grades[:cut]).sum() / cut) if cut else 0.0


def _relative_precision(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    possible = min(measure.cutoff or len(grades), _total(measure, judged))
    hits = _relevant(measure, grades[: measure.cutoff]).sum()
    return float(hits / possible) if possible else 0.0


def _interpolated(measure: Measure, grades: np.ndarray, judged: np.ndarray, recall: float) -> float:
    """Highest precision at or below the position where this recall is reached."""
    hits = np.flatnonzero(_relevant(measure, grades))
    precisions = np.arange(1, len(hits) + 1) / (hits + 1)
    # trec_eval 10 rounds to nearest; earlier versions, and pytrec_eval, round up
    needed = int(np.floor(recall * _total(measure, judged) + 0.5))
    if needed > len(hits) or not len(hits):
        return 0.0
    return float(precisions[max(needed - 1, 0) :].max())


def _eleven_points(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    points = [_interpolated(measure, grades, judged, tenth / 10) for tenth in range(11)]
    return float(np.mean(points))


def _set_f(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    hits = int(_relevant(measure, grades).sum())
    return 2 * hits / (len(grades) + _total(measure, judged)) if hits else 0.0


def _set_average_precision(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    hits = int(_relevant(measure, grades).sum())
    return hits**2 / (len(grades) * _total(measure, judged)) if hits else 0.0


def _inferred(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    hits = _relevant(measure, grades)
    # counts before each position: relevant, judged nonrelevant, unjudged in the pool (−2)
    right = np.cumsum(hits) - hits
    wrong = np.cumsum((grades >= 0) & ~hits)
    pooled = np.cumsum(grades <= -2)
    before = np.arange(len(grades))
    # Smoothed share of relevant ones among the judged above (Yilmaz & Aslam 2006)
    share = (right + ROUNDING) / (right + wrong + 2 * ROUNDING)
    values = (1 + (right + wrong + pooled) * share) / (before + 1)
    # Nothing is above the first document: precision there is 1 by definition
    values[:1] = 1.0
    return float(values[hits].sum() / max(_total(measure, judged), 1))


def _binary_gain(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    hits = _relevant(measure, grades)
    wrong_before = np.cumsum(~hits)[hits]
    return float((1 / np.log2(2 + wrong_before)).sum() / max(_total(measure, judged), 1))


def _gains(grades: np.ndarray) -> np.ndarray:
    return np.maximum(grades, 0.0).astype(np.float64)


def _graded_gain(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    del measure
    gains, ideal = _gains(grades), _gains(judged)
    best = np.zeros(len(gains))
    best[: len(ideal)] = ideal[: len(gains)]
    # every position costs at least 1, also below the ideal ranking's last gain
    missed = np.cumsum(np.maximum(best, 1.0)) - np.cumsum(gains)
    held = gains > 0
    total = (gains[held] / np.log2(2 + missed[held])).sum()
    return float(total / ideal.sum()) if ideal.sum() else 0.0


def _discounted(grades: np.ndarray, length: int) -> np.ndarray:
    """DCG with linear gain at positions 1 … `length`; missing grades count 0."""
    gains = np.zeros(length)
    shown = _gains(grades)[:length]
    gains[: len(shown)] = shown
    return np.cumsum(gains / np.log2(np.arange(2, length + 2)))


def _ndcg_at_relevant(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    """Mean NDCG at the position of each relevant document, or at the end if it is missing."""
    del measure
    relevant = int((judged > 0).sum())
    if not relevant or not len(grades):
        return 0.0
    length = max(len(grades), relevant)
    dcg, ideal = _discounted(grades, length), _discounted(judged, length)
    at = np.flatnonzero(grades > 0)
    # missing documents are compared with the DCG of the complete ideal ranking
    missing = (relevant - len(at)) * dcg[len(grades) - 1] / ideal[-1]
    return float(((dcg[at] / ideal[at]).sum() + missing) / relevant)


def _ndcg_at_levels(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    """Mean NDCG at positions where the ideal ranking's grade falls, and at a longer list's end."""
    del measure
    relevant = int((judged > 0).sum())
    if not relevant or not len(grades):
        return 0.0
    length = max(len(grades), relevant)
    dcg, ideal = _discounted(grades, length), _discounted(judged, length)
    ends = np.flatnonzero(np.diff(_gains(judged)[:relevant], append=0.0))
    if len(grades) > relevant:
        ends = np.append(ends, length - 1)
    return float((dcg[ends] / ideal[ends]).mean())


def _rbp(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    """RBP with gains divided by the query's highest grade."""
    weights = measure.p ** np.arange(len(grades))
    top = max(float(judged.max(initial=0.0)), 1.0)
    return float((1 - measure.p) * (weights * _gains(grades)).sum() / top)


def _rbp_residual(measure: Measure, grades: np.ndarray, judged: np.ndarray) -> float:
    """RBP that unjudged documents, and those below the list, could add."""
    del judged
    missing = (measure.p ** np.arange(len(grades)))[grades < 0].sum()
    return float(measure.p ** len(grades) + (1 - measure.p) * missing) if missing else 0.0


FUNCTIONS: Mapping[str, ListFunction] = {
    "Rprec": _r_precision,
    "Success": lambda m, grades, _: float(_relevant(m, grades[: m.cutoff]).any()),
    "RelP": _relative_precision,
    "IPrec": lambda m, grades, judged: _interpolated(m, grades, judged, m.recall),
    "AP11": _eleven_points,
    "SetF": _set_f,
    "SetAP": _set_average_precision,
    "InfAP": _inferred,
    "Utility": lambda m, grades, _: float(2 * _relevant(m, grades).sum() - len(grades)),
    "BinG": _binary_gain,
    "G": _graded_gain,
    "NDCGRel": _ndcg_at_relevant,
    "RNDCG": _ndcg_at_levels,
    "NormRBP": _rbp,
    "RBPResidual": _rbp_residual,
    "Unjudged": lambda m, grades, _: float(
        (grades[: m.cutoff] < 0).sum() / (m.cutoff or max(len(grades), 1))
    ),
    "NumQ": lambda *_: 1.0,
    "NumRet": lambda _, grades, __: float(len(grades)),
    "NumRel": lambda m, _, judged: float(_total(m, judged)),
    "NumRelRet": lambda m, grades, _: float(_relevant(m, grades).sum()),
    "NumNonrelRet": lambda m, grades, _: float(((grades >= 0) & ~_relevant(m, grades)).sum()),
}
"""Functions by name of the measure."""

OF_SETS = {
    *("RelP", "SetF", "SetAP", "Utility"),
    *("NumQ", "NumRet", "NumRel", "NumRelRet", "NumNonrelRet"),
}
"""Measures that do not depend on the order of the whole list."""
