"""Question of the study of rerankers."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import Facts, Question, Scope

RERANKERS = (
    "rerankers, comma-separated: http://…, module:function or any ranker (default: all recorded)"
)


@dataclass(frozen=True)
class Rerankers(Question):
    """Effects of order, company and noise on rerankers, live or from recorded answers."""

    kind: ClassVar[str] = "rerankers"
    title: ClassVar[str] = "Does a reranker depend on the order and the company of its documents?"
    source: ClassVar[str] = (
        "RankGPT (Sun et al. 2023): sliding windows; permutation self-consistency (Tang et al. "
        "2024); Set-Encoder (Schlatt et al. 2025): other inputs"
    )
    summary: ClassVar[str] = "order, company and noise in the answers of rerankers"
    doing: ClassVar[str] = "Examine"
    tested: ClassVar[bool] = True
    sample: ClassVar[Mapping[str, Any]] = {"rankers": ("dlcm", "setrank-imsab"), "queries": 40}
    printing: ClassVar[str] = "rows(result)"

    rankers: tuple[str, ...] = parameter((), RERANKERS, names="rankers")
    measures: tuple[str, ...] = parameter(
        ("NDCG(gain=linear,ties=trec)@10",), "measures, comma-separated", names="measures"
    )
    orders: int = parameter(8, "random orders per query", low=2, high=100)
    repeats: int = parameter(2, "calls with the same input", low=2, high=100)
    sets: int = parameter(2, "pairs of sets with other companions per query", low=1, high=100)
    queries: int | None = parameter(None, "number of test queries (default: all)", low=1)
    call_price: float = parameter(0.0, "price of a call", low=0.0)
    token_price: float = parameter(0.0, "price of a million tokens", low=0.0)
    seed: int = parameter(0, "seed of the orders and sets")

    @classmethod
    def of(cls, recipe: Facts, facts: Facts) -> Question:
        """Question of a stored study; of recorded answers without names of rerankers."""
        question = super().of(recipe, facts)
        assert isinstance(question, cls)  # noqa: S101 (of this class by construction)
        return replace(question, rankers=()) if recipe.get("recorded") else question

    def check(self, scope: Scope, *, from_outside: bool = False) -> None:
        """Refuse invalid questions before anything is read.

        Raises:
            UnknownNameError: an unknown name.
            UsageError: no ranker is named, and the data are no recorded answers.
        """
        if self.is_recorded(scope):
            if self.rankers:
                raise UsageError(
                    f"{scope.data} holds recorded answers: leave out --rankers, or name a data set"
                )
            return
        # Other fields first: a job without rankers may have misspelt measures too
        stand_in = self if self.rankers else replace(self, rankers=("file-order",))
        super(Rerankers, stand_in).check(scope, from_outside=from_outside)
        if not self.rankers:
            raise UsageError("a study needs a ranker: name at least one")

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Examine recorded answers, or ask the rerankers; returns the stored result."""
        from shuffleproof.core.studies.kinds.rerankers import study  # noqa: PLC0415 (only who works pays for it)

        if self.is_recorded(scope):
            return (yield from study.run_recorded(self, scope))
        return (yield from super().study(scope))

    def is_recorded(self, scope: Scope) -> bool:
        """True if the data of a scope are recorded answers."""
        from shuffleproof.core.rerank.calls import KIND  # noqa: PLC0415 (listing questions needs none)

        key = scope.store.names().get(scope.data)
        kind = scope.data.partition("-")[0] if key is None else key.kind
        return kind == KIND
