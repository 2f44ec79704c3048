"""Which queries a difference between recipes costs, and which it helps."""

from typing import Literal

import numpy as np
import pandas as pd

from shuffleproof.core.studies.kinds.ablation.study import BASE, MEASURE, points
from shuffleproof.core.studies.kinds.benchmark.finding import signed
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.words import counted

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
    frame = pd.DataFrame(
        {"query": result.query_ids, "variant": own, "base": first, "difference": own - first}
    ).dropna()
    return frame.sort_values("difference", ascending=False, kind="stable", ignore_index=True)


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
    better, worse = int((frame["difference"] > 0).sum()), int((frame["difference"] < 0).sum())
    what = measure if effect == "quality" else f"what disturbance leaves of {measure}"
    queries = counted(len(frame), "query")
    text = f"Of {queries}, {variant} gains on {better} and loses on {worse} ({what})"
    if worse:
        last = frame.iloc[-1]
        text += f"; query {last['query']} loses most: {signed(last['difference'])}"
    return f"{text}."


def _value(pair: tuple[np.ndarray, np.ndarray], effect: Effect) -> np.ndarray:
    start, end = pair
    return start if effect == "quality" else end - start
