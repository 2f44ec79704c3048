"""Figure 3 of SetRank: what happens to each ranker as the initial ranking gets worse.

The lists' prior ranks, and the order in which an order-reading ranker is fed, are disturbed at
rising levels; every ranker scores the same disturbed lists. The initial ranker itself is a line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from shuffleproof.core.data.dataset import RankingDataset
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import MissingRankingError
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.metrics.relevance import evaluate, evaluate_many, mean_of
from shuffleproof.core.metrics.significance import holm, paired_t, t_interval
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.rankers.base import Input, Ranker
from shuffleproof.core.rankers.name import INITIAL as INITIAL  # noqa: PLC0414 (asked for here)
from shuffleproof.core.rankers.name import RankerName
from shuffleproof.core.rankers.neural.recipes import rankings_of
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.noise import Noise, within
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.score_reuse import ScoreCache
from shuffleproof.core.words import counted, interval, number, p_value, signed

INITIAL_DIGEST = key_of("ranker", {"ranker": INITIAL}).digest
PAPER_FAMILY = "transpositions"
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class InitialRanking:
    """The initial ranking as a ranker: its scores are the prior scores of the first column."""

    name: str = INITIAL
    reads: frozenset[Input] = frozenset({"ranks"})
    rankings: int = 1

    def score(
        self, dataset: RankingDataset, lists: CandidateLists
    ) -> Float32[np.ndarray, " candidates"]:
        """The prior score of every candidate; the features are not read."""
        del dataset
        if not lists.rankings:
            raise MissingRankingError(self.name, 1, 0)
        return lists.prior[:, 0]

    def save(self, directory: Path) -> None:
        """Nothing is fitted, so nothing is written."""


def measured_by(measures: Sequence[Measure]) -> Any:
    """The study's step: score the variants, evaluate every measure for every query.

    It remembers each ranker's scores of the base lists, so make a new one for every study.
    """
    carriers: dict[tuple[int, int], ScoreCache] = {}
    noises: dict[tuple[int, int], Noise] = {}

    def measured(
        ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and whether its scores were carried over."""
        key = (id(ranker), id(base))
        carrier = carriers.setdefault(key, ScoreCache(ranker, base))
        if key not in noises:
            noises[key] = Noise(ranker, base, carrier.scores, measures)
        scored = carrier.score_judged(variants)
        values = values_of(measures, base, variants, scored.scores)
        facts = {"carried": scored.carried, "proof_deviation": scored.deviation}
        return values, facts | noises[key].facts(values)

    return measured


def values_of(
    measures: Sequence[Measure],
    base: JudgedLists,
    variants: Sequence[JudgedLists],
    scores: Sequence[Float32[np.ndarray, " _"]],
) -> list[Any]:
    """Values [measures, queries] of each variant; together where they share the base's data."""
    if all(variant.dataset is base.dataset for variant in variants):
        runs = [(variant.lists, own) for variant, own in zip(variants, scores, strict=True)]
        return list(evaluate_many(measures, base.dataset, runs))
    return [
        evaluate(measures, variant.dataset, variant.lists, own)
        for variant, own in zip(variants, scores, strict=True)
    ]


@dataclass(frozen=True)
class Compared:
    """One level of one ranker beside the undisturbed initial ranking.

    Attributes:
        level: of the disturbance.
        difference: mean of the ranker − the initial ranking over the queries.
        share: that difference, as a share of the initial ranking's mean.
        p: of the paired t test, adjusted by Holm over all levels of all rankers.
        n: queries counted.
    """

    level: float
    difference: float
    share: float
    p: float
    n: int

    @property
    def is_below(self) -> bool:
        """Whether it lies below by more than chance."""
        return self.difference < 0 and self.p <= SIGNIFICANT


@dataclass(frozen=True)
class Fall:
    """How one ranker's curve fell between the undisturbed lists and the highest level.

    Attributes:
        ranker: its label.
        means: over the queries, level by level, the lists as they are first.
        levels: measured levels, outwards from the unchanged one.
        compared: every level beside the undisturbed initial ranking, where the study has it.
    """

    ranker: str
    means: tuple[float, ...]
    levels: tuple[float, ...]
    compared: tuple[Compared, ...]

    @property
    def below(self) -> tuple[float, ...]:
        """The levels at which it lies below the undisturbed initial ranking by more than chance."""
        return tuple(one.level for one in self.compared if one.is_below)

    @property
    def loss(self) -> float:
        """What was lost at the last level, in the measure's own unit."""
        return self.means[0] - self.means[-1]


def falls(
    result: StudyResult, family: str, measure: str, rankers: Sequence[str] | None = None
) -> list[Fall]:
    """The fall of every ranker of a stored study, or of those named, in the study's order.

    Args:
        result: of an initial-ranking study.
        family: of perturbations.
        measure: one that follows from what is stored.
        rankers: labels; by default all.
    """
    levels = tuple(float(level) for name, level in result.recipe["perturbations"] if name == family)
    known = [label for label, _ in result.recipe["rankers"]]
    curves = {
        label: [result.per_query(label, family, level, measure) for level in levels]
        for label in known
    }
    compared = _compared(curves, levels, Measure.parse(measure))
    return [
        Fall(
            label,
            tuple(mean_of(Measure.parse(measure), values) for values in curves[label]),
            levels,
            compared.get(label, ()),
        )
        for label in (known if rankers is None else [one for one in known if one in rankers])
    ]


def _compared(
    curves: Mapping[str, Sequence[Float32[np.ndarray, " queries"]]],
    levels: Sequence[float],
    measure: Measure,
) -> dict[str, tuple[Compared, ...]]:
    """Every ranker's levels beside the undisturbed initial ranking; one family of tests."""
    if INITIAL not in curves:
        return {}
    reference = curves[INITIAL][0]
    points = [
        (label, level, paired_t(values, reference))
        for label, curve in curves.items()
        if label != INITIAL
        for level, values in zip(levels, curve, strict=True)
    ]
    p = holm(np.array([test.p_value for _, _, test in points]))
    start = mean_of(measure, reference)
    found: dict[str, tuple[Compared, ...]] = {}
    for (label, level, test), adjusted in zip(points, p, strict=True):
        share = test.difference / start if start else float("nan")
        one = Compared(level, test.difference, share, float(adjusted), test.n)
        found[label] = (*found.get(label, ()), one)
    return found


def finding(
    result: StudyResult, family: str, measure: str, rankers: Sequence[str] | None = None
) -> str:
    """One paragraph, written from the numbers: who stays, who falls, how far, and past what.

    Arguments as those of `falls`.
    """
    found = falls(result, family, measure, rankers)
    if any(np.isnan(fall.means).any() for fall in found):
        return (
            "Under this convention the means are undefined: some queries have no relevant document."
        )
    flat = [fall for fall in found if np.ptp(fall.means) == 0]
    falling = sorted(
        (fall for fall in found if np.ptp(fall.means) > 0), key=lambda fall: -fall.loss
    )
    kept = "; ".join(f"{fall.ranker} keeps {fall.means[0]:.3f} at every level" for fall in flat)
    sentences = [f"{kept}."] if flat else []
    for fall in falling:
        noise = within(result, fall.ranker, family, fall.levels[-1])
        sentences.append(_sentence(fall, family, noise))
    if any(fall.compared for fall in falling):
        sentences.append(_tested(result, falling))
    return " ".join(sentences)


def _sentence(fall: Fall, family: str, noise: str) -> str:
    verb, start = "loses" if fall.loss >= 0 else "gains", fall.means[0]
    share = f" ({number(abs(fall.loss) / start, '.1%')})" if start else ""
    text = (
        f"{fall.ranker} {verb} {number(abs(fall.loss))}{share} {_reached(family, fall.levels[-1])}"
    )
    if noise:
        return f"{text}, {noise}."
    return f"{text} and is {_where_below(fall)}." if fall.compared else f"{text}."


def _where_below(fall: Fall) -> str:
    """At which of the measured levels it is below the undisturbed initial ranking, in words."""
    reference = "the undisturbed initial ranking"
    what, below = f"significantly below {reference}", fall.below
    if below == fall.levels:
        return f"{what} at every level"
    if below and below == fall.levels[-len(below) :]:
        return f"{what} from level {below[0]:g} on"
    if below:
        return f"{what} at level {', '.join(f'{level:g}' for level in below)}"
    lowest = min(fall.compared, key=lambda one: one.difference)
    if lowest.difference >= 0:
        return f"nowhere below {reference}"
    return (
        f"not told apart from {reference}: {number(lowest.share, '+.1%')} at level "
        f"{lowest.level:g}, {p_value(lowest.p)}, n = {lowest.n}"
    )


def _tested(result: StudyResult, falling: Sequence[Fall]) -> str:
    """How many comparisons the adjustment covers, in words."""
    rankers = sum(1 for label, _ in result.recipe["rankers"] if label != INITIAL)
    count = counted(rankers * len(falling[0].levels), "comparison")
    return f"Levels are compared with it by paired t after Holm's adjustment for {count}."


def _reached(family: str, level: float) -> str:
    """The last level in words: by 80 transpositions, by shuffle at level 0.4."""
    return f"by {level:g} {family}" if entry_of(family).whole else f"by {family} at {level:g}"


def claim(result: StudyResult, family: str, measure: str) -> dict[str, Any]:
    """Whether the paper's order holds here: DLCM falls further than SetRank with ordinals.

    Compares the per-query falls of the two at the highest level by a paired t test; holds /
    does not / cannot be told at p ≤ 0.05; the difference has the 95 % interval of the same test.
    Empty where the study lacks one of the two.
    """
    labels = [label for label, _ in result.recipe["rankers"]]
    dlcm = next((label for label in labels if RankerName.of(label).base == "dlcm"), None)
    setrank = next((one for one in labels if rankings_of(RankerName.of(one).base)), None)
    if dlcm is None or setrank is None:
        return {}
    levels = [level for name, level in result.recipe["perturbations"] if name == family]
    drop = {
        label: result.per_query(label, family, levels[0], measure)
        - result.per_query(label, family, levels[-1], measure)
        for label in (dlcm, setrank)
    }
    counted = ~np.isnan(drop[dlcm]) & ~np.isnan(drop[setrank])
    further = drop[dlcm][counted].astype(np.float64) - drop[setrank][counted].astype(np.float64)
    p = paired_t(drop[dlcm][counted].astype(np.float64), drop[setrank][counted].astype(np.float64))
    low, high = t_interval(further)
    verdict = "cannot be told"
    if p.p_value <= SIGNIFICANT:
        verdict = "holds" if further.mean() > 0 else "does not hold"
    return {
        "claim": f"{dlcm} falls further than {setrank}",
        "whose": "The paper's claim"
        if family == PAPER_FAMILY
        else f"What the paper claims of {PAPER_FAMILY},",
        "verdict": verdict,
        "difference": float(further.mean()),
        "low": low,
        "high": high,
        "p": float(p.p_value),
        "n": int(counted.sum()),
        "level": float(levels[-1]),
    }


def claimed(verdict: Mapping[str, Any]) -> str:
    """What `claim` found, in words; nothing where it found nothing."""
    if not verdict:
        return ""
    bounds = f"95 % {interval(verdict['low'], verdict['high'])}"
    return (
        f"{verdict['whose']} that {verdict['claim']}: {verdict['verdict']} here (difference of the "
        f"falls {signed(verdict['difference'])}, {bounds}, {p_value(verdict['p'])}, "
        f"n = {verdict['n']}, paired t)."
    )
