"""What tests of a ranker assert; whoever asks is answered by AssertionError or not at all.

No tolerance is given by hand: what arithmetic may do to a score is measured of the ranker itself,
as certificates do (`core.experiment.score_floor`), and what chance may do to a mean by a paired
test over queries.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float64

from shuffleproof.core.checks import counterexample
from shuffleproof.core.checks.list_forms import as_judged_lists, ranker_of
from shuffleproof.core.data.lists import JudgedLists
from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.experiment import score_floor
from shuffleproof.core.experiment.score_reuse import source_of
from shuffleproof.core.gate.comparison import LEAST, Pair, Tier, compare
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate
from shuffleproof.core.perturb.base import disturb
from shuffleproof.core.perturb.registry import perturbation
from shuffleproof.core.rankers.base import Ranker
from shuffleproof.core.seeds import generator
from shuffleproof.core.studies.kinds.invariance import examination, scoring
from shuffleproof.core.studies.kinds.invariance.verdict import (
    INVARIANT,
    NOT,
    Verdicts,
    systematic_of,
    verdict_of,
)
from shuffleproof.core.words import counted, interval, number

STATE = ("unstable", "company", "padding", "state")
"""Facts of an examination that say that something else than the order changes scores."""


def assert_invariant(  # noqa: PLR0913 (what is tested, on what, and how often)
    ranker: Any, lists: Any, *, permutations: int = 20, seed: int = 0, strict: bool = False,
    examples: int = 50,
) -> None:  # fmt: skip
    """See `shuffleproof.testing.assert_invariant`."""
    __tracebackhide__ = True
    ranker = ranker_of(ranker)
    if _is_strategy(lists):
        _for_all(
            lists, examples, seed,
            lambda drawn, shown: _invariant(
                ranker, as_judged_lists(drawn), permutations, seed, shown=shown
            ),
        )  # fmt: skip
        return
    reasons = _invariant(ranker, as_judged_lists(lists), permutations, seed, strict=strict)
    if reasons:
        text = f"whether {ranker.name} is invariant cannot be told: {'; '.join(reasons)}"
        warnings.warn(text, stacklevel=3)


def _invariant(  # noqa: PLR0913 (as `assert_invariant`)
    ranker: Ranker, base: JudgedLists, permutations: int, seed: int, *, strict: bool = False,
    shown: bool = True,
) -> tuple[str, ...]:  # fmt: skip
    """Why it cannot be told; none where the ranker is invariant.

    Args:
        ranker: what is tested.
        base: the lists.
        permutations: random orders of each.
        seed: of these.
        strict: fail where it cannot be told.
        shown: look for the smallest list that shows it.

    Raises:
        AssertionError: it is not, or something else than the order changes its scores.
    """
    __tracebackhide__ = True
    shuffle = perturbation("shuffle-shown", 1.0)
    variants = [
        disturb(shuffle, base, generator(seed, "testing", draw)).lists
        for draw in range(permutations)
    ]
    seen = examination.examine(ranker, base, variants)
    names = tuple(base.dataset.query_ids[query] for query in base.lists.queries)
    verdict, reasons = verdict_of(seen, names, None)
    if verdict == INVARIANT:
        return ()
    noticed = any(seen.facts[name] for name in STATE)
    if verdict != NOT and not noticed and not strict:
        return reasons
    claim = "is not invariant to the order in which documents are shown"
    if verdict != NOT:
        claim = "cannot be told to be invariant to the order in which documents are shown"
    message = f"{ranker.name} {claim}: {'; '.join(reasons)}."
    example = _shown(ranker, base, seen, variants) if shown and not noticed else ""
    raise AssertionError(f"{message}\n{example}" if example else message)


def _shown(
    ranker: Ranker, base: JudgedLists, seen: examination.Examination, variants: list[Any]
) -> str:
    """The smallest list and order that show that the order matters, in words."""
    import pandas as pd  # noqa: PLC0415 (loaded already by the verdict)

    block = np.stack(seen.values).astype(np.float32)
    moved = Verdicts.of(block, systematic_of(pd.DataFrame([seen.facts]))).moved
    lists, scores = base.lists, ranker.score(base.dataset, base.lists)
    every = [
        *scoring.systematic(lists, scores).values(),
        *(_order(base, variant) for variant in variants),
    ]
    for place in sorted(np.flatnonzero(moved).tolist(), key=lambda at: lists.lengths[at])[:3]:
        low, high = lists.offsets[place], lists.offsets[place + 1]
        alone = JudgedLists(base.dataset, lists.select(np.array([place])))
        orders = [order[low:high] - low for order in every]
        example = counterexample.smallest(ranker, alone, orders)
        if example is not None:
            return example.sentence(int(high - low))
    return ""


def _order(base: JudgedLists, shown: Any) -> np.ndarray:
    """The candidate of the lists at each place of a variant."""
    return source_of(base.lists, shown)


def assert_no_worse(
    ranker: Any, baseline: Any, lists: Any, measure: str = "NDCG@10", *, least: float = LEAST
) -> None:
    """See `shuffleproof.testing.assert_no_worse`."""
    __tracebackhide__ = True
    if _is_strategy(lists):
        raise UsageError(
            "assert_no_worse compares means over given lists: give arrays, a frame or a data set "
            "instead of a strategy"
        )
    base, wanted = as_judged_lists(lists), Measure.parse(measure)
    ranker = ranker_of(ranker)
    values, noise = measure_ranker(ranker, base, wanted)
    if isinstance(baseline, np.ndarray | list | tuple):
        other, name, more = np.asarray(baseline, dtype=np.float64), "the baseline", 0.0
    else:
        compared_with = ranker_of(baseline)
        (other, more), name = measure_ranker(compared_with, base, wanted), compared_with.name
    (comparison,) = compare([Pair(other, values, max(noise, more))], least)
    if comparison.tier in {Tier.UNRELIABLE, Tier.INCOMPARABLE}:
        problem = f"whether {ranker.name} is worse than {name} cannot be told: {comparison.because}"
        raise DataError("lists", problem, "Give more lists, or a larger `least`.")
    if comparison.tier is Tier.REGRESSION:
        means = f"{number(comparison.after)} against {number(comparison.before)}"
        raise AssertionError(
            f"{ranker.name} is worse than {name}: {wanted} {means}, {comparison.because} "
            f"{interval(comparison.low, comparison.high)} over {counted(comparison.n, 'list')}; "
            f"scoring again moves the mean by {number(comparison.noise, '.1g')} at most.\n"
            f"{_worst(base, values, other)}"
        )


def measure_ranker(
    ranker: Ranker, base: JudgedLists, measure: Measure
) -> tuple[Float64[np.ndarray, " lists"], float]:
    """A ranker's value of every list, and how far its mean moves though nothing changed.

    The lists are scored again as they are, in other company, and with features that are up to four
    float32 steps off; the largest change of the mean that is seen is what it may move by itself.
    """
    lists = base.lists

    def values(scores: np.ndarray) -> Float64[np.ndarray, " lists"]:
        return evaluate([measure], base.dataset, lists, scores.astype(np.float32))[0].astype(float)

    original = values(ranker.score(base.dataset, lists))
    others = [
        values(ranker.score(base.dataset, lists)),
        values(score_floor.in_other_company(ranker, base)),
    ]
    for draw in range(score_floor.DRAWS):
        shaken = score_floor.shake_features(
            base.dataset, np.unique(lists.rows), generator(draw, "testing")
        )
        try:
            others.append(values(ranker.score(shaken, lists)))
        except DataError:  # scores of a file: nothing else can be asked
            break
    if not len(original):
        return original, 0.0
    return original, max(abs(float(np.nanmean(other - original))) for other in others)


def _worst(base: JudgedLists, values: np.ndarray, other: np.ndarray) -> str:
    """The list that lost most, and among those the shortest, in words."""
    lost = np.nan_to_num(values - other)
    most = np.flatnonzero(lost <= 0.9 * lost.min())
    at = int(most[np.argmin(base.lists.lengths[most])])
    labels = base.dataset.labels[
        base.lists.rows[base.lists.offsets[at] : base.lists.offsets[at + 1]]
    ]
    query = base.dataset.query_ids[base.lists.queries[at]]
    return (
        f"The smallest list that shows it is of query {query}, "
        f"{counted(len(labels), 'document')}, {int((labels > 0).sum())} of them relevant: "
        f"{number(float(values[at]))} against {number(float(other[at]))}."
    )


def _is_strategy(lists: Any) -> bool:
    """Whether it is a Hypothesis strategy; where Hypothesis was never loaded nothing is."""
    module = sys.modules.get("hypothesis.strategies")
    return module is not None and isinstance(lists, module.SearchStrategy)


def _for_all(strategy: Any, examples: int, seed: int, check: Callable[..., Any]) -> None:
    """Check what a strategy draws; Hypothesis finds the smallest lists that fail.

    Args:
        strategy: that draws lists.
        examples: how many.
        seed: of the draws.
        check: fails for lists; `shown` says whether with the smallest list and order.
    """
    __tracebackhide__ = True
    import hypothesis  # noqa: PLC0415 (an optional extra; the strategy has loaded it)

    failed = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        deadline=None, database=None, max_examples=examples,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    )  # fmt: skip
    @hypothesis.given(strategy)
    def holds(lists: Any) -> None:
        try:
            check(lists, shown=False)
        except AssertionError:
            failed.append(lists)
            raise

    try:
        holds()
    except AssertionError:
        check(failed[-1], shown=True)  # Hypothesis ends with the smallest
        raise
