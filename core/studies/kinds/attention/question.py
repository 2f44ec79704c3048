"""What the study of attention is asked."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import Question

if TYPE_CHECKING:
    from shuffleproof.core.studies.workbench import Workbench


@dataclass(frozen=True)
class Attention(Question):
    """Which documents does every head of a ranker look at?"""

    kind: ClassVar[str] = "attention"
    title: ClassVar[str] = (
        "Which documents does a ranker look at, and does the order shown change that?"
    )
    source: ClassVar[str] = (
        "SetRank (SIGIR 2020), Equations 3 to 7; attention rollout, Abnar & Zuidema (ACL 2020)"
    )
    summary: ClassVar[str] = "what every head looks at, over all test queries"

    rankers: tuple[str, ...] = parameter(
        help="SetRanks and DLCMs, comma-separated, each with @preset", names="rankers"
    )
    queries: int | None = parameter(None, "only the first so many test queries", low=1)
    dead_below: int | float = parameter(
        0.1,
        "an induced point is dead below so many times its fair share",
        low=0,
        high=1,
    )

    def run(self, bench: "Workbench") -> Generator[Progress, None, Artefact]:
        """Ask every ranker for the weights of every test list."""
        from shuffleproof.core.studies.kinds.attention import study as attention  # noqa: PLC0415 (only who works pays for it)

        return (yield from attention.run(bench, self.rankers, self.queries, self.dead_below))

    def printed(self) -> str:
        """What is found of the first ranker."""
        return f"finding(result, {self.rankers[0]!r})"
