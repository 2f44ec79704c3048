"""Differences paired by query: mean losses of rankers, and verdicts on claims of a paper.

An interval over queries of each mean says little about their difference: queries differ far more
from each other than one query does between two conditions. Therefore the loss of every query is
tested and drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64

from shuffleproof.core.metrics.significance import ALPHA, adjusted_tests
from shuffleproof.core.studies import tables
from shuffleproof.core.studies.result import known_mean
from shuffleproof.core.words import counted, interval, p_value, signed

Queries = Float[np.ndarray, " queries"]

PAPER_FAMILY = "transpositions"
"""Perturbation of the initial ranking in SetRank's Figure 3."""

HOLDS, NOT, INCONCLUSIVE = "holds", "does not hold", "inconclusive"
ADJUSTED = "The interval of the paired t test, adjusted by Holm as p is."

STEPS = (
    tables.Column("less", "claimed lower", tables.NAME),
    tables.Column("more", "claimed higher", tables.NAME),
    tables.Column("difference", "difference", tables.CHANGE, "Mean of claimed higher − lower."),
    *tables.bounds(spec=tables.CHANGE, words="95 % interval of the same test, adjusted as p."),
    tables.Column("p", "p", tables.P, "Paired t, two-sided, adjusted by Holm."),
    tables.QUERIES,
)
"""Columns of the neighbouring pairs of a claimed order."""


def loss_in(measure: str) -> str:
    """Axis label of a paired loss.

    >>> loss_in("NDCG@10")
    'NDCG@10 lost'
    """
    return f"{measure} lost"


def mean_differences(differences: Float[np.ndarray, "rows queries"]) -> pd.DataFrame:
    """Means of differences that are paired by query; all rows are tested together.

    Args:
        differences: one row per comparison; NaN where the measure has no value.

    Returns:
        Columns mean, low and high (95 %, paired t), p (adjusted by Holm, as the intervals) and n.

    >>> frame = mean_differences(np.array([[0.0, 1.0, 2.0, 1.5], [0.0, -1.0, 1.0, np.nan]]))
    >>> frame["mean"].tolist(), frame["p"].round(2).tolist(), frame["n"].tolist()
    ([1.125, 0.0], [0.16, 1.0], [4, 3])
    """
    p, low, high = adjusted_tests(differences)
    means = [known_mean(row) for row in differences]
    counts = (~np.isnan(differences)).sum(axis=1)
    return pd.DataFrame({"mean": means, "low": low, "high": high, "p": p, "n": counts})


def paired_rows(frame: pd.DataFrame, pairs: Mapping[int, tuple[Queries, Queries]]) -> pd.DataFrame:
    """Rows of paired losses, from rows of means.

    Args:
        frame: mean, low, high and n, and columns that identify the rows.
        pairs: by row number, the baseline values and the row's own; NaN where the measure has no
            value. All pairs are tested together.

    Returns:
        The frame with mean (baseline minus own: above 0 is a loss), low and high (95 %, paired
        t), p (adjusted by Holm, as the intervals) and n; untested rows have a loss of 0.

    >>> means = pd.DataFrame({"ranker": ["a", "a"], "mean": [0.6, 0.4]})
    >>> before = np.array([0.5, 0.6, 0.7])
    >>> after = np.array([0.3, 0.4, 0.5]) + [0.01, 0, -0.01]
    >>> paired_rows(means, {1: (before, after)})["mean"].round(3).tolist()
    [0.0, 0.2]
    """
    rows = [*pairs]
    result = frame.assign(mean=0.0, low=0.0, high=0.0, p=np.nan)
    if not rows:
        return result
    losses = np.stack([np.subtract(*pairs[row], dtype=np.float64) for row in rows])
    tested = mean_differences(losses)
    result.loc[result.index[rows], tested.columns] = tested.to_numpy()
    return result


@dataclass(frozen=True, eq=False)
class Verdict:
    """Verdict on a claimed order.

    Attributes:
        word: `holds`, `does not hold` or inconclusive.
        steps: neighbouring pairs behind the verdict: STEPS.
    """

    word: str
    steps: pd.DataFrame

    @property
    def text(self) -> str:
        """Verdict with its numbers, worded as the end of a sentence."""
        steps: list[Any] = list(self.steps.itertuples())
        pairs = [
            f"{step.more} − {step.less} = {signed(step.difference)} "
            f"({interval(step.low, step.high)}, {p_value(step.p)}, n = {step.n})"
            for step in steps
        ]
        count = counted(len(pairs), "comparison")
        how = f"paired t and 95 % intervals after Holm's adjustment for {count}"
        word = f"is {self.word}" if self.word == INCONCLUSIVE else self.word
        return f"{word} here ({how}): {'; '.join(pairs)}."


def rising_verdict(values: Sequence[tuple[str, Float64[np.ndarray, " queries"]]]) -> Verdict:
    """Verdict on the claim that the named values rise from each to the next.

    It holds if every neighbouring difference is above 0 at p ≤ 0.05 (paired t, adjusted by Holm
    over the pairs). It does not hold if one is below 0 at p ≤ 0.05. Else it is inconclusive.

    Args:
        values: (name, one value per query), in the claimed order.

    >>> low, high = np.linspace(0, 1, 30), np.linspace(0.5, 1.6, 30)
    >>> rising_verdict([("a", low), ("b", high)]).word
    'holds'
    >>> rising_verdict([("b", high), ("a", low)]).word
    'does not hold'
    """
    names = [name for name, _ in values]
    differences = np.diff([of_queries for _, of_queries in values], axis=0)
    tested = mean_differences(differences).rename(columns={"mean": "difference"})
    steps = tested.assign(less=names[:-1], more=names[1:])[tables.keys(STEPS)]
    significant, means = steps["p"] <= ALPHA, steps["difference"]
    if np.all(significant & (means > 0)):
        return Verdict(HOLDS, steps)
    return Verdict(NOT if np.any(significant & (means < 0)) else INCONCLUSIVE, steps)


def claim_text(found: Mapping[str, Any]) -> str:
    """Sentence with a paper's claim and its verdict; empty if it is not tested."""
    return f"The paper's claim that {found['claim']} {found['text']}" if found else ""
