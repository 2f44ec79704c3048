"""What a study of initial rankings says: every condition beside what the ranker was trained on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from core.metrics.significance import bootstrap_interval, holm, paired_t
from core.seeds import generator
from core.studies.claims import Verdict, rising
from core.studies.initial_rankings import NONE, TABLE4, TRAINED
from core.studies.result import StudyResult
from core.studies.table import LEVEL_OF_SIGNIFICANCE

COLUMNS = ("ranker", "condition", "mean", "low", "high", "change", "change_p", "n")


def table(result: StudyResult, measure: str) -> pd.DataFrame:
    """One row a ranker and condition.

    Args:
        result: a study of initial rankings.
        measure: one that follows from what is stored.

    Returns:
        Columns COLUMNS: the mean with its 95 % interval over queries; the change from the ranker
        as trained (NaN for that itself) with its p (paired t, Holm over all changes).
    """
    rows = []
    for label, condition in _points(result):
        own = _values(result, label, condition, measure)
        low, high = bootstrap_interval(own, generator(0, "summary"))
        change, p = float("nan"), float("nan")
        if condition != TRAINED and (label, TRAINED) in _points(result):
            test = paired_t(own, _values(result, label, TRAINED, measure))
            change, p = test.difference, test.p_value
        counted = own[~np.isnan(own)]
        mean = float(counted.mean()) if len(counted) else float("nan")
        rows.append((label, condition, mean, low, high, change, p, len(counted)))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    p_values = frame["change_p"].to_numpy(np.float64).copy()
    tested = ~np.isnan(p_values)
    p_values[tested] = holm(p_values[tested])
    return frame.assign(change_p=p_values)


def claim(result: StudyResult, measure: str) -> Verdict | None:
    """The paper's Table 4: one initial ranking beats none, and many beat one; None without them."""
    points = _points(result)
    found = []
    for name in TABLE4:
        labels = [x for x, condition in points if x.partition("@")[0] == name]
        if not labels:
            return None
        found.append((labels[0], _values(result, labels[0], TRAINED, measure)))
    return rising(found)


def finding(result: StudyResult, measure: str) -> str:
    """A paragraph from the numbers: what many give, what the ordinals are worth, what hurts."""
    sentences = []
    for label, own in table(result, measure).groupby("ranker", sort=False):
        rows = own.to_dict("records")
        changed = [row for row in rows if not np.isnan(row["change"])]
        if not changed:
            continue
        (start,) = (row["mean"] for row in rows if row["condition"] == TRAINED)
        none = next((row["change"] for row in changed if row["condition"] == NONE), float("nan"))
        sentences.append(
            f"{label} reaches {start:.3f}; without any initial ranking {none:+.3f}; "
            f"{_worst(changed)}."
        )
    verdict = claim(result, measure)
    if verdict is not None:
        sentences.append(
            f"The paper's claim that many initial rankings beat one and one beats none "
            f"{verdict.text}"
        )
    return " ".join(sentences)


def _worst(changed: Sequence[Mapping[Any, Any]]) -> str:
    """What hurts most, and whether that is more than chance."""
    worst = min(changed, key=lambda row: row["change"])
    if worst["change"] >= 0:
        return "nothing that was left out or exchanged hurts"
    chance = "" if worst["change_p"] <= LEVEL_OF_SIGNIFICANCE else ", which may be chance"
    return f"what hurts most is {worst['condition']} ({worst['change']:+.3f}{chance})"


def _points(result: StudyResult) -> list[tuple[str, str]]:
    pairs = zip(result.trials.ranker, result.trials.family, strict=True)
    return list(dict.fromkeys((str(label), str(condition)) for label, condition in pairs))


def _values(
    result: StudyResult, label: str, condition: str, measure: str
) -> Float64[np.ndarray, " queries"]:
    return result.per_query(label, condition, 0.0, measure).astype(np.float64)
