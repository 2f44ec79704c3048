"""Assertions about rankers for tests: the verdicts of certificates, and paired comparisons.

No tolerance is set by hand. The effect of rounding on scores is measured on the ranker itself, as
in certificates (`core.experiment.score_floor`); means are compared by a paired test over queries.
"""

import warnings
from typing import Any

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.checks import counterexample
from shuffleproof.core.checks.list_forms import as_judged_lists, ranker_of
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError
from shuffleproof.core.experiment.score_reuse import source_of
from shuffleproof.core.gate.check import noise_floor
from shuffleproof.core.gate.comparison import LEAST, Pair, Tier, compare
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.base import perturb
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.rankers.outside.user_rankers import as_returned
from shuffleproof.core.rankers.theorems import theorem_of
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.invariance import examination, scoring
from shuffleproof.core.studies.kinds.invariance.verdict import (
    INVARIANT,
    NOT,
    Verdicts,
    notes,
    verdict_of,
)
from shuffleproof.core.words import counted, interval, number

STATE = ("unstable", "company", "padding", "state")
"""Facts of an examination that say that something else than the order changes scores."""


def assert_invariant(
    ranker: Any, lists: Any, *, permutations: int = 20, seed: int = 0, strict: bool = False
) -> None:
    """See `shuffleproof.testing.assert_invariant`."""
    __tracebackhide__ = True
    for text in _invariant(ranker_of(ranker), as_judged_lists(lists), permutations, seed, strict):
        warnings.warn(text, stacklevel=3)


def _invariant(
    ranker: Ranker,
    base: JudgedLists,
    permutations: int,
    seed: int,
    strict: bool,  # noqa: FBT001 (as `assert_invariant` has it)
) -> tuple[str, ...]:
    """Warnings: of an inconclusive verdict, and of what the verdict says beside it."""
    __tracebackhide__ = True
    import pandas as pd  # noqa: PLC0415 (loaded already by the verdict)

    shuffle = perturbation("shuffle-shown", 1.0)
    variants = [  # those of `certify`
        perturb(shuffle, base, generator(seed, shuffle.family, shuffle.level, draw)).lists
        for draw in range(permutations)
    ]
    seen = examination.examine(ranker, base, variants)
    names = tuple(base.dataset.query_ids[query] for query in base.lists.queries)
    theorem = theorem_of(ranker)
    verdict, reasons = verdict_of(seen, names, theorem.plain() if theorem else None)
    remarks = tuple(f"{ranker.name}: {note}" for note in notes(pd.DataFrame([seen.facts]), verdict))
    if verdict == INVARIANT:
        return remarks
    noticed = any(seen.facts[name] for name in STATE)
    if verdict != NOT and not noticed and not strict:
        return (f"{ranker.name} is inconclusive: {'; '.join(reasons)}", *remarks)
    found = "is not invariant to the input order" if verdict == NOT else "is inconclusive"
    message = ". ".join([f"{ranker.name} {found}: {'; '.join(reasons)}", *remarks]) + "."
    example = _smallest_example(as_returned(ranker), base, seen, variants) if not noticed else ""
    raise AssertionError(f"{message}\n{example}" if example else message)


def _smallest_example(
    ranker: Ranker, base: JudgedLists, seen: examination.Examination, variants: list[Any]
) -> str:
    """The smallest list and order that show that the order matters, in words."""
    import pandas as pd  # noqa: PLC0415 (loaded already by the verdict)

    block = np.stack(seen.values).astype(np.float32)
    moved = Verdicts.of(block, pd.DataFrame([seen.facts])).moved
    lists, scores = base.lists, ranker.score(base.dataset, base.lists)
    several = -(-len(variants) // 2)
    every = [
        *(order for _, order in scoring.systematic(base, scores, several)),
        *(source_of(lists, one) for one in variants),
    ]
    for one in sorted(np.flatnonzero(moved).tolist(), key=lambda at: lists.lengths[at])[:3]:
        low, high = lists.offsets[one], lists.offsets[one + 1]
        alone = JudgedLists(base.dataset, lists.select(np.array([one])))
        orders = [order[low:high] - low for order in every]
        found = counterexample.smallest(ranker, alone, orders)
        if found is not None:
            return found.sentence(int(high - low))
    return ""


def assert_no_worse(
    ranker: Any, baseline: Any, lists: Any, measure: str = "NDCG@10", *, least: float = LEAST
) -> None:
    """See `shuffleproof.testing.assert_no_worse`."""
    __tracebackhide__ = True
    base, wanted = as_judged_lists(lists), Measure.parse(measure)
    tested = ranker_of(ranker)
    own, noise = _measured(tested, base, wanted)
    if isinstance(baseline, np.ndarray | list | tuple):
        other, name, more = np.asarray(baseline, dtype=np.float64), "the baseline", 0.0
    else:
        compared_with = ranker_of(baseline)
        (other, more), name = _measured(compared_with, base, wanted), compared_with.name
    (result,) = compare([Pair(other, own, max(noise, more))], least)
    if result.tier in {Tier.UNRELIABLE, Tier.INCOMPARABLE}:
        found = f"the comparison of {tested.name} with {name} is inconclusive: {result.because}"
        raise DataError("lists", found, "Give more lists, or a larger `least`.")
    if result.tier is Tier.REGRESSION:
        means = f"{number(result.after)} against {number(result.before)}"
        raise AssertionError(
            f"{tested.name} is worse than {name}: {wanted} {means}, {result.because} "
            f"{interval(result.low, result.high)} over {counted(result.n, 'list')}; scoring again "
            f"moves the mean by {number(result.noise, '.1g')} at most.\n{_worst(base, own, other)}"
        )


def _measured(
    ranker: Ranker, base: JudgedLists, measure: Measure
) -> tuple[Float64[np.ndarray, " lists"], float]:
    """A ranker's value of every list, and its own noise in the mean (`gate.check.noise_floor`)."""
    scores = ranker.score(base.dataset, base.lists).astype(np.float32)
    values = evaluate([measure], base.dataset, base.lists, scores)[0].astype(float)
    return values, noise_floor(ranker, base, [measure])[1][0]


def _worst(base: JudgedLists, own: np.ndarray, other: np.ndarray) -> str:
    """The list that lost most, and among those the shortest, in words."""
    lost = np.nan_to_num(own - other)
    most = np.flatnonzero(lost <= 0.9 * lost.min())
    at = int(most[np.argmin(base.lists.lengths[most])])
    labels = base.dataset.labels[
        base.lists.rows[base.lists.offsets[at] : base.lists.offsets[at + 1]]
    ]
    query = base.dataset.query_ids[base.lists.queries[at]]
    return (
        f"The smallest list that shows it is of query {query}, "
        f"{counted(len(labels), 'document')}, {int((labels > 0).sum())} of them relevant: "
        f"{number(float(own[at]))} against {number(float(other[at]))}."
    )
