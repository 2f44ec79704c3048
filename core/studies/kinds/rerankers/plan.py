"""Plan of a study of rerankers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shuffleproof.core.rerank.design import Design, Input
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.studies.kinds.rerankers.question import Rerankers
from shuffleproof.core.studies.result import StudyResult
from shuffleproof.core.studies.study import CellResult, DescribedPlan

LONG = 1 << 10
"""Documents of a list that is long enough for all inputs."""


@dataclass(frozen=True)
class Plan(DescribedPlan):
    """Full description of the study.

    Attributes:
        rankers: (label, digest).
        lists: digest of the lists, or of the recorded answers.
        recorded: True if no reranker is called.
        measures: as text.
        orders: random orders.
        repeats: calls with the same input.
        sets: pairs of sets.
        seed: of the design.
        queries: number of queries; None: all.
        call_price: of a call.
        token_price: of a million tokens.
    """

    kind: str = field(default=Rerankers.kind, init=False)
    rankers: tuple[tuple[str, str], ...]
    lists: str
    recorded: bool
    measures: tuple[str, ...]
    orders: int
    repeats: int
    sets: int
    seed: int
    queries: int | None
    call_price: float
    token_price: float

    @classmethod
    def for_question(
        cls, question: Rerankers, rankers: Sequence[tuple[str, str]], lists: str, *, recorded: bool
    ) -> "Plan":
        """Plan of a question."""
        return cls(
            tuple(rankers), lists, recorded, question.measures, question.orders, question.repeats,
            question.sets, question.seed, question.queries, question.call_price,
            question.token_price,
        )  # fmt: skip

    @property
    def design(self) -> Design:
        """Inputs of every query."""
        return Design(self.orders, self.repeats, self.sets, seed=self.seed)

    @property
    def orders_per_list(self) -> int:
        """Number of calls for a long list."""
        return len(self.design.inputs(LONG))

    def digest(self, label: str, given: Input, lists: int) -> str:
        """Key of the scores of a ranker for one input of this many lists."""
        facts = {
            "kind": self.kind, "ranker": dict(self.rankers)[label], "lists": self.lists,
            "input": given.name, "repeat": given.repeat, "seed": self.seed, "queries": lists,
        }  # fmt: skip
        return key_of("trial", facts).digest

    def digests(self, lists: int, /) -> list[str]:
        """Keys of the scores of all rankers for all inputs of long lists."""
        inputs = self.design.inputs(LONG)
        return [self.digest(label, given, lists) for label, _ in self.rankers for given in inputs]

    def assemble(
        self, finished: Mapping[str, CellResult], query_ids: Sequence[str], facts: Mapping[str, Any]
    ) -> StudyResult | None:
        """No partial result."""
        del finished, query_ids, facts
        return None
