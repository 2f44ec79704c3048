"""Does what a paper claims hold here: an order of rankers, told by paired tests.

Beside a verdict stands the interval of the same test, Student's, so that it leaves out 0 exactly
where p ≤ 0.05 (`core.studies.claims_intervals`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float64

from core.metrics.significance import paired_t
from core.studies.benchmark_finding import signed
from core.studies.claims_intervals import ALPHA, p_words, t_interval

HOLDS, NOT, UNTOLD = "holds", "does not hold", "cannot be told"


@dataclass(frozen=True)
class Step:
    """One neighbouring pair of the claimed order.

    Attributes:
        less: who is claimed to be below.
        more: who is claimed to be above.
        difference: mean of more − less over the queries.
        low: of its 95 % interval (`t_interval`: it leaves out 0 where p ≤ 0.05).
        high: likewise.
        p: of the paired t test, two-sided.
        n: queries counted.
    """

    less: str
    more: str
    difference: float
    low: float
    high: float
    p: float
    n: int


@dataclass(frozen=True)
class Verdict:
    """Whether a claimed order holds.

    Attributes:
        word: holds, does not hold, cannot be told.
        steps: the pairs that it rests on.
    """

    word: str
    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """The verdict with its numbers, as it stands at the end of a sentence."""
        said = [
            f"{step.more} − {step.less} = {signed(step.difference)} "
            f"(95 % {signed(step.low)} to {signed(step.high)}, {p_words(step.p)}, n = {step.n})"
            for step in self.steps
        ]
        return f"{self.word} here (paired t, with its interval): {'; '.join(said)}."


def rising(values: Sequence[tuple[str, Float64[np.ndarray, " queries"]]]) -> Verdict:
    """Whether the named values rise from each to the next.

    It holds where every neighbouring difference is above 0 at p ≤ 0.05 (paired t), does not hold
    where one is below 0 at p ≤ 0.05, and cannot be told otherwise.

    Args:
        values: (name, one value a query), in the order claimed.

    >>> low, high = np.linspace(0, 1, 30), np.linspace(0.5, 1.6, 30)
    >>> rising([("a", low), ("b", high)]).word, rising([("b", high), ("a", low)]).word
    ('holds', 'does not hold')
    """
    steps = tuple(_step(one, two) for one, two in pairwise(values))
    if all(step.p <= ALPHA and step.difference > 0 for step in steps):
        return Verdict(HOLDS, steps)
    against = any(step.p <= ALPHA and step.difference < 0 for step in steps)
    return Verdict(NOT if against else UNTOLD, steps)


def _step(
    one: tuple[str, Float64[np.ndarray, " queries"]],
    two: tuple[str, Float64[np.ndarray, " queries"]],
) -> Step:
    test = paired_t(two[1], one[1])
    low, high = t_interval(two[1] - one[1])
    return Step(one[0], two[0], test.difference, low, high, test.p_value, test.n)
