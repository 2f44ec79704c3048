"""Figure 3 of SetRank: what happens to each ranker as the initial ranking gets worse.

The lists' prior ranks, and the order in which an order-reading ranker is fed, are disturbed at
rising levels; every ranker scores the same disturbed lists. The initial ranker itself is a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.data.dataset import RankingDataset
from core.data.lists import CandidateLists, JudgedLists
from core.errors import MissingRankingError
from core.metrics.measure import Measure
from core.metrics.relevance import evaluate_many
from core.metrics.robustness import breakdown_point
from core.metrics.significance import paired_t
from core.perturb.registry import PERTURBATIONS
from core.rankers.base import Input, Ranker
from core.studies.carrying import Carrier
from core.studies.result import StudyResult

INITIAL = "initial ranking"
PAPER_FAMILY = "transpositions"


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
        ranker: Ranker, base: JudgedLists, variants: Sequence[CandidateLists]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Values [measures, queries] of each variant, and whether its scores were carried over."""
        carrier = carriers.setdefault((id(ranker), id(base)), Carrier(ranker, base))
        scored = carrier.score(variants)
        runs = list(zip(variants, scored.scores, strict=True))
        values = list(evaluate_many(measures, base.dataset, runs))
        return values, {"carried": scored.carried, "proof_deviation": scored.deviation}

    return measured


@dataclass(frozen=True)
class Fall:
    """How one ranker's curve fell between the undisturbed lists and the highest level.

    Attributes:
        ranker: its label.
        start: mean over the lists as they are.
        end: mean at the last level.
        below_initial_at: level from which it lies below the undisturbed initial ranking, or None.
    """

    ranker: str
    start: float
    end: float
    below_initial_at: float | None

    @property
    def loss(self) -> float:
        """What was lost, in the measure's own unit."""
        return self.start - self.end


def falls(summary: pd.DataFrame, family: str, measure: str) -> list[Fall]:
    """The fall of every ranker, from the summary's first level (unchanged) to its last."""
    chosen = summary[(summary.family == family) & (summary.measure == measure)]
    curves = dict(iter(chosen.groupby("ranker", sort=False)))
    initial = curves.get(INITIAL)
    reference = None if initial is None else float(initial["mean"].iloc[0])
    rows = []
    for label in dict.fromkeys(summary.ranker):
        if label not in curves:
            continue
        curve = curves[label]
        levels, means = curve["level"].to_numpy(float), curve["mean"].to_numpy(float)
        crossing = None
        if reference is not None and label != INITIAL:
            crossing = breakdown_point(np.abs(levels - levels[0]), means, reference)
            outwards = np.sign(levels[-1] - levels[0])
            crossing = None if crossing is None else float(levels[0] + outwards * crossing)
        rows.append(Fall(str(label), float(means[0]), float(means[-1]), crossing))
    return rows


def finding(summary: pd.DataFrame, family: str, measure: str) -> str:
    """One paragraph, written from the numbers: who stays, who falls, how far, and past what."""
    chosen = summary[(summary.family == family) & (summary.measure == measure)]
    highest = chosen.level.iloc[-1]
    flat, falling = [], []
    for fall in falls(summary, family, measure):
        if np.isnan([fall.start, fall.end]).any():
            return (
                "Under this convention the means are undefined: some queries have no relevant "
                "document."
            )
        curve = chosen[chosen.ranker == fall.ranker]["mean"].to_numpy()
        if np.ptp(curve) == 0:
            flat.append(f"{fall.ranker} keeps {fall.start:.3f} at every level")
        else:
            falling.append(fall)
    falling.sort(key=lambda fall: -fall.loss)
    sentences = ["; ".join(flat) + "."] if flat else []
    sentences += [_sentence(fall, family, highest) for fall in falling]
    return " ".join(sentences)


def _sentence(fall: Fall, family: str, highest: float) -> str:
    verb = "loses" if fall.loss >= 0 else "gains"
    share = abs(fall.loss) / fall.start if fall.start else 0.0
    text = f"{fall.ranker} {verb} {abs(fall.loss):.3f} ({share:.1%}) {_reached(family, highest)}"
    if fall.below_initial_at is not None:
        text += f" and is below the undisturbed initial ranking from {fall.below_initial_at:.1f} on"
    return text + "."


def _reached(family: str, level: float) -> str:
    """The last level in words: by 80 transpositions, by shuffle at level 0.4."""
    return f"by {level:g} {family}" if PERTURBATIONS[family].whole else f"by {family} at {level:g}"


def claim(result: StudyResult, family: str, measure: str) -> dict[str, Any]:
    """Whether the paper's order holds here: DLCM falls further than SetRank with ordinals.

    Compares the per-query falls of the two at the highest level by a paired t test; holds /
    does not / cannot be told at p ≤ 0.05. Empty where the study lacks one of the two.
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
    verdict = "cannot be told"
    if p.p_value <= 0.05:
        verdict = "holds" if further.mean() > 0 else "does not hold"
    return {
        "claim": f"{dlcm} falls further than {setrank}",
        "whose": "The paper's claim"
        if family == PAPER_FAMILY
        else f"What the paper claims of {PAPER_FAMILY},",
        "verdict": verdict,
        "difference": float(further.mean()),
        "p": float(p.p_value),
        "n": int(counted.sum()),
        "level": float(levels[-1]),
    }
