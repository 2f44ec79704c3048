"""Which queries a difference between recipes costs, and which it helps."""

from typing import Literal

import numpy as np
import pandas as pd

from shuffleproof.core.studies.kinds.ablation.study import BASE, MEASURE, points
from shuffleproof.core.studies.query_changes import by_query as changes
from shuffleproof.core.studies.query_changes import in_words
from shuffleproof.core.studies.result import StudyResult

Effect = Literal["quality", "robustness"]


def by_query(
    result: StudyResult, variant: str, effect: Effect = "quality", measure: str = MEASURE
) -> pd.DataFrame:
    """A variant beside the first one, query by query, the greatest gain first.

    Args:
        result: an ablation.
        variant: its label.
        effect: the measure as it is, or what the highest level leaves of it (its negative loss, so
            that more is better in both).
        measure: one that follows from what is stored.

    Returns:
        Columns query, variant, base, difference; queries without a value are left out.
    """
    found = points(result, measure)
    own, first = (_value(found[label], effect) for label in (variant, next(iter(found))))
    frame = changes(
        result.query_ids, ("base", first), ("variant", own), "difference", gains_first=True
    )
    return frame[["query", "variant", "base", "difference"]]


def telling(table: pd.DataFrame, effect: Effect = "quality") -> str:
    """The single difference that changes most, chance or not; else the last variant.

    Args:
        table: as `core.studies.kinds.ablation.study.table` makes it.
        effect: quality or robustness.
    """
    column = "change" if effect == "quality" else "loss_change"
    single = table[table["variant"].str.startswith(f"{BASE} + ") & table[column].notna()]
    if single.empty:
        return str(table["variant"].iloc[-1])
    return str(single["variant"].iloc[int(single[column].abs().argmax())])


def finding(frame: pd.DataFrame, variant: str, effect: Effect, measure: str) -> str:
    """How many queries gain and lose, and the one that loses most."""
    what = measure if effect == "quality" else f"what disturbance leaves of {measure}"
    return in_words(frame, f"{variant} against {BASE}", what, ("base", "variant"), "difference")


def _value(pair: tuple[np.ndarray, np.ndarray], effect: Effect) -> np.ndarray:
    start, end = pair
    return start if effect == "quality" else end - start
