"""Question of the invariance study."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.experiment.ranker_sets import SHIPPED
from shuffleproof.core.parameters import parameter
from shuffleproof.core.studies.question import RANKERS, Facts, Question


@dataclass(frozen=True)
class Invariance(Question):
    """Invariance of rankers to the input order of the documents."""

    kind: ClassVar[str] = "invariance"
    title: ClassVar[str] = "Does the input order change the ranking?"
    source: ClassVar[str] = "SetRank (SIGIR 2020), Proposition 1"
    summary: ClassVar[str] = "certificates by real permutations"
    doing: ClassVar[str] = "Shuffle lists for"
    sample: ClassVar[Mapping[str, Any]] = {"rankers": SHIPPED}

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    permutations: int = parameter(20, "random input orders per query", low=1)
    seed: int = parameter(0, "seed of the orders")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> Question:
        """Question of a stored study."""
        return super().of({**recipe, "permutations": recipe["draws"]}, facts)
