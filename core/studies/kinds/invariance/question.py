"""What certificates are asked."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import RANKERS, Facts, Question, rankers_of

if TYPE_CHECKING:
    from shuffleproof.core.studies.sections import Telling
    from shuffleproof.core.studies.workbench import Workbench


@dataclass(frozen=True)
class Invariance(Question):
    """Does a ranker answer the same, in whatever order it is shown the documents?"""

    kind: ClassVar[str] = "invariance"
    title: ClassVar[str] = "Does the order in which documents are shown change a ranker's answer?"
    source: ClassVar[str] = "SetRank (SIGIR 2020), Proposition 1"
    summary: ClassVar[str] = "certificates by real permutations"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    permutations: int = parameter(20, "random orders of each query", low=1)
    seed: int = parameter(0, "of the orders")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> "Invariance":
        """The question that a stored study has answered."""
        del facts
        return cls(tuple(rankers_of(recipe)), recipe["draws"], recipe["seed"])

    def run(self, bench: "Workbench") -> Generator[Progress, None, Artefact]:
        """Show every test list in many orders and compare the scores."""
        return (yield from bench.invariance(self.rankers, self.permutations, self.seed))

    @classmethod
    def telling(cls) -> "Telling":
        """What tells it."""
        from shuffleproof.core.studies.kinds.invariance import sections  # noqa: PLC0415 (only who reads pays for it)

        return sections
