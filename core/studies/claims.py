"""Does what a paper claims hold here: an order of rankers, told by paired tests.

Beside a verdict stands the interval of the same test, Student's, adjusted as its p is, so that it
leaves out 0 exactly where p ≤ 0.05.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from shuffleproof.core.metrics.significance import ALPHA, adjusted_tests
from shuffleproof.core.studies import tables
from shuffleproof.core.words import counted, interval, p_value, signed

PAPER_FAMILY = "transpositions"
"""What SetRank's Figure 3 disturbs the initial ranking by."""

HOLDS, NOT, UNTOLD = "holds", "does not hold", "cannot be told"
ADJUSTED = "The interval of the paired t test, adjusted by Holm as p is."

STEPS = (
    tables.Column("less", "claimed lower", tables.NAME),
    tables.Column("more", "claimed higher", tables.NAME),
    tables.Column("difference", "difference", tables.CHANGE, "Mean of claimed higher − lower."),
    *tables.bounds(spec=tables.CHANGE, words="95 % interval of the same test, adjusted as p."),
    tables.Column("p", "p", tables.P, "Paired t, two-sided, adjusted by Holm."),
    tables.QUERIES,
)
"""Of the neighbouring pairs of a claimed order."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether a claimed order holds.

    Attributes:
        word: holds, does not hold, cannot be told.
        steps: the neighbouring pairs that it rests on: STEPS.
    """

    word: str
    steps: pd.DataFrame

    @property
    def text(self) -> str:
        """The verdict with its numbers, as it stands at the end of a sentence."""
        steps: list[Any] = list(self.steps.itertuples())
        pairs = [
            f"{step.more} − {step.less} = {signed(step.difference)} "
            f"({interval(step.low, step.high)}, {p_value(step.p)}, n = {step.n})"
            for step in steps
        ]
        count = counted(len(pairs), "comparison")
        how = f"paired t and 95 % intervals after Holm's adjustment for {count}"
        return f"{self.word} here ({how}): {'; '.join(pairs)}."


def rising_verdict(values: Sequence[tuple[str, Float64[np.ndarray, " queries"]]]) -> Verdict:
    """Whether the named values rise from each to the next.

    It holds where every neighbouring difference is above 0 at p ≤ 0.05 (paired t, adjusted by Holm
    over the pairs), does not hold where one is below 0 at p ≤ 0.05, and cannot be told otherwise.

    Args:
        values: (name, one value a query), in the order claimed.

    >>> low, high = np.linspace(0, 1, 30), np.linspace(0.5, 1.6, 30)
    >>> rising_verdict([("a", low), ("b", high)]).word
    'holds'
    >>> rising_verdict([("b", high), ("a", low)]).word
    'does not hold'
    """
    names = [name for name, _ in values]
    differences = np.diff([of_queries for _, of_queries in values], axis=0)
    p, low, high = adjusted_tests(differences)
    means = np.nanmean(differences, axis=1)
    steps = pd.DataFrame(
        {
            "less": names[:-1], "more": names[1:], "difference": means, "low": low, "high": high,
            "p": p, "n": (~np.isnan(differences)).sum(axis=1),
        }
    )  # fmt: skip
    significant = p <= ALPHA
    if np.all(significant & (means > 0)):
        return Verdict(HOLDS, steps)
    return Verdict(NOT if np.any(significant & (means < 0)) else UNTOLD, steps)
