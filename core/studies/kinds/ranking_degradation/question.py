"""What Figure 3 is asked."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import RANKERS, Levels, Question

if TYPE_CHECKING:
    from shuffleproof.core.studies.sections import Telling
    from shuffleproof.core.studies.workbench import Workbench


@dataclass(frozen=True)
class RankingDegradation(Question):
    """How fast do rankers follow an initial ranking that gets worse?"""

    kind: ClassVar[str] = "initial-ranking"
    title: ClassVar[str] = "If the initial ranking gets worse, how fast does each ranker follow?"
    source: ClassVar[str] = "SetRank (SIGIR 2020), Figure 3"
    summary: ClassVar[str] = "Figure 3: a worse initial ranking"

    rankers: tuple[str, ...] = parameter(help=RANKERS, names="rankers")
    perturbations: tuple[tuple[str, float], ...] = parameter(
        help="families and their levels",
        names="perturbations",
        flags=Levels("transpositions", "comma-separated"),
    )
    measures: tuple[str, ...] = parameter(("NDCG@10",), "comma-separated", names="measures")
    draws: int = parameter(10, "draws a level", low=1, label="Draws a level")
    seed: int = parameter(0, "of the draws")

    def run(self, bench: "Workbench") -> Generator[Progress, None, Artefact]:
        """Disturb the initial ranking and measure every ranker."""
        how = (self.measures, self.draws, self.seed)
        return (yield from bench.initial_ranking(self.rankers, self.perturbations, *how))

    @classmethod
    def telling(cls) -> "Telling":
        """What tells it."""
        from shuffleproof.core.studies.kinds.ranking_degradation import sections  # noqa: PLC0415 (only who reads pays for it)

        return sections

    def printed(self) -> tuple[str, str]:
        """What is found of the first family."""
        family, measure = self.perturbations[0][0], self.measures[0]
        told = f"finding(result, {family!r}, {measure!r})"
        return "from shuffleproof.core.studies.kinds.ranking_degradation.study import finding", told
