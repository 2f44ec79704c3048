"""Figure 3 of SetRank: what happens to each ranker as the initial ranking gets worse.

The lists' prior ranks, and the order in which an order-reading ranker is fed, are disturbed at
rising levels; every ranker scores the same disturbed lists. The initial ranker itself is a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists, JudgedLists
from core.errors import MissingRankingError
from core.metrics.measure import Measure
from core.metrics.relevance import evaluate, evaluate_many, mean_of
from core.metrics.significance import paired_t
from core.perturb.registry import entry_of
from core.rankers.base import Input, Ranker
from core.studies.carrying import Carrier
from core.studies.claims_intervals import t_interval
from core.studies.result import StudyResult

INITIAL = "initial ranking"
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
    carriers: dict[tuple[int, int], Carrier] = {}

    def measured(
        ranker: Ranker, base: JudgedLists, variants: Sequence[JudgedLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and whether its scores were carried over."""
        carrier = carriers.setdefault((id(ranker), id(base)), Carrier(ranker, base))
        scored = carrier.score_judged(variants)
        values = values_of(measures, base, variants, scored.scores)
        return values, {"carried": scored.carried, "proof_deviation": scored.deviation}

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
class Fall:
    """How one ranker's curve fell between the undisturbed lists and the highest level.

    Attributes:
        ranker: its label.
        means: over the queries, level by level, the lists as they are first.
        levels: measured levels, outwards from the unchanged one.
        below: the levels at which it lies below the undisturbed initial ranking by more than
            chance: the 95 % interval of the paired differences (Student's t) holds no 0.
    """

    ranker: str
    means: tuple[float, ...]
    levels: tuple[float, ...]
    below: tuple[float, ...]

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
    reference = None
    if INITIAL in known:
        reference = result.per_query(INITIAL, family, levels[0], measure)
    found = []
    for label in known if rankers is None else [label for label in known if label in rankers]:
        curve = [result.per_query(label, family, level, measure) for level in levels]
        means = tuple(mean_of(Measure.parse(measure), values) for values in curve)
        compared = reference is not None and label != INITIAL
        below = [
            level
            for level, values in zip(levels, curve, strict=True)
            if compared and _below(values, reference)
        ]
        found.append(Fall(label, means, levels, tuple(below)))
    return found


def _below(values: Any, reference: Any) -> bool:
    test = paired_t(values, reference)
    return test.difference < 0 and test.p_value <= SIGNIFICANT


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
    return " ".join([*sentences, *(_sentence(fall, family) for fall in falling)])


def _sentence(fall: Fall, family: str) -> str:
    verb, start = "loses" if fall.loss >= 0 else "gains", fall.means[0]
    share = f" ({abs(fall.loss) / start:.1%})" if start else ""
    text = f"{fall.ranker} {verb} {abs(fall.loss):.3f}{share} {_reached(family, fall.levels[-1])}"
    if fall.ranker == INITIAL:
        return f"{text}."
    return f"{text} and is {_where_below(fall)}."


def _where_below(fall: Fall) -> str:
    """At which of the measured levels it is below the undisturbed initial ranking, in words."""
    what = "significantly below the undisturbed initial ranking"
    if not fall.below:
        return f"nowhere {what}"
    if fall.below == fall.levels:
        return f"{what} at every level"
    if fall.below == fall.levels[-len(fall.below) :]:
        return f"{what} from level {fall.below[0]:g} on"
    return f"{what} at level {', '.join(f'{level:g}' for level in fall.below)}"


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
    dlcm = next((x for x in labels if x.startswith("dlcm") and "without-init" not in x), None)
    setrank = next((x for x in labels if x.startswith("setrank") and "-init" in x), None)
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
