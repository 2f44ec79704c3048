"""Error rates of the gate by simulation.

A build compares a ranker at eight levels of two perturbations, on 150 queries. The changes of a
query are much alike at all levels, as those of a retrained ranker are. With two rankers the second
one never changes: the test of two rankers has less power than that of one.
"""

from collections.abc import Iterator

import numpy as np

from shuffleproof.core.gate.comparison import Pair, Tier, compare
from shuffleproof.core.metrics.significance import paired_t

QUERIES, LOSS = 150, 0.02
FAMILIES, LEVELS = 2, 8
SPREAD = 0.1
"""Standard deviation of a query's change of NDCG@10 when a ranker is trained again."""

OWN = {"ranker": 0.95, "family": 0.04, "level": 0.01}
"""Shares of that variance that a query has for all conditions, for a family, for a level."""


def changes(chance: np.random.Generator, spread: float, rankers: int) -> np.ndarray:
    """Changes [rankers, families, levels, queries]: heavy tails, and 0 for three queries of ten."""
    shape = (rankers, FAMILIES, LEVELS, QUERIES)
    total = np.zeros(shape)
    for part, axes in (("ranker", 1), ("family", 2), ("level", 3)):
        size = (*shape[:axes], *(1,) * (3 - axes), QUERIES)
        total = total + np.sqrt(OWN[part]) * chance.standard_t(5, size) / np.sqrt(5 / 3)
    moved = chance.random((rankers, 1, 1, QUERIES)) < 0.7
    return spread * total * moved / np.sqrt(0.7)


def builds(
    count: int, seed: int, loss: float, spread: float, rankers: int
) -> Iterator[tuple[bool, bool]]:
    """Whether each build has a regression, and whether a t test of one level finds a loss."""
    chance = np.random.default_rng(seed)
    for _ in range(count):
        change = changes(chance, spread, rankers)
        change[0] -= loss
        rows = change.reshape(-1, QUERIES)
        found = compare([Pair(np.zeros(QUERIES), row) for row in rows])
        single = paired_t(change[0, 0, 0], np.zeros(QUERIES))
        yield (
            any(one.tier == Tier.REGRESSION for one in found),
            single.p_value <= 0.05 and single.difference < 0,
        )


def rates(
    count: int, seed: int, loss: float, spread: float = SPREAD, rankers: int = 1
) -> dict[str, float]:
    """The shares of builds in which the gate, and the single test, find a loss."""
    gate, single = np.array([*builds(count, seed, loss, spread, rankers)]).mean(axis=0)
    return {"gate": round(float(gate), 3), "single t test": round(float(single), 3)}
