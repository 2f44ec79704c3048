"""Question of the study of perturbations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.experiment.ranker_sets import CONTRAST
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import (
    RANKERS,
    Facts,
    Levels,
    Question,
)

FAMILIES = (
    "perturbations, comma-separated; chains such as transpositions:5+shuffle-input, "
    "gradient-sign@RANKER, or label-flips@0.9_0.1/0.2_0.8 (a row a grade)"
)

SHOWN: Mapping[str, tuple[int | float, ...]] = {
    "transpositions": (0, 5, 20),
    "score-noise": (0, 0.5, 2),
    "tie-storm": (0, 0.4, 0.8),
    "shuffle-shown": (1,),
    "reverse-shown": (1,),
    "cut": (0, 0.2, 0.6),
    "remove-top": (0, 1, 5),
    "distractors": (0, 5, 20),
    "near-duplicates": (0, 5, 20),
    "feature-noise": (0, 0.25, 1),
    "missing-mean": (0, 0.2, 0.6),
    "bfloat16": (0, 1),
    "cut:0.2+shuffle-shown": (0, 1),
}
"""Families and levels of the sample's study, without those that train again: ten draws of
`label-flips` would add 30 rankers to the package."""


@dataclass(frozen=True)
class Perturbations(Question):
    """Losses of rankers under perturbations of any part of the input."""

    kind: ClassVar[str] = "perturbations"
    title: ClassVar[str] = "Which perturbations of the input hurt which ranker?"
    source: ClassVar[str] = (
        "presentation, ranking, set, features, labels, system; alone and chained"
    )
    summary: ClassVar[str] = "all perturbations of order, ranking, set, features, labels and system"
    doing: ClassVar[str] = "Perturb the input of"
    sample: ClassVar[Mapping[str, Any]] = {
        "rankers": CONTRAST,
        "perturbations": tuple(
            (family, float(level)) for family, levels in SHOWN.items() for level in levels
        ),
        # The same number as Figure 3 and the card, so that all three agree on random swaps.
        "draws": 10,
    }
    printing: ClassVar[str] = "losses(result, {measures[0]!r})"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    perturbations: tuple[tuple[str, float], ...] = parameter(
        help="families and their levels",
        names="perturbations",
        flags=Levels(None, FAMILIES, as_is_first=True),
    )
    measures: tuple[str, ...] = parameter(("NDCG@10",), "list of measures", names="measures")
    draws: int = parameter(5, "random draws per level", low=1, label="Draws per level")
    seed: int = parameter(0, "seed of the draws")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> Question:
        """Question of a stored study."""
        from shuffleproof.core.studies.kinds.perturbations.system import OWN  # noqa: PLC0415 (only who reads pays for it)

        measures = [text for text in recipe["measures"] if text not in OWN]
        return super().of({**recipe, "measures": measures}, facts)
