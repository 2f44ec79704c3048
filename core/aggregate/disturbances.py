"""Perturbations of the preferences of a query, before aggregation.

Each one takes preferences, a level and a generator, and gives variants of which a study keeps the
most harmful; all but the adversary give one. The number of calls per pair and of QuickSort runs are
terms of the aggregator, not perturbations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
from jaxtyping import Bool, Int64

from shuffleproof.core.aggregate import kernels
from shuffleproof.core.aggregate.preferences import Pairs
from shuffleproof.core.errors import UnknownNameError

AS_IS = "none"  # The preferences as they are, at level 0
Order = Int64[np.ndarray, " items"]


@dataclass(frozen=True)
class Variant:
    """Disturbed preferences.

    Attributes:
        pairs: of the items in the order of `items`.
        items: the items' places in the query.
    """

    pairs: Pairs
    items: Order

    @classmethod
    def of(cls, pairs: Pairs) -> "Variant":
        """Preferences whose items stand as they stood."""
        return cls(pairs, np.arange(pairs.items))


MakeVariants = Callable[[Pairs, float, np.random.Generator, Order], Sequence[Variant]]
"""(preferences, level, generator, the best order of them) → variants."""


@dataclass(frozen=True)
class Disturbance:
    """One thing that may happen.

    Attributes:
        name: in commands.
        title: for people.
        unit: what a level is.
        levels: those that a study takes by default.
        summary: what happens, as a paper would say it.
        make: the variants; None: a term of the aggregator changes instead.
        drawn: whether another draw gives other variants.
    """

    name: str
    title: str
    unit: str
    levels: tuple[float, ...]
    summary: str
    make: MakeVariants | None = None
    drawn: bool = True


def disturbance(name: str) -> Disturbance:
    """The disturbance of a name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in DISTURBANCES:
        raise UnknownNameError("disturbance", name, DISTURBANCES)
    return DISTURBANCES[name]


def reversed_pairs(pairs: Pairs, chosen: Bool[np.ndarray, "items items"]) -> Pairs:
    """The same with the chosen pairs the other way round.

    Args:
        pairs: the preferences.
        chosen: pairs (i, j); (j, i) need not be there.

    >>> f = np.array([[np.nan, 0.9], [0.2, np.nan]])
    >>> reversed_pairs(Pairs(f, np.ones((2, 2))), np.array([[False, True], [False,
    ...     False]])).values[0, 1]
    np.float64(0.2)
    """
    either_way = chosen | chosen.T
    return replace(pairs, values=np.where(either_way, pairs.values.T, pairs.values))


def calls_at(level: float, pairs: Pairs) -> int:
    """The budget of a level: a share of the pairs that have a preference, rounded up."""
    return ceil(level * pairs.count - 1e-9)  # .1 · 30 is a little above 3 in float64


def _random_pairs(
    pairs: Pairs, level: float, draws: np.random.Generator
) -> Bool[np.ndarray, " _ _"]:
    """Each pair with the probability of the level."""
    return np.triu(draws.random(pairs.values.shape) < level, 1)


def _noise(pairs: Pairs, level: float, draws: np.random.Generator, _: Order) -> list[Variant]:
    return [Variant.of(reversed_pairs(pairs, _random_pairs(pairs, level, draws)))]


def _missing_pairs(
    pairs: Pairs, level: float, draws: np.random.Generator, _: Order
) -> list[Variant]:
    dropped = _random_pairs(pairs, level, draws)
    dropped |= dropped.T
    remaining = replace(
        pairs,
        values=np.where(dropped, np.nan, pairs.values),
        votes=np.where(dropped, 0.0, pairs.votes),
    )
    return [Variant.of(remaining)]


def _cycles(pairs: Pairs, level: float, draws: np.random.Generator, _: Order) -> list[Variant]:
    values = pairs.values.copy()
    order = draws.permutation(pairs.items)
    for start in range(0, 3 * round(level * pairs.items / 3 + 1e-9), 3):
        three = order[start : start + 3]  # disjoint triples
        if len(three) == 3 and np.isfinite(values[np.ix_(three, three)]).sum() == 6:
            values[three, np.roll(three, -1)] = 1.0  # each beats the next, the last the first
            values[np.roll(three, -1), three] = 0.0
    return [Variant.of(replace(pairs, values=values))]


def _adversarial_pairs(
    pairs: Pairs, level: float, _: np.random.Generator, best: Order
) -> list[Variant]:
    budget = calls_at(level, pairs)
    place = np.empty(pairs.items, np.int64)
    place[best] = np.arange(pairs.items)
    gaps = kernels.margins(pairs.weights)
    # Only pairs that the best order agrees with can harm it
    above, below = np.nonzero((gaps > 0) & (place[:, None] < place[None, :]))
    margins, apart = gaps[above, below], place[below] - place[above]
    variants = []
    for keys in ((-apart, -margins), (-margins, -apart), (-place[below], place[above])):
        picked = np.lexsort(keys[::-1])[:budget]
        mask = np.zeros(pairs.values.shape, bool)
        mask[above[picked], below[picked]] = True
        variants.append(Variant.of(reversed_pairs(pairs, mask)))
    return variants


def _one_direction(pairs: Pairs, _: float, draws: np.random.Generator, __: Order) -> list[Variant]:
    forth = np.triu(draws.random(pairs.values.shape) < 0.5, 1)
    forth |= np.tril(~forth.T, -1)  # one direction of each pair, by a coin
    values = np.where(forth, pairs.values, 1.0 - pairs.values.T)
    return [Variant.of(replace(pairs, values=values))]


def _numbering(pairs: Pairs, _: float, draws: np.random.Generator, __: Order) -> list[Variant]:
    items = draws.permutation(pairs.items)
    cells = np.ix_(items, items)
    renumbered = replace(pairs, values=pairs.values[cells], votes=pairs.votes[cells])
    return [Variant(renumbered, items)]


_ENTRIES = (
    Disturbance(
        "noise", "Noise", "share of reversed pairs", (0.05, 0.1, 0.2, 0.3),
        "each pair is reversed with this probability", _noise,
    ),
    Disturbance(
        "missing", "Missing pairs", "share of pairs left out", (0.2, 0.5, 0.8),
        "each pair is left out with this probability", _missing_pairs,
    ),
    Disturbance(
        "cycles", "Planted cycles", "share of items in planted cycles", (0.3, 0.6, 1.0),
        "disjoint triples of items drawn at random beat each other in a circle, with certainty",
        _cycles,
    ),
    Disturbance(
        "adversarial", "Adversarial", "share of reversed pairs", (0.02, 0.05, 0.1),
        "the worst of three reversals of this share, by query and aggregator: of pairs far apart "
        "in the best order, of the largest margin, or with the first items",
        _adversarial_pairs, drawn=False,
    ),
    Disturbance(
        "direction", "One direction", "judged in one order", (1.0,),
        "each pair is judged in one random order, and the answer is used for both orders",
        _one_direction,
    ),
    Disturbance(
        "order", "Presentation order", "items shown in random order", (1.0,),
        "the items are renumbered at random, which changes ties and pivots",
        _numbering,
    ),
    Disturbance(
        "calls", "Calls allowed", "share of pairs that may be compared", (0.1, 0.2, 0.5, 1.0),
        "a limited number of pairs: random ones for aggregators that read all pairs, chosen "
        "ones for adaptive aggregators",
    ),
    Disturbance(
        "runs", "Runs", "runs of QuickSort", (1.0, 2.0, 5.0, 20.0),
        "mean ranks over this number of QuickSort runs (Multi-QuickSort)",
    ),
)  # fmt: skip
DISTURBANCES: Mapping[str, Disturbance] = {entry.name: entry for entry in _ENTRIES}
