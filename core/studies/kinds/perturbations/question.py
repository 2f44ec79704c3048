"""What the study of perturbations is asked."""

from dataclasses import dataclass
from typing import ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import RANKERS, Facts, Levels, Question, rankers_of

FAMILIES = (
    "comma-separated names of `list perturbations`, chains such as transpositions:5+shuffle-shown, "
    "gradient-sign@RANKER, or label-flips@0.9_0.1/0.2_0.8 (a row a grade)"
)


@dataclass(frozen=True)
class Perturbations(Question):
    """What can go wrong with an input, and which rankers survive it?"""

    kind: ClassVar[str] = "perturbations"
    title: ClassVar[str] = "What can go wrong with an input, and which rankers survive it?"
    source: ClassVar[str] = (
        "presentation, ranking, set, features, labels, system; alone and chained"
    )
    summary: ClassVar[str] = "anything that may happen to an input"
    doing: ClassVar[str] = "Disturb the input of"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    perturbations: tuple[tuple[str, float], ...] = parameter(
        help="families and their levels",
        names="perturbations",
        flags=Levels(None, FAMILIES, as_is_first=True),
    )
    measures: tuple[str, ...] = parameter(("NDCG@10",), "comma-separated", names="measures")
    draws: int = parameter(5, "draws a level", low=1, label="Draws a level")
    seed: int = parameter(0, "of the draws")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> "Perturbations":
        """The question that a stored study has answered."""
        from shuffleproof.core.studies.kinds.perturbations.system import OWN  # noqa: PLC0415 (only who reads pays for it)

        del facts
        pairs = tuple((family, float(level)) for family, level in recipe["perturbations"])
        measures = tuple(text for text in recipe["measures"] if text not in OWN)
        how = (recipe["draws"], recipe["seed"])
        return cls(tuple(rankers_of(recipe)), pairs, measures, *how)

    def printed(self) -> str:
        """What each level costs."""
        return f"losses(result, {self.measures[0]!r})"
